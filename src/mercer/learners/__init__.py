"""Learning with a kernel as linear learning on its features: classifiers and regressors for any map or quantizer."""

from mercer.learners.auto.predictor import PanelPredictor, ScaledPredictor
from mercer.learners.auto.report import TrialPlan
from mercer.learners.auto.scaling import ColumnScaling
from mercer.learners.classifier import KernelClassifier
from mercer.learners.cv import KernelClassifierCV
from mercer.learners.fitting.plan import Plan
from mercer.learners.fitting.softmax import SoftmaxLink
from mercer.learners.intersection import IntersectionSVC, IntersectionSVR
from mercer.learners.regressor import KernelRegressor
from mercer.learners.solvers.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES

__all__ = [
    "CLASSIFICATION_LOSSES",
    "REGRESSION_LOSSES",
    "ColumnScaling",
    "IntersectionSVC",
    "IntersectionSVR",
    "KernelClassifier",
    "KernelClassifierCV",
    "KernelRegressor",
    "PanelPredictor",
    "Plan",
    "ScaledPredictor",
    "SoftmaxLink",
    "TrialPlan",
]

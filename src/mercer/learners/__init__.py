"""Learning with a kernel as linear learning on its features: classifiers and regressors for any map or quantiser."""

from mercer.learners._classifier import KernelClassifier
from mercer.learners._cv import KernelClassifierCV
from mercer.learners._intersection import IntersectionSVC, IntersectionSVR
from mercer.learners._plan import Plan
from mercer.learners._regressor import KernelRegressor

__all__ = ["IntersectionSVC", "IntersectionSVR", "KernelClassifier", "KernelClassifierCV", "KernelRegressor", "Plan"]

"""What a fitted estimator draws of itself: the functions of its columns, and its trials."""

__all__ = ["DrawsItself"]

from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer.learners.auto.report import TrialPlan
from mercer.learners.auto.trials_plot import draw_trials


class DrawsItself:
    """Base class: pictures of an estimator that has a plan and a predictor."""

    def plot_functions(self, features=None, path=None):
        """Draw how single columns of X enter the scores, for additive kernels: the f_j of f(x) = sum_j f_j(x_j) + b.

        Parameters
        ----------
        features : None, or column numbers or names
            None takes the (at most 12) columns whose functions vary most.
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        from mercer.learners.functions_plot import draw_functions

        figure = draw_functions(self, features)
        if path is not None:
            figure.savefig(path)
        return figure

    def plot_trials(self, path=None):
        """Draw what each trial of an automatic fit reached, against the time that it took.

        Parameters
        ----------
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        if not isinstance(self.plan_, TrialPlan):
            raise InputError(
                f"{type(self).__name__}: there are no trials to plot, because a kernel or a map was given. Fit with "
                "kernel=None, or with C='auto'."
            )
        figure = draw_trials(self.plan_)
        if path is not None:
            figure.savefig(path)
        return figure

"""What notebooks show of a fitted estimator: the diagram of scikit-learn, and below it what the fit has decided."""

__all__ = ["ShowsPlan"]

from sklearn.base import BaseEstimator


class ShowsPlan(BaseEstimator):
    """An estimator whose ``plan_`` is shown once there is one."""

    def _repr_html_inner(self):
        plan = getattr(self, "plan_", None)
        return super()._repr_html_inner() + (plan._repr_html_() if hasattr(plan, "_repr_html_") else "")

    def _repr_mimebundle_(self, **kwargs):
        found = super()._repr_mimebundle_(**kwargs)
        if "text/html" in found:
            found["text/html"] = self._repr_html_inner()
        return found

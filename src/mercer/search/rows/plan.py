"""The plan of an index: a dictionary for programs, a sentence and a small table for people."""

__all__ = ["IndexPlan"]

from mercer._base.html.pieces import bars, facts
from mercer.kernels import in_words

STORES = {"lists": "inverted lists", "graph": "a graph of embedded rows"}
CODES = {"pq": "product quantization", "opq": "rotated product quantization", "lsh": "signs of projections",
         "universal": "universal bits", "flat": "numbers of four bytes"}  # fmt: skip


class IndexPlan(dict):
    """What an index has chosen and why, by name; ``summary`` is a sentence, ``str(plan)`` a small table.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelIndex
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=100)
    >>> index = KernelIndex("chi2", bytes_per_item=4, n_landmarks=16, effort="low", random_state=0).fit(X).add(X)
    >>> index.plan_["store"]
    'codes'
    >>> print(index.plan_.summary)
    chi2 kernel; a scan of codes of 4 bytes (product quantization); 100 rows of 16 columns
    """

    def __init__(self, chosen, index, n_rows):
        super().__init__(chosen)
        self.kernel, self.n_rows, self.n_columns = index.kernel_, n_rows, index.n_features_in_
        self.compared = f"{'normalized' if index.normalize else 'not normalized'}, {index.measure}"

    @property
    def summary(self):
        """The index in one sentence."""
        return f"{in_words(self.kernel)}; {self._store()}; {self.n_rows:,} rows of {self.n_columns:,} columns"

    def _store(self):
        store = self.get("store", "codes")
        if store in STORES:
            return STORES[store]
        return f"a scan of codes of {self['bytes_per_item']} bytes ({CODES[self['code']]})"

    def _lines(self):
        found = {
            "index": self.summary,
            "compared by": f"{self.kernel!r}, {self.compared}",
            "store": self.get("store_reason", ""),
            "embedding": self.get("reason", ""),
            "lost": f"{self['lost_energy']:.1%} of K(x, x), on average" if "lost_energy" in self else "",
        }
        found |= {
            f"recall of {curve['k']}": f"{step[2]:.1%} with {step[0]:g} candidates per neighbor"
            for curve in self.get("recall", ())
            for step in curve["steps"][-1:]
        }
        return {name: text for name, text in found.items() if text}

    def __str__(self):
        lines = self._lines()
        width = max(map(len, lines))
        return "\n".join(["KernelIndex", *(f"  {name:<{width}}  {text}" for name, text in lines.items())])

    def _repr_html_(self):
        curves = [
            (f"{curve['k']} neighbors, {step[0]:g} candidates each", step[2], f"{step[2]:.1%}")
            for curve in self.get("recall", ())
            for step in curve["steps"]
        ]
        tried = [(one["tried"], max(one["recall"], 0.0), f"{one['recall']:.3f}") for one in self.get("tried", ())]
        picture = bars("Recall by candidates", curves) if curves else bars("Recall of what was tried", tried)
        return facts("KernelIndex", self._lines()) + (picture if curves or tried else "")

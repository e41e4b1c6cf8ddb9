"""Settings of cleaning and matching, checked, and as the loops take them."""

__all__ = ["Settings"]

from dataclasses import asdict, dataclass

from mercer._base.parameters import check_parameters
from mercer._base.parameters.spectra import CLEANING, MATCHING

KINDS = ("entropy", "unweighted", "cosine")  # in the order of mercer._native.spectra.matching
LEAST_MERGE = 0.05  # Da; ms_entropy's own


@dataclass(frozen=True)
class Settings:
    """How spectra are cleaned and matched; the parameters are those of `mercer._base.parameters.spectra`."""

    similarity: str = "entropy"
    tolerance: float = 0.02
    unit: str = "Da"
    precursor_window: float | str | None = 1.6
    merge: float | str = "auto"
    noise: float = 0.01
    max_peaks: int = 0
    power: float = 1.0

    def check(self, who):
        """Refuse what the tables do not accept."""
        check_parameters(self, (*MATCHING, *CLEANING), who)
        return self

    def document(self):
        """For a file."""
        return asdict(self)

    @property
    def kind(self):
        """The number of the similarity."""
        return KINDS.index(self.similarity)

    @property
    def ppm(self):
        """Whether distances are in millionths."""
        return self.unit == "ppm"

    @property
    def distance(self):
        """Of peaks that are merged."""
        if self.merge != "auto":
            return float(self.merge)
        return 2.0 * self.tolerance if self.ppm else max(2.0 * self.tolerance, LEAST_MERGE)

"""How molecules become rows and how these are compared: kept with an index, and applied to its queries."""

__all__ = ["GIVEN", "Settings"]

from dataclasses import asdict, dataclass

from mercer._base.errors import InputError
from mercer._base.parameters import check_parameters
from mercer._base.parameters.molecules import MOLECULE_INDEX
from mercer.features import MoleculeFingerprints
from mercer.kernels import BrayCurtis, DotTanimoto, Linear, MinMax

GIVEN = "given"  # fingerprints of the caller's own
KERNELS = {"tanimoto": MinMax, "dot-tanimoto": DotTanimoto, "dice": BrayCurtis, "cosine": Linear}


@dataclass(frozen=True)
class Settings:
    """The parameters are those of `mercer._base.parameters.molecules`."""

    similarity: str = "tanimoto"
    fingerprint: str = "morgan"
    counts: bool = True
    radius: int = 2
    n_bits: int = 2048

    def check(self, who):
        """Refuse what the tables do not accept."""
        check_parameters(self, MOLECULE_INDEX[:-1], who)
        return self

    def document(self):
        """For a file."""
        return asdict(self)

    @property
    def kernel(self):
        """What rows are compared by."""
        return KERNELS[self.similarity]()

    @property
    def fingerprints(self):
        """What makes rows of SMILES."""
        if self.fingerprint == GIVEN:
            raise InputError(
                "This index was built from your own fingerprints. Pass the fingerprints of these molecules too."
            )
        return MoleculeFingerprints(self.fingerprint, counts=self.counts, radius=self.radius, n_bits=self.n_bits)

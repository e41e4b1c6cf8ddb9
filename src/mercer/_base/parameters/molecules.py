"""Parameters of molecules: their fingerprints, how these are compared, and how molecules are searched."""

__all__ = ["CUTOFF", "FINGERPRINTS", "MOLECULE_INDEX", "SEARCH", "SIMILARITY"]

from mercer._base.parameters.common import N_JOBS
from mercer._base.parameters.language import choice, flag, integer, number

FINGERPRINTS = (
    choice("fingerprint", "morgan feature-morgan atom-pair torsion rdkit", "morgan", "Fingerprint type: circles around "
        "atoms (morgan, feature-morgan), pairs of atoms (atom-pair), four atoms in a row (torsion), or paths (rdkit)."),
    flag("counts", "Store how often each fragment occurs, or only whether it occurs.", "--counts/--binary", True),
    integer("radius", 2, "Radius of a Morgan fingerprint in bonds; 2 corresponds to ECFP4.", least=0, most=10),
    integer("n_bits", 2048, "Number of columns of a fingerprint; fewer columns take less memory and let more fragments "
        "collide.", least=16, most=2**20),
)  # fmt: skip
SIMILARITY = choice("similarity", "tanimoto dot-tanimoto dice cosine", "tanimoto", "Similarity of two fingerprints: "
    "sum of minima over sum of maxima (tanimoto), <x, y> / (<x, x> + <y, y> - <x, y>) (dot-tanimoto), dice, or "
    "cosine. The "
    "first two are equal for binary fingerprints.")  # fmt: skip
MOLECULE_INDEX = (
    SIMILARITY,
    FINGERPRINTS[0].but(words=(*FINGERPRINTS[0].words, "given")),
    *FINGERPRINTS[1:],
    N_JOBS,
)
SEARCH = (number("min_score", 0.0, "Minimum score of a hit.", "S", least=0, most=1),)
CUTOFF = number("min_score", 0.65, "Minimum score of two neighboring molecules.", "S", above=0, most=1)

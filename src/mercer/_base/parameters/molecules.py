"""Parameters of molecules: their fingerprints, how these are compared, and how molecules are searched."""

__all__ = ["CUTOFF", "FINGERPRINTS", "MOLECULE_INDEX", "SEARCH", "SIMILARITY"]

from mercer._base.parameters.common import N_JOBS
from mercer._base.parameters.language import choice, flag, integer, number

FINGERPRINTS = (
    choice("fingerprint", "morgan feature-morgan atom-pair torsion rdkit", "morgan", "Which fragments of a molecule "
        "are looked for: morgan and feature-morgan (circles around atoms), atom-pair, torsion (four atoms in a row) or "
        "rdkit (paths)."),
    flag("counts", "How often each fragment occurs, or only whether it does.", "--counts/--binary", True),
    integer("radius", 2, "Bonds around an atom of a Morgan fingerprint; 2 is that of ECFP4.", least=0, most=10),
    integer("n_bits", 2048, "Columns of a fingerprint, which fragments are folded into.", least=16,
        most=2**20),
)  # fmt: skip
SIMILARITY = choice("similarity", "tanimoto dot-tanimoto dice cosine", "tanimoto", "tanimoto: sums of minima over sums "
    "of maxima; dot-tanimoto: <x, y> / (<x, x> + <y, y> - <x, y>), of binary fingerprints the same; dice; "
    "cosine.")  # fmt: skip
MOLECULE_INDEX = (
    SIMILARITY,
    FINGERPRINTS[0].but(words=(*FINGERPRINTS[0].words, "given")),
    *FINGERPRINTS[1:],
    N_JOBS,
)
SEARCH = (number("min_score", 0.0, "Score of a hit at least.", "S", least=0, most=1),)
CUTOFF = number("min_score", 0.65, "Score of two molecules that are neighbors, at least.", "S", above=0, most=1)

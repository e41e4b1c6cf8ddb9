"""Parameters of an index, with the defaults of ``KernelIndex``; the word none stands for None."""

__all__ = ["INDEX"]

from mercer._base.parameters.language import choice, flag, integer, number, text

INDEX = (
    text("kernel", "chi2", "By the names of mercer kernel."),
    integer("bytes_per_item", 16, "Length of a code.", "N", "--bytes", least=1),
    choice("code", "pq opq lsh universal flat", "pq", "pq: product quantisation; opq: after a learnt rotation; lsh, "
        "universal: bits; flat: embedded rows."),
    choice("embedding", "auto kpca map", "auto", "kpca: components through landmarks, any kernel; map: of an additive "
        "kernel; auto measures."),
    choice("effort", "low default high", "default", "How much is tried: low, default or high.", "LEVEL"),
    choice("measure", "similarity distance", "similarity", "What rows are ranked by: similarity, or the kernel's "
        "distance."),
    flag("normalize", "Divide by sqrt(K(x, x) K(y, y)), which changes nothing for histograms that sum to 1.",
        "--normalize/--no-normalize", True),
    number("oversample", 10.0, "The best FACTOR * k rows of a scan get their exact kernel value.", "FACTOR", least=1.0),
    choice("vectors", "auto float32 float16 uint8 none", "auto", "How rows are kept for exact values: auto, float32, "
        "float16, uint8, or none: codes only.", "TYPE"),
    integer("n_landmarks", 1024, "Landmarks of the embedding.", "N", "--landmarks", least=1),
    integer("n_components", None, "Components of the embedding.", "N", "--components", shown="measured", least=1),
    integer("n_lists", "auto", "Inverted lists of the codes; auto: none below four million rows.", "N|auto", "--lists",
        least=0, words=("auto",)),
)  # fmt: skip

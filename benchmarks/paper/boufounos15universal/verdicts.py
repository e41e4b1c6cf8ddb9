"""[boufounos15universal]: what abstract, theorem and figures claim, and what we find."""

from __future__ import annotations

from benchmarks.published import published
from benchmarks.verdicts import Verdicts

# (the claim, what the paper says of it, the row of the benchmark's claims)
CLAIMS = (
    (
        "Abstract, Fig. 3(a): half the bits without loss, raw bits by the mean",
        "18 bits as good as 36",
        "QJL at 18 bits is as good as raw bits at 36 (mean as threshold), to half a point",
    ),
    (
        "The same, raw bits by the median",
        "18 bits as good as 36",
        "QJL at 18 bits is as good as raw bits at 36 (median as threshold), to half a point",
    ),
    (
        "Fig. 3(a): QJL of more than 18 bits is better than raw bits by the mean, 36 bits",
        "better",
        "QJL at 36 bits is better than raw bits at 36 (mean as threshold)",
    ),
    (
        "The same, raw bits by the median",
        "better",
        "QJL at 36 bits is better than raw bits at 36 (median as threshold)",
    ),
    (
        "Fig. 3(a): 1 bit per projection is the best, against 2",
        "best",
        "1 bit per projection is better than 2, 36 bits",
    ),
    ("Fig. 3(a): the same, against 3", "best", "1 bit per projection is better than 3, 36 bits"),
    ("Fig. 3(a): the same, against 4", "best", "1 bit per projection is better than 4, 36 bits"),
    (
        "Abstract, Fig. 3(b): universal bits are better than QJL, 9 bits",
        "better",
        "universal bits are better than QJL, 9 bits",
    ),
    ("Fig. 3(b): the same, 18 bits", "better", "universal bits are better than QJL, 18 bits"),
    ("Fig. 3(b): the same, 36 bits", "better", "universal bits are better than QJL, 36 bits"),
    (
        "Sec. IV: universal bits are as good as unquantised descriptors",
        "at significantly lower rates",
        "universal bits at 18 bits are as good as unquantised descriptors, to half a point",
    ),
)
RUNS = {"wire-rates": "8 classes, as published", "wire-classes": "25 classes"}


@published(
    "what the paper claims, and what we find",
    source="Abstract, Theorem, Fig. 3",
    benchmarks=["wire-kernel", "wire-rates", "wire-classes"],
)
def verdicts(sheet):
    found = Verdicts()
    kernel = sheet["wire-kernel"]
    found.claim(
        "Theorem: universal embeddings approximate an RBF kernel, within tau of 1/2 - g(d)",
        "a proof",
        "mean error {:.2f} / sqrt(M)",
        (kernel.bar("dense: mean error of K from codes, times sqrt(M)"),),
        lambda error: error <= 0.45,
        "In (22) the two constants are swapped; (21) has a sign wrong.",
    )
    for name, of in RUNS.items():
        rows = {one["claim"]: one for one in sheet[name].rows("the paper's claims")}
        for what, said, key in CLAIMS:
            one = rows.get(key)
            found.claim(f"{what}; {of}", said, "{} points, 95 % interval {}",
                        (one["measured difference, points"], one["95 % interval"]) if one else (None,),
                        None if one is None else {"held": True, "not held": False}.get(one["held"]),
                        "Projections are not centred, as published; which images were taken is not said.")  # fmt: skip
    rows = sheet["wire-rates"].rows("universal bits: accuracy in % by delta")
    best = max(rows, key=lambda one: float(one["18"].split()[0]))["delta"] if rows else None
    found.claim("Fig. 3(c): accuracy suffers if delta is too small or too large", "best at 1.45", "best at {:.2f}",
                (best,), lambda delta: 0.5 < delta < 4, "18 bits; 1.45 is a point or less below.")  # fmt: skip
    found.lay_out(sheet)

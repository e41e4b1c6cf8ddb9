"""What the figures of [boufounos15universal] share."""

from __future__ import annotations

from benchmarks.published import StandIn

TABLE = "accuracy in %"
IMAGES = StandIn(
    "the tallest person of each photograph of INRIA, seven classes of Caltech-101",
    "crops of the INRIA set and of Caltech-101",
    "the same sets; which 15 + 15 images of a class were taken is not published, so 50 splits are averaged.",
)
SEEN = "The published curves are not given as numbers; what the text says of them stands beside ours."


def claims(sheet, wanted):
    """Rows of a grid from the table of claims: (words of the paper, beginning of ours)."""
    found = sheet["wire-rates"].rows("the paper's claims")
    lines = []
    for said, begins in wanted:
        rows = [row for row in found if row["claim"].startswith(begins)]
        ours = [f"{row['measured difference, points']} ({row['95 % interval']}): {row['held']}" for row in rows]
        lines += [(row["claim"], [(said, text)]) for row, text in zip(rows, ours, strict=True)] or [
            (begins, [(said, None)])
        ]
    return lines


def accuracies(sheet, codes, bits):
    """Rows of a grid: accuracy of the codes by bits per descriptor, ours only."""
    found = {row["code"]: row for row in sheet["wire-rates"].rows(TABLE)}
    return [(code, [(None, found.get(code, {}).get(str(b)) or None) for b in bits]) for code in codes]

"""Forged model files with valid checksums, loaded and used on a build that checks every index."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

CASES, QUICK_CASES = 100_000, 200
BARS = {
    "out of bounds": "uses that read or wrote outside an array",
    "crash": "files that ended the process by a signal",
    "hang": "files that took more than 5 s of CPU",
    "allocation": "files that took more than 64 MiB and 8 times their size",
    "raw exception at load": "files that load answered by another error than ModelFileError",
}


@benchmark(
    "trust-forged",
    f"{CASES:,} forged model files with valid checksums, loaded and used with bounds checks",
    bars=[Bar(name, "<= 0") for name in BARS.values()],
)
def trust_forged(record):
    from tests.hostile.fuzz.campaign import BATCH, STATE, Campaign
    from tests.hostile.fuzz.forging import read_seeds

    campaign = Campaign(STATE / "quick" if record.quick else STATE)
    campaign.run(QUICK_CASES if record.quick else CASES, n_workers=1 if record.quick else 2)
    for outcome, name in BARS.items():
        record.measured(name, campaign.counts[outcome], f"of {campaign.n_cases:,}")
    rows = [["refused by load", campaign.counts["refused"]], ["loaded and used", campaign.counts["used"]]]
    record.table("what became of a forged file", ["outcome", "files"], rows)
    for case, outcome, detail in campaign.findings[:10]:
        record.note(f"Case {case}: {outcome}, {detail}")
    record.note(
        f"Each case is one of {len(read_seeds())} golden files, which hold every class that can be saved, changed in "
        "one to three places: values, types and shapes of arrays, numbers, words and switches of the document, objects "
        "in the place of others. It is loaded, and every method that takes rows or images is called on rows that fit "
        "and on odd ones, in a fork of a process whose loops are compiled with NUMBA_BOUNDSCHECK=1. Peaks of memory "
        f"are those of the fork, {BATCH} cases at a time, and each alone where that was not enough to say."
    )

"""``python -m benchmarks [list | report | all [--list] [--only NAME ...] [--limit MINUTES] | NAME ...] [--quick]``"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from benchmarks.registry import ROOT, Benchmark, all_benchmarks, write_pages


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    benchmarks = all_benchmarks()
    if options.what == ["list"]:
        _list(benchmarks)
        return 0
    if options.what == ["report"]:
        for page in write_pages():
            print(f"Wrote {page.relative_to(ROOT.parent)}")
        return 0
    if options.what == ["all"] and (options.list or not (options.quick or options.out)):
        from benchmarks import campaign

        if _has_unknown(options.only, benchmarks):
            return 2
        if not options.list:
            return campaign.run_all(benchmarks, only=options.only, limit=options.limit)
        print(campaign.listed(campaign.planned(benchmarks, only=options.only)))
        return 0
    names = (options.only or list(benchmarks)) if options.what == ["all"] else options.what
    if _has_unknown(names, benchmarks):
        return 2
    _run([benchmarks[name] for name in names], options.quick, options.out)
    if not (options.quick or options.out or options.no_pages):
        write_pages()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Mercer.")
    parser.add_argument(
        "what",
        nargs="*",
        default=["list"],
        help="'list' names the benchmarks (default), 'report' writes the pages from the results, 'all' measures "
        "anew what is not of this code, machine and versions",
    )
    parser.add_argument("--list", action="store_true", help="of 'all': only say what is due, why, and how long it took")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="of 'all': these benchmarks, no others")
    parser.add_argument("--limit", type=float, metavar="MINUTES", help="of 'all': end after so many")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run? Nothing is judged")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go (default benchmarks/results)")
    parser.add_argument("--no-pages", action="store_true", help="leave RESULTS.md and the pages as they are")
    return parser


def _has_unknown(names: list[str], benchmarks: dict[str, Benchmark]) -> bool:
    """Whether a name is that of no benchmark, which the user is then told."""
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}. There are: {', '.join(benchmarks)}.", file=sys.stderr)
    return bool(unknown)


def _list(benchmarks: dict[str, Benchmark]) -> None:
    width = max(map(len, benchmarks), default=0)
    for name, benchmark in benchmarks.items():
        needs = f" (needs {', '.join(benchmark.needs)})" if benchmark.needs else ""
        print(f"{name:{width}}  {benchmark.title}{needs}")


def _run(chosen: list[Benchmark], quick: bool, out: Path | None) -> None:
    from benchmarks.report import render

    progress = logging.getLogger("mercer.benchmarks")
    progress.addHandler(logging.StreamHandler())
    progress.setLevel(logging.INFO)
    for benchmark in chosen:
        print(render(benchmark.run(quick=quick, out_dir=out)))


if __name__ == "__main__":
    sys.exit(main())

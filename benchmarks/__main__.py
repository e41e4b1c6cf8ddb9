"""``python -m benchmarks [list | report | all | NAME ...] [--quick] [--out DIR]``"""

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
    names = list(benchmarks) if options.what == ["all"] else options.what
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}. There are: {', '.join(benchmarks)}.", file=sys.stderr)
        return 2
    _run([benchmarks[name] for name in names], options.quick, options.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Mercer.")
    parser.add_argument(
        "what",
        nargs="*",
        default=["all"],
        help="'list' names the benchmarks, 'report' writes the pages from the results, 'all' runs every one (default)",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run? Nothing is judged")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go (default benchmarks/results)")
    return parser


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

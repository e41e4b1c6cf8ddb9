"""Rows of Parquet files on the workers of a Dask cluster, for the commands."""

__all__ = ["rows_on_dask"]

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer._base.errors import require_extra
from mercer._base.tables import ArgumentError, InputRules, RowSource

_SECONDS = "10s"  # for a scheduler to answer


@contextmanager
def rows_on_dask(paths: list[str], address: str, rules: dict[str, Any]) -> Iterator[RowSource]:
    """The rows of Parquet files, while a client of the cluster is the current one."""
    files = _files(paths)
    dd, distributed = (require_extra(module, "dask", "--dask") for module in ("dask.dataframe", "distributed"))
    from mercer._base.tables.sources.dask import DaskSource

    wanted = InputRules(**{key: rules[key] for key in ("label", "dtype", "id", "drop", "columns", "missing")})
    name = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    with _client(distributed, address):
        yield DaskSource(dd.read_parquet(files), wanted, name)


def _files(paths: list[str]) -> list[str]:
    """Absolute paths, as the workers need them; folders and patterns stand for the Parquet files in them."""
    found = []
    for path in paths:
        inside = f"{path}/*.parquet" if Path(path).is_dir() else path
        files = sorted(glob.glob(inside))
        if not files:
            raise ArgumentError(f"There is no file {inside}.")
        found += files
    for file in found:
        if Path(file).suffix.lower() not in (".parquet", ".pq"):
            raise ArgumentError(f"{file} is not a Parquet file, the only format that --dask reads.")
    return [str(Path(file).resolve()) for file in found]


@contextmanager
def _client(distributed, address: str) -> Iterator[None]:
    if address == "local":
        with distributed.LocalCluster(threads_per_worker=1) as cluster, distributed.Client(cluster):
            yield
        return
    try:
        client = distributed.Client(address, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"There is no Dask scheduler at {address}. Start one with `dask scheduler`, or use --dask local."
        ) from error
    with client:
        yield

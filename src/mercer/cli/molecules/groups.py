"""``mercer molecules cluster`` and ``pick``: a library as groups of similar molecules, and molecules far apart."""

__all__ = ["CLUSTER_EXAMPLES", "PICK_EXAMPLES", "cluster", "pick"]

from mercer._base.parameters import REQUIRED, choice, integer, pathname
from mercer._base.parameters.molecules import CUTOFF
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_json, print_table, progress, took, written_to
from mercer.cli.framework.shared import DIR
from mercer.cli.framework.tables import TABLE_FORMAT, TABLE_OUT, records_of, table_format, write_table

CLUSTER_EXAMPLES = """
  mercer molecules cluster library.index --min-score 0.65 --out clusters.csv
  mercer molecules cluster library.index --method components --min-score 0.8 --out families.csv
"""
PICK_EXAMPLES = """
  mercer molecules pick library.index -n 100 --out diverse.csv
  mercer molecules pick library.index -n 12 --seed 1 --grid diverse.png
"""
_SHOWN = 20  # clusters or molecules printed


@options((DIR, CUTOFF, choice("method", "butina components", "butina", "How clusters are formed: around molecules "
                              "with many neighbors (butina), or by linking all neighbors (components)."),
          TABLE_OUT, TABLE_FORMAT),
         examples=CLUSTER_EXAMPLES, settings=COMMON)  # fmt: skip
def cluster(place, min_score, method, out, out_format, settings: Settings) -> None:
    """Cluster the molecules of a library; memory grows with the number of similar pairs.

    The table has one line per molecule: its cluster, whether it is the center, and its columns. Cluster 0 is the first
    one found, around the molecule with the most neighbors.
    """
    from mercer.molecules import MoleculeIndex

    said = table_format(out, out_format, settings)
    with MoleculeIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        found = index.cluster(min_score, method)
        ids = range(len(found.labels))
        if out is not None:
            centers = set(found.centers.tolist())
            made = {"id": list(ids), "cluster": found.labels.tolist(), "center": [int(i in centers) for i in ids]}
            write_table(out, made | _others(index.columns(ids), made), said)
        sizes = found.sizes
        chosen = found.centers[:_SHOWN]
        middles = index.columns(chosen)
    if settings.json:
        head = {"index": place, "molecules": len(found.labels), "clusters": len(found), "min_score": min_score}
        head |= {"method": method, "singletons": int((sizes == 1).sum()), "largest": int(sizes.max(initial=0))}
        print_json(head | ({"out": out} if out else {"labels": found.labels, "centers": found.centers}))
    elif out is None and not settings.quiet:
        names, smiles = (middles.get(name) or [None] * len(chosen) for name in ("name", "smiles"))
        rows = [[names[i] or "", smiles[i] or "", i, int(sizes[i]), int(chosen[i])] for i in range(len(chosen))]
        titles = ["center", "smiles", "cluster", "molecules", "id"]
        print_table(settings, f"The first of {len(found):,} clusters", titles, rows, text_columns=2)
    note(
        settings,
        f"{len(found):,} clusters of {len(found.labels):,} molecules in {took(watch.seconds)}{written_to(out)}",
    )


@options((DIR, integer("n", REQUIRED, "Number of molecules to pick.", "N", "-n", least=1), TABLE_OUT, TABLE_FORMAT,
          pathname("grid", None, "Picture of the picked molecules to write (png, svg).", "FILE")),
         examples=PICK_EXAMPLES, settings=COMMON)  # fmt: skip
def pick(place, n, out, out_format, grid, settings: Settings) -> None:
    """Pick a diverse subset by MaxMin: each next molecule is the one least similar to those already picked.

    --seed determines the first molecule. The table lists the molecules in the order in which they were picked, each
    with its similarity to the most similar earlier one.
    """
    from mercer.molecules import MoleculeIndex, draw_grid

    said = table_format(out, out_format, settings)
    check_folder(grid)
    with MoleculeIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        if n > len(index):
            raise ArgumentError(f"-n must be an integer from 1 to {len(index)}, the number of molecules; got {n}.")
        ids, similarity = index.pick(n, random_state=settings.seed)
        columns = index.columns(ids)
    known = [None if value != value else value for value in similarity.tolist()]
    made = {"id": ids.tolist(), "rank": list(range(1, n + 1)), "similarity": known}
    table = made | _others(columns, made)
    write_table(out, table, said)
    if grid is not None:
        names = columns.get("name") or ids.tolist()
        draw_grid(
            columns.get("smiles", [None] * n), [str(name or id) for name, id in zip(names, ids, strict=True)], grid
        )
    if settings.json:
        print_json({"index": place, "n": n} | ({"out": out} if out else {"picked": records_of(table)}))
    elif out is None:
        shown = n if settings.quiet else _SHOWN
        rows = [[hit.get("name") or "", hit.get("smiles") or "", hit["rank"],
                 "" if hit["similarity"] is None else f"{hit['similarity']:.4f}", hit["id"]]
                for hit in records_of(table, shown)]  # fmt: skip
        print_table(settings, f"{n} molecules far apart", ["name", "smiles", "rank", "similarity", "id"], rows, 2)
    note(settings, f"{n} molecules picked in {took(watch.seconds)}{written_to(out, grid)}")


def _others(columns: dict[str, list], made: dict[str, list]) -> dict[str, list]:
    """Columns of the index under names that a table does not have yet."""
    return {f"{name}_" if name in made else name: values for name, values in columns.items()}

"""An index in words and as a document: what was chosen, what it holds, what it takes."""

__all__ = ["described", "facts_of_plan", "facts_of_rows"]

import os
from typing import Any

from mercer.cli.framework.errors import in_words_of_command
from mercer.cli.index.parts.files import sizes

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def described(index, place: str) -> dict[str, Any]:
    """For a JSON document."""
    found = index.stats()
    found["path"] = os.path.abspath(place)
    return found | {"columns": index.n_features_in_, "bytes_on_disk": sizes(index, place)}


def facts_of_plan(index) -> list[list[str]]:
    """How rows are compared, embedded and coded: pairs of a name and a text."""
    plan = index.plan_
    store = plan.get("store", "codes")
    compared = f"{'normalized' if index.normalize else 'not normalized'}, {index.measure}"
    kernel = ["kernel", f"{index.kernel_!r}, {compared}"]
    facts = [
        kernel,
        ["store", f"{store}: {in_words_of_command(plan['store_reason'])}" if plan.get("store_reason") else store],
    ]
    if "embedding" not in plan:  # lists without codes
        return facts
    words = f" of words of {plan['bits']} bits" if plan.get("bits", 8) != 8 else ""
    rotation = f", rotation {plan['rotation']}" if plan.get("rotation") else ""
    return [
        *facts,
        ["embedding", f"{plan['embedding']}, {plan['n_components']} components"],
        ["lost", f"{max(0.0, plan['lost_energy']):.1%} of K(x, x), on average over the sample"],
        *([["code", f"{plan['code']}, {plan['bytes_per_item']} bytes{words}{rotation}"]] if "code" in plan else []),
        ["chosen", str(plan["reason"])],
    ]


def facts_of_rows(index, place: str) -> list[list[str]]:
    """What the index holds and takes on disk."""
    found, size = index.stats(), sizes(index, place)
    n_rows, stored = found["rows"], max(1, found["rows"] + found["removed"])
    removed = f", and {found['removed']:,} removed rows whose space compact frees" if found["removed"] else ""
    facts = [["rows", f"{n_rows:,} of {index.n_features_in_:,} columns{removed}"]]
    if found["vectors"] is None:
        facts.append(["kept rows", "none; values are estimated from the codes"])
    else:
        rounded = f"; {found['rounded_rows']:,} of them rounded" if found["rounded_rows"] else ""
        facts.append(["kept rows", f"{found['vectors']}, {size['kept_rows'] / stored:.4g} bytes each{rounded}"])
    if index.columns_:
        facts.append(["columns", ", ".join(f"{name} ({kind})" for name, kind in index.columns_.items())])
    codes = f", codes {_size(size['codes'])}" if found["bytes_per_item"] else ""
    facts.append(["on disk", f"{_size(size['total'])}{codes}"])
    if found["lists"]:
        facts.append(["inverted lists", f"{found['lists']:,}"])
    if found["graph_rows"]:
        facts.append(["graph", f"of {found['graph_rows']:,} rows, {_size(found['graph_bytes'])} in memory"])
    if "embedding" not in found["plan"]:
        return facts
    drift = found["drift"]
    unlike = f"{drift['rows']:,} rows ({drift['share']:.1%}), reconstruction loss above {drift['limit']:.1%}"
    facts.append(["differ from the training sample", unlike])
    return facts


def _size(n_bytes: float) -> str:
    """Bytes in a unit that keeps the number short.

    >>> _size(1536), _size(12)
    ('1.5 KiB', '12 B')
    """
    power = 0
    while n_bytes >= 1024 and power < len(_UNITS) - 1:
        n_bytes, power = n_bytes / 1024, power + 1
    return f"{n_bytes:.1f} {_UNITS[power]}" if power else f"{n_bytes:.0f} B"

"""From the words of a command line to a map."""

__all__ = ["build_embedding", "build_map"]

from collections.abc import Sequence
from typing import Any

from mercer._base.errors import did_you_mean
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import as_argument
from mercer.cli.framework.parameters import OF_KERNEL, named_values

_OF_MAP = "map__"


def build_map(text: str, kernel: str | None, param: Sequence[str], project: int | None, seed: int):
    """The map that NAME[:PARAM=VALUE,...], the kernel and further parameters stand for, not fitted."""
    from mercer.codes import KLSH, RMMH, ProductQuantizer, SignHash
    from mercer.maps import ProjectedMap

    codes = {"pq": ProductQuantizer, "sign": SignHash, "klsh": KLSH, "rmmh": RMMH}
    made = _built(text, _maps() | codes | _embeddings(), "map", kernel, param, seed)
    return made if project is None else ProjectedMap(made, n_components=project, random_state=seed)


def build_embedding(text: str, seed: int):
    """The embedding into bits that NAME[:PARAM=VALUE,...] stands for, not fitted."""
    return _built(text, _embeddings(), "embedding", None, [], seed)


def _maps() -> dict[str, type]:
    """Maps by their names, without the one that --project makes."""
    from mercer.maps import MAPS, ProjectedMap

    return {key: cls for key, cls in MAPS.items() if cls is not ProjectedMap}


def _embeddings() -> dict[str, type]:
    """Embeddings into bits for a wire, by their names on the command line."""
    from mercer.codes import CompactEmbedding, QuantizedJL, UniversalEmbedding

    return {"universal": UniversalEmbedding, "qjl": QuantizedJL, "compact": CompactEmbedding}


def _built(text: str, known: dict[str, type], what: str, kernel: str | None, param: Sequence[str], seed: int):
    name, _, inline = text.partition(":")
    cls = _known(name, known, what)
    given = named_values([*(inline.split(",") if inline else []), *param], "order=2")
    if name == "sign":
        given, kernel = _of_signs(given, kernel, seed), None
    return _configured(cls, f"{what} {name}", kernel, given, seed)


def _known(name: Any, known: dict[str, type], what: str) -> type:
    if name not in known:
        hint = did_you_mean(name, known)
        raise ArgumentError(f"There is no {what} {name!r}. {hint}{what.capitalize()}s: {', '.join(known)}.")
    return known[name]


def _of_signs(given: dict[str, Any], kernel: str | None, seed: int) -> dict[str, Any]:
    """Parameters of a SignHash, whose map is said by its name: under a kernel alone, components, as many as bits."""
    inner = {key: value for key, value in given.items() if key.startswith((OF_KERNEL, _OF_MAP))}
    own = {key: value for key, value in given.items() if key not in inner}
    name = own.pop("map", "kpca" if kernel is not None or inner else None)
    if name is None:
        return own
    of_map = {key.removeprefix(_OF_MAP): value for key, value in inner.items()}
    if name == "kpca":  # features that are not centered lie within a right angle, and so do most of their signs
        of_map = {"center": True, "n_components": own.get("n_bits", 64), **of_map}
    return own | {"map": _configured(_known(name, _maps(), "map"), f"map {name}", kernel, of_map, seed)}


def _configured(cls: type, title: str, kernel: str | None, given: dict[str, Any], seed: int):
    defaults = cls().get_params(deep=False)
    own = {key: value for key, value in given.items() if not key.startswith(OF_KERNEL)}
    of_kernel = {key.removeprefix(OF_KERNEL): value for key, value in given.items() if key.startswith(OF_KERNEL)}
    unknown = sorted(set(own) - set(defaults))
    if unknown:
        accepted = ", ".join(sorted(set(defaults) - {"kernel", "n_jobs", "random_state"}))
        raise ArgumentError(f"The {title} has no parameter {unknown[0]!r}; it takes {accepted}.")
    if "random_state" in defaults:
        own.setdefault("random_state", seed)
    made = cls(**own)
    if kernel is None and not of_kernel:
        return made
    if cls in _embeddings().values():
        raise ArgumentError(f"The {title} encodes the rows themselves and takes no kernel. Remove the kernel.")
    from mercer.kernels import get_kernel

    its_own = made.resolved_kernel()
    with as_argument():
        chosen = get_kernel(kernel or its_own.name, **of_kernel)
    if "kernel" in defaults:
        return made.set_params(kernel=chosen)
    if chosen != its_own:
        raise ArgumentError(f"The {title} works only with the {its_own.name} kernel, not with {chosen.name}.")
    return made

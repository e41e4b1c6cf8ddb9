"""Which parameters of an index go together; refused by `fit`, in the words of `KernelIndex`."""

__all__ = ["CODES", "check_index", "check_model"]

from mercer._base.errors import InputError
from mercer._base.parameters import check_parameters, named
from mercer._base.parameters.search import INDEX, KERNEL_INDEX, SEARCH_MODEL
from mercer.kernels import get_kernel
from mercer.maps.base import FeatureMap
from mercer.search.model.choice import DEFAULT_BYTES, refuse_unserved
from mercer.search.model.measure import Measure

CODES = named(INDEX)["code"].words
EMBEDDINGS = named(INDEX)["embedding"].words


def check_index(index):
    """Refuse a `KernelIndex` whose parameters cannot be."""
    check_parameters(index, KERNEL_INDEX, "KernelIndex")
    check_model(index, "KernelIndex")
    if index.store in ("lists", "graph"):
        refuse_unserved(index)
    if index.n_lists not in ("auto", 0) and index.code not in ("pq", "opq"):
        raise InputError(
            f"KernelIndex supports inverted lists only with code='pq' and code='opq', not with {index.code!r}."
        )


def check_model(model, who="SearchModel"):
    """Refuse a `SearchModel`, or an index, whose embedding and code cannot be."""
    kernel = get_kernel(model.kernel)
    if who == "SearchModel":  # an index has checked its own
        check_parameters(model, SEARCH_MODEL, who)
        if model.store in ("lists", "graph"):
            refuse_unserved(model)
        elif model.bytes_per_item is None:
            named(SEARCH_MODEL)["bytes_per_item"].refuse(None, who)
    if not (isinstance(model.embedding, FeatureMap) or model.embedding in EMBEDDINGS):
        named(SEARCH_MODEL)["embedding"].refuse(model.embedding, who)
    if model.code == "flat" and (model.bytes_per_item or DEFAULT_BYTES) % 4:
        raise InputError(
            "KernelIndex(code='flat') stores float32 numbers, so bytes_per_item must be a multiple of 4; got "
            f"{model.bytes_per_item}."
        )
    if model.bits != 8 and model.code not in ("pq", "opq"):
        raise InputError(
            f"KernelIndex uses bits={model.bits} only with code='pq' and code='opq', not with {model.code!r}."
        )
    _check_combination(model, Measure(kernel, model.normalize, model.measure))


def _check_combination(model, measure):
    kernel, is_map = measure.plain, model.embedding == "map"
    if is_map and not (kernel.additive and kernel.homogeneity):
        raise InputError(
            f"KernelIndex(embedding='map') needs an additive, homogeneous kernel, which {kernel!r} is not. Use 'kpca'."
        )
    own = model.embedding.resolved_kernel() if isinstance(model.embedding, FeatureMap) else kernel
    if own not in (kernel, measure.kernel):
        raise InputError(f"KernelIndex(kernel={kernel!r}) got a map of {own!r}. Use the same kernel for both.")
    if model.code in ("lsh", "universal") and measure.levels_norms:
        raise InputError(
            f"KernelIndex(code={model.code!r}) ranks by directions or distances, but normalize=False with "
            "measure='similarity' ranks by inner products. Use code='pq', normalize=True or measure='distance'."
        )
    if model.code == "lsh" and measure.is_distance and not measure.unit_diagonal:
        raise InputError(
            "KernelIndex(code='lsh') ranks by directions, but normalize=False with measure='distance' ranks by "
            "distances. Use code='pq' or normalize=True."
        )

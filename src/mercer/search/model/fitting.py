"""The model of an index: its parameters, and the store that was chosen for its rows."""

__all__ = ["fitted_model"]

from mercer.search.model.choice import DEFAULT_BYTES, chosen_store
from mercer.search.model.model import SearchModel

MODEL_PARAMETERS = tuple(SearchModel().get_params())


def fitted_model(index, X, before=None):
    """The `SearchModel` of a `KernelIndex` for rows X, with the store that the model ``before`` had."""
    known = None if before is None else (before.store, before.plan_.get("store_reason", "It was chosen before."))
    store, reason = known or chosen_store(index, X)
    parameters = {name: getattr(index, name) for name in MODEL_PARAMETERS} | {"store": store}
    if store == "codes" and index.bytes_per_item is None:
        parameters["bytes_per_item"] = DEFAULT_BYTES
    model = SearchModel(**parameters).fit(X)
    model.plan_ = {"store": store, "store_reason": reason, **model.plan_}
    return model

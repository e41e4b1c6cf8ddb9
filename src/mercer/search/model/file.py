"""The model file of an index in a directory."""

__all__ = ["load_model"]

from mercer._base.errors import ModelFileError
from mercer._base.files.models import load
from mercer.search.model.model import SearchModel

RETRIES = 5  # while another process replaces the generation


def load_model(storage, n_jobs=None):
    """The model of the present generation; a writer may replace it between our look and the reading."""
    for _ in range(RETRIES):
        try:
            model = load(storage.model_path)
            break
        except (OSError, ModelFileError):
            if not storage.refresh().generation_changed:
                raise
    else:
        model = load(storage.model_path)
    if not isinstance(model, SearchModel):
        raise ModelFileError(f"{storage.model_path} holds {type(model).__name__}, not the model of an index.")
    model.n_jobs = n_jobs
    return model

"""Files of pipelines with a valid checksum and lies inside: refused when they are loaded, or harmless when used."""

import copy
import tracemalloc
import warnings

import numpy as np
import pytest
from joblib import parallel_config

import mercer
from mercer._base.errors import ModelFileError
from mercer._base.files import container
from mercer._base.files.models import describe
from tests.base.files.test_pipelines import PREDICTORS, TRANSFORMERS, WORDS, X, Y

LIES = [-1, 0, 1, 7, 2**31, 2**62, -(2**62), 1e308, 1e-320, "x", "", None, True, [], [1, 2]]
LIES += [{"$": "float", "value": "nan"}, {"$": "slice", "items": [0, 2**62, 1]}]
LIES += [{"$": "python_type", "name": "str"}, {"$": "function", "name": "chi2"}]
CASES = [case for case in TRANSFORMERS if "mercer" not in type(case[0]).__module__] + [(each, X) for each in PREDICTORS]
TRIES = 40  # of each model
MOST = 64e6  # bytes that a forged file of a few kilobytes may make anybody ask for


def parts(model, path):
    """(document, arrays) of the file of a model."""
    mercer.save(model, path)
    header, arrays = container.read(path)
    document = {key: value for key, value in header.document.items() if key != "format"}
    return document, dict(arrays)


def forge(path, document, arrays):
    container.write(path, document, arrays)


def refused(path, document, arrays, reason):
    forge(path, document, arrays)
    with pytest.raises(ModelFileError, match=reason):
        mercer.load(path)


def leaves(node, found):
    """(container, key) of every value of a document that is neither a tag nor the name of an array."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if key in ("$", "of"):
            continue
        found.append((node, key))
        if isinstance(value, dict | list):
            leaves(value, found)
    return found


def lied(document, arrays, rng):
    """A copy with one or two values or arrays changed."""
    document, arrays = copy.deepcopy(document), dict(arrays)
    for _ in range(rng.integers(1, 3)):
        if arrays and rng.random() < 0.5:
            name = rng.choice(sorted(arrays))
            arrays[name] = changed(arrays[name], rng)
        else:
            places = leaves(document["object"], [])
            holder, key = places[rng.integers(len(places))]
            holder[key] = copy.deepcopy(LIES[rng.integers(len(LIES))])
    return document, arrays


def changed(array, rng):
    kind = rng.integers(6)
    if kind == 0:
        return array[: len(array) // 2] if array.ndim else array
    if kind == 1:
        return np.concatenate([array, array]) if array.ndim else array
    if kind == 2:
        with np.errstate(all="ignore"):
            return array.astype([np.float32, np.int64, np.uint8, np.int8][rng.integers(4)])
    if kind == 3:
        return array[..., None]
    array = array.copy()
    if array.size:
        lies = [np.nan, np.inf, 1e300, -1.0] if array.dtype.kind == "f" else [0, 1, 100, 255, -1, 2**31, 2**62]
        value = lies[rng.integers(len(lies))]
        flat = array.reshape(-1)
        with np.errstate(all="ignore"):
            flat[rng.integers(flat.size) if kind == 4 else slice(None)] = np.asarray(value).astype(array.dtype)
    return array


@pytest.mark.parametrize(("model", "rows"), CASES, ids=lambda each: type(each).__name__)
def test_lies_are_refused_or_end_in_an_ordinary_exception(model, rows, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)  # forged files need not outlive a power cut
    path, rng = tmp_path / "forged.mercer", np.random.default_rng(7)
    document, arrays = parts(model.fit(rows, Y), path)
    refusals = 0
    for _ in range(TRIES):
        forge(path, *lied(document, arrays, rng))
        tracemalloc.start()
        try:
            # a lie about n_jobs would start processes
            with warnings.catch_warnings(), np.errstate(all="ignore"), parallel_config("sequential"):
                warnings.simplefilter("ignore")
                loaded = mercer.load(path)
                getattr(loaded, "predict" if hasattr(loaded, "predict") else "transform")(rows)
        except ModelFileError:
            refusals += 1
        except MemoryError:
            raise
        except Exception:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < MOST
    assert refusals > TRIES / 3


def scaler(tmp_path):
    path = tmp_path / "forged.mercer"
    model = next(model for model, _ in TRANSFORMERS if type(model).__name__ == "StandardScaler").fit(X)
    return path, *parts(model, path)


def test_only_listed_classes_attributes_and_functions_can_be_named(tmp_path):
    path, document, arrays = scaler(tmp_path)
    for name in ("sklearn.RandomForestClassifier", "sklearn.os", "sklearn.", "StandardScaler", "sklearn.Pipeline.x"):
        other = copy.deepcopy(document)
        other["object"]["class"] = name
        refused(path, other, arrays, "which this version does not know")
        describe(path)
    for name in ("__class__", "transform", "_repr_html_", "predict_", "with_mean"):
        other = copy.deepcopy(document)
        other["object"]["state"][name] = 1
        refused(path, other, arrays, "is not an attribute that model files support")
    other = copy.deepcopy(document)
    other["object"]["parameters"]["copy"] = {"$": "function", "name": "load_files"}
    refused(path, other, arrays, "malformed 'function'")


def test_attributes_that_lack_or_do_not_fit_are_named(tmp_path):
    path, document, arrays = scaler(tmp_path)
    other = copy.deepcopy(document)
    del other["object"]["state"]["n_samples_seen_"]
    refused(path, other, arrays, r"lacks n_samples_seen_, which scikit-learn \d+\.\d+ needs. Fit and save it")
    refused(path, document, arrays | {"mean_": arrays["mean_"] * np.nan}, "mean_ is not valid .not finite")
    refused(path, document, arrays | {"scale_": np.ones(3)}, "scale_ .*3 entries where 4 belong")


def test_a_pipeline_names_no_folder_of_pickles_and_no_army_of_workers(tmp_path):
    path = tmp_path / "forged.mercer"
    document, arrays = parts(PREDICTORS[0].fit(X, Y), path)
    other = copy.deepcopy(document)
    other["object"]["parameters"]["memory"] = "/tmp/cache"
    refused(path, other, arrays, "memory must be None")
    union = next(model for model, _ in TRANSFORMERS if type(model).__name__ == "FeatureUnion").fit(X)
    document, arrays = parts(union, path)
    document["object"]["parameters"]["n_jobs"] = 10**6
    refused(path, document, arrays, "n_jobs=1000000 is not a number of at most 128")


def test_an_encoder_makes_no_columns_that_its_matrix_does_not_have(tmp_path):
    from sklearn.preprocessing import OneHotEncoder

    path = tmp_path / "forged.mercer"
    document, arrays = parts(OneHotEncoder(drop="first").fit(WORDS), path)
    for index in (-5, 3, 2**40):
        other = copy.deepcopy(document)
        for name in ("drop_idx_", "_drop_idx_after_grouping"):
            other["object"]["state"][name] = [index, 0]
        refused(path, other, arrays, "is refused")
    document["object"]["state"]["_n_features_outs"] = [1, 1]
    refused(path, document, arrays, "does not match its categories")


def test_a_degree_asks_for_no_more_columns_than_the_formula(tmp_path):
    from sklearn.preprocessing import PolynomialFeatures

    path = tmp_path / "forged.mercer"
    document, arrays = parts(PolynomialFeatures(2).fit(X), path)
    document["object"]["parameters"]["degree"] = 60
    document["object"]["state"]["_max_degree"] = 60
    refused(path, document, arrays, "does not match its degree")

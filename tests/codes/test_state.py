"""A quantizer from a file: what its loops would trust is checked first."""

import numpy as np
import pytest

import mercer
from mercer.codes import ProductQuantizer
from mercer.kernels import RBF
from mercer.spaces import BlockFactor, Identity


def fitted(**parameters):
    X = np.random.default_rng(0).random((60, 10), dtype=np.float32)
    return ProductQuantizer(4, bits=3, random_state=0, **parameters).fit(X)


def codebooks(words=8, sizes=(4, 4, 2), dtype=np.float32, value=0.5, repeat=1):
    return BlockFactor([np.full((size, words), value, dtype=dtype) for size in sizes], repeat)


HOSTILE = {
    "an inner product of another kind": {"inner_": Identity(24)},
    "more words than the bits of a code can name": {"inner_": codebooks(words=9)},
    "words of fewer bits than there are words": {"bits": 2},
    "no words": {"inner_": codebooks(words=0)},
    "words of a different width": {"inner_": codebooks(sizes=(4, 4, 4))},
    "a block too few": {"inner_": codebooks(sizes=(4, 6))},
    "repeated codebooks": {"inner_": codebooks(repeat=2)},
    "float64 codebooks": {"inner_": codebooks(dtype=np.float64)},
    "NaN": {"inner_": codebooks(value=np.nan)},
    "block sizes that are negative": {"block_sizes_": np.array([4, 8, -2])},
    "block sizes that do not add up": {"block_sizes_": np.array([4, 4, 3])},
    "block sizes of a type": {"block_sizes_": np.array([4.0, 4.0, 2.0])},
    "a different width": {"n_features_in_": 11},
    "a width that is no number": {"n_features_in_": "10"},
    "a column twice": {"rotation_": np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 8])},
    "a column that does not exist": {"rotation_": np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10])},
    "a matrix of a different width": {"rotation_": np.eye(10, 9, dtype=np.float32)},
    "a matrix with infinity": {"rotation_": np.full((10, 10), np.inf, dtype=np.float32)},
    "a rotation that is none": {"rotation_": "opq"},
    "tables without a kernel": {"tables_": np.ones((1, 10, 5, 3), dtype=np.float32)},
    "no kernel": {"kernel_": "linear"},
}
HOSTILE_KERNEL = {
    "tables with NaN": {"tables_": np.full((1, 10, 512, 3), np.nan, dtype=np.float32)},
    "tables of fewer functions": {"tables_": np.ones((1, 10, 512, 2), dtype=np.float32)},
    "points that descend": {"points_": np.zeros((10, 512))},
    "no tables": {"tables_": None},
    "a kernel without columns": {"kernel_": RBF(1.0)},
    "a rotation that mixes columns": {"rotation_": np.eye(10, dtype=np.float32)},
    "reconstructions of other words": {"reconstruction_": codebooks(words=7)},
    "reconstructions of a different width": {"reconstruction_": codebooks(sizes=(12, 12, 6))},
}


def refused(quantizer, changes, path):
    for name, value in changes.items():
        setattr(quantizer, name, value)
    mercer.save(quantizer, path)
    with pytest.raises(mercer.ModelFileError, match=r"does not describe a valid (ProductQuantizer|BlockFactor)"):
        mercer.load(path)


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_state_is_refused(what, tmp_path):
    refused(fitted(), HOSTILE[what], tmp_path / "x.mercer")


@pytest.mark.parametrize("what", HOSTILE_KERNEL)
def test_hostile_state_of_a_kernel_is_refused(what, tmp_path):
    refused(fitted(kernel="chi2"), HOSTILE_KERNEL[what], tmp_path / "x.mercer")


def test_a_quantiser_that_is_not_fitted_can_be_saved(tmp_path):
    mercer.save(ProductQuantizer(3, kernel="js"), tmp_path / "x.mercer")
    assert repr(mercer.load(tmp_path / "x.mercer")) == "ProductQuantizer(block_size=3, kernel='js')"


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(mercer.InputError, match=r"needs u of shape \(10,\) or \(10, classes\), got \(9,\)"):
        fitted().fold_factors(np.ones(9))
    with pytest.raises(mercer.InputError, match="needs rows of 10 features; got 9"):
        fitted().fold_factors(np.ones(10))(np.ones((2, 9)))

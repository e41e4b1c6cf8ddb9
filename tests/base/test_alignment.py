"""Arrays of a message: moved where products are quick, in whatever they lie."""

from collections import namedtuple

import numpy as np
from scipy import sparse

from mercer import NystroemMap
from mercer._base.alignment import settled
from mercer.spaces import Design, Identity

Pair = namedtuple("Pair", "one other")


def odd(a):
    """The same array at an address that is not a multiple of its numbers' size."""
    space = np.empty(a.nbytes + 1, dtype=np.uint8)[1:]
    moved = np.ndarray(a.shape, a.dtype, space, order="F" if a.flags.f_contiguous else "C")
    moved[...] = a
    assert not moved.flags.aligned
    return moved


def test_arrays_are_moved_with_their_order_and_what_is_shared_stays_shared():
    a = np.arange(6.0).reshape(2, 3)
    strange, tall = odd(a), odd(np.asfortranarray(a))
    found = settled([strange, (strange, 7), {"tall": tall}, Pair(tall, a)])
    assert found[0] is found[1][0]
    assert found[2]["tall"] is found[3].one
    assert found[3].other is a
    assert found[2]["tall"].flags.f_contiguous
    for each in (found[0], found[2]["tall"]):
        assert each.flags.aligned
        np.testing.assert_array_equal(each, a)
    same = (1, a, "text")
    assert settled(same) is same


def test_objects_are_looked_into_and_changed_in_place(rng):
    X = sparse.random_array((20, 9), density=0.3, random_state=rng, format="csr")
    X.data, X.indices = odd(X.data), odd(X.indices)
    assert settled(X) is X
    assert X.data.flags.aligned
    assert X.indices.flags.aligned
    design = Design(rng.random((30, 4)), Identity(4))
    wanted = design.accumulate(np.ones(30))
    design.rows.X = odd(design.rows.X)
    np.testing.assert_array_equal(settled(design).accumulate(np.ones(30)), wanted)
    assert design.rows.X.flags.aligned
    map = NystroemMap("rbf", n_landmarks=7, random_state=0).fit(rng.random((40, 6)))
    map.landmarks_ = odd(map.landmarks_)
    assert settled({"map": map})["map"].landmarks_.flags.aligned

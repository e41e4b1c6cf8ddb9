"""Threefry-2x32-20: the published answers, and half-words at any place."""

import numpy as np
import pytest

from mercer._native.threefry import fill_halfwords
from tests.reference import threefry as reference

# as plain Python, words wrap with a warning
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")

ONES = 2**32 - 1
KNOWN = [  # key, counter, answer: known-answer tests of Random123
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "answer"), KNOWN)
def test_the_published_answers_come_out(key, counter, answer):
    assert reference.threefry(*key, *counter) == answer
    out = np.empty(4, np.uint16)
    fill_halfwords(*map(np.uint32, key), np.uint32(counter[1]), 4 * counter[0], out)
    words = out.view("<u4").astype(np.uint32)
    assert tuple(words.tolist()) == answer


@pytest.mark.parametrize("first", [0, 1, 3, 6, 2**34 - 9])
def test_halfwords_are_those_of_their_place(first):
    got, want = np.empty(9, np.uint16), np.empty(9, np.uint16)
    fill_halfwords(np.uint32(7), np.uint32(123456789), np.uint32(2), first, got)
    reference.fill_halfwords(7, 123456789, 2, first, want)
    np.testing.assert_array_equal(got, want)

"""Two thousand forged files, used on a build with bounds checks; and that this build sees what it is there to see."""

import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer._base.files.objects import saveable_class
from tests.hostile.fuzz.campaign import ROOT, Campaign, checked_environment
from tests.hostile.fuzz.forging import forge, read_seeds

FOLDER = ROOT / "build" / "fuzz-tests"  # compiled loops are kept there: the first run takes minutes
CASES = 2000
# functions are no data; an index has a directory
NOT_IN_FILES = {"CallableKernel", "KernelIndex", "KernelNeighbors", "StoreIndex"}

OUTSIDE = """
import numpy as np
from mercer._native.jit import inline, jit
from mercer._native.lanes import add_lanes

@inline
def formula(x, i):
    return x[i]

@jit
def read(x, i):
    return formula(x, i)

@jit
def add(x, i):
    add_lanes(x, i, x, 0)

def outcome(function, i):
    try:
        function(np.zeros(16, dtype=np.float32), i)
    except IndexError as error:
        return str(error)

print([outcome(read, i) for i in (15, 16)], [outcome(add, i) for i in (8, 9)])
"""


def test_every_class_that_can_be_saved_is_forged():
    documents = "".join(seed.document for seed in read_seeds())
    names = {name for name, module in mercer._NAMES.items() if module != "mercer.toys"}
    classes = {name for name in names if saveable_class(name)} - NOT_IN_FILES
    assert {name for name in classes if f'"class": "{name}"' not in documents} == set()


def test_a_case_is_told_by_its_number():
    seeds = read_seeds()
    first, second = (forge(seeds, 17) for _ in range(2))
    assert first.content == second.content
    assert first.changes == second.changes != []
    assert len({forge(seeds, case).content for case in range(50)}) >= 45  # two small changes may be the same


@pytest.mark.process
def test_the_build_with_bounds_checks_sees_inlined_formulas_and_lanes(tmp_path):
    (tmp_path / "outside.py").write_text(OUTSIDE, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(tmp_path / "outside.py")],
        env=checked_environment(tmp_path), capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = "'index is out of bounds'"
    assert run.stdout == f"[None, {said}] [None, {said}]\n"


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_two_thousand_forged_files_do_no_harm():
    campaign = Campaign(FOLDER)
    campaign.run(CASES)
    assert campaign.findings == []
    assert sum(campaign.counts.values()) == CASES
    assert min(campaign.counts["refused"], campaign.counts["used"]) > CASES / 5


def test_arrays_of_forged_files_are_not_those_of_the_seeds():
    seeds = read_seeds()
    before = [{name: array.copy() for name, array in seed.arrays.items()} for seed in seeds]
    for case in range(200):
        forge(seeds, case)
    for seed, arrays in zip(seeds, before, strict=True):
        assert all(np.array_equal(seed.arrays[name], array) for name, array in arrays.items())

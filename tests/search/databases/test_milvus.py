"""An index in Milvus: files that are opened again, payload, names and limits."""

import subprocess
import sys

import numpy as np
import pytest

from mercer import InputError, KernelIndex, MercerError
from tests.search.index_samples import histograms, index

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X = histograms(120)
Q = histograms(15, seed=7)


def test_a_file_that_is_opened_again_holds_everything(milvus):
    made = index(X, oversample=1000)
    with made.push(milvus, "shop") as found:
        found.remove([3]).update(X[4:5], [5])
        expected = found.search(Q, 6)
    with KernelIndex.connect(milvus, "shop", model=made) as found:
        assert len(found) == 119
        for part, wanted in zip(found.search(Q, 6), expected, strict=True):
            np.testing.assert_array_equal(part, wanted)
        assert "index_type: HNSW" in found.explain(Q[:1])
        assert "metric_type: IP" in found.explain(Q[:1])


IN_ANOTHER_PROCESS = """
import sys, warnings
warnings.simplefilter("ignore")
from mercer import KernelIndex
from tests.search.index_samples import histograms, index
place, verb = sys.argv[1:]
with (index(histograms(120)).push if verb == "push" else KernelIndex.connect)(place, "shop") as found:
    print(len(found), found.search(histograms(15, seed=7), 3)[0].tolist())
"""


def elsewhere(place, verb):
    """What another process prints, and what it complains about."""
    done = subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS, place, verb], capture_output=True, text=True)
    return done.stdout, done.stderr


def test_a_file_that_another_process_has_filled_is_opened(milvus):
    said, complaints = elsewhere(milvus, "push")
    assert said.startswith("120 [["), complaints
    assert elsewhere(milvus, "connect")[0] == said
    with KernelIndex.connect(milvus, "shop") as found:
        assert f"120 {found.search(Q, 3)[0].tolist()}\n" == said
        _, complaints = elsewhere(milvus, "connect")  # while it is open here
    assert "rows.db cannot be opened: it is open in another process" in complaints.splitlines()[-1]
    assert "Failed to start MilvusLite" not in complaints  # with a traceback of its own


def test_a_file_that_is_not_there_is_not_made_by_opening_it(milvus, tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*rows.db of Milvus Lite. Push an index to it first."):
        KernelIndex.connect(milvus, "shop")
    assert not list(tmp_path.iterdir())
    (tmp_path / "rows.db").write_text("not a database")
    with pytest.raises(MercerError, match=r"rows.db cannot be opened: .*File exists"):
        KernelIndex.connect(milvus, "shop")


def test_the_payload_filters_and_stays_when_a_row_is_replaced(milvus):
    with index(X, add=False).push(milvus, "shop") as found:
        found.add(X, range(120), {"year": 2000 + np.arange(120) % 10, "name": [f"it's {i}" for i in range(120)]})
        found.update(X[:3], [0, 1, 2])
        ids, _ = found.search(X[:3], 12, filter='year == 2000 and name != "it\'s 10"')
        assert {*ids.ravel().tolist()} == {*range(0, 120, 10)} - {10} | {-1}
        with pytest.raises(InputError, match=r"Write them into the filter"):
            found.search(Q, 2, filter=("year > {since}", {"since": 2003}))
        with pytest.raises(MercerError, match=r"rows.db reported: .*unexpected"):
            found.search(Q, 2, filter="year >")


def test_what_milvus_cannot_do_is_refused(milvus):
    import pymilvus

    made = index(X)
    for name in ("my shop", "1st", "mercer_indexes"):
        with pytest.raises(InputError, match=r"names of letters, digits and underscores"):
            made.push(milvus, name)
    with pytest.raises(MercerError, match=r"Float16Vector"):  # Milvus Lite; servers have it
        made.push(milvus, "half", dtype="float16")
    client = pymilvus.MilvusClient(milvus.removeprefix("milvus://"))
    assert "half" not in client.list_collections()
    client.create_collection("theirs", dimension=4)
    with pytest.raises(InputError, match=r"has a collection theirs that is not an index of Mercer"):
        made.push(client, "theirs")
    with made.push(client, "shop") as found:
        with pytest.raises(InputError, match=r"does not support transactions"):
            found.transaction()
        with pytest.raises(InputError, match=r"at most 16,384 candidates"):
            found.search(Q, 2000)
    assert client.has_collection("shop")  # a client of the caller's own stays open
    client.close()


def test_a_push_that_fails_leaves_no_collection(milvus, monkeypatch):
    from mercer.search.databases.milvus.store import MilvusStore

    def fail(store):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(MilvusStore, "finish", fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        index(X).push(milvus, "shop")
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"no index of Mercer in the collection shop; there are none"):
        KernelIndex.connect(milvus, "shop")


def test_addresses_and_passwords():
    from mercer.search.databases.milvus.session import _settings

    assert _settings("milvus://me:p%40ss@host:19530/shop") == (
        {"uri": "http://host:19530", "db_name": "shop", "token": "me:p@ss"},
        "milvus://host:19530/shop",
    )
    assert _settings("milvus+https://host:443") == (
        {"uri": "https://host:443", "db_name": ""},
        "milvus+https://host:443",
    )
    assert _settings("milvus:///data/rows.db") == ({"uri": "/data/rows.db"}, "milvus:///data/rows.db")
    assert _settings("milvus://rows.db") == ({"uri": "rows.db"}, "milvus://rows.db")
    with pytest.raises(InputError, match=r"milvus://HOST:PORT"):
        _settings("milvus://")


def test_a_collection_that_somebody_dropped_is_named_and_replaced(milvus):
    from pymilvus import MilvusClient

    made = index(X, oversample=1000)
    made.push(milvus, "shop").close()
    client = MilvusClient(milvus.removeprefix("milvus://"))
    client.drop_collection("shop")
    client.close()
    with pytest.raises(InputError, match=r"The collection shop of .* held an index, but .* replace=True"):
        KernelIndex.connect(milvus, "shop")
    with made.push(milvus, "shop", replace=True) as found:
        assert len(found) == 120

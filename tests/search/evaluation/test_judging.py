"""An index judged against true neighbors: equal rows, bytes, curves and the picture of several indexes."""

import numpy as np
import pytest

from mercer import InputError, KernelIndex
from mercer.search import IndexEvaluation, SearchQuality, evaluate_index, plot_recall
from mercer.search.evaluation.judging import Answer, curve_ranks, judged
from mercer.search.evaluation.plot import points_of

X = np.random.default_rng(1).dirichlet(np.ones(8), size=460).astype(np.float32)
Q = X[400:]


def made(**further):
    parameters = {"bytes_per_item": 1, "n_landmarks": 32, "n_components": 2, "effort": "low", "embedding": "kpca"}
    return KernelIndex("chi2", **parameters | further, random_state=0).fit(X[:400])


def quality(code, n_bytes, **recall):
    names = {name.replace("_at_", "@"): value for name, value in recall.items()}
    return IndexEvaluation(code, 9, [SearchQuality("codes", (n_bytes,), names, 0.25)], [(1, 0.5)], 0)


def test_rows_that_are_equally_near_are_equally_good():
    index = made().add(X[:300]).add(X[:300])  # row i is also row i + 300
    ids, values = index.search(Q, 3, exact=True)
    assert (ids[:, 0] + 300 == ids[:, 1]).all()
    others = Answer(np.where(ids < 300, ids + 300, ids - 300)[:, [2, 1, 0]], None, 0.0)
    # three of the nearest are a pair and the first of the next pair, whose second is as good
    assert judged(index, Q, others, (ids, values))(3, 3) == 1
    assert judged(index, Q, others, (ids, None))(3, 3) == pytest.approx(2 / 3)


def test_true_ids_are_believed_and_must_be_in_the_index():
    index = made().add(X[:400])
    ids, _ = index.search(Q, 5, rerank=False)
    codes, ranked = evaluate_index(index, Q, 5, [1], true_ids=ids).searches  # what the codes find is taken for true
    assert codes.recall == {"recall_1@1": 1.0, "recall_5@5": 1.0}
    assert ranked.recall["recall_1@1"] < 1
    with pytest.raises(InputError, match=r"true_ids that are in the index; 400 is not"):
        evaluate_index(index, Q, 5, true_ids=np.where(ids == ids[3, 2], 400, ids))


def test_queries_that_are_rows_of_the_index_are_counted():
    assert evaluate_index(made().add(X[:400]), np.concatenate([X[:3], Q]), 5).n_selves == 3


def test_codes_and_kept_rows_are_told_apart():
    line = SearchQuality("re-ranked", (8.0, 130.5), {"recall_1@1": 0.5}, 0.25)
    assert line.bytes_text == "8+130.5"
    document = IndexEvaluation("pq", 9, [line], [(1, 0.5)], 0).as_dict()
    assert document["searches"][0]["bytes_per_item"] == 138.5


@pytest.mark.parametrize("last", [1, 2, 7, 100, 1234])
def test_a_curve_runs_from_the_first_rank_to_the_last(last):
    ranks = curve_ranks(last)
    assert (ranks[0], ranks[-1]) == (1, last)
    assert ranks == sorted(set(ranks))


def test_recall_is_drawn_against_the_bytes_of_each_code():
    found = {
        "short": quality("pq", 1.0, recall_1_at_1=0.2, recall_1_at_10=0.5),
        "long": quality("pq", 4.0, recall_1_at_1=0.4, recall_1_at_10=0.9),
        "bits": quality("lsh", 4.0, recall_1_at_1=0.3),
    }
    assert points_of(found.values(), "pq", 10) == [(1.0, 0.5), (4.0, 0.9)]
    assert points_of(found.values(), "lsh", 1) == [(4.0, 0.3)]
    assert points_of(found.values(), "lsh", 10) == []
    pytest.importorskip("matplotlib")
    of_ranks, of_bytes = plot_recall(found, "three").axes
    assert [line.get_label() for line in of_ranks.lines[:3]] == [
        "short: pq, 1 bytes",
        "long: pq, 4 bytes",
        "bits: lsh, 4 bytes",
    ]
    assert [sorted(line.get_xdata()) for line in of_bytes.lines[:2]] == [[1.0, 4.0], [4.0]]
    assert len(plot_recall({"short": found["short"]}).axes) == 1  # one size of codes: nothing to compare

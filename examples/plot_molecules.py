r"""
Molecules: counts of fragments, compared by min-max
===================================================

Chemists describe a molecule by the fragments in it and compare two of them by the Tanimoto similarity: what
they share over what they have together. Most programs only note *which* fragments occur. Counting *how often*
needs the Tanimoto similarity of counts, :math:`\sum_j \min(x_j, y_j) / \sum_j \max(x_j, y_j)`, which Mercer
calls the min-max kernel. Hashes turn it into something linear.
"""

# %%
# Molecules as rows
# -----------------
#
# :func:`mercer.datasets.load_molecules` reads 41,127 molecules that were tested against HIV;
# :func:`mercer.features.count_fingerprints` counts their fragments with RDKit (``pip install
# 'mercer[examples]'``). Without the file or RDKit, made-up counts stand in.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit

from mercer import KernelClassifier, KernelIndex, MercerError, MinMax, WeightedMinHash, exact_knn
from mercer.datasets import load_molecules, make_fingerprints
from mercer.features import count_fingerprints, murcko_scaffolds

try:
    molecules = load_molecules()
    # every fifth molecule, so that the page takes a minute
    smiles, active = molecules.smiles[::5], molecules.active[::5]
    X, understood = count_fingerprints(smiles)
    smiles, active = smiles[understood], active[understood]
    scaffold = murcko_scaffolds(smiles)
    refused = int((~understood).sum())
    print(f"Real molecules: {len(active):,} of {len(molecules.active):,}; RDKit refuses {refused} of those taken.")
except MercerError as error:
    made_up = make_fingerprints(random_state=0)
    X, active, scaffold = made_up.data, made_up.active, made_up.scaffold
    print(f"{type(error).__name__}: {len(active):,} made-up fingerprints. The numbers below mean nothing.")

binary = X.copy()
binary.data[:] = 1
print(f"{X.nnz / X.shape[0]:.0f} fragments each, {100 * (X.data > 1).mean():.0f} % of them more than once")
print(f"{100 * active.mean():.1f} % of the molecules are active")

# %%
# Hashes instead of a matrix
# --------------------------
#
# :class:`mercer.WeightedMinHash` keeps one byte per hash. Two molecules agree in a hash with a probability of
# exactly their similarity, so more hashes mean a better estimate.

some = X[:200]
exact = MinMax()(some)
figure, panels = plt.subplots(1, 2, figsize=(7, 3.3), layout="constrained", sharex=True, sharey=True)
for panel, n_hashes in zip(panels, (64, 1024), strict=True):
    estimate = WeightedMinHash(n_hashes, random_state=0).fit(some).approximate_kernel(some)
    above = np.triu_indices(len(exact), 1)
    panel.plot(exact[above], estimate[above], ".", markersize=2, alpha=0.3, color="#0072B2", rasterized=True)
    panel.axline((0, 0), slope=1, color="black", linewidth=0.8)
    panel.set(xlabel="exact min-max", title=f"{n_hashes:,} bytes per molecule")
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("by hashes")

# %%
# Which molecules are active?
# ---------------------------
#
# Whole scaffolds (the rings and what links them) are put on one side of the split, so that the test is about new
# chemistry. Actives are few, so the ROC-AUC is the measure. C is chosen on a part of the training scaffolds. The
# benchmark ``uses-molecules`` takes all molecules and states intervals.

split = GroupShuffleSplit(1, test_size=0.2, random_state=0)
train, test = next(split.split(active, groups=scaffold))
fitted, held = (train[part] for part in next(split.split(train, groups=scaffold[train])))


def quality(rows, learnt, judged, **chosen):
    """ROC-AUC on some of the molecules of a machine that learnt from others."""
    model = KernelClassifier(loss="logistic", tol=1e-2, random_state=0, **chosen).fit(rows[learnt], active[learnt])
    return roc_auc_score(active[judged], model.decision_function(rows[judged]))


linear, hashes = {"kernel": "linear"}, {"map": WeightedMinHash(512, random_state=0)}
scores = {}
for name, rows, chosen, values in (
    ("linear, binary", binary, linear, (0.01, 0.1, 1.0)),
    ("linear, counts", X, linear, (0.01, 0.1, 1.0)),
    ("min-max, binary", binary, hashes, (0.3, 3.0, 30.0)),
    ("min-max, counts", X, hashes, (0.3, 3.0, 30.0)),
):
    C = max(values, key=lambda C: quality(rows, fitted, held, C=C, **chosen))
    scores[name] = quality(rows, train, test, C=C, **chosen)
    print(f"{name:16s} ROC-AUC {scores[name]:.3f} (C = {C:g})")

places = np.arange(len(scores))[::-1]
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = axes.barh(places, list(scores.values()), color=["#E69F00", "#E69F00", "#0072B2", "#0072B2"], height=0.6)
axes.bar_label(bars, fmt="%.3f", padding=3, fontsize=8)
axes.set_yticks(places, list(scores))
axes.set(xlabel="ROC-AUC, new scaffolds", xlim=(0.4, 1))
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which molecules are alike?
# --------------------------
#
# The same kernel searches: 32 bytes per molecule bring candidates, the exact kernel ranks them. ``oversample``
# says how many candidates get their exact value.

index = KernelIndex("min-max", bytes_per_item=32, n_landmarks=256, effort="low", random_state=0).fit(X).add(X)
asked = np.flatnonzero(active)[:100]
true, _ = exact_knn("min-max", X, X[asked], 10)
by_binary, _ = exact_knn("min-max", binary, binary[asked], 10)


def agreement(ids):
    """Share of the ten nearest by exact min-max of counts."""
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids, true, strict=True)])


factors = (2, 5, 10, 20, 50)
shares = [agreement(index.set_params(oversample=factor).search(X[asked], 10)[0]) for factor in factors]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot([10 * factor for factor in factors], shares, "o-", color="#0072B2", label="32 bytes, re-ranked")
axes.axhline(agreement(by_binary), color="#E69F00", label="exact Tanimoto of binary fingerprints")
axes.set(xscale="log", xlabel="candidates that get their exact value", ylabel="share of the true ten", ylim=(0, 1.05))
axes.set_xticks([10 * factor for factor in factors], [f"{10 * factor}" for factor in factors])
axes.minorticks_off()
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=8, loc="lower right")

# %%
# Binary fingerprints are another similarity, not a worse approximation of this one: their line says how often
# the two agree.

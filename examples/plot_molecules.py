r"""
Molecules: counts of fragments, compared by min-max
===================================================

Chemists describe a molecule by the fragments in it and compare two molecules by their Tanimoto similarity: what they
share, divided by what they have together. Most programs record only *which* fragments occur. Counting *how often* they
occur needs the Tanimoto similarity of counts, :math:`\sum_j \min(x_j, y_j) / \sum_j \max(x_j, y_j)`, which Mercer
calls the min-max kernel. Hashes approximate it at linear cost.
"""

# %%
# Molecules as rows
# -----------------
#
# :func:`mercer.datasets.load_molecules` reads 41,127 molecules that were tested against HIV;
# :func:`mercer.features.count_fingerprints` counts their fragments with RDKit (``pip install
# 'mercer[molecules]'``). If the file or RDKit is missing, made-up counts take their place.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit

from mercer import KernelClassifier, MercerError, MinMax, WeightedMinHash, exact_knn
from mercer.datasets import load_molecules, make_fingerprints
from mercer.features import count_fingerprints, murcko_scaffolds
from mercer.molecules import MoleculeIndex, Molecules, draw_grid

try:
    molecules = load_molecules()
    # every fifth molecule, so that the page takes a minute
    smiles, active = molecules.smiles[::5], molecules.active[::5]
    X, understood = count_fingerprints(smiles)
    smiles, active = smiles[understood], active[understood]
    scaffold, claim = murcko_scaffolds(smiles), None
    refused = int((~understood).sum())
    print(f"Real molecules: {len(active):,} of {len(molecules.active):,}; RDKit refuses {refused} of those taken.")
except MercerError as error:
    made_up = make_fingerprints(random_state=0)
    X, active, scaffold, smiles = made_up.data, made_up.active, made_up.scaffold, None
    claim = "made-up fingerprints: these numbers allow no conclusions"
    print(f"{type(error).__name__}: {len(active):,} made-up fingerprints. Nothing follows from the numbers below.")

binary = X.copy()
binary.data[:] = 1
print(f"{X.nnz / X.shape[0]:.0f} fragments each, {100 * (X.data > 1).mean():.0f} % of them more than once")
print(f"{100 * active.mean():.1f} % of the molecules are active")

# %%
# Hashes instead of a matrix
# --------------------------
#
# :class:`mercer.WeightedMinHash` keeps one byte per hash. The probability that two molecules agree in a hash is exactly
# their similarity, so more hashes give a better estimate.

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
figure.suptitle(claim, fontsize=9)

# %%
# Which molecules are active?
# ---------------------------
#
# Molecules with the same scaffold (the rings and what links them) are on the same side of the split, so the test is
# about new chemistry. Few molecules are active, so the measure is ROC-AUC. C is chosen on a part of the training
# scaffolds. The benchmark ``uses-molecules`` uses all molecules and gives intervals.

split = GroupShuffleSplit(1, test_size=0.2, random_state=0)
train, test = next(split.split(active, groups=scaffold))
fitted, held = (train[part] for part in next(split.split(train, groups=scaffold[train])))


def quality(rows, learned, judged, **chosen):
    """ROC-AUC on some of the molecules of a machine that learned from others."""
    model = KernelClassifier(loss="logistic", tol=1e-2, random_state=0, **chosen).fit(rows[learned], active[learned])
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
axes.set(xlabel="ROC-AUC on new scaffolds; 0.5 is chance", xlim=(0.5, 1), title=claim)
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which molecules are alike?
# --------------------------
#
# :class:`mercer.molecules.MoleculeIndex` finds the most similar molecules exactly. It can make fingerprints itself;
# here they exist already and are passed in. :doc:`/molecules` covers the rest: files, conditions, clusters, the command
# line.

index = MoleculeIndex(fingerprint="given")
index.add(None if smiles is None else Molecules(smiles, {"active": active.tolist()}), X)
asked = np.flatnonzero(active)[:200]
hits = index.search(None, k=11, fingerprints=X[asked])
others = [hits.of(query)[0][hits.of(query)[0] != row][:10] for query, row in enumerate(asked)]
by_binary, _ = exact_knn("min-max", binary, binary[asked], 11)
shared = [len(set(ids) & set(found)) / 10 for ids, found in zip(others, by_binary, strict=True)]
print(
    f"{100 * np.mean(active[np.concatenate(others)]):.0f} % of the ten most similar molecules of active ones are active"
)
print(f"{100 * np.mean(shared):.0f} % of them are among the most similar ones by binary fingerprints")

# %%
# Binary fingerprints define a different similarity, not a worse approximation of this one. Three active molecules, each
# followed by the three other molecules that are most similar to it, with their similarity:

if smiles is not None:
    import tempfile
    from pathlib import Path

    shown, legends = [], []
    for query in (5, 60, 120):
        ids, similarity = hits.of(query)
        other = ids != asked[query]
        shown += [asked[query], *ids[other][:3]]
        legends += ["active", *(f"{value:.2f}" for value in similarity[other][:3])]
    with tempfile.TemporaryDirectory() as folder:
        draw_grid(smiles[shown], legends, Path(folder) / "hits.png", per_row=4)
        picture = plt.imread(Path(folder) / "hits.png")
    figure, axes = plt.subplots(figsize=(9, 9 * picture.shape[0] / picture.shape[1]), layout="constrained")
    axes.imshow(picture)
    axes.axis("off")

# %%
# Clusters of them
# ----------------
#
# Butina's clustering, which keeps only the pairs above the cutoff.

clusters = index.cluster(0.6)
sizes = clusters.sizes
print(f"{len(clusters):,} clusters of {len(index):,} molecules, {int((sizes == 1).sum()):,} of one molecule")
large = np.argsort(-sizes, kind="stable")[:8]
for number in large:
    members = clusters.members(number)
    print(f"{len(members):4d} molecules, {100 * active[members].mean():3.0f} % active")

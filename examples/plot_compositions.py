"""
Compositions: bacteria, words, and Bray-Curtis without a matrix
===============================================================

Ecologists count the species in a sample and compare two samples by their Bray-Curtis similarity: twice what they
share, divided by all that was counted. The usual way builds a matrix of all pairs. But Bray-Curtis is a kernel, so
searching and learning with it can cost time in proportion to the number of samples instead of its square.
"""

# %%
# Samples as rows
# ---------------
#
# :func:`mercer.datasets.load_microbiome` reads counts of bacteria in the gut of people with and without Crohn's
# disease. If the files are missing, made-up samples take their place.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from mercer import BrayCurtis, HomogeneousMap, InputError, exact_knn
from mercer.datasets import load_20newsgroups, load_microbiome, make_compositions

try:
    samples = load_microbiome("gevers-ileum")
    print(f"Real samples: {len(samples.target)} biopsies of the ileum.")
except InputError:
    samples = make_compositions(random_state=0)
    print(
        f"MERCER_DATA has no microbiome: {len(samples.target)} made-up samples. Nothing follows from the numbers below."
    )

counts, diagnosis = samples.data, samples.target
names, sizes = np.unique(diagnosis, return_counts=True)
groups = ", ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))
print(f"{groups}; {counts.shape[1]:,} taxa")

# %%
# A picture first
# ---------------
#
# Dividing each sample by its sum gives shares, and Bray-Curtis of shares is the intersection kernel. A map turns
# the kernel into an inner product. Two principal components of the mapped rows are what ecologists call an ordination.


def shares(X):
    """Rows that sum to 1."""
    return X / X.sum(axis=1, keepdims=True)


mapped = HomogeneousMap("intersection", order=3).fit_transform(shares(counts))
components = PCA(2, random_state=0).fit_transform(mapped)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, color in zip(names, ("#D55E00", "#0072B2"), strict=True):
    axes.plot(*components[diagnosis == name].T, "o", markersize=5, alpha=0.7, color=color, label=name)
axes.set(xlabel="first component", ylabel="second component", title="Bray-Curtis map of the samples")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(title="diagnosis", frameon=False)

# %%
# A classifier beside its rivals
# ------------------------------
#
# With so few people one split says little. Five folds are repeated twice, and the bars show the middle 80 % of the
# folds. A microbiologist would use log-ratios or a random forest. Every method chooses its C inside the training
# part, among the same number of values. The benchmark ``uses-compositions`` has more repetitions, intervals, and two
# more tasks.


def log_ratios(X):
    """Centered logarithms, with half a count added."""
    logs = np.log(X + 0.5)
    return logs - logs.mean(axis=1, keepdims=True)


def chosen(model, name, values):
    """The model with its C chosen by three folds of what it is given."""
    return GridSearchCV(model, {f"{name}__C": values}, cv=3, scoring="roc_auc")


# K(x, x) is 1 for the maps and the number of taxa for scaled columns, and the right C goes with 1 / K(x, x)
large, small = [0.1, 1.0, 10.0, 100.0], [value / counts.shape[1] for value in (0.1, 1.0, 10.0, 100.0)]
as_shares, as_ratios = FunctionTransformer(shares), FunctionTransformer(log_ratios)
bray_curtis = HomogeneousMap("intersection", order=3)
models = {
    "linear, shares": chosen(make_pipeline(as_shares, StandardScaler(), SVC(kernel="linear")), "svc", small),
    "linear, log-ratios": chosen(make_pipeline(as_ratios, StandardScaler(), SVC(kernel="linear")), "svc", small),
    "random forest": RandomForestClassifier(100, random_state=0),
    "Bray-Curtis map": chosen(make_pipeline(as_shares, bray_curtis, SVC(kernel="linear")), "svc", large),
    "Jensen-Shannon map": chosen(
        make_pipeline(as_shares, HomogeneousMap("jensen-shannon"), SVC(kernel="linear")), "svc", large
    ),
}
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
truth = (diagnosis == names[0]).astype(int)
quality = {name: cross_val_score(model, counts, truth, cv=folds, scoring="roc_auc") for name, model in models.items()}
for name, values in quality.items():
    print(f"{name:20s} ROC-AUC {values.mean():.3f}")

places = np.arange(len(quality))[::-1]
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for place, (name, values) in zip(places, quality.items(), strict=True):
    color = "#0072B2" if "map" in name else "#E69F00"
    axes.plot(np.quantile(values, [0.1, 0.9]), [place, place], color=color, linewidth=2)
    axes.plot(values.mean(), place, "o", color=color, markersize=7)
axes.set_yticks(places, list(quality))
axes.set(xlabel="ROC-AUC: mean and middle 80 % of the folds", ylim=(-0.6, len(quality) - 0.4))
axes.grid(axis="x", color="#dddddd", linewidth=0.6)
axes.spines[["top", "right"]].set_visible(False)

# %%
# A map gives Bray-Curtis at linear cost. Bray-Curtis is not the best measure for every diagnosis:
# compare it with log-ratios on your own samples, as here, before you rely on it.
#
# Neighbors without a matrix
# ---------------------------
#
# Posts are compositions, too: of words. :func:`mercer.exact_knn` works through blocks of rows and keeps the ten
# nearest of each, so it never holds an n x n matrix, and sparse rows stay sparse.

try:
    posts, groups = load_20newsgroups("train")
    some = np.random.default_rng(0).permutation(posts.shape[0])[:2000]
    posts, groups = posts[some], groups[some]
    print("Real posts of 20newsgroups.")
except InputError:
    from scipy import sparse

    made_up = make_compositions(1000, 300, random_state=1)
    posts, groups = sparse.csr_array(made_up.data), made_up.target
    print("MERCER_DATA has no 20newsgroups: made-up rows. Nothing follows from the numbers below.")

steps, seconds = [posts.shape[0] // part for part in (8, 4, 2, 1)], []
exact_knn("bray-curtis", posts[:50], posts[:50], 5)  # compiles
for n in steps:
    start = time.perf_counter()
    ids, similarity = exact_knn("bray-curtis", posts[:n], posts[:n], 11)
    seconds.append(time.perf_counter() - start)
others = np.array([row[row != own][:10] for own, row in enumerate(ids)])
same = (groups[others] == groups[:, None]).mean()
print(f"{posts.shape[0]:,} posts: {seconds[-1]:.1f} s; {100 * same:.0f} % of the neighbors are of the same group")
np.testing.assert_allclose(similarity[:20], np.sort(BrayCurtis()(posts[:20], posts))[:, :-12:-1], rtol=1e-5)

matrix = [n * n * 8 / 1e6 for n in steps]
kept = [n * 11 * 16 / 1e6 for n in steps]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(steps, matrix, "o-", color="#E69F00", label="matrix of all pairs")
axes.plot(steps, kept, "o-", color="#0072B2", label="eleven neighbors of each")
axes.set(xscale="log", yscale="log", xlabel="posts", ylabel="MB")
axes.set_xticks(steps, [f"{n:,}" for n in steps])
axes.minorticks_off()
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=8)

"""
Mass spectra: find the compound, in 16 bytes per spectrum
=========================================================

A tandem mass spectrometer breaks a molecule and weighs the pieces. To identify the molecule, its spectrum is compared
with a library of known spectra. *Spectral entropy similarity*, which often replaces the cosine, is the Jensen-Shannon
kernel of two spectra whose weak peaks are raised where a few strong peaks dominate. This page searches the library
under that kernel, through codes of 16 bytes per spectrum, and ranks the best candidates by their exact value; then it
matches peaks within a tolerance instead of bins, and shows named hits.
"""

# %%
# Spectra as rows
# ---------------
#
# :func:`mercer.datasets.load_massbank` reads 54,791 spectra of MassBank if you have the file. If not, made-up spectra
# of the same form take their place. They show how the code works, but allow no conclusions about real spectra.

import matplotlib.pyplot as plt
import numpy as np

from mercer import InputError, KernelClassifier, KernelIndex, SpectralEntropyWeighting, exact_knn
from mercer.datasets import load_massbank, make_spectra

try:
    spectra = load_massbank(bin_width=0.1)
    # every eighth compound, so that the page takes a minute
    names = np.unique(spectra.compound)[::8]
    kept = np.flatnonzero(np.isin(spectra.compound, names))
    print(f"Real spectra of MassBank: {len(kept):,} of {len(spectra.compound):,}, those of every eighth compound.")
except InputError:
    spectra = make_spectra(random_state=0)
    kept = np.arange(len(spectra.compound))
    print(f"MERCER_DATA has no MassBank: {len(kept):,} made-up spectra. Nothing follows from the numbers below.")

X, compound, superclass = spectra.data[kept], spectra.compound[kept], spectra.superclass[kept]
print(f"{X.shape[0]:,} spectra in {X.shape[1]:,} bins of 0.1 m/z, {X.nnz / X.shape[0]:.0f} peaks each")

# %%
# Your own spectra are lists of peaks; :func:`mercer.features.bin_spectra` sorts them into bins.
#
# Weight the peaks
# ----------------
#
# With the entropy :math:`S = -\sum_j I_j \log I_j` of a spectrum, intensities are raised to the power
# :math:`0.25 + 0.25\,S` where :math:`S < 3`. :class:`mercer.features.SpectralEntropyWeighting` is a
# transformer of scikit-learn, so it goes into a pipeline.

weighted = SpectralEntropyWeighting().fit_transform(X)

example = int(np.argmin(np.abs(np.diff(X.indptr) - 25)))
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
plain = X[[example]] / X[[example]].sum()
mz = 0.1 * plain.indices
axes.vlines(mz, 0, plain.data, color="#0072B2", label="as measured, divided by its sum")
axes.vlines(mz, 0, -weighted[[example]].data, color="#E69F00", label="entropy-weighted")
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="m/z", ylabel="share of the intensity")
axes.set_yticks(axes.get_yticks(), [f"{abs(tick):.2f}" for tick in axes.get_yticks()])
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

# %%
# Search
# ------
#
# The index learns an embedding and a code. It scans 16 bytes per spectrum, and stores the rows for the exact values
# at the end.

index = KernelIndex("jensen-shannon", bytes_per_item=16, effort="low", random_state=0).fit(weighted).add(weighted)
print(index.plan_["reason"])

numbers, counts = np.unique(compound, return_counts=True)
has_mate = counts[np.searchsorted(numbers, compound)] > 1
asked = np.random.default_rng(0).choice(np.flatnonzero(has_mate), 300, replace=False)
ids, similarity = index.search(weighted[asked], k=11)

# %%
# How often does it find another spectrum of the same compound? Every query also finds itself, which does not count.
# The exact answer and the cosine compare each query with every spectrum.


def found(ids):
    """Percent of the queries with a spectrum of their compound first, and among the first ten."""
    others = np.array([row[row != own][:10] for row, own in zip(ids, asked, strict=True)])
    same = compound[others] == compound[asked][:, None]
    return 100 * same[:, 0].mean(), 100 * same.any(axis=1).mean()


lengths = np.sqrt(X.multiply(X).sum(axis=1))[:, None]
cosine = X.multiply(1 / lengths).tocsr().astype(np.float32)
results = {
    "exact Jensen-Shannon": found(exact_knn("jensen-shannon", weighted, weighted[asked], 11)[0]),
    "16 bytes, re-ranked": found(ids),
    "cosine": found(exact_knn("linear", cosine, cosine[asked], 11)[0]),
}
for name, (first, ten) in results.items():
    print(f"{name:22s} first {first:5.1f} %   among ten {ten:5.1f} %")

# %%

places = np.arange(len(results))[::-1]
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
for column, (color, label) in enumerate((("#0072B2", "first"), ("#56B4E9", "among the first ten"))):
    values = [result[column] for result in results.values()]
    bars = axes.barh(places + 0.2 - 0.4 * column, values, height=0.36, color=color, label=label)
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
axes.set_yticks(places, list(results))
axes.set(xlabel="% of queries with another spectrum of their compound", xlim=(0, 112))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.28), ncols=2)

# %%
# Peaks that match within a tolerance
# -----------------------------------
#
# Bins have edges: peaks at 100.0999 and 100.1001 share none. :class:`mercer.spectra.SpectrumIndex` matches peaks within
# 0.02 Da instead, each one once, and is exact. It reads files of spectra (:doc:`/spectra`); here it gets the peaks.

from mercer.spectra import Spectra, SpectrumIndex

known = {"name": spectra.compound.tolist(), "precursor_mz": spectra.precursor_mz.astype(float).tolist(),
         "spectrum_id": spectra.accession.tolist()}  # fmt: skip
peaks = Spectra(spectra.mz, spectra.intensity, spectra.offsets, known)[kept]
library = SpectrumIndex().add(peaks)
hits = library.search(peaks[asked], k=11)
rows = [[*hits.of(query)[0], *[-1] * 11][:11] for query in range(len(asked))]
same = [compound[[row for row in found if row not in (own, -1)][:10]] == compound[own]
        for found, own in zip(rows, asked, strict=True)]  # fmt: skip
first, ten = (100 * np.mean([any(one[:n]) for one in same]) for n in (1, 10))
print(f"within 0.02 Da         first {first:5.1f} %   among ten {ten:5.1f} %")

# %%
# The hits of one query by name, itself among them, and the mirror plot of the best other spectrum: the query above, the
# library below, both cleaned and weighted, peaks that match in color.

import tempfile
from pathlib import Path

for line in hits.records(0)[:5]:
    print(
        f"{line['rank']}  {line['name']}  {line['score']:.3f}  {line['matched_peaks']:3d} peaks  {line['spectrum_id']}"
    )

# sphinx_gallery_thumbnail_number = 3
rank = 1 + int(np.flatnonzero(hits.of(0)[0] != asked[0])[0])
with tempfile.TemporaryDirectory() as folder:
    hits.mirror(0, rank).plot(Path(folder) / "mirror.png")
    picture = plt.imread(Path(folder) / "mirror.png")
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.imshow(picture)
axes.axis("off")

# %%
# A new compound: what kind is it?
# --------------------------------
#
# If the library has no spectrum of a compound, its chemical superclass can still be predicted. The split into training
# and test is by compound: spectra of one compound on both sides would make the task too easy.

from sklearn.model_selection import GroupShuffleSplit
from sklearn.preprocessing import normalize

known = np.flatnonzero(superclass != "")
split = GroupShuffleSplit(1, test_size=0.25, random_state=0)
train, test = (known[part] for part in next(split.split(known, groups=compound[known])))
fitted, held = (train[part] for part in next(split.split(train, groups=compound[train])))


def classifier(kernel, C, rows):
    """Learnt from some of the spectra."""
    model = KernelClassifier(kernel, C=C, multi_class="ovr", tol=1e-2, random_state=0)
    return model.fit(features[kernel][rows], superclass[rows])


# rows that sum to 1 have K(x, x) = 1 under the other kernels; the linear one gets rows of length 1 instead
features = dict.fromkeys(("linear", "hellinger", "jensen-shannon", "intersection"), weighted)
features["linear"] = normalize(weighted)
for kernel, X in features.items():
    # C is chosen on a part of the training compounds
    right = {C: classifier(kernel, C, fitted).score(X[held], superclass[held]) for C in (0.3, 1.0, 3.0)}
    C = max(right, key=right.get)
    share = classifier(kernel, C, train).score(X[test], superclass[test])
    print(f"{kernel:15s} {100 * share:.1f} % right (C = {C:g})")

# %%
# The benchmark ``uses-spectra`` uses the whole library, gives intervals, and compares with the package ``ms_entropy``.

"""Cleaning of spectra, one step after the other."""

import itertools

import numpy as np


def clean_spectra(mz, intensity, offsets, tops, noise, merge, ppm, most, power, clean_mz, clean_intensity, ends):
    """The peaks that are left of each spectrum"""
    stop = 0
    for i, (low, high) in enumerate(itertools.pairwise(offsets)):
        peaks = np.column_stack([mz[low:high], intensity[low:high]])
        peaks = peaks[(peaks > 0).all(axis=1) & ~(peaks[:, 0] > tops[i])]
        while merge > 0 and not apart(peaks[:, 0], merge, ppm):
            peaks = merged(peaks, merge, ppm)
        if len(peaks) and noise > 0:
            peaks = peaks[peaks[:, 1] >= noise * peaks[:, 1].max()]
        if 0 < most < len(peaks):
            peaks = peaks[np.sort(np.argsort(peaks[:, 1], kind="stable")[-most:])]
        values = peaks[:, 1] ** power
        clean_mz[stop : stop + len(peaks)] = peaks[:, 0]
        clean_intensity[stop : stop + len(peaks)] = values / values.sum() if len(peaks) else values
        stop += len(peaks)
        ends[i] = stop


def apart(mz, merge, ppm):
    least = mz[1:] * merge * 1e-6 if ppm else np.full(max(0, len(mz) - 1), merge)
    return (np.diff(mz.astype(np.float32)) >= least.astype(np.float32)).all()


def merged(peaks, merge, ppm):
    peaks = peaks.copy()
    for p in np.argsort(-peaks[:, 1], kind="stable"):
        if peaks[p, 1] <= 0:
            continue
        center = peaks[p, 0]
        left = np.float32(center * merge * 1e-6 if ppm else merge)
        right = np.float32(center / (1 - merge * 1e-6) - center if ppm else merge)
        gaps = peaks[:, 0].astype(np.float32) - np.float32(center)
        low, high = p, p + 1
        while low > 0 and -gaps[low - 1] <= left:
            low -= 1
        while high < len(peaks) and gaps[high] <= right:
            high += 1
        together = peaks[low:high].copy()
        peaks[low:high, 1] = 0
        peaks[p] = np.average(together[:, 0], weights=together[:, 1]), together[:, 1].sum()
    peaks = peaks[peaks[:, 1] > 0]
    return peaks[np.argsort(peaks[:, 0], kind="stable")]


def weigh_spectra(kind, intensity, ends):
    """What a similarity sees: by entropy, as it is, or of length 1"""
    for part in np.split(intensity, ends[:-1]):
        entropy = -(part * np.log(part)).sum()
        if kind == 0 and entropy < 3:
            part[:] = part ** (0.25 + 0.25 * entropy)
            part /= part.sum()
        elif kind == 2:
            part /= np.linalg.norm(part)

"""Cleaning of spectra: peaks above the noise that are further apart than a tolerance, and their weights."""

import math

import numpy as np

from mercer._native.jit import inline, jit

ENTROPY, UNWEIGHTED, COSINE = range(3)


@jit
def clean_spectra(mz, intensity, offsets, tops, noise, merge, ppm, most, power, clean_mz, clean_intensity, ends):
    """clean_mz[...], clean_intensity[...] = the peaks that are left of each spectrum, with intensities that sum to 1

    mz, intensity      (P,)      float64   ascending m/z within a spectrum
    offsets            (n + 1,)  int64
    tops               (n,)      float64   peaks above are left out; NaN: none is
    noise, merge, most           float64, float64, int64   share of the strongest peak; least distance of two peaks, in
                                 Da or, if `ppm`, in millionths; how many peaks at most. 0: none
    power              float64   of the intensities, before they are made to sum to 1
    clean_mz, clean_intensity  (P,)  float64   written
    ends               (n,)      int64     written: where each spectrum ends there
    """
    stop = 0
    for i in range(offsets.shape[0] - 1):
        start = stop
        for p in range(offsets[i], offsets[i + 1]):
            if mz[p] > 0 and intensity[p] > 0 and not mz[p] > tops[i]:
                clean_mz[stop] = mz[p]
                clean_intensity[stop] = intensity[p]
                stop += 1
        if merge > 0:
            before = stop + 1  # rounding may leave a gap that neither side reaches over
            while stop < before and not _is_apart(clean_mz[start:stop], merge, ppm):
                before = stop
                stop = start + _merge_once(clean_mz[start:stop], clean_intensity[start:stop], merge, ppm)
        if stop > start and noise > 0:
            least = noise * clean_intensity[start:stop].max()
            stop = start + _keep(clean_mz[start:stop], clean_intensity[start:stop], least)
        if 0 < most < stop - start:
            order = np.argsort(clean_intensity[start:stop], kind="mergesort")
            clean_intensity[start + order[: stop - start - most]] = 0.0
            stop = start + _keep(clean_mz[start:stop], clean_intensity[start:stop], 0.0)
        total = 0.0
        for p in range(start, stop):
            if power != 1.0:
                clean_intensity[p] = clean_intensity[p] ** power
            total += clean_intensity[p]
        for p in range(start, stop):
            clean_intensity[p] /= total
        ends[i] = stop


@inline
def _keep(mz, intensity, least):
    """Put the peaks of at least so much, and more than 0, first; returns how many there are"""
    count = 0
    for p in range(mz.shape[0]):
        if intensity[p] >= least and intensity[p] > 0:
            mz[count] = mz[p]
            intensity[count] = intensity[p]
            count += 1
    return count


@inline
def _reach(mz, merge, ppm):
    """How far peaks are taken, to the left and to the right of an m/z

    These distances are compared in single precision, as ms_entropy does: peaks are often given in thousandths, and
    then many are apart by just as much.
    """
    if not ppm:
        return np.float32(merge), np.float32(merge)
    return np.float32(mz * merge * 1e-6), np.float32(mz / (1 - merge * 1e-6) - mz)


@inline
def _is_apart(mz, merge, ppm):
    """Whether all gaps are at least `merge`"""
    n_near = 0
    for p in range(1, mz.shape[0]):
        n_near += np.float32(mz[p]) - np.float32(mz[p - 1]) < _reach(mz[p], merge, ppm)[0]
    return n_near == 0


@inline
def _merge_once(mz, intensity, merge, ppm):
    """From the strongest peak on, take all peaks within `merge` of it together; returns how many are left

    What has been merged stands in the place of its strongest peak, where a weaker one may take it in turn.
    """
    for p in np.argsort(-intensity, kind="mergesort"):
        if intensity[p] <= 0:
            continue
        left, right = _reach(mz[p], merge, ppm)
        center, low, high = np.float32(mz[p]), p, p + 1
        while low > 0 and center - np.float32(mz[low - 1]) <= left:
            low -= 1
        while high < mz.shape[0] and np.float32(mz[high]) - center <= right:
            high += 1
        total, moment = 0.0, 0.0
        for q in range(low, high):
            total += intensity[q]
            moment += intensity[q] * mz[q]
            intensity[q] = 0.0
        mz[p], intensity[p] = moment / total, total
    count = _keep(mz, intensity, 0.0)
    ascending = np.argsort(mz[:count], kind="mergesort")
    mz[:count] = mz[:count][ascending]
    intensity[:count] = intensity[:count][ascending]
    return count


@jit
def weigh_spectra(kind, intensity, ends):
    """intensity[...] = what a similarity sees of them

    kind       int64          ENTROPY: I^(0.25 + 0.25 S), made to sum to 1, where S < 3; COSINE: I / |I|; else as it is
    intensity  (P,)  float64  of spectra that sum to 1; written
    ends       (n,)  int64
    """
    start = 0
    for i in range(ends.shape[0]):
        part = intensity[start : ends[i]]
        start = ends[i]
        if kind == ENTROPY:
            entropy = 0.0
            for value in part:
                entropy -= value * math.log(value)
            if entropy < 3:
                total = 0.0
                for p in range(part.shape[0]):
                    part[p] = part[p] ** (0.25 + 0.25 * entropy)
                    total += part[p]
                for p in range(part.shape[0]):
                    part[p] /= total
        elif kind == COSINE:
            total = 0.0
            for value in part:
                total += value * value
            for p in range(part.shape[0]):
                part[p] /= math.sqrt(total)

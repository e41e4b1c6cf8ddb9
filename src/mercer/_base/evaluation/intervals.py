"""The 95 % interval of a share. [wilson27probable]"""

__all__ = ["wilson_interval"]

import numpy as np

Z = 1.96  # standard deviations of a normal number within which 95 % lie


def wilson_interval(share, n):
    """(low, high) for a share that was found in n trials.

    >>> [round(end, 3) for end in wilson_interval(0.9, 100)]
    [0.826, 0.945]
    """
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return float(middle - half), float(middle + half)

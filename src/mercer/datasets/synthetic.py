"""Made-up rows with the shape of real ones, for examples that must run where the files are not.

They follow simple rules that are stated here, and say nothing about how a method does on real data.
"""

__all__ = ["make_compositions", "make_fingerprints", "make_spectra"]

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

SUPERCLASSES = ("Alkaloids", "Benzenoids", "Lipids", "Nucleosides", "Organic acids", "Phenylpropanoids")
LARGEST_MZ = 2000.0


def make_spectra(n_compounds=400, bin_width=0.1, *, random_state=0):
    """Spectra in the form of :func:`load_massbank`: compounds of six classes, each at several collision energies.

    A class has 60 fragments of its own; a compound takes 8 of them and 8 that are its own alone. A fragment's intensity
    is exp(base + slope * energy + noise), so that one compound looks different at low and at high energy; peaks below a
    thousandth of the strongest are dropped.

    Parameters
    ----------
    n_compounds : int
        Each has 2 to 8 spectra.
    bin_width : float
        Width of a bin in units of m/z.
    random_state : int, RandomState or None

    Returns
    -------
    Bunch with the fields of :func:`load_massbank`

    Examples
    --------
    >>> spectra = make_spectra(20, bin_width=1.0, random_state=0)
    >>> spectra.data.shape[1], len(set(spectra.compound))
    (2000, 20)
    """
    rng = check_random_state(random_state)
    fragments = rng.uniform(50, 500, size=(len(SUPERCLASSES), 60))
    compounds = [_compound(rng, fragments[number % len(fragments)]) for number in range(n_compounds)]
    owner = np.repeat(np.arange(n_compounds), rng.randint(2, 9, size=n_compounds))
    peaks = [_spectrum(rng, *compounds[number]) for number in owner]
    mz, intensity = np.concatenate(peaks).T
    offsets = np.concatenate([[0], np.cumsum([len(table) for table in peaks])])
    n_bins = int(np.ceil(LARGEST_MZ / bin_width))
    columns = np.minimum(mz / bin_width, n_bins - 1).astype(np.int32)
    data = sparse.csr_array((intensity.astype(np.float32), columns, offsets.copy()), shape=(len(peaks), n_bins))
    data.sum_duplicates()
    return Bunch(
        data=data,
        compound=np.array([f"COMPOUND{number:06d}" for number in owner]),
        superclass=np.array(SUPERCLASSES)[owner % len(SUPERCLASSES)],
        precursor_mz=np.array([compounds[number][0].max() for number in owner], dtype=np.float32),
        positive=np.ones(len(owner), dtype=bool),
        accession=np.array([f"MADE-UP-{number:06d}" for number in range(len(owner))]),
        mz=mz,
        intensity=intensity.astype(np.float32),
        offsets=offsets,
    )


def _compound(rng, common):
    """(m/z, base, slope) of the fragments of one compound."""
    mz = np.concatenate([rng.choice(common, 8, replace=False), rng.uniform(50, 600, size=8)])
    return mz, rng.normal(0, 1.5, size=16), rng.normal(0, 1.5, size=16)


def _spectrum(rng, mz, base, slope):
    """Peaks of one measurement, as pairs (m/z, intensity up to 1000)."""
    logs = base + slope * rng.uniform(-1, 1) + rng.normal(0, 0.3, size=len(mz))
    intensity = np.rint(999 * np.exp(logs - logs.max()))
    seen = intensity >= 1
    return np.column_stack([mz + rng.normal(0, 0.003, size=len(mz)), intensity])[seen]


def make_fingerprints(n_molecules=3000, n_bits=2048, *, random_state=0):
    """Counts of fragments, and whether a molecule is active: a tenth are.

    Molecules belong to 60 series with 30 fragments each; a molecule has most of those of its series and some others,
    and counts are geometric. It is active if its counts of six fragments that occur everywhere balance: repeats matter,
    and no single fragment tells.

    Parameters
    ----------
    n_molecules, n_bits : int
    random_state : int, RandomState or None

    Returns
    -------
    Bunch with
        data : csr_array of shape (n_molecules, n_bits), float32
        active : bool array
        scaffold : str array, the series

    Examples
    --------
    >>> molecules = make_fingerprints(200, 512, random_state=0)
    >>> molecules.data.shape, len(molecules.active), len(molecules.scaffold)
    ((200, 512), 200, 200)
    """
    rng = check_random_state(random_state)
    n_series = 60
    series = rng.randint(n_series, size=n_molecules)
    own = rng.rand(n_series, n_bits) < 30 / n_bits
    common = rng.rand(n_bits) < 40 / n_bits
    common[:6] = True
    chance = 0.7 * own[series] + 0.3 * common + 5 / n_bits
    X = (rng.rand(n_molecules, n_bits) < chance) * rng.geometric(0.5, size=(n_molecules, n_bits))
    imbalance = np.abs(X[:, :6] @ np.array([1, 1, 1, -1, -1, -1])) - 0.5 * X[:, :6].sum(axis=1)
    imbalance = imbalance + rng.normal(0, 0.3, size=n_molecules)
    return Bunch(
        data=sparse.csr_array(X.astype(np.float32)),
        active=imbalance <= np.quantile(imbalance, 0.1),
        scaffold=np.array([f"series {number}" for number in series]),
    )


def make_compositions(n_samples=160, n_taxa=400, *, random_state=0):
    """Counts of taxa in the form of :func:`load_microbiome`: half of the people are ill.

    Abundances are log-normal with a mean of each taxon and are absent at random, rarer ones more often. Illness raises
    20 taxa and lowers 20, each in most of the ill. A sample counts 1,000 to 10,000 reads.

    Parameters
    ----------
    n_samples, n_taxa : int
    random_state : int, RandomState or None

    Returns
    -------
    Bunch with the fields of :func:`load_microbiome`

    Examples
    --------
    >>> samples = make_compositions(20, 50, random_state=0)
    >>> samples.data.shape, len(samples.target)
    ((20, 50), 20)
    """
    rng = check_random_state(random_state)
    ill = np.arange(n_samples) % 2 == 1
    means = rng.normal(0, 2, size=n_taxa)
    effect = np.zeros(n_taxa)
    touched = rng.choice(n_taxa, 40, replace=False)
    effect[touched[:20]], effect[touched[20:]] = 1.0, -1.0
    logs = means + rng.normal(0, 1.5, size=(n_samples, n_taxa))
    logs += ill[:, None] * effect * (rng.rand(n_samples, n_taxa) < 0.7)
    present = rng.rand(n_samples, n_taxa) < 1 / (1 + np.exp(-means))
    shares = np.exp(logs) * present
    shares /= shares.sum(axis=1, keepdims=True)
    reads = rng.randint(1_000, 10_000, size=n_samples)
    counts = np.array([rng.multinomial(n, row) for n, row in zip(reads, shares, strict=True)])
    return Bunch(
        data=counts.astype(np.float32),
        target=np.where(ill, "ill", "well"),
        taxa=np.array([f"taxon {number}" for number in range(n_taxa)]),
        sample=np.array([f"sample {number}" for number in range(n_samples)]),
    )

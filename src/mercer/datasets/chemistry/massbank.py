"""MS/MS spectra of MassBank, as sparse histograms over m/z."""

__all__ = ["load_massbank"]

import io

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from mercer._base.errors import InputError
from mercer._base.validation import narrow
from mercer.datasets.files import verified_bytes

ORIGIN = (
    "the records of https://github.com/MassBank/MassBank-data (release of May 2025), of which it holds the MS2 spectra "
    "with 5 peaks or more under an open license, 60 strongest peaks each"
)
SHA256 = "43a9990262ebfd252169c3f064f68900de98260132716890fa8a325fd861ef0a"
N_SPECTRA = 54_791
LARGEST_MZ = 2000.0  # no peak lies above


def load_massbank(bin_width=0.1, *, root=None):
    """Spectra as rows of relative intensities (1 to 999) over bins of m/z.

    Parameters
    ----------
    bin_width : float
        Width of a bin in units of m/z; there are 2000 / bin_width of them. Peaks that share a bin are added.
    root : path or None
        Directory of the data sets, with a folder ``massbank``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    Bunch with
        data : csr_array of shape (54791, bins), float32
        compound : str array, the first block of the InChIKey: the same for spectra of one compound
        superclass : str array, ChemOnt class, '' where unknown
        precursor_mz : float32 array
        positive : bool array, ion mode
        accession : str array, the record in MassBank, which names its authors
        mz, intensity, offsets : the peaks before binning, of spectrum i those from ``offsets[i]`` to ``offsets[i + 1]``
    """
    if not 0 < bin_width <= LARGEST_MZ:
        raise InputError(f"load_massbank needs a bin_width above 0 and up to {LARGEST_MZ:g}, got {bin_width!r}.")
    content = verified_bytes("massbank", "massbank_ms2.npz", SHA256, ORIGIN, root)
    with np.load(io.BytesIO(content), allow_pickle=False) as members:
        file = {name: members[name] for name in members.files}
    if len(file["accession"]) != N_SPECTRA:
        raise InputError(f"massbank_ms2.npz must contain {N_SPECTRA} spectra, but contains {len(file['accession'])}.")
    n_bins = int(np.ceil(LARGEST_MZ / bin_width))
    columns = np.minimum(file["mz"] / (1000 * bin_width), n_bins - 1).astype(np.int32)
    values = file["intensity"].astype(np.float32)
    # summing duplicates works in place, and the peaks are given as they were
    data = sparse.csr_array((values.copy(), columns, file["offsets"].copy()), shape=(N_SPECTRA, n_bins))
    data.sum_duplicates()
    data = narrow(data)
    kept = {name: file[name] for name in ("superclass", "precursor_mz", "positive", "accession")}
    peaks = {"mz": file["mz"] / 1000, "intensity": values, "offsets": file["offsets"]}
    return Bunch(data=data, compound=file["inchikey14"], **kept, **peaks)

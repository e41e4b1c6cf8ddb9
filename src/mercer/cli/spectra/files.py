"""What the verbs of ``mercer spectra`` share: reading files, and the facts of an index."""

__all__ = ["FILES", "FORMAT", "STRICT", "facts_of", "note_left_out", "read_files", "read_queries"]

import warnings

from mercer._base.errors import InputError
from mercer._base.parameters import argument, choice, flag
from mercer.cli.framework.checks import check_file
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import note

FILES = argument("files", "FILES...", "Files of spectra.", kind=list)
FORMAT = choice("format", "msp mgf mzml mzxml json massbank peaks", None, "Format of the files: msp, mgf, mzml, mzxml, "
    "json, massbank (MassBank records) or peaks (a list of peaks).", "FORMAT", shown="from the suffix and the first "
    "lines")  # fmt: skip
STRICT = flag("strict", "Stop if a record cannot be read, instead of skipping it with a warning.")


def read_files(files: list[str], format: str | None, strict: bool):
    """The spectra of all files."""
    from mercer.spectra import SkippedSpectraWarning, read_spectra

    for name in files:
        check_file(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedSpectraWarning)  # told by note_skipped, all of them
        spectra = read_spectra(files, format=format, strict=strict)
    if not len(spectra):
        raise InputError(f"No spectrum can be read from {', '.join(files)}. {spectra.problems[0]}")
    return spectra


def read_queries(files: list[str], format: str | None, strict: bool):
    """(spectra of all files but MS1 scans, how many of these there were)."""
    spectra = read_files(files, format, strict)
    scans = spectra.ms1_scans
    if scans.all():
        raise InputError(
            f"{', '.join(files)}: all {len(spectra):,} spectra are MS1 scans, which cannot be searched "
            f"for. Give a file with MS2 spectra."
        )
    return spectra[~scans] if scans.any() else spectra, int(scans.sum())


def note_left_out(settings: Settings, ms1_scans: int, without_precursor: int = 0) -> None:
    """Say how many spectra had no part in it."""
    if ms1_scans:
        note(settings, f"{ms1_scans:,} MS1 scan{'s' * (ms1_scans > 1)} skipped.")
    if without_precursor:
        have = "spectrum has" if without_precursor == 1 else "spectra have"
        note(settings, f"{without_precursor:,} {have} no precursor; only an open search finds hits for such spectra.")


def facts_of(stats: dict) -> list[list[str]]:
    """An index in words, for a table."""
    unit = stats["unit"]
    window, most = stats["precursor_window"], stats["max_peaks"]
    return [
        ["spectra", f"{stats['spectra']:,}"],
        ["without a precursor", f"{stats['without_precursor']:,}, found by open searches only"],
        ["peaks", f"{stats['peaks']:,}"],
        ["similarity", f"{stats['similarity']}, peaks within {stats['tolerance']:g} {unit}"],
        ["cleaning", f"noise below {stats['noise']:g}; merged: {stats['merge']}; "
            f"precursor window: {window if isinstance(window, str) else f'{window:g} Da'}; "
            f"peaks: {most or 'all'}; power {stats['power']:g}"],
        ["memory", f"{(stats['peak_bytes'] + stats['index_bytes']) / 2**20:.1f} MiB"],
    ]  # fmt: skip

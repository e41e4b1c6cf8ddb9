"""What the verbs of ``mercer spectra`` share: reading files, and saying what could not be read."""

__all__ = ["FILES", "FORMAT", "STRICT", "facts_of", "note_skipped", "read_files"]

import warnings

from mercer._base.errors import InputError
from mercer._base.parameters import argument, choice, flag
from mercer.cli.framework.checks import check_file
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import console

FILES = argument("files", "FILES...", "Files of spectra.", kind=list)
FORMAT = choice("format", "msp mgf mzml mzxml json peaks", None, "Format of the files: msp, mgf, mzml, mzxml, json or "
    "peaks, a list of peaks.", "FORMAT", shown="by suffix")  # fmt: skip
STRICT = flag("strict", "Stop at a record that cannot be read, instead of skipping it by number.")
_NAMED = 20  # records that a note names


def read_files(files: list[str], format: str | None, strict: bool):
    """The spectra of all files."""
    from mercer.spectra import SkippedSpectraWarning, read_spectra

    for name in files:
        check_file(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedSpectraWarning)  # told by note_skipped, all of them
        spectra = read_spectra(files, format=format, strict=strict)
    if not len(spectra):
        why = spectra.problems[0] if spectra.problems else "There are none."
        raise InputError(f"No spectrum can be read from {', '.join(files)}. {why}")
    return spectra


def note_skipped(settings: Settings, problems: list[str]) -> None:
    """Name the records that were skipped, with the reason."""
    if not problems or settings.quiet or settings.json:
        return
    lines = [f"Skipped {len(problems)} record{'s' * (len(problems) != 1)}:"]
    lines += [f"  {problem}" for problem in problems[:_NAMED]]
    lines += [f"  and {len(problems) - _NAMED} more; --json names all"] if len(problems) > _NAMED else []
    for line in lines:
        console(stderr=True).print(line, style="dim", markup=False, soft_wrap=True)


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

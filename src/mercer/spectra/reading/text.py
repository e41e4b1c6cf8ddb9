"""Records of MSP and MGF files, records of MassBank and plain peak lists.

Our own readers: MSP is written in dialects (NIST, MassBank, MoNA, RIKEN, Golm) that pyteomics does not know, and its
reader of MGF ends at the first bad record, where this one goes on behind it.

Every reader gives one thing per record: (pairs of names and values, m/z, intensities), or a :class:`BadRecord`.
"""

__all__ = ["BadRecord", "checked", "read_massbank", "read_mgf", "read_msp", "read_peak_list"]

import re

import numpy as np

_COMMENT = re.compile(r'"([^"=]+)=([^"]*)"|([^\s"=]+)="([^"]*)"|([^\s"=]+)=([^\s";]+)')
_KEY = re.compile(r"[^\W\d][^:]{0,80}:")  # of a line of MSP that is no line of peaks
_COUNT = re.compile(r"num(ber of)?[\s_]*peaks", re.IGNORECASE)
_PEAK = re.compile(r"[\d.+(\[-]")  # how a line of peaks begins
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_DECIMAL_COMMA = re.compile(r"\d+,\d+\s+\d+(,\d+)?")  # a line whose commas stand in its numbers
_HALVES = re.compile(r"[^;\s]+\s*;\s*[^;\s]+")  # one peak, not two
_BETWEEN = str.maketrans(",:()[]\t", "       ")
_PAIRS = re.compile(r"[^\s:;,]+:[^\s:;,]+")  # 50.1:1, as in 50.1:1 60.2:2
_MASSBANK_TAGS = ("AC$MASS_SPECTROMETRY", "AC$CHROMATOGRAPHY", "MS$FOCUSED_ION", "CH$LINK")  # a name in the value


class BadRecord(Exception):
    """Why a record cannot be used, as the end of a sentence."""


def read_msp(lines):
    """A record is lines ``name: value``, then ``Num Peaks: n`` and its peaks; a blank line or a new name ends it.

    Blank lines before the peaks do not, and peaks without their number are taken as they are.
    """
    pairs, peaks, count, gap = [], [], None, False
    for line in lines:
        line = line.strip()
        is_field = _KEY.match(line) is not None
        key, _, value = (part.strip() for part in line.partition(":"))
        if not line:
            ends = peaks or count == "0"
        else:  # behind a blank line, a header that begins again is that of another record
            ends = is_field and (peaks or count is not None or (gap and key.lower() == pairs[0][0].lower()))
        if pairs and ends:
            yield _msp_record(pairs, peaks, count)
            pairs, peaks, count = [], [], None
        gap = bool(pairs) and (gap or not line)
        if is_field:
            pairs.append((key, value))
            count = value if _COUNT.fullmatch(key) else count
        elif line and pairs and count is None and not _PEAK.match(line):
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line}")  # a value that goes on
        elif line and (pairs or not line.startswith("#")):
            pairs = pairs or [("", line)]
            peaks.append(line)
    if pairs:
        yield _msp_record(pairs, peaks, count)


def _msp_record(pairs, peaks, count):
    if count is None and not peaks:
        return BadRecord("has neither peaks nor a line 'Num Peaks'")
    if count is not None and not (count.isascii() and count.isdigit()):
        return BadRecord(f"has {count[:40]!r} as its number of peaks, which is not a number")
    said = [pair for key, value in pairs if key.lower() in ("comment", "comments") for pair in _comments(value)]
    said += [(key, value) for field, text in pairs if field.lower() == "synon"  # of Golm, "METB InChIKey: ..."
             for key, between, value in [text.partition(": ")] if between]  # fmt: skip
    try:
        mz, intensity = _peaks(peaks, None if count is None else int(count))
    except BadRecord as problem:
        return problem
    if count is not None and len(mz) != int(count):
        return BadRecord(f"announces {int(count):,} peaks and has {len(mz):,}")
    return pairs + said, mz, intensity


def _comments(value):
    """Pairs in a comment: "name=value", name="value" or name=value."""
    return [(found[1] or found[3] or found[5], found[2] or found[4] or found[6] or "")
            for found in _COMMENT.finditer(value)]  # fmt: skip


def _peaks(lines, count=None):
    """(m/z, intensities) of lines of peaks: one in each, or several with semicolons, colons or blanks between them."""
    text = "\n".join(lines)
    text = (_QUOTED.sub(" ", text) if '"' in text or "'" in text else text).translate(_BETWEEN)
    rows = [words for row in text.replace(";", "\n").split("\n") if (words := row.split())]
    if len(rows) == (count or len(rows)) and any(_DECIMAL_COMMA.fullmatch(line) for line in lines):
        raise BadRecord("has numbers with a decimal comma; use a decimal point")
    if count is not None and len(rows) != count and sum(map(len, rows)) != 2 * count == 2 * len(lines):
        rows = [row.replace(";", " ").split() for row in text.split("\n")]  # semicolons stand in annotations
    try:
        if count is not None and len(rows) != count and sum(map(len, rows)) == 2 * count:
            numbers = np.array([word for row in rows for word in row], dtype=np.float64)
        else:  # what stands behind the two numbers of a peak is an annotation
            numbers = np.array([word for row in rows for word in (row[0], row[1])], dtype=np.float64)
    except IndexError:
        raise BadRecord("has a line with an m/z but no intensity") from None
    except ValueError as error:
        raise BadRecord(f"has a peak that is not a number ({str(error).rpartition(': ')[2]:.60})") from None
    return checked(numbers[0::2], numbers[1::2])


def checked(mz, intensity):
    """The peaks of a record, if they can be some."""
    if mz.shape != intensity.shape:
        raise BadRecord(f"has {len(mz):,} m/z and {len(intensity):,} intensities")
    if not (np.isfinite(numbers := np.concatenate([mz, intensity])).all() and (numbers >= 0).all()):
        raise BadRecord("has a peak that is negative or not finite")
    return mz, intensity


def read_mgf(lines):
    """A record is what stands between BEGIN IONS and END IONS; pairs before the first one are those of all."""
    common, pairs, peaks = [], None, []
    for line in lines:
        line = line.strip()
        word = line.upper()
        if word == "BEGIN IONS":
            if pairs is not None:
                yield BadRecord("has no END IONS")
            pairs, peaks = [], []
        elif word == "END IONS":
            if pairs is not None:
                yield _mgf_record(pairs + common, peaks)
            pairs = None
        elif line and line[0] not in "#;!/":
            key, equal, value = line.partition("=")
            if equal and not key[:1].isdigit():
                (common if pairs is None else pairs).append((key.strip(), value.strip()))
            elif pairs is not None:
                peaks.append(line)
    if pairs is not None:
        yield BadRecord("has no END IONS, so the file is truncated")


def _mgf_record(pairs, peaks):
    try:
        return pairs, *_peaks(peaks)
    except BadRecord as problem:
        return problem


def read_massbank(lines):
    """A record is lines ``TAG: value`` up to ``//``; its peaks are the indented lines below PK$PEAK."""
    pairs, peaks, count, tag = [], [], None, ""
    for line in [*lines, "//"]:
        if line.startswith("//"):
            if pairs:
                yield _msp_record(pairs, peaks, count)
            pairs, peaks, count, tag = [], [], None, ""
        elif line[:1].isspace():
            is_peak = tag == "PK$PEAK" and line.strip() not in ("", "N/A")  # the latter of a record without any
            peaks += [" ".join(line.split()[:2])] if is_peak else []
        elif line.strip():
            tag, _, value = (part.strip() for part in line.partition(":"))
            if tag in _MASSBANK_TAGS:
                name, _, value = value.partition(" ")
                pairs.append((name, value.strip()))
            elif tag == "PK$NUM_PEAK":
                count = value
            else:
                pairs.append((tag.partition("$")[2] or tag, value))


def read_peak_list(lines):
    """One spectrum: an m/z and an intensity in each line, below a line of names or not."""
    kept = [line.replace('"', "").strip() for line in lines]
    kept = [line for line in kept if line and not line.startswith("#")]
    if kept and kept[0][:1].isalpha():
        kept = kept[1:]
    if kept and all(_PAIRS.fullmatch(word) for word in re.split(r"[\s;,]+", kept[0].strip(";, "))):
        kept = [pair for line in kept for pair in re.split(r"[\s;,]+", line) if pair]  # 50.1:1 60.2:2
    elif len(kept) == 1 and len(words := re.split(r"[\s;,]+", kept[0].strip(";, "))) > 3 and len(words) % 2 == 0:
        kept = [f"{mz} {intensity}" for mz, intensity in zip(words[0::2], words[1::2], strict=True)]
    if all(_HALVES.fullmatch(line) for line in kept):
        kept = [line.replace(";", " ") for line in kept]
    try:
        if not kept:
            raise BadRecord("has no peaks")
        yield [], *_peaks(kept)
    except BadRecord as problem:
        yield problem

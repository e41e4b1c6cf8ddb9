"""Files of spectra: dialects, what they have in common, and records that cannot be read."""

import base64
import contextlib
import gzip
import json
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import InputError, MercerError
from mercer.spectra import SkippedSpectraWarning, Spectra, read_spectra

MSP = """Name: Kojic acid
Synon: 5-hydroxy
DB#: HB003316
InChIKey: BEJNERDRQOWKJM-UHFFFAOYSA-N
Precursor_type: [M-H]-
Spectrum_type: MS2
PrecursorMZ: 141.0193
Ion_mode: NEGATIVE
Comments: "SMILES=C1=C(OC=C(C1=O)O)CO" "retention time=5.5 min" Collision_energy="60 %"
Num Peaks: 3
{peaks}

Name: Second
Num Peaks: 1
41.04\t37.2
"""
DIALECTS = ["69.07 7.9\n86.1 66\n141.019 999", '69.07 7.9 "C4H5O+"\n86.1 66 "?"\n141.019 999 "p; 1"',
            "69.07\t7.9\t1\n86.1\t66\t2\n141.019\t999\t3", "69.07:7.9 86.1:66\n141.019:999",
            "69.07 7.9; 86.1 66; 141.019 999;",
            "(69.07,7.9) (86.1,66)\n(141.019,999)", "69.07 7.9 86.1 66\n141.019 999",
            "69.07 7.9 C5'\n86.1 66 b2;y3\n141.019 999 C6'"]  # fmt: skip
# file of the shared data -> (spectra, peaks) by matchms 0.33, and of runs by pyteomics 5
COUNTS = {
    "MoNA-export-GC-MS-first10.msp": (10, 494),
    "comments_with_quotes.msp": (1, 248),
    "golm.msp": (3, 287),
    "massbank_five_spectra.msp": (5, 41),
    "riken_style_five_spectra.msp": (5, 41),
    "pyteomics_test.mgf": (2, 12),
    "testdata.mgf": (30, 902),
    "gnps_spectra.json": (5, 967),
    "testdata.mzml": (12, 3779),
    "tiny.pwiz.1.1.mzML": (4, 40),
    "testdata.mzXML": (5, 1403),
}


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("peaks", DIALECTS)
def test_dialects_of_msp_say_the_same(peaks, tmp_path):
    spectra = read_spectra(written(tmp_path, "a.msp", MSP.format(peaks=peaks)))
    assert spectra[0].mz.tolist() == [69.07, 86.1, 141.019]
    assert spectra[0].intensity.tolist() == [7.9, 66.0, 999.0]
    assert spectra[1].mz.tolist() == [41.04]
    assert spectra[0].metadata == {
        "name": "Kojic acid", "precursor_mz": 141.0193, "adduct": "[M-H]-", "ion_mode": "negative",
        "smiles": "C1=C(OC=C(C1=O)O)CO", "inchikey": "BEJNERDRQOWKJM-UHFFFAOYSA-N", "retention_time": 330.0,
        "collision_energy": "60 %", "ms_level": 2, "spectrum_id": "HB003316", "file": "a.msp",
    }  # fmt: skip


# the same two spectra, (50, 1), (60, 2) with a precursor of 123.4 and then (70, 3), as files have them
PLAIN = "NAME: 5-a\nPRECURSORMZ: 123.4\nNum Peaks: 2\n50 1\n60 2\n\nNAME: b\nNum Peaks: 1\n70 3\n"
IONS = "BEGIN IONS\nTITLE=5-a\nPEPMASS=123.4 1000\n50 1\n60 2\nEND IONS\nBEGIN IONS\nTITLE=b\n70 3\nEND IONS\n"
VARIANTS = {
    "plain.msp": PLAIN, "windows.msp": PLAIN.replace("\n", "\r\n"), "mac.msp": PLAIN.replace("\n", "\r"),
    "mark.msp": b"\xef\xbb\xbf" + PLAIN.encode(),
    "blanks.msp": "\n\n" + PLAIN.replace("Peaks: 2\n", "Peaks: 2\n\n") + "\n\n",
    "tabs.msp": PLAIN.replace(": ", ":\t").replace("0 ", "0\t"), "tight.msp": PLAIN.replace(": ", ":"),
    "uncounted.msp": PLAIN.replace("Num Peaks: 2\n", "").replace("Num Peaks: 1\n", ""),
    "powers.msp": PLAIN.replace("123.4", "1.234E2").replace("50 1", "5.0e+1 1E0"),
    "one-line.msp": PLAIN.replace("50 1\n60 2", "50 1;60 2;"), "packed": gzip.compress(PLAIN.encode(), mtime=0),
    "gaps.msp": PLAIN.replace("PRECURSOR", "\nPRECURSOR").replace("Num Peaks", "\nNumber of peaks"),
    "wrapped.msp": PLAIN.replace("\nPRECURSOR", "\nComment: a text\nthat goes on\nPRECURSOR"), "plain.txt": PLAIN,
    "ions.dat": IONS, "list.txt.gz": gzip.compress(b'[{"name": "5-a", "pepmass": 123.4, "peaks": "50 1;60 2"}, '
                                                   b'{"name": "b", "peaks": "70 3"}]'),
    "ions.mgf": IONS, "windows.mgf": IONS.replace("\n", "\r\n"), "tabs.mgf": IONS.replace("0 ", "0\t"),
    "mark.mgf": b"\xef\xbb\xbf" + IONS.encode(), "small.mgf": IONS.replace("IONS", "Ions"),
    "lines.json": '{"name": "5-a", "pepmass": "123.4", "peaks": "50 1; 60 2"}\n{"name": "b", "peaks": {"mz": [70], '
    '"intensity": [3]}}\n',
    "latin.json": '[{"name": "5-a", "precursor_mz": 123.4, "peaks": "50:1,60:2", "note": "é"}, {"name": "b", "peaks": '
    '[{"mz": 70, "intensity": 3}]}]'.encode("latin-1"),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_ends_of_lines_marks_blanks_and_packing_change_nothing(name, tmp_path):
    spectra = read_spectra(written(tmp_path, name, VARIANTS[name]), format=None if "." in name else "msp", strict=True)
    assert spectra.column("name") == ["5-a", "b"]
    assert spectra.column("precursor_mz") == [123.4, None]
    assert [each.mz.tolist() for each in spectra] == [[50.0, 60.0], [70.0]]
    assert spectra.intensity.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "text", ["50:1 60:2", "50 1, 60 2\n", "50;1\n60;2\n", '"m/z","intensity"\n"50","1"\n60,2\n', "# a\n50\t1\r\n60\t2"]
)
def test_a_list_of_peaks_may_be_separated_by_anything(text, tmp_path):
    spectra = read_spectra(written(tmp_path, "a.csv", text), strict=True)
    assert (spectra.mz.tolist(), spectra.intensity.tolist()) == ([50.0, 60.0], [1.0, 2.0])


@pytest.mark.parametrize(("name", "text", "told"), [
    ("a.msp", "NAME: a\nNum Peaks: 2\n69,03 120\n111,0 999\n", "decimal comma"),
    ("a.mgf", "BEGIN IONS\n69,03 120,5\nEND IONS\n", "decimal comma"),
    ("a.msp", "NAME: a\nPRECURSORMZ: 5\n", "neither peaks nor"), ("a.txt", "# none\n", "has no peaks"),
    ("a.mgf", "\n \n", "holds no spectra"), ("a.json", "[]", "holds no spectra"), ("a.msp", "", "file is empty"),
    ("a.mzML.gz", gzip.compress(b"", mtime=0), "file is empty"), ("a.json", "", "file is empty"),
    ("a.msp", PLAIN.encode("utf-16"), "UTF-16"),
    ("a.json", '[{"peaks": {"mz": [1, 2], "intensity": [1]}}]', "different"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_the_reason(name, text, told, tmp_path):
    with pytest.raises(InputError, match=told):
        read_spectra(written(tmp_path, name, text), strict=True)


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_files_of_instruments_and_libraries_have_the_counts_of_matchms_and_pyteomics(name, data_dir):
    spectra = read_spectra(data_dir / "spectra_files" / name)
    assert (len(spectra), len(spectra.mz)) == COUNTS[name]
    assert spectra.problems == []


@pytest.mark.data
def test_the_same_spectra_in_two_dialects_have_the_same_metadata(data_dir):
    folder = data_dir / "spectra_files"
    one, other = (read_spectra(folder / f"{name}_five_spectra.msp") for name in ("massbank", "riken_style"))
    for name in ("name", "precursor_mz", "adduct", "ion_mode", "formula", "smiles", "inchikey", "collision_energy"):
        assert one.column(name) == other.column(name)
    np.testing.assert_array_equal(one.mz, other.mz)


def test_a_bad_record_is_named_by_its_number_and_skipped(tmp_path):
    bad = "NAME: bad\nNum Peaks: 3\n41.0 1\n42.0 x\n43.0 2\n\n"
    path = written(tmp_path, "a.msp", "NAME: a\nNum Peaks: 1\n40 1\n\n" + bad + "NAME: c\nNum Peaks: 2\n40 1\n")
    with pytest.warns(SkippedSpectraWarning, match="Skipped 2 of 3 records") as told:
        spectra = read_spectra(path)
    assert "record 2 has a peak that is not a number" in str(told[0].message)
    assert "record 3 announces 2 peaks and has 1" in spectra.problems[1]
    assert spectra.column("name") == ["a"]
    with pytest.raises(InputError, match="record 2"):
        read_spectra(path, strict=True)


def test_mgf_knows_parameters_of_all_and_goes_on_behind_a_record_without_end(tmp_path):
    text = "CHARGE=1-\nBEGIN IONS\nTITLE=a\nPEPMASS=300.5 1234\n100 1 1+\nBEGIN IONS\nNAME=b\nTITLE=t\nSCANS=7\n" \
           "RTINSECONDS=25\nCHARGE=2+\n100.5 2\nEND IONS\nBEGIN IONS\nTITLE=c\n"  # fmt: skip
    with pytest.warns(SkippedSpectraWarning):
        spectra = read_spectra(written(tmp_path, "a.mgf", text))
    assert spectra[0].metadata == {"name": "b", "charge": 2, "retention_time": 25.0, "file": "a.mgf", "scan": 7}
    assert [problem.rpartition(": ")[2].startswith("record") for problem in spectra.problems] == [True, True]
    assert "record 3" in spectra.problems[1]


def test_json_of_mona_and_of_gnps_and_plain_pairs(tmp_path):
    mona = {"id": "M1", "spectrum": "51:2.66 55:8", "metaData": [{"name": "precursor m/z", "value": 200.5}],
            "compound": [{"inchiKey": "BEJNERDRQOWKJM-UHFFFAOYSA-N", "names": [{"name": "x"}]}]}  # fmt: skip
    gnps = {"Compound_Name": "y", "Precursor_MZ": "981.54", "peaks_json": "[[289.2,8068.0],[295.5,1.0]]"}
    plain = {"name": "z", "peaks": [[51, 2.66]]}
    path = written(tmp_path, "a.json", json.dumps([mona, gnps, plain, {"name": "none"}, 3]))
    with pytest.warns(SkippedSpectraWarning, match="record 4 has no peaks"):
        spectra = read_spectra(path)
    assert spectra.column("name") == ["x", "y", "z"]
    assert spectra.column("precursor_mz") == [200.5, 981.54, None]
    assert spectra.column("spectrum_id")[0] == "M1"
    assert np.diff(spectra.offsets).tolist() == [2, 2, 1]


def test_records_of_massbank_are_told_by_their_beginning(tmp_path):
    record = """ACCESSION: MSBNK-A-1
RECORD_TITLE: Ketoprofen; LC-ESI-QTOF; MS2
CH$NAME: Ketoprofen
CH$NAME: another name
CH$FORMULA: C16H14O3
CH$SMILES: CC(C(O)=O)c1ccccc1
CH$LINK: INCHIKEY DKYWVDODHFEZIM-UHFFFAOYSA-N
AC$MASS_SPECTROMETRY: MS_TYPE MS2
AC$MASS_SPECTROMETRY: ION_MODE NEGATIVE
AC$MASS_SPECTROMETRY: COLLISION_ENERGY 10 eV
AC$CHROMATOGRAPHY: RETENTION_TIME 8.5 min
MS$FOCUSED_ION: PRECURSOR_M/Z 253.087/209.1
MS$FOCUSED_ION: PRECURSOR_TYPE [M-H]-
PK$ANNOTATION: m/z tentative_formula
  105.0329 C7H5O+
PK$NUM_PEAK: {}
PK$PEAK: m/z int. rel.int.
  105.0329 5524 36
  209.0956 148588 999
//
"""
    empty = "ACCESSION: MSBNK-A-2\nPK$NUM_PEAK: 0\nPK$PEAK: m/z int. rel.int.\n  N/A\n//\n"
    path = written(tmp_path, "a.txt", record.format(2) + record.format(3) + empty)
    with pytest.warns(SkippedSpectraWarning, match="record 2 announces 3 peaks and has 2"):
        spectra = read_spectra(path)
    assert np.diff(spectra.offsets).tolist() == [2, 0]
    assert (spectra.mz.tolist(), spectra.intensity.tolist()) == ([105.0329, 209.0956], [5524.0, 148588.0])
    assert spectra[0].metadata == {
        "name": "Ketoprofen", "precursor_mz": 253.087, "adduct": "[M-H]-", "ion_mode": "negative",
        "formula": "C16H14O3", "smiles": "CC(C(O)=O)c1ccccc1", "inchikey": "DKYWVDODHFEZIM-UHFFFAOYSA-N",
        "retention_time": 510.0, "collision_energy": "10 eV", "ms_level": 2, "spectrum_id": "MSBNK-A-1",
        "file": "a.txt",
    }  # fmt: skip


@pytest.mark.parametrize("text", [
    '{"annotations": [{"Compound_Name": "z"}], "precursor_mz": 100.5, "peaks": [[50, 1]]}',
    '{"annotations": [{"Compound_Name": "z", "Precursor_MZ": "100.5"}], "spectruminfo": {"peaks_json": "[[50, 1]]"}}',
])  # fmt: skip
def test_a_page_of_gnps_has_its_names_in_annotations(text, tmp_path):
    spectra = read_spectra(written(tmp_path, "a.json", text), strict=True)
    assert spectra[0].metadata == {"name": "z", "precursor_mz": 100.5, "file": "a.json"}


def mzml(arrays, length):
    parts = "".join(f'<binaryDataArray><cvParam accession="{role}"/><cvParam accession="MS:1000523"/>'
                    f'<cvParam accession="MS:1000574"/><binary>{text}</binary></binaryDataArray>'
                    for role, text in zip(("MS:1000514", "MS:1000515"), arrays, strict=True))  # fmt: skip
    return (f'<mzML><run><spectrumList><spectrum id="scan=5" defaultArrayLength="{length}">'
            f'<cvParam accession="MS:1000511" value="2"/>{parts}</spectrum></spectrumList></run></mzML>')  # fmt: skip


@pytest.mark.parametrize("term", ["MS:1002312", "MS:1002747"])
def test_numpress_is_refused_by_name(term, tmp_path):
    small = base64.b64encode(zlib.compress(np.array([100.0]).tobytes())).decode()
    text = mzml([small, small], 1).replace("MS:1000574", term)
    with pytest.raises(InputError, match="record 1 has peaks compressed with MS-Numpress"):
        read_spectra(written(tmp_path, "a.mzML", text), strict=True)


@pytest.mark.parametrize(("time", "seconds"), [("PT61.5S", 61.5), ("PT1M1.5S", 61.5), ("PT1H1.5S", 3601.5)])
def test_times_of_mzxml_are_seconds(time, seconds, tmp_path):
    peaks = base64.b64encode(np.array([100, 1], ">f4").tobytes()).decode()
    text = (
        f'<mzXML><scan num="1" msLevel="2" peaksCount="1" retentionTime="{time}"><peaks>{peaks}</peaks></scan></mzXML>'
    )
    assert read_spectra(written(tmp_path, "a.mzXML", text), strict=True).column("retention_time") == [seconds]


def test_an_empty_scan_may_hold_a_pair_of_zeros(tmp_path):
    text = '<mzXML><scan num="1" msLevel="2" peaksCount="0"><peaks>AAAAAAAAAAA=</peaks></scan></mzXML>'
    assert [len(each.mz) for each in read_spectra(written(tmp_path, "a.mzXML", text), strict=True)] == [0]


def test_a_scan_that_unpacks_to_more_than_it_announces_is_refused(tmp_path):
    small = base64.b64encode(zlib.compress(np.array([100.0, 200.0]).tobytes())).decode()
    bomb = base64.b64encode(zlib.compress(bytes(50_000_000))).decode()
    spectra = read_spectra(written(tmp_path, "a.mzML", mzml([small, small], 2)))
    assert spectra[0].mz.tolist() == [100.0, 200.0]
    assert spectra[0].metadata["scan"] == 5
    with pytest.warns(SkippedSpectraWarning, match="announces 2 peaks and holds more"):
        assert not len(read_spectra(written(tmp_path, "b.mzML", mzml([small, bomb], 2))))


def test_gz_is_read_and_a_bomb_of_gz_is_refused(tmp_path):
    path = written(tmp_path, "a.msp.gz", gzip.compress(MSP.format(peaks=DIALECTS[0]).encode()))
    assert len(read_spectra(path)) == 2
    bomb = written(tmp_path, "b.msp.gz", gzip.compress(b"Name: a\n" * 10**6))
    with pytest.raises(InputError, match="memory"):
        read_spectra(bomb, max_unpacked="1MB")
    cut = written(tmp_path, "c.msp.gz", path.read_bytes()[:-30])
    with pytest.warns(SkippedSpectraWarning, match="gz file is damaged"):
        read_spectra(cut)


@pytest.mark.parametrize("name", ["a.mzML", "a.mzML.gz"])
def test_scans_before_the_place_where_a_file_is_cut_are_kept(name, tmp_path):
    rng = np.random.default_rng(0)
    arrays = [base64.b64encode(zlib.compress(rng.random(2000).tobytes())).decode() for _ in range(2)]
    scan = mzml(arrays, 2000).partition("<spectrumList>")[2].partition("</spectrumList>")[0]
    text = f"<mzML><run><spectrumList>{scan * 9}</spectrumList></run></mzML>".encode()
    data = gzip.compress(text) if name.endswith(".gz") else text
    with pytest.warns(SkippedSpectraWarning, match=r"record \d (cannot be unpacked|and all later records)"):
        spectra = read_spectra(written(tmp_path, name, data[: len(data) // 2]))
    assert 1 <= len(spectra) < 9
    with pytest.raises(InputError, match="memory"):
        read_spectra(written(tmp_path, "whole.mzML.gz", gzip.compress(text)), max_unpacked="100kB")


def test_synonyms_of_golm_hold_metadata_and_names_do_not_come_from_them(tmp_path):
    text = "Name: a\nSynon: METB InChIKey: DNIAPMSPPWPWGF-UHFFFAOYSA-N\nSynon: Name: b\nSynon: $:00in-source\n" \
           "Synon: Formula: C3H8O2\nNum Peaks: 1\n50:1\n"  # fmt: skip
    found = read_spectra(written(tmp_path, "a.msp", text), strict=True)[0].metadata
    assert found == {"name": "a", "formula": "C3H8O2", "inchikey": "DNIAPMSPPWPWGF-UHFFFAOYSA-N", "file": "a.msp"}


@pytest.mark.parametrize("said", ["300.15", "300.15, 232.0", "300.15/209.1", "300.15 12345.6", "3.0015e2;"])
def test_the_precursor_is_the_first_number(said, tmp_path):
    text = f"NAME: a\nPRECURSORMZ: {said}\nNum Peaks: 1\n50 1\n"
    assert read_spectra(written(tmp_path, "a.msp", text), strict=True).column("precursor_mz") == [300.15]


def test_what_is_no_file_of_spectra_is_refused_in_a_sentence(tmp_path):
    for path, words in ((tmp_path / "none.msp", "does not exist"), (written(tmp_path, "a.docx", "x"), "cannot be "
        "inferred"),
                        (written(tmp_path, "a.json", "{"), "not valid JSON")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            read_spectra(path)


@given(st.binary(max_size=300), st.sampled_from([".msp", ".mgf", ".json", ".mzML", ".mzXML", ".txt", ".msp.gz"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data, suffix):
    path = tmp_path_factory.mktemp("bytes") / f"a{suffix}"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(MercerError):
            read_spectra(path)


class Peaks:
    def __init__(self, mz, intensities):
        self.mz, self.intensities = mz, intensities


class LikeMatchms:
    def __init__(self, mz, intensities, metadata):
        self.peaks, self.metadata = Peaks(np.array(mz), np.array(intensities)), metadata


def test_spectra_of_matchms_are_taken():
    given = [LikeMatchms([50.0, 60.0], [1.0, 2.0], {"compound_name": "a", "ionmode": "positive", "precursor_mz": 70.5})]
    spectra = Spectra.of(given)
    assert spectra[0].metadata == {"name": "a", "precursor_mz": 70.5, "ion_mode": "positive"}
    assert spectra[0].mz.tolist() == [50.0, 60.0]


def test_parts_of_a_collection_keep_peaks_and_columns_together():
    spectra = Spectra.from_peaks([[[2, 1], [1, 5]], [], [[3, 1]]], name=["a", "b", "c"])
    part = spectra[np.array([2, 0])]
    assert part.column("name") == ["c", "a"]
    assert [each.mz.tolist() for each in part] == [[3.0], [1.0, 2.0]]
    assert [each.mz.tolist() for each in Spectra.of(list(spectra))] == [[1.0, 2.0], [], [3.0]]
    with pytest.raises(InputError, match=r"no column 'names'.*Did you mean 'name'"):
        Spectra.from_peaks([[[1, 1]]], names=["a"])
    with pytest.raises(InputError, match="finite m/z"):
        Spectra.from_peaks([[[np.nan, 1]]])

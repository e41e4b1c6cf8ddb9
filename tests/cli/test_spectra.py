"""``mercer spectra``: from files to a table of hits, and what is said of records that cannot be read."""

import csv
import io

import pytest
from pyarrow import parquet

from mercer.spectra import SpectrumIndex, read_spectra

RECORD = "Name: {}\nPrecursorMZ: {}\nFormula: {}\nIon_mode: {}\nNum Peaks: 3\n50.01 10\n{:.2f} 99\n{:.2f} 40\n\n"
LIBRARY = (
    RECORD.format("one", 200.1, "C6H6O4", "positive", 80.0, 94.02)
    + RECORD.format("two", 214.12, "C7H8O4", "negative", 80.01, 94.03)
    + RECORD.format("[bold]", 300.5, "C9", "p", 120.0, 134.02)
)
QUERY = "BEGIN IONS\nTITLE=asked\nPEPMASS=200.1\n80.0 100\n94.02 40\nEND IONS\nBEGIN IONS\nPEPMASS=1\nEND\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "library.msp").write_text(LIBRARY)
    (tmp_path / "query.mgf").write_text(QUERY)
    return tmp_path


def test_two_commands_lead_from_files_to_a_table_of_hits(files, succeeds):
    told = succeeds("spectra", "build", files / "library.msp", "--out", files / "index", "--json")
    assert (told["added"], told["spectra"], told["similarity"]) == (3, 3, "entropy")
    found = succeeds("spectra", "search", files / "index", files / "query.mgf", "-k", 2, "--json")
    assert [(hit["rank"], hit["name"], hit["matched_peaks"]) for hit in found["hits"]] == [(1, "one", 2), (2, "two", 2)]
    assert found["hits"][0]["query_name"] == "asked"
    assert found["hits"][0]["formula"] == "C6H6O4"
    assert found["hits"][1]["precursor_difference"] == pytest.approx(-14.02)
    assert "record 2" in found["skipped"][0]
    with SpectrumIndex.open(files / "index") as index:
        hits = index.search(read_spectra(files / "library.msp"), 1)
    assert hits.columns["name"] == ["one", "one", "[bold]"]  # of equal scores the first
    shown = succeeds("spectra", "search", files / "index", files / "library.msp")
    assert "[bold]" in shown


def test_tables_of_all_formats_hold_the_same_hits(files, succeeds):
    succeeds("spectra", "build", files / "library.msp", "--out", files / "index")
    search = ("spectra", "search", files / "index", files / "query.mgf")
    printed = list(csv.DictReader(io.StringIO(succeeds(*search, "--out", "-"))))
    for name in ("hits.csv", "hits.tsv", "hits.parquet", "hits.json"):
        succeeds(*search, "--out", files / name)
    assert list(csv.DictReader((files / "hits.csv").open())) == printed
    assert list(csv.DictReader((files / "hits.tsv").open(), delimiter="\t")) == printed
    table = parquet.read_table(files / "hits.parquet").to_pylist()
    assert [row["name"] for row in table] == [row["name"] for row in printed]
    assert [row["id"] for row in table] == [int(row["id"]) for row in printed]


def test_modes_conditions_and_settings_reach_the_index(files, succeeds):
    said = "--similarity cosine --unit ppm --tolerance 50 --noise 0 --precursor-window none --merge 0"
    succeeds("spectra", "build", files / "library.msp", "--out", files / "index", *said.split())
    told = succeeds("spectra", "info", files / "index", "--json")
    assert [told[name] for name in ("similarity", "unit", "tolerance", "merge")] == ["cosine", "ppm", 50, 0]
    assert told["precursor_window"] == "none"
    search = ("spectra", "search", files / "index", files / "query.mgf", "--json")
    assert [hit["name"] for hit in succeeds(*search)["hits"]] == ["one"]  # 0.01 Da are more than 50 ppm
    assert [hit["name"] for hit in succeeds(*search, "--mode", "identity")["hits"]] == ["one"]
    assert succeeds(*search, "--where", "ion_mode = 'negative'")["hits"] == []
    assert succeeds(*search, "--min-matched-peaks", 3)["hits"] == []


def test_spectra_are_added_and_all_pairs_found(files, succeeds):
    succeeds("spectra", "build", files / "library.msp", "--out", files / "index")
    assert succeeds("spectra", "add", files / "index", files / "library.msp", "--json")["spectra"] == 6
    succeeds("spectra", "pairs", files / "index", "--min-score", 0.99, "--out", files / "pairs.csv")
    pairs = list(csv.DictReader((files / "pairs.csv").open()))
    found = {(int(row["first"]), int(row["second"])) for row in pairs}
    assert found == {(0, 3), (1, 4), (2, 5), (0, 1), (0, 4), (1, 3), (3, 4)}  # one and two are within the tolerance


def test_a_library_becomes_a_network(files, succeeds):
    succeeds("spectra", "build", files / "library.msp", files / "library.msp", "--out", files / "index")
    told = succeeds(
        "spectra", "network", files / "index", "--out", files / "net.graphml", "--min-matched-peaks", 2, "--json"
    )
    assert (told["spectra"], told["edges"], told["joined"]) == (6, 7, 6)
    assert (files / "net.graphml").read_text().count("<edge ") == 7
    succeeds("spectra", "network", files / "index", "--out", files / "net.csv", "--min-matched-peaks", 2)
    edges = list(csv.DictReader((files / "net.csv").open()))
    assert len(edges) == 7
    ends = next(edge for edge in edges if (edge["first"], edge["second"]) == ("0", "1"))
    assert (ends["first_name"], ends["second_name"], ends["component"]) == ("one", "two", "0")
    assert float(ends["precursor_difference"]) == pytest.approx(-14.02)


def test_what_cannot_be_done_is_one_sentence(files, fails, succeeds):
    build = ("spectra", "build", files / "library.msp", "--out", files / "index")
    succeeds(*build)
    fails(2, ["already holds an index"], *build)
    fails(2, ["no file"], "spectra", "search", files / "index", files / "none.msp")
    fails(1, ["record 2", "has no END IONS"], "spectra", "search", files / "index", files / "query.mgf", "--strict")
    fails(1, ["no such column"], "spectra", "search", files / "index", files / "query.mgf", "--where", "mass > 1")
    fails(1, ["does not exist"], "spectra", "info", files / "nothing")
    fails(2, ["--tolerance must be a number > 0"], *build[:3], "--out", files / "other", "--tolerance", 0)
    fails(2, ["format"], "spectra", "search", files / "index", files / "query.mgf", "--out", files / "hits.docx")

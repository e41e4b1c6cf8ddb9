"""``mercer molecules``, and learners of molecules: from files to tables, pictures and models."""

import csv
import io

import numpy as np
import pytest
from pyarrow import parquet
from scipy import sparse

import mercer
from mercer.molecules import MoleculeIndex, read_molecules
from tests.molecules.samples import SMILES

pytest.importorskip("rdkit")


@pytest.fixture
def files(tmp_path):
    lines = ["name,smiles,active,mass"]
    lines += [f"m{i},{text},{int('c1' in text)},{len(text)}.5" for i, text in enumerate(SMILES)]
    lines.insert(3, "bad,C(,0,1")
    (tmp_path / "library.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "query.smi").write_text("CCCCO [bold]\nC1CC wrong\nc1ccccc1C benzol\n")
    return tmp_path


@pytest.fixture
def index(files, succeeds):
    succeeds("molecules", "build", files / "library.csv", "--out", files / "index", "--quiet")
    return files / "index"


def test_two_commands_lead_from_files_to_a_table_and_a_picture_of_hits(files, succeeds):
    told = succeeds("molecules", "build", files / "library.csv", "--out", files / "index", "--json")
    assert (told["added"], told["molecules"], told["fingerprint"]) == (len(SMILES), len(SMILES), "morgan")
    assert told["columns"] == {"smiles": "text", "name": "text", "active": "integer", "mass": "float"}
    assert told["skipped"] == [f"{files / 'library.csv'}, line 4: RDKit cannot read 'C('."]
    search = ("molecules", "search", files / "index", files / "query.smi", "-k", 3)
    found = succeeds(*search, "--json", "--grid", files / "hits.png")
    assert [(hit["query_name"], hit["rank"]) for hit in found["hits"]] == [
        (name, rank) for name in ("[bold]", "benzol") for rank in (1, 2, 3)
    ]
    assert "line 2" in found["skipped"][0]
    assert (files / "hits.png").read_bytes().startswith(b"\x89PNG")
    with MoleculeIndex.open(files / "index") as opened:
        hits = opened.search(["CCCCO"], 3)
    assert [hit["id"] for hit in found["hits"][:3]] == hits.ids.tolist()
    assert [hit["smiles"] for hit in found["hits"][:3]] == [SMILES[i] for i in hits.ids]
    assert "[bold]" in succeeds(*search)


def test_tables_of_all_formats_hold_the_same_hits(files, index, succeeds):
    search = ("molecules", "search", index, files / "query.smi", "--all", "--min-score", 0.2, "--where", "mass < 20")
    printed = list(csv.DictReader(io.StringIO(succeeds(*search, "--out", "-"))))
    assert printed
    assert all(float(row["mass"]) < 20 for row in printed)
    for name in ("hits.csv", "hits.tsv", "hits.parquet", "hits.json"):
        succeeds(*search, "--out", files / name)
    assert list(csv.DictReader((files / "hits.csv").open())) == printed
    assert list(csv.DictReader((files / "hits.tsv").open(), delimiter="\t")) == printed
    assert [row["id"] for row in parquet.read_table(files / "hits.parquet").to_pylist()] == [
        int(row["id"]) for row in printed
    ]


def test_pairs_clusters_and_picks_are_those_of_python(files, index, succeeds):
    with MoleculeIndex.open(index) as opened:
        pairs, clusters, picked = opened.pairs(0.3), opened.cluster(0.3), opened.pick(4, random_state=3)
    succeeds("molecules", "pairs", index, "--min-score", 0.3, "--out", files / "pairs.csv")
    rows = list(csv.DictReader((files / "pairs.csv").open()))
    assert [(int(row["first"]), int(row["second"])) for row in rows] == list(zip(*pairs[:2], strict=True))
    succeeds("molecules", "cluster", index, "--min-score", 0.3, "--out", files / "clusters.csv")
    rows = list(csv.DictReader((files / "clusters.csv").open()))
    assert [int(row["cluster"]) for row in rows] == clusters.labels.tolist()
    assert [i for i, row in enumerate(rows) if row["center"] == "1"] == sorted(clusters.centers.tolist())
    told = succeeds("molecules", "cluster", index, "--min-score", 0.3, "--method", "components", "--json")
    assert told["clusters"] < len(clusters)
    assert "m" in succeeds("molecules", "cluster", index)
    told = succeeds("molecules", "pick", index, "-n", 4, "--seed", 3, "--json", "--grid", files / "four.svg")
    assert [hit["id"] for hit in told["picked"]] == picked[0].tolist()
    assert "<svg" in (files / "four.svg").read_text()
    assert "similarity" in succeeds("molecules", "pick", index, "-n", 2)


def test_molecules_are_added_and_settings_are_kept(files, succeeds):
    said = "--similarity cosine --fingerprint atom-pair --binary --n-bits 512 --smiles smiles"
    succeeds("molecules", "build", files / "library.csv", "--out", files / "index", *said.split())
    told = succeeds("molecules", "add", files / "index", files / "query.smi", "--json")
    assert (told["added"], told["molecules"]) == (2, len(SMILES) + 2)
    told = succeeds("molecules", "info", files / "index", "--json")
    assert [told[name] for name in ("similarity", "fingerprint", "counts", "n_bits")] == ["cosine", "atom-pair", 0, 512]
    assert "atom-pair" in succeeds("molecules", "info", files / "index")


def test_fingerprints_of_ones_own_lie_beside_the_molecules(files, succeeds, fails):
    (files / "two.smi").write_text("CCO a\nCCC b\n")
    sparse.save_npz(files / "X.npz", sparse.csr_array(np.array([[1.0, 2, 0], [0, 2, 1]])))
    built = ("molecules", "build", files / "two.smi", "--out", files / "own", "--fingerprints", files / "X.npz")
    succeeds(*built)
    search = ("molecules", "search", files / "own", files / "two.smi")
    found = succeeds(*search, "-k", 1, "--fingerprints", files / "X.npz", "--json")
    assert [hit["name"] for hit in found["hits"]] == ["a", "b"]
    assert "your own" in succeeds("molecules", "info", files / "own")
    fails(1, ["Pass the fingerprints of these molecules too"], *search)
    fails(2, ["--n-bits has no effect"], *built[:-4], "--out", files / "o", *built[-2:], "--n-bits", 64)


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        (1, "line 4: RDKit cannot read", ["build", "library.csv", "--out", "new", "--strict"]),
        (2, "no column 'x'", ["build", "library.csv", "--out", "new", "--smiles", "x"]),
        (2, "There is no file", ["build", "none.csv", "--out", "new"]),
        (1, "No molecule can be read", ["build", "empty.smi", "--out", "new"]),
        (2, "format of hits.xyz", ["search", "index", "query.smi", "--out", "hits.xyz"]),
        (1, "svg file", ["search", "index", "query.smi", "--grid", "hits.pdf"]),
        (1, "needs min_score > 0", ["search", "index", "query.smi", "--all"]),
    ],
)
def test_mistakes_are_named(index, files, fails, monkeypatch, code, said, arguments):
    monkeypatch.chdir(files)
    (files / "empty.smi").write_text("\n")
    fails(code, [said], "molecules", *arguments)
    assert not (files / "new").exists()


def test_a_model_of_molecules_makes_the_fingerprints_itself(files, succeeds, fails):
    fit = ("fit", files / "library.csv", "--smiles", "smiles", "--label", "active", "--out", files / "m.mercer")
    told = succeeds(*fit, "--kernel", "min-max", "--fingerprint", "torsion", "--n-bits", 256, "--json")
    assert (told["rows"], told["columns"]) == (len(SMILES), 256)
    assert len(told["skipped"]) == 1
    lines = succeeds("predict", files / "m.mercer", files / "library.csv").splitlines()
    assert lines[2] == '""'  # of the molecule that cannot be read
    model = mercer.load(files / "m.mercer")
    assert [int(line) for line in lines if line != '""'] == model.predict(SMILES).tolist()
    table = succeeds("predict", files / "m.mercer", files / "query.smi", "--scores", "--out", "-")
    assert len(table.splitlines()) == 4
    with_ids = succeeds("predict", files / "m.mercer", files / "library.csv", "--id", "name").splitlines()
    assert with_ids[1].startswith("m0,")
    told = succeeds("evaluate", files / "m.mercer", files / "library.csv", "--label", "active", "--json")
    truth = read_molecules(files / "library.csv").columns["active"]
    truth = np.array([value for i, value in enumerate(truth) if i != 2])
    assert told["accuracy"] == np.mean(model.predict(SMILES) == truth)
    assert "MoleculeFingerprints" in succeeds("inspect", files / "m.mercer")
    fails(2, ["--drop does not apply to molecules"], *fit, "--kernel", "min-max", "--drop", "mass")
    rows = ("fit", files / "library.csv", "--label", "active", "--out", files / "m")
    fails(2, ["--radius applies to molecules only"], *rows, "--radius", 3)
    fails(2, ["no column 'none'"], *fit[:5], "none", *fit[6:])


def test_messages_name_options_and_the_command_for_an_index(files, index, fails, succeeds):
    (files / "rows.csv").write_text("a,b\n" + "\n".join(f"0.{i},0.{9 - i}" for i in range(1, 9)))
    succeeds("index", "build", files / "rows.csv", "--out", files / "rows.index", "--quiet")
    query, told = files / "query.smi", "is an index of {}. Use mercer {}"
    fails(1, ["mercer: --where, character 1"], "molecules", "search", index, query, "--where", "a > 1")
    fails(2, [f"-n must be an integer from 1 to {len(SMILES)}", "got 3000"], "molecules", "pick", index, "-n", 3000)
    fails(2, ["mercer: -k must be an integer >= 1"], "molecules", "search", index, query, "-k", 0)
    fails(2, ["mercer: --missing must be"], "index", "build", files / "rows.csv", "--dry-run", "--missing", "men")
    fails(1, [told.format("rows", "index")], "molecules", "search", files / "rows.index", query)
    fails(1, [told.format("molecules", "molecules")], "spectra", "search", index, query)
    fails(1, ["index is one of molecules", "mercer molecules search"], "index", "search", index, files / "library.csv")

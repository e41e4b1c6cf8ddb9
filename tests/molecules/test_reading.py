"""Files of molecules: what is read, and what is said of records that cannot be."""

import bz2
import gzip

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from mercer import InputError
from mercer.molecules import SkippedMoleculesWarning, read_molecules

BLOCK = """{name}
  made by hand

  2  1  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.5000    0.0000    0.0000 {atom}   0  0
  1  2  1  0
M  END
"""


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.smi", "CCO ethanol\nCC(=O)O\tacetic acid\n\nC\n", {"name": ["ethanol", "acetic acid", None]}),
        ("a.smiles", "SMILES Name\r\nCCO 007\r\nCC(=O)O 2\r\nC 3\r\n", {"name": ["007", "2", "3"]}),
        ("a.csv", "mass,SMILES,ok\n46.1,CCO,1\n60,CC(=O)O,\n16.04,C,3\n",
            {"mass": [46.1, 60.0, 16.04], "ok": [1, None, 3]}),
        ("a.csv", '\ufeffid,Canonical SMILES,note\n1,CCO,"a, b"\n2,CC(=O)O,"two\nlines"\n3,C,NA\n',
            {"name": ["1", "2", "3"], "note": ["a, b", "two\nlines", None]}),
        ("a.tsv", "name\tid\tsmiles\nx\t1\tCCO\ny\t2\tCC(=O)O\nz\t3\tC\n", {"name": ["x", "y", "z"], "id_": [1, 2, 3]}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("pack", [None, gzip, bz2])
def test_texts_are_read_with_typed_columns(tmp_path, name, text, columns, pack):
    path = tmp_path / (name + {None: "", gzip: ".gz", bz2: ".bz2"}[pack])
    content = text.encode()
    path.write_bytes(content if pack is None else pack.compress(content))
    found = read_molecules(path)
    assert found.smiles == ["CCO", "CC(=O)O", "C"]
    assert found.columns == columns


def test_sdf_has_names_and_properties_and_bad_records_are_named_by_their_lines(tmp_path):
    pytest.importorskip("rdkit")
    good, last = BLOCK.format(name="methanol", atom="O"), BLOCK.format(name="", atom="N")
    text = good + ">  <MASS>  (1)\n32.04\n\n> <NOTE>\none\ntwo\n\n$$$$\n" + good.replace(" O ", " Xx") + "$$$$\n"
    path = tmp_path / "a.sdf"
    path.write_text(text + "no molecule\n$$$$\n" + last + ">  <MASS>\n31.06\n")
    with pytest.warns(SkippedMoleculesWarning, match=r"a\.sdf, record 2 \(line 17\) cannot be read .* record 3 \(line"):
        found = read_molecules(path)
    assert found.smiles == ["CO", "CN"]
    assert found.columns == {"name": ["methanol", None], "MASS": [32.04, 31.06], "NOTE": ["one\ntwo", None]}
    assert found.numbers == [0, 3]
    with pytest.raises(InputError, match="record 2"):
        read_molecules(path, strict=True)


def test_parquet_keeps_its_types(tmp_path):
    table = {
        "smiles": ["CCO", None, "C"],
        "mass": [46.0, 1.0, 16.0],
        "active": [True, False, None],
        "tags": [["a"]] * 3,
    }
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    with pytest.warns(SkippedMoleculesWarning, match="row 1 has no SMILES"):
        found = read_molecules(tmp_path / "a.parquet")
    assert found.columns == {"mass": [46.0, 16.0], "active": [True, None], "tags": ["['a']", "['a']"]}


def test_semicolons_separate_cells_where_the_header_has_them(tmp_path):
    (tmp_path / "a.csv").write_text('"ChEMBL ID";"Smiles";"Mass, Da"\n"CHEMBL25";"CC(=O)O";"60,05"\n')
    found = read_molecules(tmp_path / "a.csv")
    assert (found.smiles, found.columns) == (["CC(=O)O"], {"name": ["CHEMBL25"], "Mass, Da": ["60,05"]})


def test_files_are_joined_by_the_names_of_their_columns(tmp_path):
    (tmp_path / "a.csv").write_text("smiles,x\nC,1\n")
    (tmp_path / "b.csv").write_text("smiles,x,y\nCC,one,2\n")
    found = read_molecules([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert (found.smiles, found.columns) == (["C", "CC"], {"x": ["1", "one"], "y": [None, 2]})
    assert found.place(1).endswith("b.csv, line 2")
    assert found[np.array([False, True])].columns == {"x": ["one"], "y": [2]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"a,b\n1,2\n", "SMILES column"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"smiles,a\nC\n", "line 2 has 1 cells, but the header has 2"),
        ("a.csv", b"smiles,a,a\nC,1,2\n", "several columns named 'a'"),
        ("a.csv", b'smiles,a\n"' + b"C" * 2**21, "line 2 cannot be read"),
        ("a.parquet", b"PAR1 no", "cannot be read as parquet"),
        ("a.xyz", b"C", "cannot be inferred from its name"),
        ("a.smi.gz", b"\x1f\x8b broken", "not a complete .gz file"),
    ],
)
def test_files_that_cannot_be_read_are_refused_by_name(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_molecules(tmp_path / name)
    assert name in str(caught.value)


def test_what_is_no_molecule_is_named_and_nothing_else_is_lost(tmp_path):
    pytest.importorskip("rdkit")
    from mercer.molecules import MoleculeIndex

    bad = ["C(", "c1ccccc", "\x00", "C" * 70_000, "(" * 5000, "[Xx]", "C1CC2", "é"]
    (tmp_path / "a.smi").write_bytes("\n".join(["CCO", *bad, "CCC"]).encode("latin-1"))
    with pytest.warns(SkippedMoleculesWarning):
        molecules, X = MoleculeIndex().encode(read_molecules(tmp_path / "a.smi"))
    assert molecules.smiles == ["CCO", "CCC"]
    assert X.shape == (2, 2048)
    assert len(molecules.problems) == len(bad)
    assert all(any(f"line {number}" in problem for problem in molecules.problems) for number in range(2, 10))


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path):
    (tmp_path / "a.smi.gz").write_bytes(gzip.compress(b"C\n" * 2**20))
    with pytest.raises(InputError, match="more than 1 MB of memory unpacked"):
        read_molecules(tmp_path / "a.smi.gz", max_unpacked="1MB")

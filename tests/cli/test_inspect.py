"""``mercer inspect``"""

import pytest

import mercer as package


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "rbf.mercer"
    package.save(package.RBF(gamma=0.5), path)
    return path


def test_the_header_is_shown_as_a_table_and_as_json(succeeds, model):
    text = succeeds("inspect", model)
    found = succeeds("inspect", model, "--json")
    assert found["class"] == "RBF"
    assert found["parameters"]["gamma"] == "0.5"
    assert found["mercer"] == package.__version__
    assert found["verified"] is False
    assert found["bytes"] == model.stat().st_size
    for word in ("RBF", "gamma", found["fingerprint"], found["mercer"]):
        assert word in text


def test_verify_reads_the_whole_file_and_names_a_damaged_one(succeeds, fails, model):
    assert succeeds("inspect", model, "--verify", "--json")["verified"] is True
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    fails(1, ["rbf.mercer"], "inspect", model, "--verify")


def test_the_standard_input_can_be_inspected(succeeds, process, model):
    code, out, err = process("inspect", "-", "--quiet", input=model.read_bytes())
    assert (code, err) == (0, "")
    assert b"RBF" in out


def test_what_is_no_model_file_is_refused(fails, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    fails(1, ["notes.txt"], "inspect", tmp_path / "notes.txt")
    fails(2, ["There is no file", "nowhere"], "inspect", tmp_path / "nowhere")
    fails(2, [tmp_path.name, "is a directory"], "inspect", tmp_path)

"""Act 4: what to paste next, for rows, images, spectra and molecules of one's own."""

__all__ = ["COMMANDS", "next_steps"]

from mercer.cli.demo.act import Act

CSV = """import pandas as pd
from mercer import KernelClassifier
table = pd.read_csv("yours.csv")
model = KernelClassifier().fit(table.drop(columns="label"), table["label"])
print(model.plan_)"""
MOLECULES = """from mercer.molecules import MoleculeIndex     # needs rdkit: pip install 'mercer[molecules]'
index = MoleculeIndex().add(["CCO", "c1ccccc1O", "CC(=O)O"])
print(index.search(["CCCO"], k=1).scores)"""
COMMANDS = {
    "a table with a column that holds the label": ("mercer fit yours.csv --label label --out yours.mercer",
        "mercer predict yours.mercer new.csv --out labels.csv"),
    "a folder with one folder of images per class": ("mercer images train FOLDER --out yours.mercer",),
    "a library of mass spectra": ("mercer spectra build library.msp --out library.index",
        "mercer spectra search library.index unknown.mgf"),
    "a library of molecules": ("mercer molecules build library.smi --out molecules.index",
        "mercer molecules search molecules.index query.smi"),
    "rows to search": ("mercer index build rows.npy --kernel chi2 --out rows.index",
        "mercer index search rows.index queries.npy -k 10"),
}  # fmt: skip


def next_steps() -> Act:
    """Snippets and commands."""
    lines = [f"# {data}\n" + "\n".join(commands) for data, commands in COMMANDS.items()]
    snippet = "\n\n".join([f"# Python: a table\n{CSV}", f"# Python: molecules\n{MOLECULES}", *lines])
    return Act(title="Your data", about="Paste one of these and replace the file names.", snippet=snippet)

"""What the library calls things in its messages, and what they are called on the command line."""

__all__ = ["in_words_of_command"]

_HERE = {
    "Connect to it, push with replace=True,": "Search it with mercer index search --store, push with --replace,",
    "KernelIndex.push": "mercer index push",
    "KernelIndex.connect": "mercer index search --store",
    "`m`": "--m",
    "`missing`": "--missing",
    "`ef_construction`": "--ef-construction",
    ">= 2 m; got m=": "of at least twice --m; got --m ",
    "ef_construction=": "--ef-construction ",
    "ef_construction": "--ef-construction",
    "bytes_per_item=": "--bytes ",
    "n_lists=": "--lists ",
    "(vectors=None)": "(--vectors none)",
    "KernelIndex.search(where=)": "--where",
    "KernelIndex.range_search(where=)": "--where",
    "StoreIndex.search(where=)": "--where",
    "SpectrumIndex.search(where=)": "--where",
    "neighbor_graph(where=)": "--where",
    "Add rows with data= to store some.": "Build it with --keep.",
    "Push the index again with replace=True.": "Push it again with mercer index push --replace.",
    "Open it with mercer.KernelIndex.open.": "Use mercer index, such as mercer index search.",
    "Open it with mercer.spectra.SpectrumIndex.open.": "Use mercer spectra, such as mercer spectra search.",
    "Open it with mercer.molecules.MoleculeIndex.open.": "Use mercer molecules, such as mercer molecules search.",
}


def in_words_of_command(message: str) -> str:
    """A message of the library for somebody who sees options and commands only.

    >>> in_words_of_command("KernelIndex.search(where=), character 1, at a: there is no such column.")
    '--where, character 1, at a: there is no such column.'
    """
    for there, here in _HERE.items():
        message = message.replace(there, here)
    return message

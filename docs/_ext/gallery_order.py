"""The order of the worked examples."""

STORY = ("plot_mass_spectra.py", "plot_molecules.py", "plot_compositions.py")


def by_story(file_name):
    """The place of an example in the gallery; a new one comes last until it is given a place."""
    return STORY.index(file_name) if file_name in STORY else len(STORY)

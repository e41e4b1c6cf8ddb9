"""Parameters that had other names in earlier versions: files and options that use the old names stay readable.

Estimators know the new names only, since ``clone`` and ``set_params`` allow no alias in ``__init__``.
"""

__all__ = ["RENAMED", "renamed"]

from typing import Any

# class -> old name of a parameter -> its name now; entries stay for ever, because files do
RENAMED: dict[str, dict[str, str]] = {
    "BagOfWords": {"soft": "n_nearest"},
    "PartDetector": {
        "minings": "n_mining_rounds",
        "overlap": "min_overlap",
        "part_rounds": "n_part_rounds",
        "per_image": "max_negatives_per_image",
        "root_rounds": "n_root_rounds",
        "suppression": "max_overlap",
    },
}


def renamed(cls: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a class under their names of today. Where both names occur, both stay, and are refused later.

    >>> renamed("BagOfWords", {"n_words": 10, "soft": 3})
    {'n_words': 10, 'n_nearest': 3}
    """
    names = RENAMED.get(cls, {})
    return {
        name if names.get(name, name) in parameters else names.get(name, name): value
        for name, value in parameters.items()
    }

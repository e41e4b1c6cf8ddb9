"""Draw a figure of the manual from stored results for README.md, which no build of the site makes.

``python tools/picture.py`` writes docs/_static/search-peers.svg; the same results give the same bytes.
"""

import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAME = "search-peers"
PLACE = ROOT / "docs" / "_static" / f"{NAME}.svg"


def picture(name):
    """The figure of measured_figures.py as the bytes of an SVG."""
    sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]
    from matplotlib import rc_context

    from measured_figures import FIGURES
    from stored_results import Results

    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}):
        drawn = io.StringIO()
        FIGURES[name](Results()).savefig(
            drawn, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white"
        )
    return re.sub(r"[ \t]+$", "", drawn.getvalue(), flags=re.MULTILINE).encode()


if __name__ == "__main__":
    PLACE.write_bytes(picture(NAME))

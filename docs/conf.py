"""Sphinx configuration. Pages are Markdown (MyST); the API pages are made from docstrings."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import mercer

project = "Mercer"
author = "Mercer maintainers"
project_copyright = "Mercer maintainers"
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "bibliography",
    "mathml",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Sizes in the types of parameters ("of shape (n, n_features)") are not references to attributes of that name.
suppress_warnings = ["ref.python"]

html_theme = "pydata_sphinx_theme"
html_title = f"Mercer {version}"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_math_renderer = "mathml"
html_sidebars = {"**": []}  # the pages are few: the bar above names them all
html_show_sourcelink = False

"""Sphinx configuration. Pages are Markdown (MyST); the API pages are made from docstrings."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parent.parent))  # stored results are read by benchmarks/

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
    "sphinx_gallery.gen_gallery",
    "bibliography",
    "made_up",
    "mathml",
    "measured",
    "parameters",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Sizes in the types of parameters ("of shape (n, n_features)") are not references to attributes of that name.
suppress_warnings = ["ref.python"]

# The worked examples are run; one that fails stops the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery_order.by_story",
    "abort_on_example_error": True,
    "capture_repr": (),  # what a page prints is meant, what its last line returns is not
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "notebook_extensions": set(),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"Mercer {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "header_links_before_dropdown": 6,
    "navigation_depth": 3,
    "show_nav_level": 1,
    "navbar_align": "left",
}
html_math_renderer = "mathml"
# the bar above names the parts, the side the pages of a part, where there are several
html_sidebars = {"index": [], "troubleshooting": [], "**": ["sidebar-nav-bs"]}
html_show_sourcelink = False

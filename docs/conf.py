"""Sphinx's settings: the pages are Markdown, which MyST reads; `_extensions` adds pictures and the reference, made when the site is built."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]

project = "polyml"
extensions = ["myst_parser", "drawn", "reference", "commands", "outside_pages", "mathml"]
exclude_patterns = ["_extensions"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
smartquotes = False  # texts hold what people type
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "polyml"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
nitpicky = True  # references to names that do not exist are warnings; types of other packages and of annotations have no pages
nitpick_ignore_regex = [("py:class", r"(?!polyml\.).*")]

"""Sphinx's settings: the pages are Markdown, which MyST reads."""

project = "polyml"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "polyml"

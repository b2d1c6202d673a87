# SPDX-License-Identifier: GPL-2.0
"""How Sphinx renders the pages of this folder: make docs."""

project = "tcpcc"
author = "The tcpcc developers"
copyright = author
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_heading_anchors = 3
# Links to folders have no page here; tests/test_docs.py finds those that lead nowhere.
suppress_warnings = ["myst.xref_missing"]
html_theme = "alabaster"
html_theme_options = {
    "description": "TCP congestion control from five papers", "page_width": "70em",
}  # fmt: skip
html_show_sourcelink = False
html_copy_source = False

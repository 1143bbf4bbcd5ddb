# SPDX-License-Identifier: MIT
"""Sphinx makes the site of this; start it by docs/build-site."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

project = "Headrace"
release = version = re.search(r"project\(headrace VERSION ([\d.]+)",
                              (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc"]
highlight_language = "none"
default_role = "code"

# Pages are Markdown as GitHub reads it.
myst_heading_anchors = 6

# C, out of the comments of the headers: docs/Doxyfile.
breathe_default_project = "headrace"
breathe_domain_by_extension = {"h": "c"}
c_id_attributes = ["HR_API", "HR_NODISCARD"]

# Python, without the library that it calls.
autodoc_mock_imports = ["headrace._native"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

# Types that are not ours.
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|size_t|va_list|bool"),
    ("py:class", r"numpy\..*|os\.PathLike"),
    ("py:class", r"headrace\.\w+\.(Argument|Here|Phase|Swap|SupportsDLPack)"),
]

html_theme = "furo"
html_title = f"Headrace {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_show_copyright = html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False # which needs a server


def docstring(_app, _what, _name, _object, _options, lines):
    """Docstrings are plain text. A block that is set off is code. Of the others
    those with lines `name: what it is` are lists."""
    out, code = [], False
    for block in "\n".join(lines).rstrip().split("\n\n"):
        rows = block.split("\n")
        if block.startswith("    "):
            out += [] if code else ["::", ""]
            out += rows
            code = True
        else:
            rows = [re.sub(r"([|*])", r"\\\1", row) for row in rows]
            if all(re.match(r"[a-z_]+(, [a-z_]+)*: |    ", row)
                   for row in rows):
                block = re.sub(r"(?<=\.) (?=[a-z_]+(, [a-z_]+)*: )", "\n",
                               "\n".join(rows))
                rows = re.sub(r"^([a-z_, ]+): ", r"**\1**\n    ", block,
                              flags=re.MULTILINE).split("\n")
            out += rows
            code = False
        out.append("")
    lines[:] = out


def setup(app):
    app.connect("autodoc-process-docstring", docstring)

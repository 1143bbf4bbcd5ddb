# SPDX-License-Identifier: MIT
"""Write the pages that Sphinx reads: those of the tree as they are, and a page
for each header, for the Python package, for each notebook, and for each file
that a page links to. Usage: pages.py FOLDER XML
XML is Doxygen's, from which it takes what is no reader's."""
import ast
import json
import pathlib
import re
import sys
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "headrace"
PACKAGE = ROOT / "python" / "headrace"
MODULES = ["products", "contexts", "kernels", "grids", "filters", "calls",
           "reports", "errors"]
PAGES = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
         "examples/README.md"]
# The parts of a header's page, by Doxygen's words for what stands there.
PARTS = [("", ("briefdescription", "detaileddescription")),
         ("Functions", ("func",)),
         ("Types", ("innerclass", "public-attrib", "enum", "typedef")),
         ("Constants and macros", ("define", "var"))]
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "sh", "": "sh"}


def title(text):
    return f"{text}\n{'=' * len(text)}\n\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def indented(text):
    return "".join(f"   {line}".rstrip() + "\n" for line in text.splitlines())


class Site:
    """A folder of pages, and the files that they link to."""

    def __init__(self, folder, xml):
        self.folder, self.xml = folder, xml
        self.sources = set()

    def target(self, page, link):
        """Where a link of a page leads to in the site."""
        path, _, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link
        file = (ROOT / page).parent.joinpath(path).resolve()
        name = file.relative_to(ROOT)
        if name == pathlib.Path("README.md"):
            to = "index.md"
        elif file.suffix in (".md", ".svg", ".png"):
            return link
        elif file.suffix == ".ipynb":
            to = str(name.with_suffix(".md"))
        elif file == HEADERS:
            to = "reference/c/index.rst"
        elif file.parent == HEADERS:
            to = f"reference/c/{file.stem}.rst"
        elif file.is_file():
            self.sources.add(name)
            to = f"sources/{name}.rst"
        else:
            sys.exit(f"{page}: the site has no place for {link}")
        up = "../" * (len(pathlib.Path(page).parts) - 1)
        return up + to + ("#" + anchor if anchor else "")

    def page(self, page, text=None, name=None):
        """A page of Markdown, with its links."""
        if text is None:
            text = (ROOT / page).read_text()
        parts = re.split(r"(^ *```.*?^ *```$|`[^`\n]*`)", text,
                         flags=re.MULTILINE | re.DOTALL)
        for i in range(0, len(parts), 2):
            parts[i] = re.sub(
                r"\]\(([^)\s]+)\)",
                lambda m: f"]({self.target(page, m[1])})", parts[i])
        write(self.folder / (name or page), "".join(parts))

    def notebook(self, page):
        """A notebook, as it reads before it has run."""
        cells = json.loads((ROOT / page).read_text())["cells"]
        text = []
        for cell in cells:
            source = "".join(cell["source"])
            text.append(source if cell["cell_type"] == "markdown" else
                        f"```python\n{source}\n```")
        self.page(page, "\n\n".join(text) + "\n",
                  pathlib.Path(page).with_suffix(".md"))

    def source(self, name):
        """A file of the tree, to read."""
        file = ROOT / name
        language = LANGUAGES.get(file.suffix, "none")
        write(self.folder / "sources" / f"{name}.rst",
              ":orphan:\n\n" + title(str(name)) +
              f".. code-block:: {language}\n\n" + indented(file.read_text()))

    def pictures(self):
        for file in (ROOT / "docs").rglob("*.*"):
            if file.suffix in (".svg", ".png"):
                to = self.folder / file.relative_to(ROOT)
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(file.read_bytes())

    def header(self, name):
        """What a header is for, its functions, and what they take."""
        file = ElementTree.parse(self.xml / f"{name}_8h.xml")
        there = {section.get("kind") for section in file.iter("sectiondef")
                 if section.find("memberdef") is not None}
        if file.find(".//innerclass") is not None:
            there |= {"innerclass", "public-attrib"}
        text = [f".. _{name}_8h:\n\n", title(f"{name}.h")]
        for head, sections in PARTS:
            sections = [s for s in sections if s in there or not head]
            if sections and head:
                text.append(f"{head}\n{'-' * len(head)}\n\n")
            if sections:
                text.append(f".. doxygenfile:: {name}.h\n"
                            f"   :sections: {' '.join(sections)}\n\n")
        return "".join(text)

    def headers(self):
        """A page for each header, in the order in which headrace.h lists them.
        """
        comment = (HEADERS / "headrace.h").read_text().split("*/")[1]
        names = re.findall(r"(\w+)\.h\b", comment)
        names = ["headrace"] + [n for n in names if n != "headrace"]
        there = {file.stem for file in HEADERS.glob("*.h")}
        if set(names) != there:
            sys.exit("headrace.h does not list each header: "
                     f"{', '.join(sorted(set(names) ^ there))}")
        for name in names:
            write(self.folder / "reference" / "c" / f"{name}.rst",
                  self.header(name))
        write(self.folder / "reference" / "c" / "index.rst",
              title("C") + "A page for each header. Read them in this order, as "
              "the library's manual.\n\n.. toctree::\n\n" +
              indented("\n".join(names)))

    def package(self):
        """A page for the Python package: what __init__.py offers, by module."""
        tree = ast.parse((PACKAGE / "__init__.py").read_text())
        text = [title("Python"), ".. automodule:: headrace\n\n"]
        offered = {}  # names by module
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                offered.setdefault(node.module, []).extend(
                    alias.name for alias in node.names)
        del offered["_native"]
        if set(offered) != set(MODULES):
            sys.exit("these modules of the Python package have no place: "
                     f"{', '.join(sorted(set(offered) ^ set(MODULES)))}")
        for part in MODULES:
            module = ast.parse((PACKAGE / f"{part}.py").read_text())
            head = re.match(r"[^:,.]+", ast.get_docstring(module))[0]
            text.append(f"{head}\n{'-' * len(head)}\n\n")
            for name in sorted(offered[part]):
                kind = "function" if name[0].islower() else \
                    "exception" if name.endswith("Error") else \
                    "class"
                text.append(f".. auto{kind}:: headrace.{name}\n" +
                            ("   :members:\n" if kind == "class" else "") +
                            "\n")
        head = "Over processes"
        text.append(f"{head}\n{'-' * len(head)}\n\n"
                    ".. automodule:: headrace.mpi\n   :members:\n")
        write(self.folder / "reference" / "python.rst", "".join(text))


def trim(xml):
    """Leave out macros that are the headers' own: HR_DECLARE_..., and those
    whose names end with _. Also those that stand before a function of their
    name."""
    for path in xml.glob("*_8h.xml"):
        tree = ElementTree.parse(path)
        functions = {node.findtext("name")
                     for node in tree.iterfind(".//memberdef[@kind='function']")}
        for section in tree.iterfind(".//sectiondef[@kind='define']"):
            for node in list(section):
                name = node.findtext("name") or ""
                if name.endswith("_") or name.startswith("HR_DECLARE_") or \
                        name in functions:
                    section.remove(node)
        tree.write(path, encoding="utf-8", xml_declaration=True)


def main():
    xml = pathlib.Path(sys.argv[2])
    trim(xml)
    site = Site(pathlib.Path(sys.argv[1]), xml)
    contents = (ROOT / "docs" / "site" / "contents.md").read_text()
    site.page("README.md", (ROOT / "README.md").read_text() + contents,
              "index.md")
    for file in sorted((ROOT / "docs").rglob("*.md")):
        if file.parent.name != "site":
            site.page(str(file.relative_to(ROOT)))
    for page in PAGES:
        site.page(page)
    for file in sorted((ROOT / "docs").glob("*.ipynb")):
        site.notebook(str(file.relative_to(ROOT)))
    for name in sorted(site.sources):
        site.source(name)
    site.pictures()
    site.headers()
    site.package()


if __name__ == "__main__":
    main()

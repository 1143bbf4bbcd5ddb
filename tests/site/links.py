# SPDX-License-Identifier: MIT
"""Every link, picture, script and style of the pages in a folder leads to a
file there, and to an element of it where it names one. Prints each that does
not. Usage: links.py FOLDER"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[k] for k in ("id", "name") if given.get(k)}
        self.links += [given[k] for k in ("href", "src") if given.get(k)]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    if len(pages) < 40:
        sys.exit(f"links: only {len(pages)} pages in {root}")
    looked, bad = 0, 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("https", "mailto", "data"):
                    print(f"{path.relative_to(root)}: {link}")
                    bad += 1
                continue
            looked += 1
            name = urllib.parse.unquote(parts.path)
            file = (path.parent / name).resolve() if name else path
            if not file.is_file() or root not in file.parents:
                print(f"{path.relative_to(root)}: no file for {link}")
                bad += 1
            elif parts.fragment and file in pages and \
                    urllib.parse.unquote(parts.fragment) not in \
                    pages[file].ids:
                print(f"{path.relative_to(root)}: no place for {link}")
                bad += 1
    print(f"{looked} links of {len(pages)} pages, {bad} dead")
    sys.exit(bad > 0 or looked < 1000)


if __name__ == "__main__":
    main()

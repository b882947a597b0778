#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link in a *.md file points to a file that is there, every #part to a heading of it, and
that every result file (2026-11-21-….json) that a page names is in bench/results. Pages that are installed
(cmake/Install.cmake) link only to what is installed beside them.

    links.py SOURCE_DIR
"""
import fnmatch
import pathlib
import re
import sys

FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
RESULT = re.compile(r"\b\d{4}-\d\d-\d\d-[\w-]+\.json")
HEADING = re.compile(r"^#+ +(.*?)\s*$", re.M)


def parts(path):
    """The names by which GitHub links to the headings."""
    text = FENCE.sub("", path.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "")).lower().replace(" ", "-")
            for heading in HEADING.findall(text)}


def installed(source):
    """The files and folders of the documentation in an installation, by the commands that install them."""
    text = (source / "cmake/Install.cmake").read_text()
    files = re.search(r"install\(FILES ([^)]*?)DESTINATION \$\{CMAKE_INSTALL_DOCDIR\}", text)[1].split()
    patterns = re.search(r"install\(DIRECTORY docs DESTINATION \$\{CMAKE_INSTALL_DOCDIR\}([^)]*)", text)[1]
    wanted = re.findall(r'PATTERN "(.*?)"', patterns)
    left_out = re.findall(r"PATTERN (\w+) EXCLUDE", patterns)
    for path in (source / "docs").rglob("*"):
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in wanted) and not {*path.relative_to(source).parts} & {*left_out}:
            files += [path, *path.relative_to(source).parents]
    return {(source / file).resolve() for file in files}


def problems(source):
    there = installed(source)
    documents = [path for path in sorted(source.rglob("*.md"))
                 if not any(part.startswith((".", "build")) for part in path.relative_to(source).parts)]
    for document in documents:
        text = FENCE.sub("", document.read_text())
        for result in RESULT.findall(text):
            if not (source / "bench/results" / result).exists():
                yield f"{document.relative_to(source)}: {result}: no such result"
        for link in LINK.findall(CODE.sub("", text)):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, part = link.partition("#")
            target = (document.parent / name) if name else document
            if not target.exists():
                yield f"{document.relative_to(source)}: {link}: no such file"
            elif document.resolve() in there and target.resolve() not in there:
                yield f"{document.relative_to(source)}: {link}: an installation has the page, and not this"
            elif part and target.suffix == ".md" and part not in parts(target):
                yield f"{document.relative_to(source)}: {link}: no such heading"


def main():
    found = list(problems(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the pages are complete and short: docs/README.md names every page, and for every public header a page and
tests that speak of what it declares; docs/errors.md every status; README.md and the study's pages have the tables of
the newest results, and docs/report-h200.html their plots; no page of users has more than 200 lines.

    tests/docs/pages.py      (ctest runs it as `pages`)
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "bench"))
import tables
problems, LINES = [], 200


def expect(ok, problem):
    if not ok:
        problems.append(problem)


def check_index():
    index = (ROOT / "docs/README.md").read_text()
    for page in sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/start").glob("*.md")]):
        name = page.relative_to(ROOT / "docs")
        expect(page.name == "README.md" or f"({name}" in index, f"docs/README.md does not name {name}")


def check_lengths():
    """What a user reads has 200 lines at most; help texts are as long as the tool prints them."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        lines = len(page.read_text().splitlines())
        expect(lines <= LINES or page.parent.name == "notes", f"{page.relative_to(ROOT)} has {lines} lines, {LINES} are the limit")


def declared(header):
    """The names that a header declares."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    names = re.findall(r"\b(davit_\w+)\(", text) + re.findall(r"\}? ?(davit_\w+);", text)
    return set(names + re.findall(r"^#define (DAVIT_\w+)", text, re.M)) - {header.stem.upper()}


def check_headers():
    """A row for each header, whose files are there. The page, and one of the tests, has one of its names or its own."""
    index = (ROOT / "docs/README.md").read_text()
    rows = {name: (pages, tests) for name, pages, tests in
            re.findall(r"^\| `<([\w/]+\.h)>` \| (.*?) \| (.*?) \|$", index, re.M)}
    headers = {str(path.relative_to(ROOT / "include")): path for path in (ROOT / "include").rglob("*.h")}
    for name in sorted(headers.keys() ^ rows.keys()):
        expect(False, f"docs/README.md has no row for <{name}>" if name in headers else
               f"docs/README.md: there is no header <{name}>")
    for name in sorted(headers.keys() & rows.keys()):
        names = "|".join(sorted(declared(headers[name])) + [re.escape(f"<{name}>")])
        for folder, files in (("docs", re.findall(r"\]\(([\w.]+)\)", rows[name][0])),
                              ("tests", re.findall(r"`(.*?)`", rows[name][1]))):
            there = [path for path in (ROOT / folder / file for file in files) if path.is_file()]
            expect(len(there) == len(files), f"docs/README.md: not all of {', '.join(files)} are in {folder}")
            expect(any(re.search(rf"(?<!\w)({names})(?!\w)", path.read_text()) for path in there),
                   f"docs/README.md: {', '.join(files) or 'nothing'} in {folder} has nothing of <{name}>")


def check_statuses():
    header, page = (ROOT / "include/davit/status.h").read_text(), (ROOT / "docs/errors.md").read_text()
    statuses = re.search(r"enum davit_status \{(.*?)\}", header, re.S)[1]
    for status in re.findall(r"^  (DAVIT_\w+)", statuses, re.M):
        expect(status == "DAVIT_STATUS_COUNT" or f"| `{status}` |" in page, f"docs/errors.md does not explain {status}")


def points_of(cell):
    """The numbers of a row: "3, 4", "14 – 17"."""
    numbers = []
    for part in cell.split(","):
        first, _, last = part.partition("–")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def check_points():
    """The study's README has a row for every point of a source, and what it names is there: the cases of some program, the
    groups of the tool's tests, and as figures blocks of the pages, drawings and pages."""
    cases = {name for path in [*(ROOT / "tests").glob("*.c"), *(ROOT / "bench/study/tests").glob("*.c")]
             for name in re.findall(r"^CASE\((\w+)\)", path.read_text(), re.M)}
    groups = re.findall(r"^def test_(\w+)", (ROOT / "tests/cli/test_cli_bench.py").read_text(), re.M)
    blocks = {name for path in (ROOT / "bench/study/docs").glob("*.md")
              for _, name, _ in tables.BLOCK.findall(path.read_text())}
    page = (ROOT / "bench/study/README.md").read_text()
    for name in set(re.findall(r"`(test_\w+)`", page)) - cases:
        expect(name.startswith("test_study_"), f"bench/study/README.md: there is no case {name}")
    for name in re.findall(r"`tests/cli/test_cli_bench.py`: (\w+)", page):
        expect(name in groups, f"bench/study/README.md: there is no group {name}")
    sources = re.findall(r"^### ([^\n]*)\n\nPoints 1 to (\d+)\.(.*?)(?=^##)", page, re.M | re.S)
    expect(len(sources) == 5, f"bench/study/README.md has points of {len(sources)} sources")
    for title, count, text in sources:
        rows = [re.split(r" *\| *", line.strip("| ")) for line in re.findall(r"^\| \d.*", text, re.M)]
        found = [number for row in rows for number in points_of(row[0])]
        expect(sorted(found) == list(range(1, int(count) + 1)), f"bench/study/README.md, {title}: points {found}")
        for name in (name for row in rows for name in re.split(r"[,;] ", row[-1])):
            there = name in blocks if re.fullmatch(r"[a-z]+(-[a-z]+)*", name) else \
                (ROOT / name).exists() if re.fullmatch(r"docs/[\w-]+\.md", name) else \
                (ROOT / "bench/study/docs" / name[1:-1]).exists() if re.fullmatch(r"`[\w-]+\.svg`", name) else True
            expect(there, f"bench/study/README.md, {title}: there is no figure {name}")


def check_figures():
    for command in ("readme", "tables", "report"):
        plot = subprocess.run([sys.executable, "-B", ROOT / "bench/plot.py", command, "--check"],
                              capture_output=True, text=True)
        expect(plot.returncode == 0, (plot.stdout + plot.stderr).strip())


check_index()
check_lengths()
check_headers()
check_statuses()
check_points()
check_figures()
print("\n".join(problems) or "all pages hold")
sys.exit(1 if problems else 0)

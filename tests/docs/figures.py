#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the figures in tables of *.md files are those of the results that the page names.

    figures.py SOURCE_DIR [--list | --newest]

A table belongs to the files in bench/results that are named between the heading above it and its end, or, where none
is, in the sections above that one; under a heading like "How fast" it must have some. Checked are numbers with a unit
(their own, or that of the head of their column) and numbers with a point. A figure is right if some row of the files
has a value that is printed so, in the figure's unit; figures of one cell come from one row. A factor may also be the
ratio of two values of rows that give other figures of the same line, times their devices.

A comment above a table leaves it out, and says why; blocks that bench/plot.py writes have one (tests/docs/pages.py
looks at those):

    <!-- figures: the report's own -->

With --newest the names are checked instead: a page that names bench/results/DATE-NAME.json names the newest file of that
NAME, too. Notes (docs/notes) may argue with an older file.
"""
import json
import pathlib
import re
import sys

FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
RESULT = re.compile(r"(\d{4}-\d\d-\d\d)?(-[\w-]+\.json)")
NUMBER = re.compile(r"(?<![\w.^·–-])~?(\d+(?:\.\d+)?)(?![\d^·]| ?\^)\s?"
                    r"(µs|ms|ns|s\b|GB/s|TB/s|GFLOP/s|TFLOP/s|GCUPS|TCUPS|×(?!\s?\d)|%)?(?! ?×\s?\d)")
EXEMPT, BLOCK = re.compile(r"<!-- figures:"), re.compile(r"<!-- figures:\S+ -->")
# unit: (a word of the keys that have it, factor to it)
UNITS = {"ns": [("ns", 1), ("us", 1e3)], "µs": [("us", 1), ("ms", 1e3)], "ms": [("us", 1e-3), ("ms", 1)],
         "s": [("us", 1e-6), ("ms", 1e-3), ("seconds", 1), ("s", 1)],
         "GB/s": [("gbs", 1)], "TB/s": [("gbs", 1e-3)],
         "GFLOP/s": [("gflops", 1), ("tflops", 1e3)], "TFLOP/s": [("gflops", 1e-3), ("tflops", 1)],
         "GCUPS": [("gcups", 1)], "TCUPS": [("gcups", 1e-3)],
         "%": [("", 100), ("percent", 1)], "×": [("", 1)], None: [("", 1), ("", 1e-3), ("", 1e3), ("", 1e-6)]}
MEASURED = re.compile(r"fast|speed|quality", re.I)  # in a heading
HEAD_UNIT = re.compile(r"(µs|\bms\b|\bns\b|GB/s|TB/s|GFLOP/s|TFLOP/s|GCUPS|TCUPS|×|%)")


class Figure:
    def __init__(self, text, unit):
        self.text, self.unit, self.value = text, unit, float(text)
        decimals = len(text.partition(".")[2])
        zeros = len(text) - len(text.rstrip("0")) if "." not in text else 0
        self.slack = 0.5000001 * 10.0 ** (zeros if zeros and len(text) - zeros >= 2 else -decimals)

    def is_close(self, value):
        return abs(value - self.value) <= self.slack

    def is_of(self, row):
        for end, factor in UNITS[self.unit]:
            for key, value in row.items():
                if isinstance(value, (int, float)) and (not end or end in key.split("_")):
                    if self.is_close(value * factor):
                        return True
        return False


def figures_of(cell, head):
    """The figures of a cell that are checked; a star says that the text explains the cell."""
    if cell.endswith(" *"):
        return []
    unit = HEAD_UNIT.search(head)
    found = []
    for text, own in NUMBER.findall(re.sub(r"`[^`]*`|\*\*", "", cell)):
        if own or (unit and not re.search(r"[a-z] ?%?$", cell)) or "." in text:
            found.append(Figure(text, own or (unit[1] if unit else None)))
    return found


def is_ratio(figure, rows):
    """Whether the figure is a ratio of two values of a key, as it is or by the devices of the rows."""
    values = [row for row in rows]
    for a in values:
        for b in values:
            for key, x in a.items():
                y = b.get(key)
                if a is not b and isinstance(x, (int, float)) and isinstance(y, (int, float)) and x and y:
                    by = [1, b.get("devices", 1) / (a.get("devices", 1) or 1)]
                    if any(figure.is_close(x / y * f) for f in by):
                        return True
    return False


def check_line(cells, heads, rows):
    """The figures of a line that no row has."""
    all_figures = [figures_of(part, head) for cell, head in zip(cells, heads) for part in cell.split(" / ")]
    sources, left = [], []
    for group in all_figures:
        firm = [f for f in group if f.unit != "×"]
        whole = [row for row in rows if group and all(f.is_of(row) for f in group)]
        part = [row for row in rows if firm and all(f.is_of(row) for f in firm)]
        sources += whole or part
        left += [] if whole else [f for f in group if f.unit == "×"] if part else group
    return [f for f in left if not (f.unit in ("×", None, "%") and is_ratio(f, sources[:60]))]


def tables_of(text):
    """(line number, names of results, exemption, lines, whether it is in a section about speed) of each table."""
    lines, inherited, section, tables, i = text.split("\n"), {}, [], [], 0
    level, stack, titles, in_block = 0, [set()], [], False
    while i < len(lines):
        in_block = lines[i] != "<!-- end -->" and (in_block or bool(BLOCK.match(lines[i])))
        heading = re.match(r"(#+) ", lines[i])
        if heading:
            level = len(heading[1])
            del stack[level:]
            stack += [set() for _ in range(level + 1 - len(stack))]
            titles[level - 1:] = [lines[i]]
        stack[-1].update(m[0] for m in RESULT.finditer(lines[i]) if m[1] or m[2].count("-") > 1)
        if lines[i].startswith("|"):
            first = i
            while i < len(lines) and lines[i].startswith("|"):
                stack[-1].update(m[0] for m in RESULT.finditer(lines[i]) if m[1] or m[2].count("-") > 1)
                i += 1
            exempt = EXEMPT.match(lines[first - 1] or lines[first - 2]) or in_block
            tables.append((first + 1, [set(names) for names in stack], exempt, lines[first:i],
                           bool(MEASURED.search(" ".join(titles)))))
            continue
        i += 1
    return tables


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def with_floor(row):
    """The row with the share of the floor in its time, shares of decisions, and what it has of a peer."""
    row = {**row, **{f"{key}_{inner}": value for key, part in row.items() if isinstance(part, dict) for inner, value in part.items()}}
    for unit in ("us", "ms"):
        if "of_floor" not in row and f"floor_{unit}" in row and row.get(f"median_{unit}"):
            row = {**row, "of_floor": row[f"floor_{unit}"] / row[f"median_{unit}"]}
    if row.get("decisions"):
        row = {**row, **{f"{key} of decisions": row[key] / row["decisions"] for key in ("p_low", "detected") if key in row}}
    return row


def rows_of(results):
    """The rows of a benchmark; of another program's results every object in a list."""
    if isinstance(results, list):
        return [row for row in results if isinstance(row, dict)]
    if not isinstance(results, dict):
        return []
    return results["rows"] if "rows" in results else [row for part in results.values() for row in rows_of(part)]


def load(source, names, cache={}):
    rows = []
    for name in sorted(names):
        for path in sorted((source / "bench/results").glob(("*" if name.startswith("-") else "") + name)):
            if path not in cache:
                cache[path] = [with_floor(row) for row in rows_of(json.loads(path.read_text()))]
            rows += cache[path]
    return rows


def documents_of(source):
    return [path for path in sorted(source.rglob("*.md"))
            if not any(part.startswith((".", "build")) for part in path.relative_to(source).parts)]


def outdated(source):
    newest = {}
    for path in sorted((source / "bench/results").glob("????-??-??-*.json")):
        newest[path.name[10:]] = path.name
    for document in documents_of(source):
        if document.parent == source / "docs/notes":
            continue
        named = {}  # the line of the first mention
        for number, line in enumerate(document.read_text().split("\n"), 1):
            for m in RESULT.finditer(line):
                if m[1]:
                    named.setdefault(m[0], number)
        for name in sorted(named):
            last = newest.get(name[10:], name)
            if last > name and last not in named:
                yield f"{document.relative_to(source)}:{named[name]}: names {name}, and not {last}"


def problems(source, verbose):
    checked = 0
    for document in documents_of(source):
        text = FENCE.sub(lambda m: "\n" * m[0].count("\n"), document.read_text())
        for number, stack, exempt, lines, speaks_of_speed in tables_of(text):
            heads = cells_of(lines[0])
            if exempt or len(lines) < 3:
                continue
            names = next((s for s in reversed(stack) if s), set())
            rows = load(source, names)
            for at, line in enumerate(lines[2:]):
                cells = cells_of(line)
                wanted = sum(len(figures_of(c, h)) for c, h in zip(cells, heads))
                if not wanted:
                    continue
                checked += wanted
                where = f"{document.relative_to(source)}:{number + 2 + at}"
                if not rows:
                    if speaks_of_speed:
                        yield f"{where}: no result is named near the table"
                    break
                for f in check_line(cells, heads, rows):
                    yield f"{where}: {f.text} {f.unit or ''} is in none of {', '.join(sorted(names))}"
    if verbose:
        print(f"{checked} figures")


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    found = list(outdated(source) if "--newest" in sys.argv else problems(source, "--list" in sys.argv))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

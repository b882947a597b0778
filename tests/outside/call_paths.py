#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the paths that docs/architecture.md lists from a public call to a kernel: each function is defined in its file,
and the file of the row before calls it, by its name or by a member of a table that has it, or includes its file. A path
has no more files than it may have.

    tests/outside/call_paths.py ROOT      (ctest runs it as `call_paths`)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
MOST = {"davit_scan": 10, "davit_dgemm": 16}
problems = []


def paths():
    """Lists of (file, function), by their first function."""
    section = re.search(r"^## Two paths to read$(.*?)^## ", (ROOT / "docs/architecture.md").read_text(), re.S | re.M)
    for table in re.findall(r"(?:^\|.*\n)+", section[1], re.M):
        rows = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)", table, re.M)
        if rows:
            yield rows


def is_defined(text, name):
    """As a function, a macro, a table, or by a macro that pastes names together."""
    stem = name.removeprefix("davit_d")
    return bool(re.search(rf"^[\w\s*]*\b{name}\([^;]*?\)( \{{|;)|^#define {name}\b|^[\w\s]*\b{name}\[[^;]* = \{{|"
                          rf"^(?:static|DVT_INLINE) .*NAME\({name}\)", text, re.M | re.S) or
                stem != name and "davit_##p##" in text and re.search(rf"\b{stem}\b", text))


def members(function):
    """Those that hold it in a table."""
    found = set()
    for path in [*(ROOT / "src").rglob("*.[ch]"), *(ROOT / "offload").rglob("*.[ch]")]:
        found.update(re.findall(rf"\.(\w+) = {function}\b", path.read_text()))
    return found


def calls(text, function):
    if re.search(rf"\b{function}\b", text):
        return True
    return any(re.search(rf"(->|\.|\)){member}\b", text) for member in members(function))


for rows in paths():
    first = rows[0][1]
    files = [file for file, _ in rows]
    if len(set(files)) > MOST.get(first, 0):
        problems.append(f"from {first}() on there are {len(set(files))} files, more than {MOST.get(first, 0)}")
    for at, (file, function) in enumerate(rows):
        path = ROOT / file
        if not path.is_file():
            problems.append(f"{file} is not there")
            continue
        if not is_defined(path.read_text(), function):
            problems.append(f"{file} does not define {function}()")
        if at > 0 and (ROOT / files[at - 1]).is_file() and files[at - 1] != file:
            before = (ROOT / files[at - 1]).read_text()
            if not calls(before, function) and f'"{file}"' not in before:
                problems.append(f"{files[at - 1]} does not call {function}()")
    MOST.pop(first, None)
problems += [f"docs/architecture.md has no path from {first}() on" for first in MOST]
print("\n".join(problems) if problems else "all paths hold")
sys.exit(1 if problems else 0)

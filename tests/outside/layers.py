#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrows between rooms point one way (docs/architecture.md), and no files include or use each other in a circle.

    layers.py SOURCE_DIR [NM BUILD_DIR]

Checks the #include lines of all sources and, given a build, the symbols: an object may use what objects of its own room
and of the rooms below it define, no objects use each other in a circle, and memory, threads and the environment come
from one source each. Prints what is wrong; exits 1 if there is anything.
"""
import re
import subprocess
import sys
from pathlib import Path

# A room, and the rooms that it may use beside itself. The longest prefix of a path is its room.
ROOMS = {
    "src/base": [],
    "ref": ["offload/kernel", "src/base"],
    "offload/kernel": [],
    "offload/fallback": [],
    "offload/runtime": ["ref", "src/base"],
    "offload": ["offload/runtime", "offload/kernel", "ref", "src/base"],
    "src/runtime": ["offload/runtime", "offload/kernel", "ref", "src/base"],
    "src": ["src/runtime", "offload", "offload/runtime", "offload/kernel", "ref", "src/base"],
    "src/dropin": ["src/base"],
    "src/mpi": ["src/base"],
    "src/cli/formats": ["src/cli/base", "ref", "src/base"],
    "src/cli/frame": ["src/cli/formats", "src/cli/base", "src/base"],
    "src/cli/mpi": ["src/cli/base", "src/base"],
    "src/cli": ["src/cli/frame", "src/cli/formats", "src/cli/base", "ref", "src/base"],
}
# Files that belong to a room other than their folder's.
MOVED = {"src/cli/fail.h": "src/cli/base", "src/cli/fail.c": "src/cli/base",
         "src/cli/files.h": "src/cli/base", "src/cli/files.c": "src/cli/base",
         "src/cli/ranks.h": "src/cli/base", "src/cli/ranks.c": "src/cli/base", "src/cli/ranks_table.h": "src/cli/base"}
ROOMS["src/cli/base"] = ["src/base"]
# What comes through one source: memory and threads, which failure injection has to reach, and the environment.
ALONE = {
    "src/base/allocate.c": re.compile(
        r"malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|memalign|valloc|strn?dup|(__)?v?asprintf(_chk)?"),
    "src/base/environment.c": re.compile(r"(__)?(secure_)?getenv"),
    "src/base/thread.c": re.compile(r"pthread_create|thrd_create"),
}


def room_of(path):
    if path in MOVED:
        return MOVED[path]
    if path.startswith("src/level3/"):
        return "src"
    found = [room for room in ROOMS if path.startswith(room + "/")]
    return max(found, key=len) if found else None


def allowed(source, target):
    return source == target or target in ROOMS[source]


def includes(root):
    for folder in ("src", "offload", "ref"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".inc"):
                name = path.relative_to(root).as_posix()
                for line in re.findall(r'^#\s*include "([^"]+)"', path.read_text(), re.M):
                    beside = path.parent / line  # installed texts name each other so
                    yield name, beside.relative_to(root).as_posix() if beside.exists() else line


# Streams belong to the runtime: others see lanes, records and operations. What measures a machine is excepted.
STREAMS = "offload/runtime/stream.h"
MAY_SEE_STREAMS = ("offload/", "src/runtime/", "src/level3/measure.c")


def check_includes(root):
    wrong, graph = [], {}
    for source, target in includes(root):
        if target == STREAMS and not source.startswith(MAY_SEE_STREAMS):
            wrong.append(f"{source} includes {target}, which is the runtime's")
        if not (root / target).exists():
            wrong.append(f"{source} includes {target}, which is no path from the top")
        elif room_of(target) is None or not allowed(room_of(source), room_of(target)):
            wrong.append(f"{source} includes {target}: {room_of(source)} may not use {room_of(target)}")
        unit, used = (re.sub(r"\.(c|h|inc)$", "", name) for name in (source, target))
        if unit != used:
            graph.setdefault(unit, set()).add(used)
    return wrong + [" -> ".join(circle) for circle in circles(graph)]


def circles(graph):
    """One circle for each that a depth-first search closes."""
    state, stack, found = {}, [], []

    def visit(node):
        state[node] = "open"
        stack.append(node)
        for following in sorted(graph.get(node, ())):
            if state.get(following) == "open":
                found.append(stack[stack.index(following):] + [following])
            elif following not in state:
                visit(following)
        stack.pop()
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            visit(node)
    return found


def symbols(nm, build, root):
    """(object's source, defined names, undefined names) of the library's and the tool's objects."""
    objects = {}
    for path in sorted(build.rglob("*.c.o")):
        name = re.search(r"\.dir/((?:src|offload|ref)/.*)\.o$", path.as_posix())
        source = root / name.group(1) if name else None
        # What an older build has left behind says nothing about the sources.
        if source and source.exists() and source.stat().st_mtime <= path.stat().st_mtime:
            objects[str(path)] = name.group(1), set(), set()
    # One call for all: it takes nm longer to start than to read an object.
    output = subprocess.run([nm, "-P", "-A", *objects], capture_output=True, text=True, check=True).stdout if objects else ""
    for path, symbol, kind in re.findall(r"^(.*?): (\S+) (\S)", output, re.M):
        _, defined, undefined = objects[path]
        if kind in "TDBRVWC":
            defined.add(symbol)
        elif kind == "U":
            undefined.add(symbol)
    return list(objects.values())


def check_symbols(nm, build, root):
    # The fallback is a library of its own, with the runtime's names.
    objects = [row for row in symbols(nm, build, root) if room_of(row[0]) != "offload/fallback"]
    home = {symbol: source for source, defined, _ in objects for symbol in defined}
    if not home:
        return [f"{build} has no objects"]
    wrong = [f"{source} uses {symbol}, which is for {owner} alone" for source, _, used in objects
             for owner, names in ALONE.items() if source != owner for symbol in sorted(filter(names.fullmatch, used))]
    graph, arrows = {}, {}
    for source, _, used in objects:
        for symbol in sorted(used & home.keys()):
            if home[symbol] != source:
                graph.setdefault(source, set()).add(home[symbol])
                arrows.setdefault((source, home[symbol]), f"{source} uses {symbol} of {home[symbol]}")
            # Anyone above the library's runtime may call the public interface.
            if symbol.startswith("davit_") and room_of(source).startswith(("src/cli", "src/mpi")):
                continue
            if not allowed(room_of(source), room_of(home[symbol])):
                wrong.append(f"{source} uses {symbol} of {home[symbol]}")
    return wrong + [", ".join(map(arrows.get, zip(circle, circle[1:]))) for circle in circles(graph)]


def main():
    root = Path(sys.argv[1])
    wrong = check_includes(root)
    if len(sys.argv) > 3:
        wrong += check_symbols(sys.argv[2], Path(sys.argv[3]), root)
    print("\n".join(wrong) if wrong else "all arrows point one way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

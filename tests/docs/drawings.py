#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of docs/plots, draws their traces by bench/draw_trace.py, and compares the drawings with the traces
and with those in docs/plots.

    drawings.py SOURCE_DIR BUILD_DIR LIBRARY_DIR [--write RUNS]

With --write the shortest of so many runs is drawn into docs/plots.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

TITLES = {"queues": "three queues of a device, ordered by events", "product": "tiles of a product over two devices"}
LARGEST = 40000
ON_THE_CPU = {"CUDA_VISIBLE_DEVICES": "", "DAVIT_TUNING_FILE": ""}  # as in the pages, also where there is a GPU
SVG = "{http://www.w3.org/2000/svg}"


def trace_of(source, build, library, name, folder, runs):
    """The shortest trace of the program."""
    program, file = folder / name, folder / "trace.json"
    subprocess.run(["cc", "-std=c17", f"-I{source}/include", f"-I{build}/include", source / f"docs/plots/{name}.c", "-o", program,
                    f"-L{library}", "-ldavit", f"-Wl,-rpath,{library}"], check=True)
    traces = []
    for _ in range(runs):
        subprocess.run([program], check=True, timeout=60, env={**os.environ, **ON_THE_CPU, "DAVIT_TRACE": str(file)})
        traces.append(file.read_text())
    return min(traces, key=lambda text: span_of(json.loads(text)))


def commands_of(events):
    return [e for e in events if e["ph"] == "X" and e.get("args", {}).get("operation") not in (None, "record")]


def span_of(events):
    commands = commands_of(events)
    return max(e["ts"] + e["dur"] for e in commands) - min(e["ts"] for e in commands)


def bars_of(drawing):
    """(kind, left, right, middle) of each bar."""
    for group in xml.fromstring(drawing).iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect").attrib
        left, width, top, height = (float(box[key]) for key in ("x", "width", "y", "height"))
        yield group.get("class"), left, left + width, top + height / 2


def problems(name, trace, drawing):
    """What is wrong with the drawing of a trace."""
    events = json.loads(trace)
    commands, bars = commands_of(events), list(bars_of(drawing))
    wanted = sorted("wait" if e["name"] == "wait" else "copy" if e["name"] == "copy" else "work" for e in commands)
    if sorted(bar[0] for bar in bars) != wanted:
        yield f"{name}: bars {sorted(bar[0] for bar in bars)}, commands {wanted}"
    rows = {(e["pid"], e["tid"]) for e in commands}
    if len({bar[3] for bar in bars}) != len(rows):
        yield f"{name}: {len({bar[3] for bar in bars})} rows of bars, {len(rows)} queues or lanes"
    first = min(e["ts"] for e in commands)
    scale = min(bar[1] for bar in bars), (max(bar[2] for bar in bars) - min(bar[1] for bar in bars)) / span_of(events)
    for (_, left, _, _), at in zip(sorted(bars, key=lambda bar: bar[1]), sorted(e["ts"] - first for e in commands)):
        if abs(left - scale[0] - at * scale[1]) > 1:
            yield f"{name}: a bar begins at {left}, its command at {at} µs"
    arrows = sum(e["ph"] == "f" for e in events)
    drawn = drawing.count('class="arrow ')
    if drawn != arrows or not arrows:
        yield f"{name}: {drawn} arrows, the trace has {arrows}"
    yield from problems_of_file(name, drawing)


def problems_of_file(name, drawing):
    if len(drawing.encode()) > LARGEST:
        yield f"{name}: {len(drawing.encode())} bytes"
    if "prefers-color-scheme: dark" not in drawing:
        yield f"{name}: one ground alone"


def words_of(drawing):
    """What both drawings of a program have: names of rows and the legend."""
    return [text for text in re.findall(r'text-anchor="start"[^>]*>([^<]+)<', drawing)]


def main():
    source, build, library = map(pathlib.Path, sys.argv[1:4])
    runs = int(sys.argv[5]) if sys.argv[4:5] == ["--write"] else 1
    found = []
    for name, title in TITLES.items():
        with tempfile.TemporaryDirectory() as folder:
            trace = trace_of(source, build, library, name, pathlib.Path(folder), runs)
            file = pathlib.Path(folder) / "trace.json"
            file.write_text(trace)
            drawing = subprocess.run([sys.executable, source / "bench/draw_trace.py", file, title], check=True,
                                     capture_output=True, text=True).stdout
        found += problems(name, trace, drawing)
        committed = source / f"docs/plots/{name}.svg"
        if sys.argv[4:]:
            committed.write_text(drawing)
        found += problems_of_file(committed.name, committed.read_text())
        if words_of(committed.read_text()) != words_of(drawing):
            found.append(f"docs/plots/{name}.svg has other rows or words than a new drawing: drawings.py --write 9 draws it anew")
    print("\n".join(found) or "the drawings are those of the traces")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

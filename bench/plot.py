#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plots and tables of figures, from results of the benchmarks.

    bench/plot.py rates RESULT.json... [--out docs/plots]
    bench/plot.py readme [--check]
    bench/plot.py tables [--check]
    bench/plot.py report [--check]

`rates` writes OPERATION-KIND.svg (reduce-nvidia.svg, ...): rate against size of davit, its peer, and what a copy
reaches, with a panel for each type and variant of the rows on one device; an operation in several files goes into
the last one's plot. Rates are GB/s, and GFLOP/s for the covariance. The peer's rate is that of davit's bytes in the
peer's time. Rectangular matrices are left out.

`readme` writes docs/plots/overview.svg and the block `figures:readme` of README.md from the newest file of each
benchmark in bench/results/ (DATE-BENCHMARK-MACHINE.json). With --check it writes nothing, and exits with 1 if what
is there differs from what the files give. `tables` does the same with the blocks of the study's pages (tables.py)
and their plots. `report` does it with docs/report-h200.html, the page of report.py from the newest results of one H200.
"""
import argparse
import json
import math
import pathlib
import re
import sys
import textwrap
from html import escape

sys.dont_write_bytecode = True
import report
import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLOTS = ROOT / "docs/plots"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, COLUMNS, HEAD = 400, 270, 64, 16, 30, 50, 3, 64
# name: its color on a light and on a dark ground
COLORS = {"ground": ("#ffffff", "#0d1117"), "ink": ("#222222", "#d6dbe1"), "grid": ("#dddddd", "#3a424d"),
          "davit": ("#1756a9", "#6cabff"), "peer": ("#c75a12", "#f2a267"), "copy": ("#666666", "#9aa4b0")}
DASHES = {"copy": "6 4"}


def text(x, y, content, anchor="middle", size=12, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {extra}>{content}</text>'


def rule(x1, y1, x2, y2, name, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="line-{name}" '
            f'stroke-width="{width}" stroke-dasharray="{DASHES.get(name, "")}"/>')


def bar(x, y, width, height, name):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="fill-{name}"/>'


def style(mode):
    return " ".join(f".line-{name} {{ stroke: {colors[mode]} }} .fill-{name} {{ fill: {colors[mode]} }}"
                    for name, colors in COLORS.items())


def document(title, width, height, parts):
    """The text of an SVG file that follows the reader's choice of a light or a dark ground."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" class="fill-ink">',
        f"<title>{escape(title)}</title>",
        f"<style>{style(0)} @media (prefers-color-scheme: dark) {{ {style(1)} }}</style>",
        bar(0, 0, width, height, "ground"), text(16, 24, escape(title), "start", 16, 'font-weight="bold"'),
        *parts, "</svg>"]) + "\n"


def legend(entries, x, y):
    parts = []
    for name, label in entries:
        parts += [rule(x, y - 4, x + 26, y - 4, name, 2), text(x + 32, y, escape(label), "start")]
        x += 56 + 7 * len(label)
    return parts


def nice_top(most, marks=4):
    """The end of an axis to `most`, and the distance of its marks."""
    power = 10 ** math.floor(math.log10(most / marks))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= most / marks)
    return step * math.ceil(1.02 * most / step), step


# ---- rates ----


def curve(points, name):
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="fill-{name}"/>' for x, y in points)
    return f'<polyline points="{line}" fill="none" class="line-{name}" stroke-width="2"/>' + dots


def panel(title, rows, ceiling, left, top):
    """One set of axes with its corner at (left, top)."""
    matrix, flops = "cols" in rows[0], rows[0]["operation"] == "covariance"
    work = "gflops" if flops else "gbs"
    rows = sorted(rows, key=lambda row: row.get("n", row.get("rows")))
    sizes = [row.get("n", row.get("rows")) for row in rows]
    curves = {"davit": [(n, row[work]) for n, row in zip(sizes, rows)],
              "peer": [(n, row[work] * row["ratio"] ** -1) for n, row in zip(sizes, rows) if row.get("ratio")]}
    low, high = math.log2(sizes[0]), math.log2(max(sizes[-1], 2 * sizes[0]))
    rates = [rate for points in curves.values() for _, rate in points]
    top_rate, step = nice_top(max([ceiling or 0] * (not flops) + rates))
    right, bottom = left + WIDTH - RIGHT, top + HEIGHT - BOTTOM
    x_of = lambda n: left + LEFT + (math.log2(n) - low) / (high - low) * (right - left - LEFT)
    y_of = lambda rate: bottom - rate / top_rate * (bottom - top - TOP)

    out = [text(left + LEFT, top + 18, escape(title), "start", 13, 'font-weight="bold"')]
    for i in range(round(top_rate / step) + 1):
        out += [rule(left + LEFT, y_of(i * step), right, y_of(i * step), "grid"),
                text(left + LEFT - 6, y_of(i * step) + 4, f"{i * step:g}", "end")]
    every = max(1, math.ceil((math.floor(high) - math.ceil(low)) / 7))
    for k in range(math.ceil(low), math.floor(high) + 1, every):
        label = f"{2 ** k}" if matrix else f'2<tspan dy="-5" font-size="9">{k}</tspan>'
        out += [rule(x_of(2 ** k), bottom, x_of(2 ** k), bottom + 4, "ink"), text(x_of(2 ** k), bottom + 18, label)]
    out += [rule(left + LEFT, bottom, right, bottom, "ink"),
            text((left + LEFT + right) / 2, bottom + 37, "order of the matrix" if matrix else "elements")]
    middle = (top + TOP + bottom) / 2
    out.append(text(left + 14, middle, "GFLOP/s" if flops else "GB/s",
                    extra=f'transform="rotate(-90 {left + 14:.1f} {middle:.1f})"'))
    if ceiling and not flops:
        out.append(rule(left + LEFT, y_of(ceiling), right, y_of(ceiling), "copy", 1.5))
    return out + [curve([(x_of(n), y_of(r)) for n, r in points], name) for name, points in curves.items() if points]


def plot(title, rows, ceiling, path):
    panels = {}
    for row in rows:
        panels.setdefault((row["type"], row.get("variant", "")), []).append(row)
    across = min(COLUMNS, len(panels))
    peers = ", ".join(sorted({row["peer"] for row in rows if row.get("ratio")}))
    entries = [("davit", "davit")] + [("peer", peers)] * bool(peers)
    entries += [("copy", "copy, read + written")] * bool(ceiling and rows[0]["operation"] != "covariance")
    parts = legend(entries, 16, 49)
    for i, ((kind, variant), group) in enumerate(panels.items()):
        parts += panel(f"{kind} {variant}".strip(), group, ceiling, i % across * WIDTH, HEAD + i // across * HEIGHT)
    path.write_text(document(title, across * WIDTH, HEAD + math.ceil(len(panels) / across) * HEIGHT, parts))
    print(path)


def plot_result(path, folder):
    result = json.loads(pathlib.Path(path).read_text())
    devices = {d["device"]: d for d in result["machine"]["devices"]}
    groups, ceilings = {}, {}
    for row in result["rows"]:
        if row.get("operation") == "copy" and "gbs" in row:
            ceilings[row["device"]] = max(row["gbs"], ceilings.get(row["device"], 0))
        if row.get("form") == "queue" and "type" in row and "gbs" in row and row.get("rows") == row.get("cols"):
            groups.setdefault((row["operation"], row["device"]), []).append(row)
    for (operation, device), rows in groups.items():
        about = devices[device]
        plot(f"{operation}, {about['name']}", rows, ceilings.get(device), folder / f"{operation}-{about['kind']}.svg")


# ---- readme ----

GEMM = {"type": "f64", "n": 16384}
# label, benchmark, what its row has, the peer's name
KERNELS = [
    ("sum, 2³⁰ doubles", "reduce", {"operation": "reduce", "type": "f64", "variant": "sum", "n": 2 ** 30}, "CUB"),
    ("inclusive scan, 2³⁰ doubles", "scan",
     {"operation": "scan", "type": "f64", "variant": "inclusive", "n": 2 ** 30}, "CUB"),
    ("inclusive scan, 2³⁰ floats", "scan",
     {"operation": "scan", "type": "f32", "variant": "inclusive", "n": 2 ** 30}, "CUB"),
    ("segmented scan, 2²⁸ floats", "scan",
     {"operation": "segmented", "type": "f32", "variant": "random", "n": 2 ** 28}, "CUB by key"),
    ("3 × 3 stencil, 9000² doubles", "stencil", {"operation": "stencil", "type": "f64", "rows": 9000}, "plain CUDA"),
    ("AᵀA x, 12000² doubles, row-major A", "atax",
     {"operation": "atax", "type": "f64", "variant": "T", "rows": 12000}, "two cuBLAS gemv"),
]
SOLVERS = [("Cholesky", "potrf"), ("QR", "geqrf")]
OTHERS = [
    ("covariance, 3000² doubles", "covariance",
     {"operation": "covariance", "type": "f64", "variant": "N", "form": "queue", "rows": 3000}, "cuBLAS syrk alone"),
    ("protein of 375 residues against 10⁶ of 360", "align",
     {"operation": "align", "variant": "even", "form": "search", "rows": 375}, ""),
    ("10⁶ bases with 10⁶ similar ones, score", "align-pair", {"form": "search", "rows": 999999}, ""),
    ("10⁶ bases with 10⁶ similar ones, all columns", "align-pair", {"form": "trace", "rows": 999999}, ""),
    ("6 sounds found in 2 hours, 10⁴ permutations, rounded", "detect",
     {"form": "end to end", "variant": "rounded"}, ""),
    ("closest of 2²⁰ points of the plane, floats", "closest_pair",
     {"form": "grid", "type": "f32", "variant": "uniform 2-D", "n": 2 ** 20}, ""),
    ("closest of 2²⁴ points of the plane, floats", "closest_pair",
     {"form": "grid", "type": "f32", "variant": "uniform 2-D", "n": 2 ** 24}, ""),
]


def newest(benchmark, machine):
    paths = sorted((ROOT / "bench/results").glob(f"????-??-??-{benchmark}-{machine}.json"))
    return paths[-1] if paths else sys.exit(f"bench/results has no file of {benchmark} on {machine}")


def same(found, wanted):
    """Results have eight digits."""
    return abs(found - wanted) <= 1e-7 * abs(wanted) if isinstance(found, (int, float)) else found == wanted


def find(path, wanted):
    for row in json.loads(path.read_text())["rows"]:
        if all(key in row and same(row[key], value) for key, value in wanted.items()):
            return row
    sys.exit(f"{path.name} has no row with {wanted}")


def kernel_row(benchmark, wanted):
    return find(newest(benchmark, "h200"), {"form": "queue", "devices": 1, **wanted})


def gemm_row(who, devices):
    return find(newest("gemm", "4xh200"), {"who": who, "devices": devices, **GEMM})


def solve_row(operation):
    return find(newest("solve", "2xh200"), {"operation": operation, "place": "pinned", "devices": 1, "type": "f64", "n": 20000})


def digits(value):
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def time_text(us):
    power = 0 if us < 1000 else 1 if us < 3e5 else 2
    return f"{digits(us / 1000 ** power)} {('µs', 'ms', 's')[power]}"


def rate_text(row):
    if row.get("operation") == "closest":
        return "–"
    units = [("tflops", "TFLOP/s", 1), ("gcups", "TCUPS", 1e-3), ("gbs", "TB/s", 1e-3)]
    if row.get("operation") in ("covariance", *(operation for _, operation in SOLVERS)):
        units.insert(0, ("gflops", "TFLOP/s", 1e-3))
    return next(f"{digits(row[key] * factor)} {unit}" for key, unit, factor in units if key in row)


def table():
    """The block of README.md, without its markers."""
    lines = ["| work | GPUs | davit | rate | peer, in the same run | made by |", "|" + 6 * " --- |"]

    def line(label, devices, row, us, peer, benchmark):
        cells = (label, str(devices), time_text(us), rate_text(row), peer or "–",
                 f"`bench_{benchmark.partition('-')[0].removesuffix('_pair')}`")
        lines.append("| " + " | ".join(cells) + " |")

    for devices in (1, 2, 4):
        row, peer = gemm_row("davit", devices), gemm_row("cublasxt", devices)
        line("C = A B, 16384² doubles in host memory", devices, row, 1000 * row["median_ms"],
             f"cuBLASXt {time_text(1000 * peer['median_ms'])}", "gemm")
    for label, operation in SOLVERS:
        row = solve_row(operation)
        line(f"{label}, 20000² doubles in host memory", 1, row, 1000 * row["median_ms"],
             f"cuSOLVER and copies {time_text(row['peer_us'])}", "solve")
    for label, benchmark, wanted, peer in KERNELS + OTHERS:
        row = kernel_row(benchmark, wanted)
        line(label, 1, row, row["median_us"], peer and f"{peer} {time_text(row['peer_us'])}", benchmark)
    files = {newest(b, "h200").name for _, b, _, _ in KERNELS + OTHERS} | {newest(*of).name for of in (("gemm", "4xh200"), ("solve", "2xh200"))}
    sources = "Files in `bench/results/`: " + ", ".join(f"`{name}`" for name in sorted(files)) + "."
    return "\n".join([*lines, "", textwrap.fill(sources, 118, break_long_words=False, break_on_hyphens=False)])


def gemm_panel(left, top, width, height):
    """Bars of the product on 1, 2 and 4 GPUs."""
    rates = {who: [gemm_row(who, devices)["tflops"] for devices in (1, 2, 4)] for who in ("davit", "cublasxt")}
    most, step = nice_top(max(rates["davit"] + rates["cublasxt"]))
    bottom, right = top + height, left + width
    y_of = lambda rate: bottom - rate / most * height
    out = [text(left, top - 34, "product of host matrices, 16384² doubles", "start", 13, 'font-weight="bold"'),
           text(left, top - 16, "TFLOP/s, transfers included", "start")]
    for i in range(round(most / step) + 1):
        out += [rule(left, y_of(i * step), right, y_of(i * step), "grid"),
                text(left - 6, y_of(i * step) + 4, f"{i * step:g}", "end")]
    for i, devices in enumerate((1, 2, 4)):
        middle = left + (i + 0.5) * width / 3
        for name, who, x in (("davit", "davit", middle - 34), ("peer", "cublasxt", middle + 2)):
            rate = rates[who][i]
            out += [bar(x, y_of(rate), 32, bottom - y_of(rate), name), text(x + 16, y_of(rate) - 4, f"{rate:.0f}")]
        out.append(text(middle, bottom + 18, f"{devices} GPU{'s' * (devices > 1)}"))
    out.append(rule(left, bottom, right, bottom, "ink"))
    return out + legend([("davit", "davit"), ("peer", "cuBLASXt")], left, bottom + 44)


def kernel_panel(left, top, width, height):
    """Bars of what runs on one device, with what a copy reaches."""
    copy = find(newest("reduce", "h200"), {"operation": "copy", "form": "queue"})["gbs"] / 1000
    rows = [kernel_row(benchmark, wanted) for _, benchmark, wanted, _ in KERNELS]
    most, step = nice_top(max(row["gbs"] for row in rows) / 1000, 5)
    bottom, each = top + height, height / len(KERNELS)
    x_of = lambda rate: left + rate / most * width
    out = [text(left, top - 34, "one GPU, data in its memory", "start", 13, 'font-weight="bold"'),
           text(left, top - 16, "TB/s read and written", "start")]
    for i in range(round(most / step) + 1):
        out += [rule(x_of(i * step), top, x_of(i * step), bottom, "grid"),
                text(x_of(i * step), bottom + 18, f"{i * step:g}")]
    out.append(rule(x_of(copy), top, x_of(copy), bottom, "copy", 2))
    for i, ((label, _, _, peer), row) in enumerate(zip(KERNELS, rows)):
        y, rate = top + i * each + each / 2, row["gbs"] / 1000
        for name, end, who, at in (("davit", rate, "davit", y - 17), ("peer", rate / row["ratio"], peer, y + 1)):
            label_in_bar = text(x_of(end) - 6, at + 12, f"{escape(who)} {end:.2f}", "end", 11, 'class="fill-ground"')
            out += [bar(left, at, x_of(end) - left, 16, name), label_in_bar]
        out.append(text(left - 8, y + 4, escape(label), "end"))
    out.append(rule(left, top, left, bottom, "ink"))
    return out + legend([("davit", "davit"), ("peer", "its peer"), ("copy", "copy on the device")], left, bottom + 44)


def overview():
    return document("davit and its peers on NVIDIA H200", 1060, 440,
                    gemm_panel(60, 92, 300, 280) + kernel_panel(640, 92, 400, 280))


# ---- the study ----

# The report's speed-ups over its serial programs, by size.
REPORT = {"convolution": [(4096, 6.25), (5000, 6.2), (6000, 8.81), (7000, 9.41), (8000, 10.65), (9000, 12.96)],
          "atax": [(4096, 32), (8000, 35), (10000, 38), (12000, 38)],
          "covariance": [(1024, 74), (1500, 68), (2000, 91), (2300, 87), (3000, 96)]}
STUDY_PLOT = ROOT / "bench/study/docs/dense-speedup.svg"


def speedup_panel(exercise, rows, left, top):
    """Speed-ups over the handout's program by size, by powers of ten."""
    curves = {"davit": [(r["n"], r["speedup"]) for r in rows if r["program"] == "kernels"],
              "copy": [(r["n"], r["speedup"]) for r in rows if r["program"] == "kernels with copies"],
              "peer": REPORT[exercise]}
    sizes = [n for points in curves.values() for n, _ in points]
    values = [v for points in curves.values() for _, v in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    right, bottom = left + WIDTH - RIGHT, top + HEIGHT - BOTTOM
    x_of = lambda n: left + LEFT + (n - min(sizes)) / (max(sizes) - min(sizes)) * (right - left - LEFT)
    y_of = lambda v: bottom - (math.log10(v) - low) / (high - low) * (bottom - top - TOP)
    out = [text(left + LEFT, top + 18, exercise, "start", 13, 'font-weight="bold"')]
    for power in range(low, high + 1):
        out += [rule(left + LEFT, y_of(10 ** power), right, y_of(10 ** power), "grid"),
                text(left + LEFT - 6, y_of(10 ** power) + 4, f"{10.0 ** power:g}", "end")]
    for n in sorted({n for n, _ in curves["davit"]}):
        out += [rule(x_of(n), bottom, x_of(n), bottom + 4, "ink"), text(x_of(n), bottom + 18, str(n), size=10)]
    for name, points in curves.items():
        out.append(curve([(x_of(n), y_of(v)) for n, v in sorted(points)], name))
    return out + [rule(left + LEFT, bottom, right, bottom, "ink")]


def study_plot():
    parts = legend([("davit", "the kernels"), ("copy", "with copies"), ("peer", "the report's, on its card")], 16, 49)
    cards = []
    for i, exercise in enumerate(REPORT):
        names, rows = tables.results("dense-study", exercise)
        cards.append(tables.machine_of(names[0]).upper())
        parts += speedup_panel(exercise, rows, i * WIDTH, HEAD)
    title = f"speed-up over the handout's serial program, {' and '.join(tables.in_order(cards))}, by size"
    return document(title, 3 * WIDTH, HEAD + HEIGHT, parts)


QUEUE_PLOT = ROOT / "bench/study/docs/queue-rates.svg"
QUEUE_COLORS = {"openmp": "davit", "threads": "peer", "cuda": "copy", "nowait": "ink"}


def queue_panel(routine, rows, left, top):
    """Rates by size with one sub-queue, a curve for each back end."""
    curves = {name: [(r["n"], r["gflops"]) for r in rows
                     if r["backend"] == name and r["subqueues"] == 1 and "gflops" in r] for name in QUEUE_COLORS}
    sizes = sorted({n for points in curves.values() for n, _ in points})
    most, step = nice_top(max(rate for points in curves.values() for _, rate in points))
    right, bottom = left + WIDTH - RIGHT, top + HEIGHT - BOTTOM
    x_of = lambda n: left + LEFT + (n - sizes[0]) / max(1, sizes[-1] - sizes[0]) * (right - left - LEFT)
    y_of = lambda rate: bottom - rate / most * (bottom - top - TOP)
    out = [text(left + LEFT, top + 18, f"{routine}, GFLOP/s", "start", 13, 'font-weight="bold"')]
    for i in range(round(most / step) + 1):
        out += [rule(left + LEFT, y_of(i * step), right, y_of(i * step), "grid"),
                text(left + LEFT - 6, y_of(i * step) + 4, f"{i * step:g}", "end")]
    for n in sizes:
        out += [rule(x_of(n), bottom, x_of(n), bottom + 4, "ink"), text(x_of(n), bottom + 18, str(n), size=9)]
    for name, points in curves.items():
        if points:
            out.append(curve([(x_of(n), y_of(v)) for n, v in sorted(points)], QUEUE_COLORS[name]))
    return out + [rule(left + LEFT, bottom, right, bottom, "ink")]


def queue_plot():
    """None without a result."""
    parts, panels = legend([(color, name) for name, color in QUEUE_COLORS.items()], 16, 49), 0
    for routine in tables.QUEUE_SOURCE:
        rows = tables.results("queue-study", routine)[1]
        if rows:
            parts += queue_panel(routine, rows, panels * WIDTH, HEAD)
            panels += 1
    return panels and document("rates of the back ends by size, one sub-queue, one H200", panels * WIDTH,
                               HEAD + HEIGHT, parts)


# ---- exact products ----

EXACT_COLORS = {("davit", "exact"): "davit", ("davit", "native"): "peer", ("cublas", "emulated"): "copy"}


def exact_panel(title, rows, left, top):
    """The error by powers of ten against the time, with the number of moduli at the first two points and the last."""
    points = {}
    for row in rows:
        points.setdefault(EXACT_COLORS[row["who"], row["arithmetic"]], {})[row["moduli"]] = (row["median_ms"], row["error"])
    times = [ms for group in points.values() for ms, _ in group.values()]
    errors = [error for group in points.values() for _, error in group.values()]
    low, high = math.floor(math.log10(min(errors))), math.ceil(math.log10(max(errors)))
    most, step = nice_top(max(times))
    right, bottom = left + WIDTH - RIGHT, top + HEIGHT - BOTTOM
    x_of = lambda ms: left + LEFT + ms / most * (right - left - LEFT)
    y_of = lambda error: bottom - (math.log10(error) - low) / (high - low) * (bottom - top - TOP)
    out = [text(left + LEFT, top + 18, title, "start", 13, 'font-weight="bold"')]
    for power in range(low, high + 1):
        out += [rule(left + LEFT, y_of(10.0 ** power), right, y_of(10.0 ** power), "grid"),
                text(left + LEFT - 6, y_of(10.0 ** power) + 4, f"{10.0 ** power:g}", "end")]
    for i in range(round(most / step) + 1):
        out += [rule(x_of(i * step), bottom, x_of(i * step), bottom + 4, "ink"),
                text(x_of(i * step), bottom + 18, f"{i * step:g}")]
    for name, group in points.items():
        out.append(curve([(x_of(ms), y_of(error)) for _, (ms, error) in sorted(group.items())], name))
    exact = sorted(points["davit"].items())
    for moduli, (ms, error) in exact[:2] + exact[-1:]:
        out.append(text(x_of(ms) + 4, y_of(error) - 7, moduli, "start", size=10))
    middle = (top + TOP + bottom) / 2
    return out + [rule(left + LEFT, bottom, right, bottom, "ink"),
                  text((left + LEFT + right) / 2, bottom + 37, "ms"),
                  text(left + 14, middle, "error in u Σ|a||b|",
                       extra=f'transform="rotate(-90 {left + 14:.1f} {middle:.1f})"')]


def exact_plot():
    parts = legend([("davit", "exact, by moduli"), ("peer", "native"), ("copy", "cuBLAS's emulation")], 16, 49)
    for i, name in enumerate(("double", "single")):
        rows = json.loads(newest(f"exact-moduli-{name}", "2xh200").read_text())["rows"]
        parts += exact_panel(f"{name} precision", rows, i * WIDTH, HEAD)
    return document("16384 × 16384 × 16384 on an H200, largest error and time", 2 * WIDTH, HEAD + HEIGHT, parts)


def write_tables(check):
    status = tables.write(check)
    for path, new in ((QUEUE_PLOT, queue_plot()), (STUDY_PLOT, study_plot()), (PLOTS / "scaling.svg", tables.model.svg()),
                      (PLOTS / "exact.svg", exact_plot())):
        if not new or path.exists() and path.read_text() == new:
            continue
        if check:
            print(f"{path.relative_to(ROOT)} differs from bench/results; bench/plot.py tables writes it")
            status = 1
        else:
            path.write_text(new)
    return status


def write_readme(check):
    readme, plot_path = ROOT / "README.md", PLOTS / "overview.svg"
    old = readme.read_text()
    block = f"<!-- figures:readme -->\n{table()}\n<!-- end -->"
    new, blocks = re.subn(r"<!-- figures:readme -->.*?<!-- end -->", lambda m: block, old, flags=re.S)
    if blocks != 1:
        sys.exit("README.md has no block figures:readme")
    outdated = [path for path, text in ((readme, new), (plot_path, overview()))
                if not path.exists() or path.read_text() != text]
    if check:
        for path in outdated:
            print(f"{path.relative_to(ROOT)} differs from bench/results; bench/plot.py readme writes it")
        return 1 if outdated else 0
    readme.write_text(new)
    plot_path.write_text(overview())
    return 0


# ---- report ----

REPORT_PAGE = ROOT / "docs/report-h200.html"
REPORT_OF = ["gemm", "level3", "dropin", "reduce", "scan", "stencil", "atax", "covariance", "align", "align-pair",
             "detect", "closest_pair", "closest-pairs", "queue_openmp"]


def write_report(check):
    documents = [document for benchmark in REPORT_OF for document in report.read(str(newest(benchmark, "h200")))]
    text = report.page(documents, report.finish(documents))
    if REPORT_PAGE.exists() and REPORT_PAGE.read_text() == text:
        return 0
    if check:
        print(f"{REPORT_PAGE.relative_to(ROOT)} differs from bench/results; bench/plot.py report writes it")
        return 1
    REPORT_PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    rates = commands.add_parser("rates")
    rates.add_argument("results", nargs="+")
    rates.add_argument("--out", default=PLOTS, type=pathlib.Path)
    writers = {"readme": write_readme, "tables": write_tables, "report": write_report}
    for name in writers:
        commands.add_parser(name).add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.command in writers:
        sys.exit(writers[options.command](options.check))
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.results:
        plot_result(name, options.out)

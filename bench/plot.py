#!/usr/bin/env python3
"""Plots of rate against size from results of the benchmarks: davit, its peer, and what a copy gives.

    bench/plot.py RESULT.json... [--out docs/plots]

Writes OPERATION-KIND.svg (reduce-nvidia.svg, ...) with a panel for each type and variant of the rows on one device;
an operation in several files goes into the last one's plot. Rates are GB/s, and GFLOP/s for the covariance. The
peer's rate is that of davit's bytes in the peer's time. Rectangular matrices are left out.
"""
import argparse
import json
import math
import pathlib
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, COLUMNS, HEAD = 400, 270, 64, 16, 30, 50, 3, 64
INK, GRID = "#222222", "#dddddd"
STYLE = {"davit": ("#1756a9", ""), "peer": ("#c75a12", ""), "copy": ("#666666", "6 4")}


def nice_step(top):
    power = 10 ** math.floor(math.log10(top / 4))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= top / 4)


def text(x, y, content, anchor="middle", size=12, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {extra}>{content}</text>'


def rule(x1, y1, x2, y2, color, dash="", width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width}" stroke-dasharray="{dash}"/>')


def curve(points, name):
    color, dash = STYLE[name]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points)
    return f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>' + dots


def panel(title, rows, ceiling, left, top):
    """One set of axes with its corner at (left, top)."""
    matrix, flops = "cols" in rows[0], rows[0]["operation"] == "covariance"
    work = "gflops" if flops else "gbs"
    rows = sorted(rows, key=lambda row: row.get("n", row.get("rows")))
    sizes = [row.get("n", row.get("rows")) for row in rows]
    curves = {"davit": [(n, row[work]) for n, row in zip(sizes, rows)],
              "peer": [(n, row[work] * row["ratio"] ** -1) for n, row in zip(sizes, rows) if row.get("ratio")]}
    low, high = math.log2(sizes[0]), math.log2(max(sizes[-1], 2 * sizes[0]))
    most = max([ceiling or 0] * (not flops) + [rate for points in curves.values() for _, rate in points])
    step = nice_step(most)
    top_rate = step * math.ceil(1.02 * most / step)
    right, bottom = left + WIDTH - RIGHT, top + HEIGHT - BOTTOM
    x_of = lambda n: left + LEFT + (math.log2(n) - low) / (high - low) * (right - left - LEFT)
    y_of = lambda rate: bottom - rate / top_rate * (bottom - top - TOP)

    out = [text(left + LEFT, top + 18, escape(title), "start", 13, 'font-weight="bold"')]
    for i in range(round(top_rate / step) + 1):
        out += [rule(left + LEFT, y_of(i * step), right, y_of(i * step), GRID),
                text(left + LEFT - 6, y_of(i * step) + 4, f"{i * step:g}", "end")]
    every = max(1, math.ceil((math.floor(high) - math.ceil(low)) / 7))
    for k in range(math.ceil(low), math.floor(high) + 1, every):
        label = f"{2 ** k}" if matrix else f'2<tspan dy="-5" font-size="9">{k}</tspan>'
        out += [rule(x_of(2 ** k), bottom, x_of(2 ** k), bottom + 4, INK), text(x_of(2 ** k), bottom + 18, label)]
    out += [rule(left + LEFT, bottom, right, bottom, INK),
            text((left + LEFT + right) / 2, bottom + 37, "order of the matrix" if matrix else "elements")]
    middle = (top + TOP + bottom) / 2
    out.append(text(left + 14, middle, "GFLOP/s" if flops else "GB/s",
                    extra=f'transform="rotate(-90 {left + 14:.1f} {middle:.1f})"'))
    if ceiling and not flops:
        out.append(rule(left + LEFT, y_of(ceiling), right, y_of(ceiling), *STYLE["copy"], 1.5))
    return out + [curve([(x_of(n), y_of(r)) for n, r in points], name) for name, points in curves.items() if points]


def plot(title, rows, ceiling, path):
    panels = {}
    for row in rows:
        panels.setdefault((row["type"], row.get("variant", "")), []).append(row)
    across = min(COLUMNS, len(panels))
    width, height = across * WIDTH, HEAD + math.ceil(len(panels) / across) * HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="sans-serif" fill="{INK}">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(16, 24, escape(title), "start", 16, 'font-weight="bold"')]
    peers = ", ".join(sorted({row["peer"] for row in rows if row.get("ratio")}))
    legend = [("davit", "davit")] + [("peer", peers)] * bool(peers)
    legend += [("copy", "copy, read + written")] * bool(ceiling and rows[0]["operation"] != "covariance")
    at = 16
    for name, label in legend:
        color, dash = STYLE[name]
        out += [rule(at, 45, at + 26, 45, color, dash, 2), text(at + 32, 49, escape(label), "start")]
        at += 56 + 7 * len(label)
    for i, ((kind, variant), group) in enumerate(panels.items()):
        out += panel(f"{kind} {variant}".strip(), group, ceiling, i % across * WIDTH, HEAD + i // across * HEIGHT)
    path.write_text("\n".join(out + ["</svg>"]) + "\n")
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--out", default=pathlib.Path(__file__).parent.parent / "docs/plots", type=pathlib.Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.results:
        plot_result(name, options.out)

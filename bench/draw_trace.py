#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a trace (docs/trace.md) as a timeline, an SVG file on standard output.

    DAVIT_TRACE=trace.json ./program
    bench/draw_trace.py trace.json "three queues of a device" > timeline.svg

Each queue or lane of a device has a row, each command a bar. An arrow leads from the record of an event to the end of
the wait for it, if both are in rows. Threads of the program are left out. The drawing is for traces of some dozen
commands; https://ui.perfetto.dev shows longer ones.
"""
import json
import sys
from html import escape

sys.dont_write_bytecode = True
import plot

WIDTH, LEFT, RIGHT, TOP, ROW, BAR, AXIS = 860, 150, 20, 84, 44, 26, 40
LETTER, GAP = 6.2, 0.6  # the width of a letter in a bar, about; between bars that touch
KINDS = {"work": ("davit", "work"), "copy": ("peer", "copy"), "wait": ("grid", "wait for an event")}


def kind_of(event):
    operation = event["args"]["operation"]
    return "wait" if operation == "wait" else "copy" if operation.startswith("copy") else "work"


class Timeline:
    def __init__(self, events):
        names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"] in ("thread_name", "process_name")}
        self.commands = [e for e in events if e["ph"] == "X" and e.get("args", {}).get("operation") not in (None, "record")]
        if not self.commands:
            sys.exit("draw_trace.py: the trace has no commands")
        self.rows = sorted({(e["pid"], e["tid"]) for e in self.commands})
        self.groups = {pid: names[pid, None] for pid, _ in self.rows}
        self.labels = {row: names[row].removesuffix(", sub-queue 0").replace("internal lane", "lane") for row in self.rows}
        ends = {e["id"]: e for e in events if e["ph"] == "f" and (e["pid"], e["tid"]) in self.labels}
        self.arrows = [(e, ends[e["id"]]) for e in events if e["ph"] == "s" and e["id"] in ends and (e["pid"], e["tid"]) in self.labels]
        self.begin = min(e["ts"] for e in self.commands)
        self.span = max(e["ts"] + e["dur"] for e in self.commands) - self.begin or 1

    def x(self, ts):
        return LEFT + (ts - self.begin) / self.span * (WIDTH - LEFT - RIGHT)

    def y(self, event):
        """The middle of the event's row."""
        return TOP + ROW * self.rows.index((event["pid"], event["tid"])) + ROW / 2

    def bar(self, event):
        left, y, kind = self.x(event["ts"]), self.y(event), kind_of(event)
        width = max(self.x(event["ts"] + event["dur"]) - left - GAP, GAP)
        height = BAR / 2 if kind == "wait" else BAR
        name = event["name"]
        inside = plot.text(left + width / 2, y + 4, escape(name), size=11, extra='class="fill-ground"')
        return (f'<g class="{kind}">{plot.bar(left, y - height / 2, width, height, KINDS[kind][0])}'
                f'{inside if kind != "wait" and width > LETTER * len(name) + 2 else ""}'
                f'<title>{escape(name)}, {event["dur"] / 1e3:.2f} ms</title></g>')

    def arrow(self, begin, end):
        x1, y1, x2, y2 = self.x(begin["ts"]), self.y(begin), self.x(end["ts"]), self.y(end)
        up = y1 > y2
        y1, y2, tip = (y1 - BAR / 2, y2 + BAR / 2, 5) if up else (y1 + BAR / 2, y2 - BAR / 2, -5)
        return (plot.rule(x1, y1, x2, y2 + tip, "ink", 1.2) + f'<path class="arrow fill-ink" d="M{x2:.1f} {y2:.1f} '
                f'l-3.5 {1.4 * tip:.1f} l7 0 z"/>')

    def axis(self):
        bottom = TOP + ROW * len(self.rows)
        most, step = self.span / 1e3, plot.nice_top(self.span / 1e3, 8)[1]
        for i in range(int(most / step) + 1):
            x = self.x(self.begin + 1e3 * i * step)
            yield plot.rule(x, TOP, x, bottom, "grid")
            yield plot.text(x, bottom + 18, f"{i * step:g}")
        yield plot.text(WIDTH - RIGHT, bottom + 36, "milliseconds", "end")

    def row_names(self):
        for pid, name in self.groups.items():
            rows = [row for row in self.rows if row[0] == pid]
            for row in rows:
                y = TOP + ROW * self.rows.index(row) + ROW / 2
                yield plot.text(12, y - 3 if row == rows[0] else y + 4, escape(name.partition(":")[0]) if row == rows[0] else "",
                                "start", 12, 'font-weight="bold"')
                yield plot.text(12, y + 12, escape(self.labels[row]), "start")

    def legend(self):
        x = 16
        for kind, (color, label) in KINDS.items():
            if any(kind_of(e) == kind for e in self.commands):
                height = 6 if kind == "wait" else 12
                yield plot.bar(x, 50 - height / 2, 26, height, color) + plot.text(x + 32, 54, label, "start")
                x += 56 + 7 * len(label)
        if self.arrows:
            yield plot.rule(x, 50, x + 26, 50, "ink", 1.2) + plot.text(x + 32, 54, "from the event's record to the wait for it", "start")

    def drawing(self, title):
        parts = [*self.legend(), *self.axis(), *self.row_names(), *map(self.bar, self.commands)]
        parts += [self.arrow(*arrow) for arrow in self.arrows]
        return plot.document(title, WIDTH, TOP + ROW * len(self.rows) + AXIS + 8, parts)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        sys.stdout.write(Timeline(json.load(file)).drawing(sys.argv[2]))

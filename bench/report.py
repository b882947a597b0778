# SPDX-License-Identifier: Apache-2.0
"""Results of benchmarks: a page of them, and what became slower since older ones. `davit bench` runs this for --report,
--compare and --from (docs/bench.md), and plot.py for the page in docs/.

    report.py [--json] [--page FILE] [--compare OLD [--noise PERCENT]] [--program NAME=FILE]... [--] [FILE...]

FILE and OLD are what a benchmark or `davit bench --json` printed, `-` is standard input; OLD may be NAME=FILE. --page writes the page; --compare
prints a table. With --json that is instead, as members of an object, `benchmarks` and with --compare `comparison`. --program
is a FILE that the benchmark NAME printed in this run: one that is broken is named, and the others count all the same.

The exit code is davit's and 96 after a sentence about what is wrong: 3 for what is no result, 4 without memory, 1 for what
cannot be written. Once all is written it is davit's and 64: 65 where something became slower, or a program's results are
broken, 67 where nothing can be compared. So none of them is an interpreter's own.
"""
import getopt
import itertools
import json
import math
import os
import re
import signal
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, FOLDER)  # not there where Python is isolated
from rows import (BROKEN, FAILED, FASTER, INPUT, MEMORY, MOST_DEVICES, OK, SAME, SLOWER, VERDICTS, Comparison, Refused,
                  change_text, complain, cost_text, count_text, date_text, digits, finish, name_text, peer_text, plural,
                  rate_text, read, scaled_unit, time_text)

STDOUT, WRITTEN, SAID = 1, 64, 96
with open(os.path.join(FOLDER, "report.css"), encoding="utf-8") as style:
    STYLE = style.read()


def markup(text):
    """As HTML. What XML does not allow becomes U+FFFD."""
    text = re.sub("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    return text.translate({ord(sign): f"&#{ord(sign)};" for sign in "<>&\"'"})


# ---- plots and bars ----

# Of a drawing, in its own units; the axes are inside of these margins.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 210, 46, 20, 22, 34
DAVIT, PEER, LIMIT = CURVES = "d", "p", "l"  # their classes in the style


def is_curve(group):
    """Two sizes or more, each measured about once."""
    if not all(row.size and row.us for row in group):
        return False
    sizes = 1 + sum(b.size > a.size * (1 + 1e-6) for a, b in zip(group, group[1:]))
    return sizes > 1 and len(group) <= 2 * sizes


class Plot:
    """Rate, or time where there is no rate, against size. Times, and rates far below the limit, have a logarithmic axis."""

    def __init__(self, group):
        self.group, self.unit = group, group[-1].unit
        self.values = {which: [self.value(row, which) for row in group] for which in CURVES}
        self.curves = [which for which in CURVES if any(self.values[which])]
        found = [value for values in self.values.values() for value in values if value]
        high = max(found)
        self.logarithmic = not self.unit or max(self.values[DAVIT]) * 6 < high
        if self.logarithmic:
            self.low, self.high = 10.0 ** math.floor(math.log10(min(found))), 10.0 ** math.ceil(math.log10(high * 1.02))
            step = math.ceil(math.log10(self.high / self.low) / 6)
            marks = (self.low * 10.0 ** (i * step) for i in itertools.count())
        else:
            power = 10.0 ** math.floor(math.log10(high / 4))
            step = power * next(part for part in (1, 2, 5, 10) if high / 4 / power <= part or part == 10)
            self.low, self.high = 0.0, step * math.ceil(high * 1.02 / step)
            marks = (i * step for i in itertools.count())
        self.marks = list(itertools.takewhile(lambda mark: mark <= self.high * 1.01, marks))
        self.factor, self.unit_text = scaled_unit(self.unit, self.high) if self.unit else (1.0, "µs, lower is better")

    def value(self, row, which):
        us = {DAVIT: row.us, PEER: row.peer_us, LIMIT: row.floor_us}[which]
        if not self.unit:
            return us
        return row.rates[self.unit] if which == DAVIT else row.rates[self.unit] * row.us / us if us else 0.0

    def x(self, row):
        first, last = self.group[0].size, self.group[-1].size
        return LEFT + 6 + math.log(row.size / first) / math.log(last / first) * (WIDTH - LEFT - RIGHT - 6)

    def y(self, value):
        share = (math.log(value / self.low) / math.log(self.high / self.low) if self.logarithmic
                 else (value - self.low) / (self.high - self.low))
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def size_text(self, size):
        """9000, 100k; powers of two from 4096 on as such, but for matrices. The text, and its number of letters."""
        part, exponent = math.frexp(size)
        if part == 0.5 and size >= 4096 and self.group[0].size_name != "order":
            return f'2<tspan class="e" dy="-5">{exponent - 1}</tspan>', 3
        text = f"{size:.0f}"
        if size >= 99999:
            power = next((p for p in range(4) if size / 1000.0 ** p < 999.95), 4)
            text = f"{size / 1000.0 ** power:.3g}{('', 'k', 'M', 'G', 'T')[power]}"
        return text, len(text)

    def sizes(self):
        """Labels where there is room, and a mark for each."""
        end, labels = 0.0, ""
        for row in self.group:
            text, letters = self.size_text(row.size)
            half = letters * 7.5 / 2
            at = min(self.x(row), WIDTH - half)
            if at - half >= end + 8:
                labels += f'<text x="{at:.4g}" y="{HEIGHT - BOTTOM + 17}">{text}</text>'
                end = at + half
        marks = "".join(f"M{self.x(row):.4g} {HEIGHT - BOTTOM}v4" for row in self.group)
        return f'<g class="m">{labels}</g><path class="a" d="{marks}M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'

    def axes(self):
        lines = "".join(f"M{LEFT} {self.y(mark):.4g}H{WIDTH - RIGHT}" for mark in self.marks)
        labels = "".join(f'<text x="{LEFT - 6}" y="{self.y(mark) + 4:.4g}">{mark * self.factor:.6g}</text>' for mark in self.marks)
        name = self.group[0].size_name
        return (f'<path class="g" d="{lines}"/><g class="r">{labels}</g>{self.sizes()}'
                f'<text x="{LEFT - 36}" y="12">{self.unit_text}</text><text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" class="r">'
                f'{"order of the matrix" if name == "order" else name}</text>')

    def curve(self, which):
        """A point that is missing interrupts it."""
        line = points = ""
        letter = "M"
        for row, value in zip(self.group, self.values[which]):
            if value:
                at = f"{self.x(row):.4g} {self.y(value):.4g}"
                line += letter + at
                points += f"M{at}h0"
            letter = "L" if value else "M"
        points = "" if which == LIMIT else f'<path class="o {which}" d="{points}"/>'
        return f'<path class="c {which}" d="{line}"/>{points}'

    def legend(self):
        peer = next((row.peer for row in self.group if row.peer_us and row.peer), None) or "peer"
        names = {DAVIT: "davit", PEER: markup(peer), LIMIT: "limit"}
        return "".join(f'<span class="k"><i class="{which}"></i>{names[which]}</span>' for which in CURVES
                       if which == DAVIT or which in self.curves)

    def end(self):
        """What the largest size reaches."""
        last, value = self.group[-1], self.values[DAVIT][-1]
        text = rate_text(self.unit, value) if self.unit else time_text(value)
        if last.floor_us:
            text += f", {100 * last.of_limit:.{int(last.of_limit < 0.1)}f} % of the limit"
        return text + (f", {last.peer_us / last.us:.2f} × the peer" if last.peer_us else "")

    def figure(self):
        label = markup(self.group[0].label)
        return (f'<figure><figcaption><b>{label}</b><span>{self.legend()}</span></figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" '
                f'role="img"><title>{label}</title>{self.axes()}{"".join(map(self.curve, reversed(self.curves)))}</svg>'
                f'<p class="w">largest: {self.end()}</p></figure>\n')


def bars(row):
    """The speed of a row beside those of its peer and of the limit; the longest is 100 %."""
    costs = {DAVIT: row.cost, PEER: row.peer_cost, LIMIT: row.floor_us if row.us else 0}
    fastest = min(cost for cost in costs.values() if cost)
    return "".join(f'<i class="{PEER if which == DAVIT and row.side else which}" '
                   f'style="{"left" if which == LIMIT else "width"}:{100 * fastest / cost:.1f}%"></i>'
                   for which, cost in costs.items() if cost)


# ---- the page ----

def median(values):
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def table(heads, rows, attributes="", caption=""):
    """Cells are HTML; one that is a pair has a class."""
    caption = caption and f"<caption>{caption}</caption>"
    cells = lambda row: "".join(f'<td class="{cell[0]}">{cell[1]}' if isinstance(cell, tuple) else f"<td>{cell}" for cell in row)
    return (f'<div class="wide"><table{attributes}>{caption}<thead><tr>{"".join("<th>" + head for head in heads)}<tbody>\n'
            + "".join(f"<tr>{cells(row)}\n" for row in rows) + "</table></div>\n")


def share_cell(change):
    """Of a table."""
    if not change:
        return ""
    text = "failed" if change.verdict == BROKEN else change_text(change.share)
    return text if change.verdict == SAME else ("better" if change.verdict == FASTER else "worse", text)


def device_text(device):
    units = f", {device.units:.0f} compute unit{'s' if device.units > 1 else ''}" if device.units else ""
    memory = f", {digits(device.memory / (1 << 30))} GiB" if device.memory else ""
    return f"{markup(device.name) or 'unknown device'} ({markup(device.kind)}{units}{memory})"


def machine(document):
    """Accelerators first; devices that are equal once, with their number."""
    devices = [device_text(device) for device in sorted(document.machine, key=lambda device: not device.accelerates)]
    items = ((devices.count(text), text) for text in dict.fromkeys(devices))
    return "".join(f"<li>{f'{count} × ' if count > 1 else ''}{text}</li>" for count, text in items)


def machines(documents):
    found = [f"<ul>{text}</ul>\n" for text in dict.fromkeys(map(machine, documents)) if text]
    return "<h3>Devices</h3>\n" + ("".join(found[:16]) or "<p>The results do not name it.</p>\n")


def runs(documents):
    rows = [(f'<a href="#s{i}">{markup(d.benchmark)}</a>', markup(d.version), markup(date_text(d.date)), len(d.rows),
             f"<code>{markup(d.command)}</code>") for i, d in enumerate(documents)]
    return "<h3>Runs</h3>\n" + table(("benchmark", "version", "date", "rows", "command"), rows, ' class="words"')


def summary(rows, comparison):
    def tile(value, words, attributes=""):
        return f"<div{attributes}><b>{value}</b>{words}</div>\n"
    ours = [row for row in rows if row.shown and not row.side]
    tiles = tile(count_text(len(ours)), f"row{plural(len(ours))} of davit")
    # The limit has no time for starting the work, which small sizes mostly take.
    limits = sorted(row.of_limit for row in ours if row.largest and row.of_limit)
    if limits:
        tiles += tile(digits(100 * median(limits)) + " %", "of the limit in the median of the largest sizes")
    peers = sorted(row.of_peer for row in ours if row.of_peer)
    if peers:
        tiles += tile(digits(median(peers)) + " ×", "the peer's speed in the median")
        tiles += tile(count_text(sum(peer < 1 for peer in peers)),
                      f"of {len(peers)} row{plural(len(peers))} with a peer: the peer is faster")
    if comparison:
        tiles += tile(count_text(comparison.worse), f"row{plural(comparison.worse)} became slower or failed",
                      ' class="bad"' if comparison.worse else "")
    return f'<div class="sum">\n{tiles}</div>\n'


EXPLANATION = """\
<p>Times are medians of several runs; rates are the work over that time. The <b>limit</b> is the time that the bytes take at \
the measured rate of a copy, or the operations at the processor's highest rate, whichever is longer; where data come from the \
host, it is the link's. Work that only reads, such as a sum, may be faster than a copy. A <b>peer</b> is another library, a \
plain program, or davit on one device, that did the same work in the same run. davit's speed is 1 where both take as long.</p>
<p class="meta">Axes of sizes are logarithmic. The axis of rates is so too where the limit is far away. Bars show speeds: davit \
above, the peer below, the limit as a dashed line; the longest is 100 %.</p>
"""


def changes(comparison, caption, *verdicts):
    rows = ((markup(name_text(c.now, True)), share_cell(c), cost_text(c.now), cost_text(c.before), f"{100 * c.noise:.1f} %")
            for c in comparison.of(*verdicts))
    return table(("row", "change", "now", "before", "noise"), rows, caption=caption)


def compared(c):
    slower, failed, faster, same = (len(c.of(verdict)) for verdict in VERDICTS)
    rows = len(c.changes)
    text = (f'<h2 id="slower">What became slower</h2>\n<p>Compared with <code>{markup(c.path)}</code>: of {rows} row{plural(rows)} '
            f"that both have, {slower} became slower, {failed} failed, {faster} became faster, and {same} are the same within the "
            f"noise. The noise of a row is {100 * c.noise:.3g} %, or the spread of one of its two measurements (median over fastest "
            "run) where that is larger.")
    if c.gone or c.added:
        text += f" Not compared: {c.gone} row{plural(c.gone)} of the older results alone, {c.added} of the new ones alone."
    if c.other_device:
        what = " is not compared, because it is" if c.other_device == 1 else "s are not compared, because they are"
        text += f' <b class="worse">{c.other_device} row{what} of different devices.</b>'
    text += "</p>\n"
    if c.worse:
        text += changes(c, "Slower", SLOWER, BROKEN)
    elif rows:
        text += '<p class="better">Nothing became slower.</p>\n'
    return text + (changes(c, "Faster", FASTER) if faster else "")


def lost(rows):
    """Where a peer is faster."""
    found = sorted((row for row in rows if row.shown and not row.side and 0 < row.of_peer < 1), key=lambda row: row.of_peer)
    if not found:
        return ""
    most = 20
    cut = f"; these are the {most} with the largest difference, the tables below have all" if len(found) > most else ""
    return (f'<h2 id="peers">Where a peer is faster</h2>\n<p>{len(found)} row{plural(len(found))}{cut}.</p>\n'
            + table(("row", "davit's speed", "davit", "peer", "which"),
                    ((markup(name_text(row, True)), f"{row.of_peer:.2f} ×", cost_text(row), peer_text(row), markup(row.peer or ""))
                     for row in found[:most])))


def groups_of(document):
    """Rows that differ in their size alone, by size: by device, accelerators first, and then in the order of their first rows."""
    def place(row):
        return (row.device.index if row.device.accelerates else MOST_DEVICES + row.device.index) if row.device else -1
    def alike(row):
        return place(row), row.label, row.side, row.size_name, None if row.size else row.ordinal
    rows = sorted((row for row in document.rows if row.shown), key=lambda row: (*alike(row)[:4], row.size, row.ordinal))
    groups = [list(group) for _, group in itertools.groupby(rows, alike)]
    return sorted(groups, key=lambda group: (place(group[0]), min(row.ordinal for row in group)))


def bar_row(row):
    drawn = f'<span class="t">{bars(row)}</span>' if row.of_peer or row.of_limit else "<span></span>"
    peer = f"{row.of_peer:.2f} × {markup(row.peer or 'peer')}" if row.of_peer else ""
    return f"<div><span>{markup(name_text(row))}</span>{drawn}<span>{cost_text(row)}</span><span>{peer}</span></div>\n"


def drawings(document):
    text = ""
    for device, groups in itertools.groupby(groups_of(document), lambda group: group[0].device):
        groups = list(groups)
        if device:
            text += f"<h3>{markup(device.name)}{'' if device.accelerates else ', ' + markup(device.kind)}</h3>\n"
        plots = "".join(Plot(group).figure() for group in groups if is_curve(group))
        rows = "".join(bar_row(row) for group in groups if not is_curve(group) for row in group)
        text += (f'<div class="plots">\n{plots}</div>\n' if plots else "") + (f'<div class="bars">\n{rows}</div>\n' if rows else "")
    return text


def numbers(document, comparison):
    def cells(row):
        change = comparison and comparison.of_row.get(row.ordinal)
        yield from (markup(name_text(row)), markup(row.device.kind) if row.device else "", time_text(row.us) if row.us else "",
                    rate_text(row.unit, row.rates[row.unit]) if row.unit else "",
                    f"{100 * row.of_limit:.3g} %" if row.of_limit else "", peer_text(row),
                    f"{row.of_peer:.2f} ×" if row.of_peer else "")
        if comparison:
            yield from (cost_text(change.before) if change else "", share_cell(change))
    heads = ["row", "device", "time", "rate", "of the limit", "peer's time", "davit's speed"]
    heads += ["before", "change"] if comparison else []
    rows = table(heads, (cells(row) for row in document.rows if row.shown))
    return f"<details><summary>Numbers</summary>{rows.rstrip()}</details>\n"


def section(index, document, comparison):
    d = document
    errors = "".join(f'<p class="meta">Not measured: {markup(name_text(row))}: {markup(row.error)}</p>\n'
                     for row in d.rows if row.error is not None)
    return (f'<section id="s{index}"><h2>{markup(d.benchmark)}</h2>\n<p class="meta"><code>{markup(d.command)}</code> · davit '
            f"{markup(d.version)} · {markup(date_text(d.date))}</p>\n{errors}{drawings(d)}{numbers(d, comparison)}</section>\n")


def page(documents, rows, comparison=None, stored=True):
    """The page; it names the files of the results if they are `stored`."""
    for group in (group for document in documents for group in groups_of(document)):
        group[-1].largest = True
    files = dict.fromkeys(document.file for document in documents)
    names = ", ".join(f"<code>{markup(file.rpartition('/')[2])}</code>" for file in files)
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<title>davit: benchmarks</title>\n<style>\n'
            f"{STYLE}</style>\n</head>\n<body>\n<h1>davit: benchmarks</h1>\n"
            + summary(rows, comparison) + EXPLANATION + machines(documents) + runs(documents)
            + (compared(comparison) if comparison else "") + lost(rows)
            + "".join(section(index, document, comparison) for index, document in enumerate(documents))
            + (f'<p class="meta">Made from {names}.</p>\n' if stored else "") + "</body>\n</html>\n")


# ---- command ----

def read_all(options, files):
    """The new documents, and whether those of a program were broken."""
    documents, broken = [document for path in files for document in read(path)], False
    for name, _, path in (value.rpartition("=") for option, value in options if option == "--program"):
        try:
            documents += read(path, name)
        except Refused as why:
            complain(why.args[1])
            broken = True
    return documents, broken


def members(documents, comparison):
    """For an object of JSON."""
    found = {"benchmarks": [document.value for document in documents]}
    if comparison:
        found["comparison"] = comparison.members()
    return re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(found, ensure_ascii=False)[1:-1])


def write(path, text):
    with open(path, "w", encoding="utf-8", closefd=path != STDOUT) as file:
        file.write(text)


def run(words):
    given, files = getopt.getopt(words, "", ["json", "page=", "compare=", "noise=", "program="])
    options = dict(given)
    name, _, path = options.get("--compare", "").rpartition("=")
    old = finish(read(path, name)) if path else None
    if not files and "--program" not in options:
        return WRITTEN  # nothing was to be done but that
    documents, broken = read_all(given, files)
    if broken and not documents:
        return SAID + FAILED
    rows, comparison = finish(documents), None
    if old is not None:
        comparison = Comparison(name or path, old, rows, float(options.get("--noise", 5)) / 100)
    write(STDOUT, members(documents, comparison) if "--json" in options else comparison.table() if comparison else "")
    if "--page" in options:
        write(options["--page"], page(documents, rows, comparison, bool(files)))
    code = comparison.code() if comparison else OK
    return WRITTEN + (FAILED if broken else code)


def main(words):
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    sys.stderr.reconfigure(encoding="utf-8")
    try:
        return run(words)
    except Refused as why:
        code, sentence = why.args
    except RecursionError:
        code, sentence = INPUT, "the results are nested too deeply"
    except MemoryError:
        code, sentence = MEMORY, "not enough memory for the results"
    except OSError as why:
        code, sentence = FAILED, f"the results cannot be written: {why.strerror}"
    complain(sentence)
    return SAID + code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

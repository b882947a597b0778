# SPDX-License-Identifier: Apache-2.0
"""Rows of results of benchmarks (rows.c writes them), for report.py: read, compared, and their numbers as text.

A document has the name of its benchmark, the machine and rows. A row is a flat object, whose fields this file knows by their
names: texts and some numbers say what was measured (the row's label and its size); times, rates, the peer's time and the
floor say how fast it was. Other fields are ignored. Rows of another library, which some benchmarks print beside davit's,
become the peer of davit's row.
"""
import itertools
import json
import math
import re
import sys

OK, FAILED, INPUT, MEMORY = 0, 1, 3, 4  # davit's exit codes
MOST_MIB, MOST_LABEL, MOST_DEVICES, MOST_ROWS = 16, 1024, 1024, 100000


class Refused(Exception):
    """What ends the program: davit's exit code, and a sentence."""


def plain(text):
    """Without what commands a terminal, and without bytes that are not UTF-8."""
    return re.sub("[\0-\x1f\x7f-\x9f\ud800-\udfff]", "?", text)


def complain(sentence):
    print(f"davit bench: {plain(sentence)}", file=sys.stderr)


def plural(count):
    return "" if count == 1 else "s"


# ---- fields of a row ----

# A time, and its factor to microseconds; the first that a row has counts.
TIMES = (("median_us", 1), ("us", 1), ("whole_us", 1), ("median_ms", 1e3), ("ms", 1e3), ("davit_ns", 1e-3), ("mean_ms", 1e3),
         ("all_ms", 1e3))
BEST_TIMES = ("best_us", 1), ("best_ms", 1e3)
PEER_TIMES = ("peer_us", 1), ("blis_ns", 1e-3)
FLOORS = ("floor_us", 1), ("floor_ms", 1e3), ("floor_arithmetic_ms", 1e3), ("floor_link_ms", 1e3)  # the largest counts
GCUPS, TFLOPS, GFLOPS, GBS = UNITS = "GCUPS", "TFLOP/s", "GFLOP/s", "GB/s"
RATES = (GCUPS, ("gcups",)), (TFLOPS, ("tflops",)), (GFLOPS, ("gflops",)), (GBS, ("gbs", "whole_gbs"))
# Numbers that say what was measured, beside the size.
COUNTS = ("queues", "ld", "targets", "permutations", "pairs", "host_threads", "threads", "teams", "block", "each", "windows",
          "window", "pattern", "effects", "base", "b", "sound_s", "phi")
# Texts that do not say it; `backend` and `who` have rules of their own.
REMARKS = "peer", "peer_error", "error", "remark", "note", "backend", "who"


def get(value, key):
    return value.get(key) if isinstance(value, dict) else None


def text_of(value, key, otherwise=""):
    text = get(value, key)
    return text if isinstance(text, str) else otherwise


def number_of(value, key, otherwise=0.0):
    number = get(value, key)
    return float(number) if type(number) in (int, float) else otherwise


def positive(value, key):
    """A number above 0; else, and for what nothing measures, 0."""
    number = number_of(value, key)
    return number if 1e-30 < number < 1e30 else 0.0


def figures(row, fields):
    """Of the row's fields those that were measured."""
    return [factor * positive(row, key) for key, factor in fields if positive(row, key)] or [0.0]


def rounded(value):
    """To eight digits, which results of early versions have."""
    return float(f"{value:.7e}")


class Device:
    """Its kind and name are "" if unknown, compute units and bytes 0."""

    def __init__(self, value, index):
        self.index, self.number = index, number_of(value, "device", math.nan)
        self.kind, self.name = text_of(value, "kind"), text_of(value, "name")
        self.units, self.memory = positive(value, "compute_units"), positive(value, "memory_bytes")
        self.accelerates = self.kind not in ("", "cpu", "host-offload")


class Row:
    """`label` says what was measured, without the size, `side` is the name of another library or of a plain program, else "".
    Without a size `size_name` is "". Times are microseconds, rates those of UNITS; what was not measured is 0."""

    def __init__(self, row, document):
        self.document = document
        self.device = document.devices.get(number_of(row, "device", None))
        self.us, self.best_us, self.peer_us = (figures(row, fields)[0] for fields in (TIMES, BEST_TIMES, PEER_TIMES))
        self.floor_us = max(figures(row, FLOORS))
        self.rates = {unit: figures(row, [(key, 1) for key in keys])[0] for unit, keys in RATES}
        self.unit = next((unit for unit in UNITS if self.rates[unit] and self.is_work(unit)), None)
        self.cost = self.us or (1 / self.rates[self.unit] if self.unit else 0.0)
        self.peer_cost = self.peer_us if self.us else 0.0
        self.peer = text_of(row, "peer", "BLIS" if "blis_ns" in row else None)
        self.error = text_of(row, "error", None)
        self.largest = False  # whether it is the largest size of its group
        self.of_limit, self.of_peer = self.floor_us / self.us if self.us else 0.0, 0.0  # shares of their speed; 0: none is known
        self.spread = self.us / self.best_us - 1 if self.us and self.best_us else 0.0
        self.find_label(row, self.find_size(row))
        self.key = document.benchmark, self.device.kind if self.device else "", self.label, rounded(self.size)

    def is_work(self, unit):
        """Arithmetic is the work only from 8 operations for each byte on."""
        return unit != GFLOPS or self.rates[GFLOPS] >= 8 * self.rates[GBS]

    def find_size(self, row):
        """It is n; else the order of a square matrix; else its rows, and the label has the columns. A product has m, n and k.
        Returns the other lengths."""
        n, rows = positive(row, "n"), positive(row, "rows")
        product = "m" in row and "k" in row
        cube = product and n == positive(row, "m") == positive(row, "k")
        square = cube or 0 < rows == positive(row, "cols")
        self.size = n or rows
        self.size_name = "" if not self.size else "order" if square else "size" if n else "rows"
        return ("m", "k") if product and not cube else () if square else ("cols",)

    def find_label(self, row, lengths):
        """Texts, then davit's back end if it is not the default, then numbers. The tile is davit's choice, but in rows about
        copies of tiles, which have the matrix' leading dimension."""
        who, form, backend = text_of(row, "who", "davit"), text_of(row, "form"), text_of(row, "backend")
        plain_form = who == "davit" and form in ("loop", "kernel")
        self.side = form if plain_form else who if who != "davit" else backend[4:] if backend.startswith("raw-") else ""
        words = [value for key, value in row.items()
                 if isinstance(value, str) and key not in REMARKS and not (plain_form and key == "form")]
        backend = self.document.backend if self.side else text_of(row, "backend", self.document.backend)
        numbers = ["devices"] * (number_of(row, "devices") > 1) + ["tile"] * ("ld" in row)
        parts = [" ".join(words).lstrip()] * any(words) + [f"backend {backend}"] * (backend != "openmp")
        found = {key: rounded(number_of(row, key, math.nan)) for key in (*numbers, *COUNTS, *lengths)}
        parts += [f"{key} {value:.{15 if abs(value) < 1e15 else 8}g}" for key, value in found.items() if not math.isnan(value)]
        self.label = ", ".join(parts) or "-"


class Document:
    """What one benchmark printed, into the file `file`."""

    def __init__(self, value, file):
        rows = get(value, "rows")
        self.value, self.file, self.benchmark = value, file, text_of(value, "benchmark", None)
        if self.benchmark is None or not isinstance(rows, list):
            where = "" if self.benchmark is None else f", found none in {self.benchmark}"
            raise Refused(INPUT, f'{file}: expected results of a benchmark, with "benchmark" and "rows"{where}')
        self.version, self.date, self.command = (text_of(value, key) for key in ("version", "date", "command"))
        found = (text_of(row, "backend", None) for row in rows)
        self.backend = next((name for name in found if name is not None and not name.startswith("raw-")), "openmp")  # davit's
        devices = get(get(value, "machine"), "devices")
        devices = devices if isinstance(devices, list) else []
        for values, most, what in ((devices, MOST_DEVICES, "devices"), (rows, MOST_ROWS, "rows")):
            if len(values) > most:
                raise Refused(INPUT, f"{file}: {self.benchmark}: expected at most {most} {what}")
        self.machine = [Device(device, index) for index, device in enumerate(devices)]
        self.devices = {device.number: device for device in reversed(self.machine)}  # of two with one number the first
        self.rows = []
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise Refused(INPUT, f"{file}: {self.benchmark}: row {number}: expected an object")
            self.rows.append(Row(row, self))
            if len(self.rows[-1].label.encode(errors="replace")) >= MOST_LABEL:
                raise Refused(INPUT, f"{file}: {self.benchmark}: row {number}: expected names of less than {MOST_LABEL} bytes "
                                     "in all")


# ---- files ----

def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("duplicate object key")
    return dict(pairs)


def number(text):
    """What C has a type for."""
    value, whole = float(text), text.lstrip("-").isdigit()
    if not abs(value) <= (2.0 ** 63 if whole else sys.float_info.max):
        raise ValueError(f"{text[:32]}: number overflow")
    return int(text) if whole else value


def parse(data, name):
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=unique, parse_float=number, parse_int=number, parse_constant=number)
    except json.JSONDecodeError as why:
        raise Refused(INPUT, f"{name}: line {why.lineno}, column {why.colno}: not valid JSON: {why.msg}")
    except (ValueError, RecursionError) as why:
        raise Refused(INPUT, f"{name}: not valid JSON: {why}")


def read(path, name=None):
    """The documents of a file: one, or those of `davit bench --json`."""
    name = name or ("standard input" if path == "-" else path)
    try:
        with open(0 if path == "-" else path, "rb") as file:
            data = file.read((MOST_MIB << 20) + 1)
    except OSError as why:
        raise Refused(INPUT, f"{name}: expected a readable file: {why.strerror}")
    if len(data) > MOST_MIB << 20:
        raise Refused(INPUT, f"{name}: expected at most {MOST_MIB} MiB of results")
    value = parse(data, name)
    found = get(value, "benchmarks")
    return [Document(part, name) for part in (found if isinstance(found, list) else [value])]


def join_peers(rows):
    """Of rows of one document that measured the same: gives davit's the fastest of the others. A peer's time counts beside a
    time, its rate beside a rate."""
    ours, others = [row for row in rows if not row.side], [row for row in rows if row.side]
    best = min((row for row in others if row.cost and ours and (row.us > 0) == (ours[0].us > 0)), key=lambda row: row.cost,
               default=None)
    for row in rows:
        row.shown = row.cost > 0 and not (best and row.side)
        if best and not row.side and not row.peer_cost:
            row.peer_us, row.peer_cost, row.peer = best.us, best.cost, best.side
        row.of_peer = row.peer_cost / row.cost if row.cost else 0.0


def finish(documents):
    """All rows, those that measured the same together in the order given. A row's `ordinal` counts them as given; it is `shown`
    if it was measured and is not the peer of another."""
    rows = [row for document in documents for row in document.rows]
    for ordinal, row in enumerate(rows):
        row.ordinal = ordinal
    rows.sort(key=lambda row: row.key)
    for _, alike in itertools.groupby(rows, lambda row: (row.key, id(row.document))):
        join_peers(list(alike))
    return rows


# ---- what became slower ----

SLOWER, BROKEN, FASTER, SAME = VERDICTS = "slower", "failed", "faster", "same"


def same_device(a, b):
    return (a and (a.name, a.units)) == (b and (b.name, b.units))


class Change:
    """`share` is the time now over that before, less 1."""

    def __init__(self, before, now, noise):
        self.before, self.now, self.verdict, self.share, self.noise = before, now, BROKEN, 0.0, 0.0
        if now.cost:
            self.share, self.noise = now.cost / before.cost - 1, max(noise, before.spread, now.spread)
            faster = before.cost / now.cost - 1 > self.noise
            self.verdict = SLOWER if self.share > self.noise else FASTER if faster else SAME
        size = abs(math.log(now.cost / before.cost)) if now.cost else 0.0
        self.order = VERDICTS.index(self.verdict), -size, now.ordinal


class Comparison:
    """Rows are compared that measured the same on devices of the same kind, name and size: where a file has several such rows,
    the n-th with the n-th, and none if their numbers differ. Rows of others than davit are not compared. `gone` and `added`
    count rows of one file alone, in benchmarks that both have; `other_device` those of devices that differ, of which `devices`
    are the first two, or else the first two of all."""

    def __init__(self, path, before, now, noise):
        self.path, self.noise = "standard input" if path == "-" else path, noise
        self.gone = self.added = self.other_device = 0
        self.devices = [next((row.device for row in rows if row.device), None) for rows in (before, now)]
        self.changes = []
        sets = [{key: list(alike) for key, alike in itertools.groupby(rows, lambda row: row.key)} for rows in (before, now)]
        names = [{key[0] for key in keys} for keys in sets]
        for key in sorted(sets[0].keys() | sets[1].keys()):
            old, new = ([row for row in rows.get(key, ()) if not row.side] for rows in sets)
            if key in sets[0] and key in sets[1] and len(old) == len(new):
                for pair in zip(old, new):
                    self.compare(*pair)
            elif key[0] in names[0] & names[1]:
                self.gone += len(old)
                self.added += len(new)
        self.changes.sort(key=lambda change: change.order)
        self.of_row = {change.now.ordinal: change for change in self.changes}
        self.worse = len(self.of(SLOWER)) + len(self.of(BROKEN))

    def compare(self, old, new):
        """Rows that have no time say nothing, but for those that failed."""
        if not same_device(old.device, new.device):
            if not self.other_device:
                self.devices = [old.device, new.device]
            self.other_device += 1
        elif old.cost and (new.error is not None if not new.cost else
                           (old.us > 0) == (new.us > 0) and (old.us > 0 or old.unit == new.unit)):
            self.changes.append(Change(old, new, self.noise))

    def of(self, *verdicts):
        return [change for change in self.changes if change.verdict in verdicts]

    def table(self):
        lines = ["verdict\tchange\tnoise\tbefore\tnow\trow"]
        for c in self.of(SLOWER, BROKEN, FASTER):
            change = "-" if c.verdict == BROKEN else change_text(c.share)
            lines.append("\t".join((c.verdict, change, f"{100 * c.noise:.1f} %", cost_text(c.before), cost_text(c.now),
                                    plain(name_text(c.now, True)))))
        return "\n".join(lines) + "\n"

    def members(self):
        def member(c):
            found = {"benchmark": c.now.document.benchmark, "row": c.now.label, "size": c.now.size, "before_us": c.before.us,
                     "now_us": c.now.us}
            found = {key: value for key, value in found.items() if value or key in ("benchmark", "row")}
            return found if c.verdict == BROKEN else {**found, "change": c.share, "noise": c.noise}
        return {"file": self.path, "noise": self.noise, "rows": len(self.changes), "gone": self.gone, "added": self.added,
                "other_device": self.other_device, **{v: [member(c) for c in self.of(v)] for v in (SLOWER, BROKEN, FASTER)}}

    def code(self):
        """davit's exit code, after the sentence that says why."""
        if not self.changes:
            complain(self.nothing())
            return INPUT
        if self.worse:
            complain(self.worst())
        return FAILED if self.worse else OK

    def nothing(self):
        def describe(device):
            units = device.units if device else 0
            return f"{device.name if device else 'a device without a name':.200s} with {units:.0f} compute unit{plural(units)}"
        if same_device(*self.devices):
            return f"{self.path}: expected rows that measured the same as the new ones, found none"
        before, now = map(describe, self.devices)
        return f"{self.path}: expected results of the same devices, found {before}, here {now}"

    def worst(self):
        first, rows, failed = self.changes[0], len(self.changes), len(self.of(BROKEN))
        size = f", {first.now.size_name} {first.now.size:.15g}" if first.now.size else ""
        change = f"takes {1 + first.share:.3g} times as long" if first.verdict == SLOWER else "fails now"
        return (f"{len(self.of(SLOWER))} of {rows} row{plural(rows)} became slower than in {self.path}"
                f"{f', and {failed} failed' if failed else ''}; the worst: {heading(first.now)}{first.now.label}{size} {change}")


# ---- numbers and names ----

def digits(value):
    """Three: 0.0123, 1.23, 12.3, 12300."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 0.9995:
        return f"{value:.3g}"
    return f"{value:.{0 if size >= 99.95 or not size else 1 if size >= 9.995 else 2}f}"


def time_text(us):
    power = 0 if us < 0.1 else 1 if us < 1e3 else 2 if us < 1e6 else 3
    return f"{digits(us * 1000.0 ** (1 - power))} {('ns', 'µs', 'ms', 's')[power]}"


def scaled_unit(unit, largest):
    """Rates from 10000 of a unit on are written in the unit a thousand times as large: GB/s in TB/s."""
    return (1e-3, "T" + unit[1:]) if largest >= 9999.5 and unit[0] == "G" else (1.0, unit)


def rate_text(unit, value):
    factor, name = scaled_unit(unit, value)
    return f"{digits(value * factor)} {name}"


def change_text(share):
    return f"{100 * share:+.1f} %" if share < 1 else f"{1 + share:.3g} times"


def cost_text(row):
    """The time, or the rate of a row that has none."""
    return peer_text(row, row.cost) or "-"


def peer_text(row, cost=None):
    cost = row.peer_cost if cost is None else cost
    return "" if not cost else time_text(cost) if row.us else rate_text(row.unit, 1 / cost)


def count_text(value):
    """A whole number, with its digits in groups from five on."""
    if value >= 1e15 or value != math.floor(value):
        return digits(value)
    return f"{value:.0f}" if value < 10000 else f"{value:,.0f}".replace(",", "\u202f")


def date_text(date):
    """2026-11-22T11:51:34Z as 2026-11-22 11:51; anything else as it is."""
    found = re.fullmatch(r"(.{10})T(.{5}):..Z", date)
    return f"{found[1]} {found[2]}" if found else date


def heading(row):
    """The name of the benchmark, where the label does not begin with it."""
    return "" if row.label.startswith(row.document.benchmark) else f"{row.document.benchmark}: "


def name_text(row, full=False):
    """scan f64 inclusive queue, size 1 048 576. `full`: with the names of benchmark and device."""
    device = row.device.name if full and row.device else ""
    size = f"{row.size_name} {count_text(row.size)}" if row.size else ""
    return (heading(row) if full else "") + ", ".join([row.label, *(part for part in (row.side, size, device) if part)])

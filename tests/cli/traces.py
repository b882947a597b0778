#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a trace of davit (docs/trace.md) as what it is: JSON in Chrome's Trace Event Format.

usage: traces.py FILE...      prints what is wrong, and exits 1 if there is anything
"""
import json
import sys
from collections import Counter, defaultdict

KINDS = {"X": {"ts", "dur", "tid"}, "M": {"args"}, "i": {"ts", "tid", "s"}, "s": {"ts", "tid", "id"}, "f": {"ts", "tid", "id", "bp"},
         "B": {"ts", "tid"}, "E": {"ts", "tid"}}
NS = 0.0015  # what printing may round away, in microseconds


def problems_of(events):
    """Sentences; [] if all is well."""
    wrong = [f"no event of the format: {e}" for e in events
             if not isinstance(e, dict) or e.get("ph") not in KINDS or not KINDS[e["ph"]] <= e.keys() or "name" not in e
             or not isinstance(e.get("pid"), int)]
    if wrong:
        return wrong
    return [*check_rows(events), *check_pairs(events), *check_arrows(events), *check_commands(events)]


def check_rows(events):
    """Rows and their groups have names; complete events of a row do not overlap."""
    groups = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    rows = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    slices = defaultdict(list)
    for e in events:
        if e["pid"] not in groups:
            yield f"group {e['pid']} has no name"
        if e["ph"] in "XBEsf" and (e["pid"], e["tid"]) not in rows:
            yield f"row {e['pid']}, {e['tid']} has no name"
        if e["ph"] == "X" and e["dur"] < 0:
            yield f"ends before it begins: {e}"
        if e["ph"] == "X":
            slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for row, spans in slices.items():
        spans.sort()
        for (_, end), (begin, _) in zip(spans, spans[1:]):
            if begin < end - NS:
                yield f"row {row}: an event begins at {begin}, before {end}"


def check_pairs(events):
    """Every B has its E."""
    open_events = Counter()
    for e in sorted((e for e in events if e["ph"] in "BE"), key=lambda e: e["ts"]):
        row = e["pid"], e["tid"]
        open_events[row] += 1 if e["ph"] == "B" else -1
        if open_events[row] < 0:
            yield f"row {row}: E without B"
    yield from (f"row {row}: B without E" for row, count in open_events.items() if count > 0)


def check_arrows(events):
    """An arrow begins at a record, ends within the wait for it, and does not go back in time."""
    commands = {e["args"]["command"]: e for e in events if e["ph"] == "X" and "command" in e.get("args", {})}
    begins, ends = Counter(e["id"] for e in events if e["ph"] == "s"), Counter(e["id"] for e in events if e["ph"] == "f")
    if begins != ends or any(count > 1 for count in begins.values()):
        yield f"arrows without one begin and one end: {(begins - ends) + (ends - begins)}"
        return
    to = {e["id"]: e for e in events if e["ph"] == "f"}
    for start in (e for e in events if e["ph"] == "s"):
        end, wait = to[start["id"]], commands.get(start["id"])
        record = commands.get(wait["args"].get("waits_for")) if wait else None
        if not wait or not record:
            yield f"an arrow that refers to no event: {start}"
        elif not touches(start, record) or not touches(end, wait) or end["ts"] < start["ts"]:
            yield f"an arrow beside its events: {start}, {end}, {record}, {wait}"
    for number, e in commands.items():
        if e["args"]["operation"] == "wait" and "waits_for" in e["args"] and number not in to:
            yield f"a wait without an arrow: {e}"


def touches(arrow, event):
    return ((arrow["pid"], arrow["tid"]) == (event["pid"], event["tid"])
            and event["ts"] - NS <= arrow["ts"] <= event["ts"] + event["dur"] + NS)


def check_commands(events):
    """Numbers are given once, and a command is enqueued before it begins, as far as clocks are exact."""
    error = max((e["args"]["accuracy_us"] for e in events if e["name"] == "clock of the device"), default=0) + NS
    numbers = Counter(e["args"]["command"] for e in events if e["ph"] == "X" and "command" in e.get("args", {}))
    yield from (f"command {number} is there {count} times" for number, count in numbers.items() if count > 1)
    for e in events:
        if e["ph"] == "X" and e.get("args", {}).get("enqueued", 0) > e["ts"] + error:
            yield f"begins before it is enqueued: {e}"


def main():
    wrong = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        wrong += [f"{path}: {problem}" for problem in problems_of(events)]
        print(f"{path}: {len(events)} events, {Counter(e['ph'] for e in events)}")
    print("\n".join(wrong[:20]) or "all is well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

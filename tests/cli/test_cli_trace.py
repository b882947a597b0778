#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of DAVIT_TRACE and --trace with commands of the tool: the file is JSON, and says what the command did.

usage: test_cli_trace.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import json
import os
import sys
import wave

import numpy as np

sys.dont_write_bytecode = True
from support import davit, expect, main, refuse, save
from traces import problems_of


def traced(*arguments, code=0):
    """The events of a run of the tool."""
    os.environ["DAVIT_TRACE"] = "trace-%p.json"
    try:
        result = davit(*arguments, code=code)
    finally:
        del os.environ["DAVIT_TRACE"]
    files = [name for name in os.listdir(".") if name.startswith("trace-")]
    expect(len(files) == 1, f"one trace expected: {files}: {result}")
    with open(files[0], encoding="utf-8") as file:
        events = json.load(file)
    os.remove(files[0])
    wrong = problems_of(events)
    expect(not wrong, f"{result}: {wrong[:5]}")
    return events


def operations(events, name):
    return [e for e in events if e["ph"] == "X" and e.get("args", {}).get("operation") == name]


def test_dot():
    save("x.npy", np.ones(100000))
    for devices in ("all", "host"):
        parts = operations(traced("dot", "x.npy", "x.npy", "--devices", devices), "dot")
        expect(len(parts) > 0, f"parts expected on {devices}")


def test_gemm():
    save("a.npy", np.ones((300, 200)))
    save("b.npy", np.ones((200, 100)))
    products = operations(traced("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tile", 64), "gemm")
    expect(len(products) >= 20, f"products of tiles: {len(products)}")


def test_detect():
    samples = (np.sin(np.arange(44100) * 0.3) * np.hanning(44100) * 20000).astype("<i2")
    for name, part in (("stream.wav", samples), ("effect.wav", samples[8000:16000])):
        with wave.open(name, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(22050)
            file.writeframes(part.tobytes())
    events = traced("detect", "stream.wav", "--effect", "effect.wav", "--permutations", 100)
    expect(any(e["ph"] == "X" and "command" in e.get("args", {}) for e in events), "commands expected")


def test_failure():
    """A trace that cannot be written is said so, before anything is done."""
    save("a.npy", np.ones((10, 10)))
    os.environ["DAVIT_TRACE"] = "/no/such/folder/trace.json"
    try:
        result = davit("reduce", "a.npy", code=2)
    finally:
        del os.environ["DAVIT_TRACE"]
    expect("DAVIT_TRACE" in result.err, f"the variable is named: {result}")


def test_option():
    """--trace FILE: the same for one command, of the runs that it measures alone."""
    save("a.npy", np.ones((300, 200)))
    save("b.npy", np.ones((200, 100)))
    gemm = ("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tile", 64)
    once = operations(traced(*gemm), "gemm")
    davit(*gemm, "--trace", "option.json", "--repeat", 2, "--warmup", 1)
    with open("option.json", encoding="utf-8") as file:
        events = json.load(file)
    expect(not problems_of(events), f"{problems_of(events)[:3]}")
    found = len(operations(events, "gemm"))
    expect(found == 3 * len(once), f"three runs: {found} products, {len(once)} in one")
    for path in ("/no/such/folder/t.json", "/dev/full"):
        refuse((*gemm, "--trace", path), f'--trace: path is "{path}"', code=1)
    os.environ["DAVIT_TRACE"] = "both.json"
    try:
        result = davit(*gemm, "--trace", "option.json", code=1)
    finally:
        del os.environ["DAVIT_TRACE"]
    expect("a trace is being written already" in result.err, f"two traces: {result}")


def test_checker():
    """The checks themselves find what is wrong."""
    good = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "x"}},
            {"ph": "X", "name": "record", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"command": 1, "operation": "record", "enqueued": 4}},
            {"ph": "X", "name": "wait", "pid": 1, "tid": 1, "ts": 7, "dur": 2,
             "args": {"command": 2, "operation": "wait", "enqueued": 4, "waits_for": 1}},
            {"ph": "s", "name": "d", "pid": 1, "tid": 1, "ts": 5, "id": 2},
            {"ph": "f", "bp": "e", "name": "d", "pid": 1, "tid": 1, "ts": 8, "id": 2}]
    expect(problems_of(good) == [], f"nothing wrong: {problems_of(good)}")
    for at, change in ((0, {"pid": 2}), (1, {"tid": 2}), (2, {"dur": 3}), (2, {"dur": -1}), (3, {"ts": 3}), (4, {"id": 3}),
                       (4, {"ts": 8.5}), (5, {"ts": 20}), (5, {"ph": "s"}), (3, {"args": {**good[3]["args"], "command": 1}}),
                       (3, {"args": {**good[3]["args"], "waits_for": 9}}), (2, {"ph": "B"}), (2, {"ph": "E"}), (2, {"ph": "?"})):
        bad = [dict(e) for e in good]
        bad[at].update(change)
        expect(problems_of(bad) != [], f"event {at} with {change} is wrong")


if __name__ == "__main__":
    sys.exit(main(globals()))

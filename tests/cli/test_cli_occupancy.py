#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit occupancy (docs/cli.md is the contract; the figures are checked in tests/test_occupancy.c).

usage: test_cli_occupancy.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import sys

sys.dont_write_bytecode = True
from support import davit, expect, expect_keys, main, refuse, run_json


def calculate(*arguments):
    return run_json("occupancy", *arguments)


def test_figures():
    for card, threads, registers, shared, blocks, warps, percent, limit in (
            ("GT 560M", 256, 40, 0, 3, 24, 50, "registers"), ("gt560m", 256, 20, 0, 6, 48, 100, "warps"),
            ("GT 560M", 64, 0, 0, 8, 16, 100 / 3, "blocks"), ("GTX 670", 256, 0, 7172, 6, 48, 75, "shared memory"),
            ("gtx-670", 128, 0, 3588, 12, 48, 75, "shared memory"), ("H200", 1024, 64, 0, 1, 32, 50, "registers")):
        report = calculate("--card", card, "--threads", threads, "--registers", registers, "--shared", shared)
        expect_keys(report, "card", "blocks", "warps", "occupancy", "active_threads", "limits", "hand", "reason")
        expect(report["command"] == "occupancy" and report["devices"] == [], f"a card that is not here: {report}")
        found = (report["blocks"], report["warps"], round(100 * report["occupancy"], 6))
        expect(found == (blocks, warps, round(percent, 6)), f"{card} {threads}: {found}")
        expect(limit in report["limits"], f"{card} {threads}: {limit} in {report['limits']}")
        expect(report["active_threads"] == blocks * threads, f"active threads: {report}")
        text = davit("occupancy", "--card", card, "--threads", threads, "--registers", registers, "--shared",
                     shared).out.decode()
        expect(f": {blocks} block{'s' if blocks > 1 else ''}, {warps} warps" in text and limit in text, f"the text says so: {text}")
    text = davit("occupancy", "--card", "GT 560M", "--threads", 1, "--registers", 1, "--shared", 1).out.decode()
    expect("\n1 thread, 1 register, 1 byte: 8 blocks, 8 warps, 8 threads, " in text, f"singular and plural: {text}")
    report = calculate("--card", "GTX 670", "--threads", 128, "--shared", 3588)
    expect(report["hand"]["blocks"] == 13, f"by plain division: {report['hand']}")
    text = davit("occupancy", "--card", "GTX 670", "--threads", 128, "--shared", 3588).out.decode()
    expect("by plain division, without allocation units: 13 blocks" in text, f"both models: {text}")


def test_advice():
    report = calculate("--card", "H200", "--registers", 40, "--thread-shared", 28)
    best = max(calculate("--card", "H200", "--registers", 40, "--thread-shared", 28, "--threads", n)["occupancy"]
               for n in range(32, 1025, 32))
    expect(report["advised"] and report["occupancy"] == best, f"the highest: {report}")
    expect(report["shared_bytes"] == 28 * report["threads"], f"memory of its threads: {report}")
    text = davit("occupancy", "--card", "MI300X", "--registers", 40).out.decode()
    expect("advice: " in text and "capability" not in text, f"{text}")


def test_none():
    for arguments, words in ((("--threads", 1024, "--registers", 40), "registers of a block"),
                             (("--threads", 2000), "larger than the largest"),
                             (("--threads", 32, "--registers", 64), "at most 63 registers"),
                             (("--threads", 32, "--shared", 50000), "49152 bytes of shared memory")):
        report = calculate("--card", "GT 560M", *arguments)
        expect(report["blocks"] == 0 and report["occupancy"] == 0 and words in report["reason"], f"{report}")
        expect(words in davit("occupancy", "--card", "GT 560M", *arguments).out.decode(), f"the reason: {words}")


def test_sweep():
    report = calculate("--card", "GT 560M", "--registers", 20, "--sweep", "threads")
    points = report["points"]
    expect([point["value"] for point in points] == list(range(32, 1025, 32)), "whole warps")
    by_threads = {point["value"]: point for point in points}
    expect(by_threads[256]["blocks"] == 6 and by_threads[64]["blocks"] == 8, "the figures are on the curve")
    report = calculate("--card", "GT 560M", "--threads", 256, "--sweep", "registers")
    curve = [point["occupancy"] for point in report["points"]]
    expect(curve == sorted(curve, reverse=True) and report["points"][-1]["value"] == 63, f"falls: {curve}")
    report = calculate("--card", "GTX 670", "--threads", 256, "--sweep", "shared")
    curve = [point["occupancy"] for point in report["points"]]
    expect(curve == sorted(curve, reverse=True) and curve[0] == 1 and curve[-1] == 0.125, f"falls: {curve}")
    expect(report["points"][-1]["value"] == 49152, "up to the most of a block")
    lines = davit("occupancy", "--card", "H100", "--threads", 256, "--sweep", "shared").out.decode().splitlines()
    expect(len(lines) == 2 + 57 + 1 and "#" in lines[2] and "100.00 %" in lines[2], f"{lines[:4]}")


def test_devices():
    gpus = [entry for entry in run_json("devices")["list"] if entry["kind"] == "nvidia"]
    if not gpus:
        refuse(("occupancy", "--threads", 256), "there is no NVIDIA device;", "H200", code=2)
        refuse(("occupancy", "--threads", 256, "--card", 0), "--card", code=2)
        return
    for arguments in ((), ("--card", gpus[0]["device"])):
        report = calculate("--threads", 256, *arguments)
        expect(report["devices"] == [gpus[0]["device"]], f"{report['devices']}")
        expect(report["card"]["name"] == gpus[0]["name"] and report["blocks"] > 0, f"{report}")


if __name__ == "__main__":
    sys.exit(main(globals()))

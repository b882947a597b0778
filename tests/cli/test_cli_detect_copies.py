#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what davit detect finds in samples: exact copies, low rates, the stream's ends, other speeds, channels, and one line for a hit.

usage: test_cli_detect_copies.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import csv
import json
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
import sounds
from sounds import write
from support import DAVIT, davit, expect, main, refuse, save

RATE = 22050


def chirps(rng, seconds, step=0.05):
    """Sound whose spectrum is another one every 50 ms."""
    at = np.arange(int(step * RATE)) / RATE
    return np.concatenate([0.5 * sum(np.sin(2 * np.pi * h * k * at) / k for k in (1, 2, 3)) for h in rng.uniform(100, 3500, int(seconds / step))])


def coloured(rng, seconds):
    """Noise that is louder at low frequencies."""
    spectrum = np.fft.rfft(rng.standard_normal(int(seconds * RATE)))
    noise = np.fft.irfft(spectrum / np.sqrt(1 + np.arange(len(spectrum)) / 100))
    return noise / noise.std()


def detect(*arguments):
    result = davit("detect", *arguments, "-o", "rows.tsv", "--devices", "cpu")
    with open("rows.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return rows, result.err


def onsets(rows, name):
    return [float(row["onset_s"]) for row in rows if row["decision"] == "detected" and row["effect"].split("@")[0] == name]


def near(rows, name, onset, tolerance=0.06):
    return any(abs(at - onset) <= tolerance for at in onsets(rows, name))


def test_quiet_copies():
    """What is 8 dB below its background is found by its samples, louder, quieter and inverted; the alignment alone finds less."""
    rng = np.random.default_rng(1)
    stream, effect = coloured(rng, 40), chirps(rng, 1.2)
    effect /= effect.std()
    places = (5, 15, 25, 33)
    for at, factor in zip(places, (0.4, -0.4, 0.5, 0.4)):
        stream[at * RATE:at * RATE + len(effect)] += factor * effect
    write("s.wav", 0.2 * stream)
    write("e.wav", 0.2 * effect)
    rows, _ = detect("s.wav", "--effect", "e.wav")
    expect(all(near(rows, "e", at) for at in places), f"{onsets(rows, 'e')}")
    for row in rows:
        if any(abs(float(row["onset_s"]) - at) < 0.06 for at in places):
            expect(0.2 < float(row["correlation"]) < 0.7 and abs(float(row["p_value"]) - 1e-3) < 1e-9, f"{row}")
    alone, _ = detect("s.wav", "--effect", "e.wav", "--no-copies", "--all")
    expect(sum(near(alone, "e", at) for at in places) < len(places), "the alignment alone")
    every, _ = detect("s.wav", "--effect", "e.wav", "--all")
    expect(len(every) == len(alone) and {row["correlation"] for row in alone} == {"0"}, "--no-copies")
    for one, two in zip(every, alone):
        if one["correlation"] == "0":
            expect(one["score"] == two["score"] and
                   abs(float(one["p_value"]) - min(float(two["p_value"]) + 1e-3, 1)) < 1e-9, f"the price of a second test: {one} {two}")
    whole = [json.loads(davit("detect", "s.wav", "--effect", "e.wav", "--json", "--devices", devices).out)["hits"] for devices in ("cpu", "host")]
    expect(whole[0] == whole[1] and len(whole[0]) == len(rows), "the same on host devices")


def test_without_copies():
    """In noise, chirps and silence next to nothing is a copy."""
    rng = np.random.default_rng(2)
    effects = []
    for k in range(4):
        write(f"e{k}.wav", chirps(rng, 0.6 + 0.1 * k))
        effects.append(f"e{k}.wav")
    for stream in (coloured(rng, 30) * 0.2, chirps(rng, 30), np.zeros(5 * RATE)):
        write("s.wav", stream)
        rows, _ = detect("s.wav", "--effect", *effects, "--all")
        copies = sum(float(row["correlation"]) > 0 for row in rows)
        expect(copies <= 1, f"{copies} of {len(rows)}")
        expect(sum(float(row["p_value"]) <= 0.01 for row in rows) <= max(0.03 * len(rows), 4), "p-values")


def test_low_rates():
    """A stream of 8 kHz is searched at 8 kHz, and standard error says so; --rate is for other rates."""
    rng = np.random.default_rng(3)
    stream, effect = coloured(rng, 30) * 0.15, chirps(rng, 1)
    for at in (6, 19):
        stream[at * RATE:at * RATE + len(effect)] += effect
    write("s8.wav", sounds.resample(stream, 8000 / RATE), 8000)
    write("s.wav", stream)
    write("e.wav", effect)
    write("e8.wav", sounds.resample(effect, 8000 / RATE), 8000)
    line = "davit detect: searching at 8000 samples a second, the rate of '{}'; --rate sets another"
    for names in (("s8.wav", "e.wav"), ("s.wav", "e8.wav")):
        rows, error = detect(names[0], "--effect", names[1])
        name = names[1][:-4]
        expect(line.format(next(n for n in names if "8" in n)) in error.splitlines(), error)
        expect(near(rows, name, 6, 0.15) and near(rows, name, 19, 0.15), f"{names}: {onsets(rows, name)}")
        report = json.loads(davit("detect", names[0], "--effect", names[1], "--json", "--devices", "cpu").out)
        expect(report["rate"] == 8000, "rate")
    report = davit("detect", "s8.wav", "--effect", "e.wav", "--rate", 22050, "--json", "--devices", "cpu")
    expect("searching at" not in report.err and json.loads(report.out)["rate"] == 22050, report.err)
    expect("searching at" not in detect("s.wav", "--effect", "e.wav")[1], "22050")
    write("s44.wav", sounds.resample(stream, 2), 44100)
    expect("searching at" not in detect("s44.wav", "--effect", "e.wav")[1], "44100 is brought to 22050")


def test_ends():
    """An effect of which 60 % are in the stream, at either end."""
    rng = np.random.default_rng(4)
    effect = chirps(rng, 1.5)
    cut = int(0.6 * len(effect))
    stream = coloured(rng, 25) * 0.3
    stream[:cut] += effect[-cut:]
    stream[-cut:] += effect[:cut]
    write("s.wav", stream)
    write("e.wav", effect)
    rows, _ = detect("s.wav", "--effect", "e.wav")
    expect(near(rows, "e", 0, 0.1) and near(rows, "e", 25 - cut / RATE, 0.1), f"{onsets(rows, 'e')}")
    expect(len(onsets(rows, "e")) == 2, f"{rows}")


def test_stretch():
    """Effects that play slower and faster, with the speed in their names, and one hit for each."""
    rng = np.random.default_rng(5)
    stream, effect = coloured(rng, 40) * 0.1, chirps(rng, 1.2)
    places = ((4, 0.95), (13, 1), (22, 1.05), (31, 0.975))
    for at, speed in places:
        part = sounds.resample(effect, 1 / speed)
        stream[at * RATE:at * RATE + len(part)] += part
    write("s.wav", 0.5 * stream)
    write("e.wav", 0.5 * effect)
    rows, error = detect("s.wav", "--effect", "e.wav", "--stretch", 5, "--no-copies")
    for at, speed in places:
        mine = [row["effect"] for row in rows if abs(float(row["onset_s"]) - at) < 0.2]
        expect(len(mine) == 1, f"{speed}: {mine}")
        found = float(mine[0].partition("@")[2] or 1)
        expect(abs(found - speed) < 0.026, f"{speed}: {mine}")
    decisions = json.loads(davit("detect", "s.wav", "--effect", "e.wav", "--stretch", 5, "--json", "--devices", "cpu").out)
    expect(decisions["effects"] == ["e", "e@0.975", "e@1.025", "e@0.95", "e@1.05"], f"{decisions['effects']}")
    expect(abs(decisions["expected_by_chance"] - 0.002 * decisions["decisions"]) < 1e-9, "chance of five speeds")
    every, _ = detect("s.wav", "--effect", "e.wav", "--stretch", 5, "--all", "--no-copies")
    expect(all(abs(float(row["p_value"]) * 200 - round(float(row["p_value"]) * 200)) < 1e-6 for row in every), "p-values times five")
    save("f.npy", np.ones((50, 62), "f4"))
    refuse(("detect", "f.npy", "--effect", "e.wav", "--stretch", 5), "--stretch needs sound", "f.npy", code=2)
    refuse(("detect", "s.wav", "--effect", "f.npy", "--stretch", 5), "--stretch needs sound", "f.npy", code=2)


def test_channels():
    """Two channels of which one is inverted: standard error says that they cancel each other."""
    rng = np.random.default_rng(6)
    one = chirps(rng, 20)
    write("e.wav", one[5 * RATE:6 * RATE])
    for name, other, said in (("same", one, False), ("inverted", -one, True), ("quiet", 0 * one, False), ("other", chirps(rng, 20), False)):
        write(name + ".wav", np.stack([one, other], 1))
        result = davit("features", name + ".wav", "-o", "f.npy")
        expect((f"davit features: {name}.wav: its channels cancel each other" in result.err) == said, f"{name}: {result.err}")
    _, error = detect("inverted.wav", "--effect", "e.wav")
    expect(error.count("cancel each other") == 1, error)
    write("silent.wav", np.zeros((RATE, 2)))
    expect(davit("features", "silent.wav", "-o", "f.npy").err == "", "silence")


def test_lines():
    """A hit is a line; with --all each window is. Overlapping hits are merged by the detections alone: the best one, then the best of
    those that do not overlap it, and so on."""
    rng = np.random.default_rng(7)
    for k in range(4):
        save("s.npy", rng.standard_normal((1500, 3)).astype("f4"))
        save("e.npy", rng.standard_normal((12, 3)).astype("f4"))
        common = ("s.npy", "--effect", "e.npy", "--window", 15, "--hop", 3, "--alpha", 0.5, "--coverage", 0)
        rows, error = detect(*common, "--all")
        hits, _ = detect(*common)
        expect([row for row in rows if row["decision"] == "detected"] == hits and 0 < len(hits) < len(rows), f"{len(hits)} of {len(rows)}")
        expect("by chance alone, in" in error and "--fdr" in error, error)
        kept = []
        for row in sorted((row for row in rows if row["decision"] != "-"), key=lambda row: (-float(row["score"]), float(row["onset_s"]), int(row["window"]))):
            begin, end = float(row["onset_s"]), float(row["offset_s"])
            free = all(end <= a or b <= begin for a, b in kept)
            expect((row["decision"] == "detected") == free, f"{row}")
            if free:
                kept.append((begin, end))
        expect(len(kept) == len(hits), "all of them")


if __name__ == "__main__":
    sys.exit(main(dict(globals())))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit features and detect, on sounds that NumPy makes.

usage: test_detect.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import json
import os
import resource
import select
import struct
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np

sys.dont_write_bytecode = True
import sounds
from sounds import write as sound
from support import (DAVIT, EACH, davit, expect, expect_keys, header_of, main, npy_bytes, npy_raw, on_terminal, peak_bytes, put, refuse,
                     run_json, sampled, save, watch)

RATE = 22050
FRAME = 1024
COLUMNS = "effect window onset_s offset_s score null_mean null_sd z p_value decision level_db note correlation".split()
EDGES = np.minimum(np.concatenate([[0], 62.5 * 2 ** (np.arange(30) / 4), [11025]]), 11025)


def wav_bytes(samples, channels=1, rate=RATE, form=3, data_bytes=None):
    """A WAV file of float32 samples (form 3) whose header says what it is told to."""
    data = np.asarray(samples, "<f4").tobytes()
    size = len(data) if data_bytes is None else data_bytes
    fmt = struct.pack("<HHIIHH", form, channels, rate, rate * 4 * channels, 4 * channels, 32)
    return (b"RIFF" + struct.pack("<I", 36 + size) + b"WAVEfmt " + struct.pack("<I", 16) + fmt + b"data" +
            struct.pack("<I", size) + data)


def chunks(samples, form, size=None, whole=None):
    """The same samples in a container of this form; `size` of the samples and `whole` are what its header says of them."""
    data = np.asarray(samples, ">f4" if form == "RIFX" else "<f4").tobytes()
    size = len(data) if size is None else size
    mark = ">" if form == "RIFX" else "<"
    fmt = struct.pack(mark + "HHIIHH", 3, 1, RATE, RATE * 4, 4, 32)
    if form == "W64":
        tail, one = bytes.fromhex("f3acd3118cd100c04f8edb8a"), bytes.fromhex("2e91cf11a5d628db04c10000")
        head = b"wave" + tail + b"fmt " + tail + struct.pack("<Q", 24 + 16) + fmt + b"data" + tail + struct.pack("<Q", 24 + size)
        return b"riff" + one + struct.pack("<Q", 24 + len(head) + size if whole is None else whole) + head + data
    long = b"ds64" + struct.pack("<IQQQI", 28, 72 + size, size, size // 4, 0) if form == "RF64" else b""
    count = 0xffffffff if form == "RF64" else size
    head = b"WAVE" + long + b"fmt " + struct.pack(mark + "I", 16) + fmt + b"data" + struct.pack(mark + "I", count)
    return form.encode() + struct.pack(mark + "I", (count if form == "RF64" else len(head) + size) if whole is None else whole) + head + data


def sine(hertz, seconds, rate=RATE, amplitude=0.5):
    return amplitude * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)


def chirps(rng, seconds):
    """Sound whose spectrum is another one every 50 ms."""
    return np.concatenate([sine(hertz, 0.05) for hertz in rng.uniform(100, 9000, int(seconds / 0.05))])


def envelope(samples):
    """The features by their definition, in NumPy."""
    frames = samples[:len(samples) // FRAME * FRAME].reshape(-1, FRAME).astype(float)
    window = np.hamming(FRAME)
    power = abs(np.fft.rfft(frames * window)) ** 2 / (FRAME * (window ** 2).sum())
    power[:, 1:-1] *= 2
    lines = np.arange(FRAME // 2 + 1) * RATE / FRAME
    low, high = np.maximum(lines - RATE / FRAME / 2, 0), np.minimum(lines + RATE / FRAME / 2, RATE / 2)
    overlap = np.minimum(high[:, None], EDGES[None, 1:]) - np.maximum(low[:, None], EDGES[None, :-1])
    bands = power @ (np.maximum(overlap, 0) / (high - low)[:, None])
    change = np.zeros_like(bands)
    change[:-1] = 0.375 * (bands[1:] - bands[:-1])
    return np.hstack([bands, change])


def features(*arguments):
    davit("features", *arguments, "-o", "f.npy")
    return np.load("f.npy")


def rows_of(text):
    lines = text.decode().splitlines()
    expect(lines[0].split("\t") == COLUMNS, f"columns {lines[0]}")
    rows = [dict(zip(COLUMNS, line.split("\t"))) for line in lines[1:]]
    for row in rows:
        row["window"] = int(row["window"])
        for key in COLUMNS[2:9] + ["level_db", "correlation"]:
            row[key] = float(row[key])
    return rows


def detect(*arguments):
    return rows_of(davit("detect", "--all", *arguments).out)


# ---- features ----

def test_features():
    rng = np.random.default_rng(1)
    samples = np.round(0.3 * rng.standard_normal(30000) * 32767) / 32767
    sound("s.wav", samples)
    found, right = features("s.wav"), envelope(np.round(np.clip(samples, -1, 1) * 32767) / 32768)
    expect(found.shape == (29, 62) and found.dtype == "float32", f"{found.shape} {found.dtype}")
    expect(open("f.npy", "rb").read(128).find(b"'fortran_order': False") > 0, "C order")
    power = right[:, :31].sum(axis=1).max()
    expect(abs(found - right).max() < 1e-5 * power, f"features differ by {abs(found - right).max() / power}")
    report = run_json("features", "s.wav", "-o", "g.npy", "--check")
    expect_keys(report, "frames", "width", "rate", "frame", "binning", "sound_seconds", "check", "error", "bound")
    expect(report["frames"] == 29 and report["width"] == 62 and report["error"] <= report["bound"], f"{report}")
    expect(open("f.npy", "rb").read() == open("g.npy", "rb").read(), "the same bytes again")
    expect(features("s.wav", "--frame", 1000).shape == (30, 62), "--frame")
    expect(features("s.wav", "--rate", 11025).shape[0] == 14, "--rate")
    expect(not np.array_equal(features("s.wav", "--binning", "hard"), found), "--binning")
    expect(np.array_equal(features("s.wav", "--binning", "shared"), found), "--binning shared")
    davit("features", "s.wav", "-o", "f.mtx")
    expect(open("f.mtx").read().splitlines()[1] == "29 62", "mtx")
    davit("features", "-", "-o", "p.npy", data=open("s.wav", "rb").read())
    expect(np.array_equal(np.load("p.npy"), found), "standard input")


def test_rates():
    """The same tone, whatever the rate and the channels of the file."""
    for hertz in (150, 700, 8500):
        band = int(np.searchsorted(EDGES, hertz)) - 1
        for rate in sampled((22050, 44100, 96000)):
            one = sine(hertz, 1, rate)
            found = [features(sound("m.wav", one, rate)),
                     features(sound("s.wav", np.stack([one, one], 1), rate)),
                     2 ** 2 * features(sound("l.wav", np.stack([one, 0 * one], 1), rate))]
            for f in found:
                middle = f[2:-2, :31]
                expect(len(f) in (21, 20) and (middle.argmax(axis=1) == band).all(), f"{hertz} Hz at {rate}: band")
                expect(abs(middle.sum(axis=1) - 0.125).max() < 0.004, f"{hertz} Hz at {rate}: power {middle.sum(axis=1)}")
    above = features(sound("h.wav", sine(15000, 1, 44100), 44100))
    expect(above[2:-2, :31].sum() < 1e-6, "what is above 11025 Hz does not fold")
    opposite = sine(500, 1)
    expect(abs(features(sound("o.wav", np.stack([opposite, -opposite], 1)))).max() < 1e-9, "opposite channels")


def test_absurd_rates():
    samples = sine(0.01, 40, rate=1)
    sound("one.wav", samples, 1)
    for rate in (2000, 22050, 10**9):
        refuse(("features", "one.wav", "--rate", rate, "--frame", 16, "-o", "out.npy"), "one.wav", f"{rate / 1000:g} to",
               "found 1")
    sound("fast.wav", samples, 2 * 10**9)
    refuse(("features", "fast.wav", "--frame", 16, "-o", "out.npy"), "fast.wav", "2.205e+07", "found 2000000000")
    expect(features("one.wav", "--rate", 1000, "--frame", 1000).shape[0] == 40, "a factor of 1000")


def test_formats():
    samples = chirps(np.random.default_rng(2), 2).astype("f4")
    put("f.wav", wav_bytes(samples))
    wanted = features("f.wav")
    put("f.au", b".snd" + struct.pack(">IIIII", 24, 4 * len(samples), 6, RATE, 1) + samples.astype(">f4").tobytes())
    expect(np.array_equal(features("f.au"), wanted), "au")
    put("unknown.wav", wav_bytes(samples, data_bytes=0xffffffff - 36))
    expect(np.array_equal(features("unknown.wav"), wanted), "a length that a pipe left open")


def test_open_sizes():
    """What a program wrote that could not go back to the header: the samples are those up to the end of the file."""
    samples = chirps(np.random.default_rng(12), 2).astype("f4")
    put("f.wav", wav_bytes(samples))
    wanted = features("f.wav")
    for form in ("RIFF", "RIFX", "RF64", "W64"):
        put("known", chunks(samples, form))
        expect(np.array_equal(features("known"), wanted), form)
    for form, whole, size in (("RIFF", 0, 0), ("RIFF", 36, 0), ("RIFF", 0xffffffff, 0xffffffff), ("RIFF", 0x7ffff024, 0x7ffff000),
                              ("RIFX", 0, 0), ("RIFX", 0xffffffff, 0xffffffff)):
        put("open.wav", chunks(samples, form, size, whole))
        expect(np.array_equal(features("open.wav"), wanted), f"{form} of {whole} with {size}")
        davit("features", "-", "-o", "p.npy", data=open("open.wav", "rb").read())
        expect(np.array_equal(np.load("p.npy"), wanted), f"{form} of {whole} with {size} from a pipe")
    none = chunks([], "RIFF") + b"LIST" + struct.pack("<I", 4000) + bytes(4000)
    put("none.wav", none[:4] + struct.pack("<I", len(none) - 8) + none[8:])
    refuse(("features", "none.wav", "-o", "out.npy"), "none.wav", "found none")


def test_truncated():
    """A file that ends before its header says is an error, wherever it was cut."""
    samples = chirps(np.random.default_rng(13), 2).astype("f4")
    for form in sampled(("RIFF", "RIFX", "RF64", "W64")):
        whole = chunks(samples, form)
        for left in (len(whole) // 2, len(whole) - 4):
            put("cut", whole[:left])
            refuse(("features", "cut", "-o", "out.npy"), f"cut: offset {left}", f"expected {len(whole)} bytes")
            refuse(("features", "-", "-o", "out.npy"), f"standard input: offset {left}", data=whole[:left])
    whole = chunks(samples, "RIFF")
    left = len(whole) // 2
    put("cut", whole[:4] + struct.pack("<I", left - 8) + whole[8:left])
    refuse(("features", "cut", "-o", "out.npy"), f"cut: offset {left}", f"expected {len(whole)} bytes")
    for name, form in sampled((("caf", 0x180006), ("flac", 0x170002), ("au", 0x30006), ("aiff", 0x20002), ("oga", 0x200060))):
        if sounds.encode("f." + name, form, RATE, samples):
            expect(features("f." + name).shape[0] == len(samples) // FRAME, name)
            content = open("f." + name, "rb").read()
            put("cut", content[:len(content) // 2])
            refuse(("features", "cut", "-o", "out.npy"), "cut", "expected")


def test_mpeg():
    tones = (300, 1100, 3600)
    samples = np.concatenate([sine(hertz, 2) for hertz in tones])
    for rate, channels in ((RATE, 1), (44100, 1), (44100, 2)):
        same = np.repeat(sounds.resample(samples, rate / RATE)[:, None], channels, 1).astype("f4")
        if not sounds.encode("f.mp3", 0x230082, rate, same):
            print("  MP3 is left out: there is no libsndfile that writes it")
            return
        result = davit("features", "f.mp3", "-o", "f.npy")
        found = np.load("f.npy")
        expect(result.err == "", f"nothing on standard error: {result.err}")
        expect(abs(len(found) - len(samples) // FRAME) <= 3, f"{len(found)} frames")
        for i, hertz in enumerate(tones):
            middle = found[43 * i + 10:43 * i + 33, :31]
            band = int(np.searchsorted(EDGES, hertz)) - 1
            expect((middle.argmax(axis=1) == band).all(), f"{hertz} Hz at {rate}: band")
            expect(abs(middle.sum(axis=1) - 0.125).max() < 0.02, f"{hertz} Hz at {rate}: power {middle.sum(axis=1)}")
        content = open("f.mp3", "rb").read()
        damaged = bytearray(content)
        damaged[len(content) // 2:len(content) // 2 + 2000] = bytes(k * k % 251 for k in range(2000))
        refuse(("features", put("damaged.mp3", bytes(damaged)), "-o", "out.npy"), "damaged.mp3: frame ")
        tag = b"ID3\4\0\0" + bytes([0, 0, 2, 3]) + bytes(2 * 128 + 3)
        put("tag.mp3", tag + content)
        expect(np.array_equal(features("tag.mp3"), found), "a tag before it")
        for name, whole in (("cut.mp3", content), ("tagged.mp3", tag + content)):
            for left in (len(whole) // 2, len(whole) - 100):
                put(name, whole[:left])
                refuse(("features", name, "-o", "out.npy"), f"{name}: offset {left}", f"expected {len(whole)} bytes")


def test_silent_libraries():
    """What libsndfile prints of a damaged SDS file does not come before the result on standard output."""
    if not sounds.encode("s.sds", 0x110002, RATE, sine(440, 0.5).astype("f4")):
        print("  SDS is left out: there is no libsndfile that writes it")
        return
    damaged = bytearray(open("s.sds", "rb").read())
    damaged[21] = 1  # where the first packet begins
    result = davit("features", put("s.sds", bytes(damaged)), "-o", "-")
    expect(result.out.startswith(b"\x93NUMPY"), f"the array alone: {result.out[:40]}")


def test_blocks_of_samples():
    """More samples than are in memory at a time: the change across blocks is that of the whole."""
    rng = np.random.default_rng(3)
    samples = 0.1 * rng.standard_normal(4_400_000)
    sound("long.wav", samples)
    found = features("long.wav")
    right = envelope(np.round(samples * 32767) / 32768)
    expect(found.shape == right.shape, "shape")
    expect(abs(found - right).max() < 1e-6, f"differ by {abs(found - right).max()}")


# ---- detect ----

def scene(rng):
    """30 s of changing sound, in which two effects have their places."""
    stream, effects = chirps(rng, 30), [chirps(rng, 1.5), chirps(rng, 1.0)]
    frame = FRAME / RATE
    places = [(0, 100), (0, 420), (1, 250)]  # effect, frame
    for effect, at in places:
        stream[at * FRAME:at * FRAME + len(effects[effect])] = effects[effect]
    return stream, effects, [(effect, at * frame) for effect, at in places]


def test_detect():
    stream, effects, places = scene(np.random.default_rng(4))
    sound("stream.wav", stream)
    for i, effect in enumerate(effects):
        sound(f"e{i}.wav", effect)
    common = ("stream.wav", "--effect", "e0.wav", "e1.wav", "--window", 100, "--hop", 50, "--permutations", 199)
    rows = detect(*common)
    frames = len(stream) // FRAME
    windows = 1 + -(-(frames - 100) // 50)
    expect([(r["window"], r["effect"]) for r in rows] == [(w, e) for w in range(windows) for e in ("e0", "e1")],
           "rows in the order of windows, then effects")
    hits = [r for r in rows if r["decision"] == "detected"]
    for effect, onset in places:
        near = [r for r in hits if r["effect"] == f"e{effect}" and abs(r["onset_s"] - onset) < 0.1]
        expect(near, f"e{effect} at {onset} among {hits}")
        for r in near:
            expect(abs(r["offset_s"] - onset - len(effects[effect]) / RATE) < 0.2, f"offset {r}")  # its last three frames weigh little
            expect(r["p_value"] <= 0.01 and r["z"] > 3 and r["score"] > r["null_mean"], f"{r}")
    for r in hits:
        expect(any(r["effect"] == f"e{e}" and abs(r["onset_s"] - at) < 1.6 for e, at in places), f"false alarm {r}")
    report = run_json(*("detect", "--all", *common), "--check", "-o", "rows.tsv")
    expect_keys(report, "seconds_features", "frames", "windows", "effects", "gcups", "hits", "check", "error", "bound")
    expect(report["seconds_features"] > 0, "the features took their time")
    expect(report["error"] == 0 and report["windows"] == windows and report["frames"] == frames, f"{report}")
    expect([set(h) for h in report["hits"]] == [set(COLUMNS)] * len(hits), "keys of hits")
    expect([(h["effect"], h["window"]) for h in report["hits"]] == [(h["effect"], h["window"]) for h in hits], "hits")
    expect(rows_of(open("rows.tsv", "rb").read()) == rows, "-o")
    expect(detect(*common, "--devices", "cpu", "--check") == rows, "--devices cpu")
    expect(detect("stream.wav", "--effect=e0.wav", "--effect", "e1.wav", "--window", 100, "--hop=50", *common[8:]) == rows,
           "--effect repeated")
    expect(detect(*common, "--repeat", 2, "--warmup", 1) == rows, "--repeat")
    expect(detect(*common, "--seed", 5) != rows, "--seed")


def test_features_as_input():
    stream, effects, _ = scene(np.random.default_rng(5))
    sound("stream.wav", stream)
    sound("e.wav", effects[0])
    wanted = detect("stream.wav", "--effect", "e.wav", "--window", 120, "--no-copies")
    for name in ("stream", "e"):
        davit("features", name + ".wav", "-o", name + ".npy")
    expect(detect("stream.npy", "--effect", "e.npy", "--window", 120) == wanted, ".npy")
    expect(detect("stream.npy", "--effect", "e.wav", "--window", 120) == wanted, ".npy and sound")
    save("e.npy", np.load("e.npy").astype("f8"), "F")
    expect(detect("stream.wav", "--effect", "e.npy", "--window", 120, "--no-copies") == wanted, "float64, Fortran order")
    whole, last = np.load("stream.npy")[:300], ("--effect", "e.npy", "--window", 120, "--permutations", 99)
    wanted = detect(save("s.npy", whole), *last)
    for stream in (whole, whole.astype("f8"), np.asfortranarray(whole), np.asfortranarray(whole, "f8")):
        for data in (None, npy_bytes(stream)):
            np.save("s.npy", stream)
            out = davit("detect", "--all", "s.npy" if data is None else "-", *last, data=data).out
            expect(rows_of(out) == wanted, f"{stream.dtype}, {stream.flags.f_contiguous}, pipe: {data is not None}")
    refuse(("detect", "-", "--effect", "e.npy"), "standard input", "more bytes of elements", data=npy_bytes(whole)[:-7])


def test_names():
    rng = np.random.default_rng(6)
    save("stream.npy", rng.random((50, 3), "f4"))
    os.mkdir("d")
    for name in ("a.npy", "d/a.npy", "b.c.npy", "noend", "t\tb.npy"):
        with open(name, "wb") as file:
            file.write(npy_bytes(rng.random((5, 3), "f4")))
    names = list(dict.fromkeys(r["effect"] for r in detect("stream.npy", "--effect", "a.npy", "d/a.npy", "b.c.npy", "noend", "t\tb.npy")))
    expect(names == ["a", "a#2", "b.c", "noend", "t?b"], f"{names}")


def brute(stream, effect, threshold, gap, rounded):
    """The best score, by the recurrence."""
    unit = [m / np.maximum(np.linalg.norm(m.astype(float), axis=1, keepdims=True), 1e-300) for m in (stream, effect)]
    s = 100 * (unit[0] @ unit[1].T)
    s = np.round(s) if rounded else s
    s = np.where(s < threshold, -threshold, s)
    h, e, f = (np.zeros((len(stream) + 1, len(effect) + 1)) for _ in range(3))
    for i in range(1, len(stream) + 1):
        for j in range(1, len(effect) + 1):
            e[i, j] = max(h[i, j - 1] - 100 - gap, e[i, j - 1] - gap)
            f[i, j] = max(h[i - 1, j] - 100 - gap, f[i - 1, j] - gap)
            h[i, j] = max(0, e[i, j], f[i, j], h[i - 1, j - 1] + s[i - 1, j - 1])
    return h.max()


def test_options():
    rng = np.random.default_rng(7)
    stream, effect = rng.random((60, 5), "f4"), rng.random((12, 5), "f4")
    save("s.npy", stream)
    save("e.npy", effect)
    for threshold, gap, rounded in ((50, 33, False), (90, 5, False), (0, 1, True), (80, 33, True), (95, 20.5, False)):
        arguments = ["s.npy", "--effect", "e.npy", "--threshold", threshold, "--gap-penalty", gap, "--window", 25]
        found = detect(*arguments, *(["--round"] if rounded else []))
        for w, first in enumerate(range(0, 60, 25)):
            right = brute(stream[first:first + 25], effect, threshold, gap, rounded)
            expect(abs(found[w]["score"] - right) < 0.01, f"{arguments} window {w}: {found[w]['score']}, {right}")
    rows = detect("s.npy", "--effect", "e.npy", "--window", 25, "--permutations", 19)
    expect(all(abs(r["p_value"] * 20 - round(r["p_value"] * 20)) < 1e-4 for r in rows), "p-values of 19 permutations")
    everything = detect("s.npy", "--effect", "e.npy", "--window", 25, "--alpha", 1, "--coverage", 0)
    expect(all((r["decision"] == "detected") == (r["score"] > 0) for r in everything), "--alpha 1")
    expect(not any(r["decision"] == "detected" for r in detect("s.npy", "--effect", "e.npy", "--alpha", 0)), "--alpha 0")
    one, two = (detect("s.npy", "--effect", "e.npy", "--rate", 8000, "--frame", n, "--window", 25) for n in (80, 160))
    expect([r["onset_s"] * 2 for r in one] == [r["onset_s"] for r in two], "seconds of frames")


def test_stream_null():
    """Blocks of a stream: what scores are compared with, and the same rows from feature vectors, sound, and a pipe."""
    rng = np.random.default_rng(18)
    stream, effect = rng.standard_normal((200000, 3)).astype("f4"), rng.standard_normal((25, 3)).astype("f4")
    places = (40, 65530, 70000, 131071, 199970)
    for at in places:
        stream[at:at + 25] = effect
    save("s.npy", stream)
    save("e.npy", effect)
    rows = detect("s.npy", "--effect", "e.npy", "--coverage", 0.9)
    onsets = [r["onset_s"] * RATE / FRAME for r in rows if r["decision"] == "detected"]
    expect(len(onsets) == len(places) and np.allclose(onsets, places, atol=0.1), f"{onsets}")
    expect(all(r["offset_s"] - r["onset_s"] > 0.9 * 25 * FRAME / RATE for r in rows if r["decision"] == "detected"), "as a whole")
    numbers = [r["window"] for r in rows]
    expect(numbers == sorted(numbers), "windows are counted on")
    few = 100 * RATE // FRAME
    save("s.npy", stream[:few])
    report = run_json("detect", "s.npy", "--effect", "e.npy", "--check", "--permutations", 40)
    expect(report["error"] == 0 and report["decisions"] == report["windows"], f"{report}")
    shared = detect("s.npy", "--effect", "e.npy", "--window", 100)
    expect([r["window"] for r in shared] == list(range(1 + -(-(few - 100) // 100))), "--window")
    expect(detect("s.npy", "--effect", "e.npy") == rows_of(davit("detect", "--all", "-", "--effect", "e.npy", data=npy_bytes(stream[:few])).out),
           "a pipe")
    refuse(("detect", "s.npy", "--effect", "e.npy", "--block", 5), "--block", "--null window", code=2)
    refuse(("detect", "s.npy", "--effect", "e.npy", "--any-dependence"), "--any-dependence", "--fdr", code=2)


def test_discovery_rate():
    """--fdr: the rule of Benjamini and Hochberg over all rows, and that of Benjamini and Yekutieli."""
    rng = np.random.default_rng(19)
    stream, effect = rng.standard_normal((3000, 3)).astype("f4"), rng.standard_normal((10, 3)).astype("f4")
    for at in range(100, 2900, 300):
        stream[at:at + 10] = effect
        stream[at + 150:at + 155] = effect[:5]
    save("s.npy", stream)
    save("e.npy", effect)
    for q in (0.01, 0.1, 0.5):
        for more in ((), ("--any-dependence",)):
            rows = detect("s.npy", "--effect", "e.npy", "--fdr", q, *more, "--permutations", 9999, "--coverage", 0)
            p = np.sort([r["p_value"] for r in rows])
            m = len(p)
            scale = sum(1 / np.arange(1, m + 1)) if more else 1
            below = np.flatnonzero(p <= q * np.arange(1, m + 1) / m / scale)
            bound = p[below[-1]] if len(below) else 0
            expect(bound > 0, f"{q}: nothing to decide")
            for r in rows:
                expect((r["decision"] != "-") == (r["p_value"] <= bound and r["score"] > 0), f"{q} {more}: {r}, bound {bound}")


def test_coarse_discovery():
    """Where --fdr detects nothing because p-values cannot be low enough, a note says so, and how many low ones it would take."""
    rng = np.random.default_rng(23)
    stream, effect = rng.standard_normal((3000, 3)).astype("f4"), rng.standard_normal((10, 3)).astype("f4")
    stream[700:710] = effect
    save("s.npy", stream)
    save("e.npy", effect)
    common = ("s.npy", "--effect", "e.npy", "--coverage", 0)
    for q, r, more in ((0.001, 999, ()), (0.05, 999, ()), (0.05, 999, ("--any-dependence",)), (0.05, 999, ("--quiet",))):
        result = davit("detect", "--all", *common, "--fdr", q, "--permutations", r, *more)
        rows = rows_of(result.out)
        harmonic = sum(1 / k for k in range(1, len(rows) + 1)) if "--any-dependence" in more else 1
        needed, lowest = int(np.ceil(len(rows) * harmonic / (q * (r + 1)) - 1e-9)), sum(x["p_value"] * (r + 1) < 1.5 for x in rows)
        expect(needed > lowest and all(x["decision"] == "-" and x["note"] == "alpha" for x in rows), f"{q} {r} {more}: {rows[:2]}")
        line = (f"davit detect: --fdr {q:g} detects nothing: of {len(rows)} decisions {lowest} {'has' if lowest == 1 else 'have'} the "
                f"lowest possible p-value, 1 / (--permutations + 1), but {needed} would be needed\n")
        expect(result.err == ("" if "--quiet" in more else line), f"{q} {r} {more}: {result.err} instead of {line}")
    for more in (("--fdr", 0.05, "--permutations", 19999), ("--alpha", 0.001)):
        result = davit("detect", "--all", *common, *more)
        rows = rows_of(result.out)
        expect("davit detect: 1 hit" in result.err and result.err.count("\n") == 1, f"{more}: {result.err}")
        expect(any(x["decision"] == "detected" for x in rows), f"{more}: {rows[:2]}")
        expect(all(x["note"] == "-" for x in rows), f"{more}: {rows[:2]}")


def test_notes():
    rng = np.random.default_rng(20)
    save("s.npy", rng.random((300, 4), "f4"))
    save("short.npy", rng.random((3, 4), "f4"))
    save("long.npy", rng.random((60, 4), "f4"))
    save("good.npy", rng.random((20, 4), "f4"))
    effects = ("--effect", "short.npy", "long.npy", "good.npy")
    for more, notes in (((), ["short", "stream", "-"]), (("--quiet",), ["short", "stream", "-"]),
                        (("--alpha", 1e-4), ["short alpha", "alpha stream", "alpha"]),
                        (("--null", "window"), ["short", "-", "-"])):
        result = davit("detect", "--all", "s.npy", *effects, *more)
        rows = rows_of(result.out)
        expect([next(r["note"] for r in rows if r["effect"] == e) for e in ("short", "long", "good")] == notes, f"{more}: {rows[:3]}")
        lines = 0 if "--quiet" in more else sum(len(n.split()) for n in notes if n != "-")
        expect(result.err.count("davit detect: ") == lines, f"{more}: {result.err}")


def test_chance():
    """With hits comes how many to expect by chance; in the rows, which effect is too short for hits to be certain."""
    rng = np.random.default_rng(29)
    stream, long, short = chirps(rng, 12), chirps(rng, 1), chirps(rng, 0.05)[:int(0.03 * RATE)]
    for at in range(2, 12, 6):
        stream[at * RATE:at * RATE + len(long)] = long
        stream[(at + 3) * RATE:(at + 3) * RATE + len(short)] = short
    sound("s.wav", stream)
    sound("long.wav", long)
    sound("short.wav", short)
    save("s.npy", rng.random((300, 4), "f4"))
    save("e.npy", rng.random((20, 4), "f4"))
    for options, alpha, chance in (((), 0.01, 0.01), (("--alpha", 0.05), 0.05, 0.05), (("--permutations", 149), 0.01, 1 / 150)):
        for effects in (("long",), ("short",), ("long", "short"))[:1 if options else 3]:
            result = davit("detect", "--all", "s.wav", "--effect", *(f"{e}.wav" for e in effects), *options, "--devices", "cpu")
            rows = rows_of(result.out)
            hits = sum(r["decision"] == "detected" for r in rows)
            expect(hits >= 2, f"{effects} {options}: {hits}")
            line = (f"davit detect: {hits} hits; expect up to about {chance * len(rows):.3g} by chance alone, in {len(rows)} "
                    f"decisions at --alpha {alpha:g}; --fdr limits their share")
            expect(result.err.splitlines()[-1] == line, f"{effects} {options}: {result.err} instead of {line}")
            for e in effects:
                notes = {r["note"] for r in rows if r["effect"] == e}
                expect(notes == {"brief" if e == "short" else "-"}, f"{effects} {options}: {e} {notes}")
            brief = [line for line in result.err.splitlines() if "chance alone may give" in line]
            expect(len(brief) == ("short" in effects) and all(line.startswith("davit detect: short: 0.0") for line in brief), f"{result.err}")
    report = run_json("detect", "s.wav", "--effect", "long.wav", "short.wav", "--devices", "cpu")
    expect(abs(report["expected_by_chance"] - 0.01 * report["decisions"]) < 1e-9 and report["notes"] == ["-", "brief"], f"{report}")
    expect({hit["note"] for hit in report["hits"] if hit["effect"] == "short"} == {"brief"}, f"{report['hits'][:3]}")
    report = run_json("detect", "s.wav", "--effect", "short.wav", "--fdr", 0.2, "--permutations", 4999, "--devices", "cpu")
    expect(report["notes"] == ["-"] and report["hits"] and abs(report["expected_by_chance"] - 0.2 * len(report["hits"])) < 1e-9, f"--fdr: {report}")
    result = davit("detect", "--all", "s.wav", "--effect", "long.wav", "--fdr", 0.1, "--devices", "cpu")
    hits = sum(r["decision"] == "detected" for r in rows_of(result.out))
    expect(result.err == f"davit detect: {hits} hits; expect up to about {0.1 * hits:.3g} of them by chance (--fdr 0.1)\n", result.err)
    expect(davit("detect", "--all", "s.wav", "--effect", "short.wav", "--quiet", "--devices", "cpu").err == "", "--quiet")
    result = davit("detect", "--all", "s.npy", "--effect", "e.npy", "--devices", "cpu")
    if not any(r["decision"] == "detected" for r in rows_of(result.out)):
        expect("chance" not in result.err, f"without a hit there is nothing to say: {result.err}")
    live = davit("detect", "--all", "-", "--effect", "short.wav", "--permutations", 149, "--devices", "cpu", data=open("s.wav", "rb").read())
    hits = sum(r["decision"] == "detected" for r in rows_of(live.out))
    expect(hits > 0 and f"davit detect: {hits} hits; expect up to about " in live.err, live.err)
    expect({r["note"] for r in rows_of(live.out)} <= {"brief", "stream brief"}, live.err)


def test_names_from_elsewhere():
    """Names of files that are not UTF-8, or that would command a terminal, in every output."""
    rng = np.random.default_rng(31)
    stream, effect = rng.standard_normal((400, 3)).astype("f4"), rng.standard_normal((12, 3)).astype("f4")
    stream[200:212] = effect
    save("s.npy", stream)
    names = {b"l\xe9.npy": "l\ufffd", b"\x9b31m.npy": "\ufffd31m", b"\xc2\x9b31m.npy": "?31m", b"\x1b]0;x\x07.npy": "?]0;x?",
             b"d\x7f.npy": "d?", b"\xef\xbf\xbf.npy": "\uffff", "\u00e9.npy".encode(): "\u00e9"}
    for name, clean in names.items():
        with open(name, "wb") as file:
            file.write(npy_bytes(effect))
        path = os.fsdecode(name)
        common = ("detect", "s.npy", "--all", "--effect", path, "--coverage", 0, "--alpha", 0.1, "--devices", "cpu", "--labels", "l.txt", "--plot", "p.svg")
        report = json.loads((result := davit(*common, "--json", "-o", "o.tsv")).out.decode())
        expect(report["effects"] == [clean] and report["hits"][0]["effect"] == clean, f"{name}: {report}")
        expect({line.split("\t")[0] for line in open("o.tsv", encoding="utf-8").read().splitlines()[1:]} == {clean}, f"{name}: table")
        expect({line.split("\t")[2] for line in open("l.txt", encoding="utf-8").read().splitlines()} == {clean}, f"{name}: labels")
        texts = [text.text for text in xml.etree.ElementTree.parse("p.svg").getroot().iter() if text.tag.endswith("text")]
        expect(clean.replace("\uffff", "\ufffd") in texts, f"{name}: {texts}")
        refuse(("detect", "s.npy", "--effect", path, "--bands", 3), "--bands", code=2)
        put(name, b"no sound")
        _, shown = on_terminal("detect", "s.npy", "--effect", path, stdout=True)
        text = shown.decode(errors="surrogateescape")
        expect(text.count("\n") == 1 and not any(c < " " and c not in "\r\n" or "\x7f" <= c < "\xa0" or "\udc80" <= c <= "\udcff" for c in text),
               f"{name}: {shown}")


def test_without_an_end():
    save("e.npy", np.ones((10, 62), "f4"))
    for arguments in (("features", "/dev/zero", "-o", "o.npy"), ("detect", "/dev/zero", "--effect", "e.npy"), ("detect", "e.npy", "--effect", "/dev/zero")):
        refuse(arguments, "/dev/zero: expected sound, found zero bytes")
    refuse(("detect", "-", "--effect", "e.npy"), "standard input: expected sound, found zero bytes", data=bytes(100_000))


def test_labels_and_plot():
    rng = np.random.default_rng(21)
    stream, effect = rng.standard_normal((2000, 5)).astype("f4"), rng.standard_normal((20, 5)).astype("f4")
    for at in (100, 700, 1500):
        stream[at:at + 20] = effect
    save("s.npy", stream)
    save("a<b&c.npy", effect)
    rows = detect("s.npy", "--effect", "a<b&c.npy", "--labels", "l.txt", "--plot", "p.svg")
    hits = [r for r in rows if r["decision"] == "detected"]
    expect(len(hits) >= 3 and any(r["decision"] == "repeated" for r in rows), "an effect in two windows is one hit")
    for a, b in zip(hits, hits[1:]):
        expect(a["offset_s"] <= b["onset_s"], f"{a} overlaps {b}")
    labels = [line.split("\t") for line in open("l.txt").read().splitlines()]
    expect([(round(float(a), 3), round(float(b), 3), c) for a, b, c in labels] ==
           [(r["onset_s"], r["offset_s"], "a<b&c") for r in hits], f"{labels}")
    root = xml.etree.ElementTree.parse("p.svg").getroot()
    marks = root.findall(".//{*}rect[@class='hit']")
    expect(len(marks) == len(hits) and "a<b&c" in [t.text for t in root.findall(".//{*}text")], "picture")
    refuse(("detect", "s.npy", "--effect", "a<b&c.npy", "--plot", "nowhere/p.svg"), "nowhere", code=1)


def begin_live(*arguments):
    return subprocess.Popen([DAVIT, "detect", "-", "--all", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def feed(process, samples):
    process.stdin.write(np.asarray(samples, "<f4").tobytes())


def lines_until(process, word, seconds=100):
    """What is printed up to a line with this word; it is waited for, while nothing is sent."""
    text = b""
    while word not in text and select.select([process.stdout], [], [], seconds)[0]:
        more = os.read(process.stdout.fileno(), 1 << 16)
        if not more:
            break
        text += more
    return text


def live_scene(seconds=30):
    rng = np.random.default_rng(31)
    stream, effect = chirps(rng, seconds), chirps(rng, 1)
    for at in (8, 14.5, 28.2):
        if at < seconds:
            stream[int(at * RATE):int(at * RATE) + len(effect)] = effect
    return stream, sound("e.wav", effect)


def test_live():
    """A hit in a pipe is printed while the pipe is open, no later than two windows and a step after the effect."""
    stream, effect = live_scene()
    process = begin_live("--effect", effect)
    feed(process, np.frombuffer(chunks([], "RIFF", 0xffffffff, 0xffffffff), "<f4"))
    feed(process, stream[:RATE * 2 // 5])
    expect(b"effect\t" in lines_until(process, b"\n"), "the head comes with the first frames, before 64 KB")
    sent, text = 0.4, b""
    for onset, upto in ((8, 11.4), (14.5, 17.9)):
        feed(process, stream[int(sent * RATE):int(upto * RATE)])
        sent, text = upto, text + lines_until(process, b"detected")
        onsets = [float(line.split(b"\t")[2]) for line in text.splitlines() if b"detected" in line]
        expect(onsets and abs(onsets[-1] - onset) < 0.1, f"after {upto} s: {onsets}")
        text += lines_until(process, b"\n", 1)
    feed(process, stream[int(sent * RATE):])
    rest, _ = process.communicate()
    rows = rows_of(b"\t".join(c.encode() for c in COLUMNS) + b"\n" + text + rest)
    expect(process.returncode == 0 and [r["window"] for r in rows] == list(range(len(rows))) and len(rows) >= 29, f"{len(rows)} rows")
    hits = [r["onset_s"] for r in rows if r["decision"] == "detected"]
    expect(len(hits) == 3 and np.allclose(hits, (8, 14.5, 28.2), atol=0.1), f"{hits}")


def test_live_head():
    """A header that says how long the stream is does not make the tool wait for more of it than the first frames."""
    stream, effect = live_scene()
    wav = wav_bytes(stream)
    process = begin_live("--effect", effect)
    process.stdin.write(wav[:wav.index(b"data") + 8 + 2 * RATE])
    expect(b"effect\t" in lines_until(process, b"\n", 20), "the head comes with the first frames of a file, before 64 KB")
    process.kill()
    process.communicate()


def test_live_forms():
    """Pipes that are read as they come, those that are not, and options that need the whole."""
    stream, effect = live_scene(16)
    wav = wav_bytes(stream)
    au = b".snd" + struct.pack(">IIIII", 24, 4 * len(stream), 6, RATE, 1) + np.asarray(stream, ">f4").tobytes()
    open_au = au[:8] + b"\xff" * 4 + au[12:]
    wanted = davit("detect", "--all", "-", "--effect", effect, data=chunks(stream, "RIFF", 0xffffffff, 0xffffffff)).out
    for name, data in (("wav", wav), ("au", au), ("open au", open_au), ("big-endian wav", chunks(stream, "RIFX"))):
        expect(davit("detect", "--all", "-", "--effect", effect, data=data).out == wanted, name)
    put("s.wav", wav)
    whole = davit("detect", "--all", "s.wav", "--effect", effect).out
    expect(whole != wanted, "a file is compared with all of itself")
    tags = wav[:12] + b"LIST" + struct.pack("<I", 70000) + bytes(70000) + wav[12:]
    for name, more in sampled((("-o", ("-o", "o.tsv")), ("--labels", ("--labels", "l.txt")), ("--fdr", ("--fdr", 0.01)),
                               ("--json", ("--json", "-o", "o.tsv")), ("--null", ("--null", "window")))):
        one = davit("detect", "--all", "s.wav", "--effect", effect, *more).out
        kept = open("o.tsv", "rb").read() if "o.tsv" in more else b""
        two = davit("detect", "--all", "-", "--effect", effect, *more, data=wav).out
        expect((name == "--json" or one == two) and (open("o.tsv", "rb").read() if "o.tsv" in more else b"") == kept, name)
    for name, data in (("W64", chunks(stream, "W64")), ("a header of 70 KB", tags[:4] + struct.pack("<I", len(tags) - 8) + tags[8:])):
        expect(davit("detect", "--all", "-", "--effect", effect, data=data).out == whole, f"{name}: kept in a temporary file")
    short = davit("detect", "--all", "-", "--effect", effect, data=wav_bytes(stream[:int(2.5 * RATE)])).out
    expect({r["note"] for r in rows_of(short)} == {"stream"}, "too short to compare with")
    result = davit("detect", "--all", "-", "--effect", effect, data=wav[:len(wav) // 2], code=3)
    expect("standard input" in result.err and "found the end" in result.err, result.err)
    refuse(("detect", "-", "--effect", effect), "standard input", "at least one frame", data=wav_bytes([]))


def live_peak(seconds):
    """Bytes of the tool's memory for so many seconds of a pipe."""
    process = begin_live("--effect", "e.wav", "--permutations", 9, "--quiet")
    feed(process, np.frombuffer(chunks([], "RIFF", 0xffffffff, 0xffffffff), "<f4"))
    with process.stdin:
        for k in range(seconds // 10):
            feed(process, np.random.default_rng(k).standard_normal(10 * RATE) * 0.1)
            while select.select([process.stdout], [], [], 0)[0]:
                os.read(process.stdout.fileno(), 1 << 16)
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    expect(status == 0, f"{seconds} s: {status}")
    return 1024 * usage.ru_maxrss


def test_live_memory():
    """Of a pipe the last two minutes are in memory: an hour's samples would be 318 MB."""
    live_scene()
    if EACH == 1:
        few, many = live_peak(150), live_peak(600)
        expect(many - few < 4 << 20, f"{few} and {many} bytes")


def test_blocks():
    """A stream of several blocks: what is found in a window is what is found when the window's frames stand alone."""
    rng = np.random.default_rng(8)
    stream, effect = rng.standard_normal((140000, 3)).astype("f4"), rng.standard_normal((6, 3)).astype("f4")
    for at in (65534, 65990, 131070, 139994):
        stream[at:at + 6] = effect
    save("s.npy", stream)
    save("e.npy", effect)
    save("one.npy", effect[:1, :1])
    cases = [(stream, "e.npy", 200, 200), (stream[7:], "e.npy", 200, 130), (stream, "e.npy", 65535, 40000),
             (stream[:65900, :1], "one.npy", 300, 1)]
    for whole, effect, window, hop in sampled(cases):
        save("s.npy", whole)
        options = ("--effect", effect, "--null", "window", "--window", window, "--permutations", 2, "--alpha", 1)
        rows = detect("s.npy", *options, "--hop", hop)
        count = 1 + max(0, -(-(len(whole) - window) // hop))
        expect([r["window"] for r in rows] == list(range(count)), f"windows of {window} every {hop}: {len(rows)}, {count}")
        for w in {0, count // 2, count - 2, count - 1, 326, 327, 328} & set(range(count)):
            save("w.npy", whole[w * hop:w * hop + window])
            alone = detect("w.npy", *options)[0]
            shift = w * hop * FRAME / RATE
            for key in ("onset_s", "offset_s"):
                expect(abs(rows[w][key] - alone[key] - shift) < 0.0011, f"window {w} of {window} every {hop}: {key}")
            for key in ("score", "null_mean", "null_sd", "z", "p_value"):
                expect(rows[w][key] == alone[key], f"window {w} of {window} every {hop}: {key}")


def test_memory():
    """Of a long stream of features a block is in memory: three times the frames take no more."""
    save("e.npy", np.ones((2, 64), "f4"))
    frames, most = 140_000 // EACH // 10 * 10, []
    for times in (1, 3):
        with open("s.npy", "wb") as file:  # piece by piece: what this process has counts for those that it starts
            file.write(npy_raw(header_of(f"({times * frames}, 64)", "'<f4'")))
            for _ in range(10 * times):
                file.write(np.full((frames // 10, 64), 0.5, "f4").tobytes())
        most.append(peak_bytes("detect", "s.npy", "--effect", "e.npy", "--permutations", 1, "--round", "--devices", "cpu", "-o", "o.tsv"))
    expect(most[1] - most[0] < frames * 64 * 4 / 2, f"{most[0]} and {most[1]} bytes")


def test_absurd_sizes():
    """Results and frames beyond any memory: refused in a sentence, before memory is taken."""
    samples = 10**8  # 11 days of silence, a hole in the file
    put("long.wav", b"RIFF" + struct.pack("<I4s4sIHHIIHH4sI", 36 + samples, b"WAVE", b"fmt ", 16, 1, 1, 100, 100, 1, 8, b"data", samples))
    os.truncate("long.wav", 44 + samples)
    refuse(("features", "long.wav", "--rate", "1e5", "--frame", 2, "-o", "o.npy"), "no host memory for", "the process may have", code=4)
    save("wide.npy", np.ones((3, 2**20), "f4"))
    most = peak_bytes("detect", "wide.npy", "--effect", "wide.npy", "--window", 3, "--permutations", 9, "--devices", "cpu", "-o", "o.tsv")
    expect(most < 2**29, f"three frames of 2^20 features take {most} bytes")


def test_small_stack():
    """128 KiB of stack are enough, but for the larger frames of AddressSanitizer."""
    with open(DAVIT, "rb") as file:
        kib = 1024 if b"__asan" in file.read() else 128
    put("good.wav", wav_bytes(sine(440, 2)))
    for arguments in (("features", "good.wav", "-o", "o.npy"), ("features", "-", "-o", "o.npy"),
                      ("detect", "good.wav", "--effect", "good.wav", "-o", "o.tsv")):
        result = subprocess.run([DAVIT, *arguments], input=wav_bytes(sine(440, 2)), capture_output=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (kib << 10, kib << 10)))
        expect(result.returncode == 0, f"{arguments} with {kib} KiB of stack: {result}")


def test_progress():
    """Where in the stream the search is, in blocks that do not take long."""
    rng = np.random.default_rng(14)
    save("s.npy", rng.random((60000, 8), "f4"))
    save("e.npy", rng.random((100, 8), "f4"))
    watch("detect: 0 of 2786 seconds of sound, 2 s", "detect", "s.npy", "--effect", "e.npy", "--null", "window", "--permutations", 1000000)
    save("short.npy", rng.random((10, 8), "f4"))
    watch(r"detect: [1-9]\d* of 2786 seconds of sound, \d+ s, about ", "detect", "s.npy", "--effect", "short.npy", "--null", "window", "--permutations", 100000)


# ---- what cannot be read ----

def test_bad_sound():
    tone = sine(440, 2).astype("f4")
    put("good.wav", wav_bytes(tone))
    whole = wav_bytes(tone)
    nan = tone.copy()
    nan[12345] = np.nan
    huge = tone.copy()
    huge[30000] = 1e30
    stereo = np.stack([tone, tone], 1)
    stereo[777, 1] = np.inf
    cases = {"empty.wav": (b"", "empty"), "text.wav": (b"no sound at all" * 9, "libsndfile"),
             "cut.wav": (whole[:len(whole) // 2], "offset", "header"), "head.wav": (whole[:30], "head.wav"),
             "none.wav": (wav_bytes([]), "none"), "silent0.wav": (wav_bytes(tone, channels=0), "silent0.wav"),
             "rate0.wav": (wav_bytes(tone, rate=0), "rate0.wav"), "short.wav": (wav_bytes(tone[:1000]), "1024"),
             "nan.wav": (wav_bytes(nan), "frame 12345", "finite"), "huge.wav": (wav_bytes(huge), "second 0.000", "samples[30000]"),
             "inf.wav": (wav_bytes(stereo.ravel(), channels=2), "frame 777", "finite"),
             "loud.wav": (wav_bytes(np.float32(3.4e38) * np.sign(tone), rate=2 * RATE), "frame", "resampled"),
             "au.au": (b".snd" + struct.pack(">IIIII", 24, 4000, 6, RATE, 1) + tone[:500].astype(">f4").tobytes(), "offset"),
             "ogg.ogg": (b"OggS" + bytes(2000), "ogg.ogg")}
    commands = (("features", "{}", "-o", "out.npy"), ("detect", "{}", "--effect", "good.wav", "-o", "out.tsv"),
                ("detect", "good.wav", "--effect", "{}", "--frame", 1024))
    for name, (content, *words) in cases.items():
        put(name, content)
        for command in sampled(commands):
            refuse([name if word == "{}" else word for word in command], name, *words)
    refuse(("features", "missing.wav", "-o", "out.npy"), "missing.wav")
    refuse(("features", ".", "-o", "out.npy"), ".: expected a readable file: Is a directory")
    refuse(("detect", "good.wav", "--effect", "missing.wav"), "missing.wav")
    save("f.npy", np.zeros((5, 62), "f4"))
    refuse(("features", "f.npy", "-o", "out.npy"), "f.npy", "sound")
    put("old.npy", "as it was")
    davit("features", "nan.wav", "-o", "old.npy", code=3)
    expect(open("old.npy").read() == "as it was", "an older file stays")
    put("late.wav", wav_bytes(np.concatenate([np.tile(tone, 110), nan])))
    refuse(("detect", "late.wav", "--effect", "good.wav", "--permutations", 1, "-o", "out.tsv"), "frame 4863345", "finite")


def test_bad_features():
    rng = np.random.default_rng(9)
    save("s.npy", rng.random((300, 4), "f4"))
    save("e.npy", rng.random((20, 4), "f4"))
    save("wide.npy", rng.random((20, 5), "f4"))
    save("nan.npy", np.where(np.arange(80).reshape(20, 4) == 42, np.nan, 1))
    save("big.npy", np.full((20, 4), 1e300))
    save("int.npy", np.ones((20, 4), "i8"))
    save("vector.npy", np.ones(20, "f4"))
    save("none.npy", np.ones((0, 4), "f4"))
    put("cut.npy", npy_bytes(np.ones((20, 4), "f4"))[:-7])
    refuse(("detect", "-", "--effect", "e.npy", "-o", "out.tsv"), "standard input", "end of the file",
           data=npy_bytes(np.ones((300, 4), "f4")) + b"rest")
    refuse(("detect", "s.npy", "--effect", "-", "-o", "out.tsv"), "standard input", "more bytes of elements",
           data=npy_raw(header_of(f"({2**40}, 4)", "'<f4'"), bytes(80)))
    sound("s.wav", sine(440, 2))
    for name, *words in (("wide.npy", "4 features", "5"), ("nan.npy", "frame 10, feature 2", "nan"),
                         ("big.npy", "frame 0, feature 0", "inf"), ("int.npy", "int64"), ("vector.npy", "vector"),
                         ("none.npy", "0 x 4"), ("cut.npy", "bytes"), ("s.wav", "4 features", "62")):
        refuse(("detect", "s.npy", "--effect", "e.npy", name, "-o", "out.tsv"), name, *words)
    for name in ("nan.npy", "int.npy", "vector.npy", "none.npy", "cut.npy"):
        refuse(("detect", name, "--effect", "e.npy", "-o", "out.tsv"), name)
    refuse(("detect", "s.npy", "--effect", "e.npy", "--window", 19, "-o", "out.tsv"), "e.npy", "at most 19", "20")
    refuse(("detect", "s.npy", "--effect", "e.npy", "--window", 1, "-o", "out.tsv"), "expected at most 1 frame (the length of a window), found 20")
    save("one.npy", rng.random((300, 1), "f4"))
    refuse(("detect", "one.npy", "--effect", "e.npy", "-o", "out.tsv"), "expected frames of 1 feature as in the stream, found 4")


if __name__ == "__main__":
    sys.exit(main(dict(globals())))

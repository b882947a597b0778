#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit detect on real sounds: effects of Debian's sound themes in speech of espeak-ng and in pink noise.

usage: test_detect_sounds.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import csv
import os
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
import sounds
from support import DAVIT, expect, main

# What is shorter than half a second is found less surely at 0 dB.
SHORT = ("dialog-error", "camera-shutter")


def prepare():
    effects = {name: samples for name, samples in sounds.load_effects().items() if name not in SHORT}
    for name, samples in effects.items():
        sounds.write(name + ".wav", 0.1 * samples)
    return effects


def apart(background, effects, decibels):
    """Each effect once, so that no window holds one twice."""
    stream, truth, at = background.copy(), [], 3 * sounds.RATE
    for name, samples in effects.items():
        stream[at:at + len(samples)] += samples * 10 ** (decibels / 20)
        truth.append((name, at / sounds.RATE, (at + len(samples)) / sounds.RATE))
        at += len(samples) + 3 * sounds.RATE // 2 + 777
    return 0.9 * stream / abs(stream).max(), truth


def binomial_bound(count, rate, tail=1e-3):
    """The least number that `count` events of probability `rate` pass with a probability below `tail`."""
    term, total, k = (1 - rate) ** count, 0.0, 0
    while total + term < 1 - tail:
        total += term
        term *= (count - k) / (k + 1) * rate / (1 - rate)
        k += 1
    return k


def test_found():
    """At 20 dB all effects are found, their onset within 0.2 s, at 10 dB all but one, at 0 dB most."""
    effects = prepare()
    for place, background in (("speech", sounds.speech(45)), ("noise", sounds.pink_noise(45, 11))):
        for decibels, least in ((20, len(effects)), (10, len(effects) - 1), (0, len(effects) // 2)):
            stream, truth = apart(background, effects, decibels)
            sounds.write("stream.wav", stream)
            found, _ = sounds.hits(DAVIT, "stream.wav", effects)
            lacking = [row for row in truth if not sounds.recall(found, [row])]
            expect(len(truth) - len(lacking) >= least, f"{place}, {decibels} dB: not found {lacking}")


def test_false_alarms():
    """Without effects no more than alpha promises: the number of detections stays below what chance passes once in 1000 times. The
    windows do not overlap, as those that do are not independent."""
    effects = prepare()
    for place, background in (("speech", sounds.speech(150, 5)), ("noise", sounds.pink_noise(150, 12))):
        sounds.write("stream.wav", 0.9 * background / abs(background).max())
        for alpha in (0.01, 0.05):
            found, decisions = sounds.hits(DAVIT, "stream.wav", effects, "--alpha", alpha, "--window", 100)
            bound = binomial_bound(decisions, alpha)
            expect(len(found) <= bound, f"{place}, alpha {alpha}: {len(found)} of {decisions}, at most {bound} expected")


def p_values(stream, names, *options):
    """Of all rows, for each effect."""
    found = {name: [] for name in names}
    subprocess.run([DAVIT, "detect", stream, "--effect", *(name + ".wav" for name in names), "-o", "rows.tsv", "--quiet",
                    "--all", *options], check=True)
    with open("rows.tsv", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[row["effect"]].append(float(row["p_value"]))
    return found


def test_false_alarms_in_dither():
    """Speech whose pauses are dither of one bit, and all effects, the short ones as well, with the tool's own windows: p-values are as
    low as alpha for no more rows than chance explains. Each window shares half of its frames with the next one, so rows count by
    twos. (With --null window a camera-shutter has p <= 0.05 in a third of the rows.)"""
    effects = sounds.load_effects()
    for name, samples in effects.items():
        sounds.write(name + ".wav", 0.1 * samples)
    speech = sounds.speech(150, 5)
    dither = np.random.default_rng(3).triangular(-1, 0, 1, len(speech)) / 32768
    sounds.write("stream.wav", 0.9 * speech / abs(speech).max() + dither)
    for name, values in p_values("stream.wav", effects).items():
        for alpha in (0.01, 0.05):
            low, bound = sum(p <= alpha for p in values), 2 * binomial_bound((len(values) + 1) // 2, alpha)
            expect(low <= bound, f"{name}, alpha {alpha}: {low} of {len(values)}, at most {bound} expected")
        expect(len(values) > (400 if name in SHORT else 50), f"{name}: {len(values)} rows")


def test_mixed():
    """Spoken words in running speech whose mean square is 10 dB below their loudest 46 ms. (As they are, without --bands, three are lost.)"""
    paths = [sounds.ALSA + name + ".wav" for name in ("Front_Center", "Front_Left", "Front_Right", "Rear_Left", "Side_Left")]
    paths += [sounds.THEME + f"audio-channel-{name}.oga" for name in ("rear-right", "front-center", "side-left")]
    effects = {os.path.splitext(os.path.basename(path))[0]: sounds.read(path) for path in paths}
    for k, word in enumerate(("extraordinary", "a quiet harbour")):
        subprocess.run(["espeak-ng", "-v", "en-us+f2", "-s", "120", "-w", "word.wav", word], check=True)
        effects[f"word{k}"] = sounds.read("word.wav")
    for name, samples in effects.items():
        sounds.write(name + ".wav", 0.1 * samples)
    loudest = lambda samples: (samples[:len(samples) // 1024 * 1024].reshape(-1, 1024) ** 2).mean(axis=1).max()
    scaled = {name: samples / np.sqrt(loudest(samples)) for name, samples in effects.items()}
    stream, truth = apart(sounds.speech(6 * len(effects), 50), scaled, 10)
    sounds.write("stream.wav", stream)
    found, _ = sounds.hits(DAVIT, "stream.wav", effects)
    lacking = [row for row in truth if not sounds.recall(found, [row], 0.25)]
    expect(len(lacking) <= 1, f"not found {lacking} of {len(truth)}")


def test_short():
    """Sounds of 0.06 to 0.3 s, planted as they are in silence and in speech with dither."""
    names = ("bell", "message", "dialog-information")
    effects = {name: sounds.read(sounds.THEME + name + ".oga") for name in names}
    for name, samples in effects.items():
        sounds.write(name + ".wav", 0.05 * samples)
    dither = np.round(np.random.default_rng(3).triangular(-1, 0, 1, 40 * sounds.RATE)) / 32768
    for place, background in (("silence", 0 * dither), ("speech", 0.05 * sounds.speech(40, 3) + dither)):
        stream, truth = background.copy(), []
        for k, name in enumerate(2 * names):
            at = (3 + 6 * k) * sounds.RATE + 333 * k
            stream[at:at + len(effects[name])] = 0.05 * effects[name]
            truth.append((name, at / sounds.RATE, (at + len(effects[name])) / sounds.RATE))
        sounds.write("stream.wav", stream)
        found, _ = sounds.hits(DAVIT, "stream.wav", effects)
        lacking = [row for row in truth if not sounds.recall(found, [row], 0.05)]
        expect(not lacking, f"{place}: not found {lacking}")


def test_nothing_in_silence():
    effects = prepare()
    sounds.write("stream.wav", np.zeros(20 * sounds.RATE))
    found, _ = sounds.hits(DAVIT, "stream.wav", effects)
    expect(not found, f"silence: {found}")


if __name__ == "__main__":
    lacking = sounds.missing()
    if lacking:
        print("left out, as these are not installed: " + " ".join(lacking))
        sys.exit(0)
    sys.exit(main(dict(globals())))

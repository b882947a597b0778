#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How well davit detect finds real sounds: the tables of docs/detect.md.

usage: detect_quality.py DAVIT [OPTION OF DAVIT DETECT ...]

Effects are planted into 300 s of speech and of pink noise, and looked for in windows of 200 frames, one every 100.
An effect is found if its onset is given within 0.2 s. `elsewhere` is the share of windows in which an effect is
detected that is not there, while others are; `false` is the same in streams without any effect: at most alpha.
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "cli"))
import sounds

SECONDS = 300


def changes():
    for decibels in (20, 10, 5, 0):
        yield f"{decibels} dB", decibels, lambda samples: samples
    for speed in (0.9, 0.95, 1.05, 1.1):
        change = lambda samples, speed=speed: sounds.resample(samples, 1 / speed)
        yield f"20 dB, speed {100 * (speed - 1):+.0f} %", 20, change
    yield "20 dB, first half only", 20, lambda samples: samples[:len(samples) // 2]


def main():
    davit, options = os.path.abspath(sys.argv[1]), ("--hop", 100, *sys.argv[2:])
    lacking = sounds.missing()
    if lacking:
        sys.exit("not installed: " + " ".join(lacking))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        effects = sounds.load_effects()
        for name, samples in effects.items():
            sounds.write(name + ".wav", 0.1 * samples)
        backgrounds = {"speech": sounds.speech(SECONDS), "noise": sounds.pink_noise(SECONDS, 1)}
        heads = " | ".join(f"{name}: found | elsewhere" for name in backgrounds)
        print(f"| | {heads} |\n|" + " --- |" * 5)
        for label, decibels, change in changes():
            cells = []
            for background in backgrounds.values():
                stream, truth = sounds.plant(background, effects, decibels, 7, change)
                sounds.write("stream.wav", stream)
                found, decisions = sounds.hits(davit, "stream.wav", effects, *options)
                cells += [f"{sounds.recall(found, truth)} of {len(truth)}",
                          f"{100 * sounds.others(found, truth) / decisions:.1f} %"]
            print("| " + " | ".join([label, *cells]) + " |", flush=True)
        for name, background in backgrounds.items():
            sounds.write("stream.wav", 0.9 * background / abs(background).max())
            found, decisions = sounds.hits(davit, "stream.wav", effects, *options)
            share = 100 * len(found) / decisions
            print(f"false in {name}: {len(found)} of {decisions}, {share:.2f} %", flush=True)


if __name__ == "__main__":
    main()

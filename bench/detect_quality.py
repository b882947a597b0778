#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How well davit detect finds real sounds, and whether its p-values hold: the tables of docs/notes/detect.md.

usage: detect_quality.py DAVIT [--seconds S] [--parts PART ...] [--brief] [--seed S] [--music FILE ...]
                         [--options "OPTION ..."] > RESULT.json

planted   13 effects in 300 s of speech and of pink noise, at levels and speeds; an effect is found if its onset is
          given within 0.2 s. `elsewhere` counts hits of effects that are not there, while others are.
null      all sounds of the two themes in streams without them: the share of decisions with p <= 0.01, for each kind
          of stream, each effect, and each pair of these with 1000 decisions or more. Kinds: speech resampled with sox's dither, speech over floors of noise 60 and
          40 dB below it, noise, random notes, noise whose bands wander (AR(1), 0.8 a frame), music.
mixed     sounds and spoken words of 1 to 2 s in speech and music whose level is 10 dB below the sound's peak (of 46
          ms); found within 0.25 s.
peer      on the planted streams, normalized cross-correlation (SciPy): a hit is a peak above all of the same stream without effects.
The report goes to standard output as JSON, progress to standard error.
"""
import argparse
import collections
import csv
import datetime
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.signal

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "cli"))
import sounds

RATE = sounds.RATE
ENOUGH = 1000  # decisions, to judge a rate by
WORDS = ("temperature", "grandmother's piano", "electricity", "the mountains", "international", "seven villages",
         "extraordinary", "a quiet harbour", "conversation", "wooden bridges", "photography", "heavy rain")


def say(*words):
    print(*words, file=sys.stderr, flush=True)


# ---- streams ----

def noise(seconds, power, seed):
    count = int(seconds * RATE)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(count))
    lines = np.maximum(np.arange(len(spectrum)), count * 20 / RATE)
    return sounds.level(np.fft.irfft(spectrum / lines ** (power / 2), count))


def dithered(samples):
    """By way of 44.1 kHz and back, with sox's own dither of 16 bits."""
    sounds.write("a.wav", 0.5 * samples / abs(samples).max())
    for source, rate, to in (("a.wav", "44100", "b.wav"), ("b.wav", str(RATE), "c.wav")):
        subprocess.run(["sox", "-G", source, "-r", rate, to], check=True, stderr=subprocess.DEVNULL)
    with open("c.wav", "rb") as file:
        return np.frombuffer(file.read()[44:], "<i2").astype(float) / 32768


def notes(seconds, seed):
    rng, parts = np.random.default_rng(seed), []
    while sum(map(len, parts)) < seconds * RATE:
        at = np.arange(int(rng.uniform(0.1, 1.5) * RATE)) / RATE
        hertz = rng.uniform(100, 4000)
        parts.append(sum(rng.uniform(0.1, 1) * np.sin(2 * np.pi * hertz * k * at) for k in (1, 2, 3)) *
                     np.exp(-at * rng.uniform(0, 3)))
        parts.append(np.zeros(int(rng.uniform(0, 0.3) * RATE)))
    return np.concatenate(parts)[:int(seconds * RATE)]


def wandering(seconds, seed):
    rng, count = np.random.default_rng(seed), int(seconds * RATE) // 1024
    gains = np.zeros((count, 31))
    for i in range(1, count):
        gains[i] = 0.8 * gains[i - 1] + 0.6 * rng.standard_normal(31)
    hertz = np.fft.rfftfreq(1024, 1 / RATE)
    band = np.clip(np.log2(np.maximum(hertz, 1) / 62.5) * 4 + 1, 0, 30).astype(int)
    return np.fft.irfft(np.fft.rfft(rng.standard_normal((count, 1024))) * np.exp(1.2 * gains[:, band]), 1024).ravel()


def nulls(seconds, music, brief):
    """Brief: one stream of each kind, without floors of white and brown noise."""
    for k in range(1 if brief else 4):
        yield "speech, dither", dithered(sounds.speech(seconds, 4 * k))
    for k, (name, power) in enumerate((("white", 0), ("pink", 1), ("brown", 2))):
        for decibels in (() if brief and name != "pink" else (60, 40)):
            speech = sounds.speech(seconds, 20 + 3 * k)
            yield f"speech, {name} -{decibels} dB", speech + noise(seconds, power, k) * 10 ** (-decibels / 20)
        for seed in range(1 if brief else 2):
            yield f"{name} noise", noise(seconds, power, 100 + seed)
    for seed in range(1 if brief else 2):
        yield "random notes", notes(seconds, 200 + seed)
        yield "AR(1)", wandering(seconds, 300 + seed)
    for path in music:
        yield "music", sounds.read(path)[:seconds * RATE]


# ---- davit ----

class Tool:
    def __init__(self, davit, options):
        self.davit, self.options = davit, options

    def detect(self, stream, effects):
        sounds.write("stream.wav", 0.9 * stream / abs(stream).max())
        start = time.time()
        report = subprocess.run([self.davit, "detect", "stream.wav", "--effect", *(name + ".wav" for name in effects), "--json",
                                 "-o", "rows.tsv", "--quiet", "--all", *self.options], check=True, capture_output=True).stdout
        with open("rows.tsv", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        return json.loads(report)["hits"], rows, time.time() - start


def near(hits, name, onset, tolerance):
    return any(hit["effect"].partition("@")[0] == name and abs(hit["onset_s"] - onset) <= tolerance for hit in hits)


# ---- parts ----

def changes(brief):
    for decibels in (20, 10) if brief else (20, 10, 5, 0, -5):
        yield f"{decibels} dB", decibels, lambda samples: samples
    for speed in () if brief else (0.95, 1.05):
        yield f"20 dB, speed {100 * (speed - 1):+.0f} %", 20, lambda samples, speed=speed: sounds.resample(samples, 1 / speed)


def correlate(stream, samples):
    """Normalized cross-correlation."""
    top = scipy.signal.oaconvolve(stream, samples[::-1], "valid")
    sums = np.concatenate([[0], np.cumsum(stream ** 2)])
    within = np.maximum(sums[len(samples):] - sums[:-len(samples)], 1e-12)
    return abs(top) / np.sqrt(within * (samples ** 2).sum())


def peer(stream, bounds, effects, truth):
    """Peaks above the maximum without effects."""
    start, found, elsewhere = time.time(), 0, 0
    for name, samples in effects.items():
        here = correlate(stream, samples)
        peaks, _ = scipy.signal.find_peaks(here, height=bounds[name], distance=len(samples))
        onsets = peaks / RATE
        mine = [row for row in truth if row[0] == name]
        found += sum(bool((abs(onsets - onset) <= 0.2).any()) for _, onset, _ in mine)
        elsewhere += sum(not any(begin - 0.2 <= at < end for _, begin, end in mine) for at in onsets)
    return {"found": found, "elsewhere": elsewhere, "seconds": time.time() - start}


def planted(tool, effects, brief, correlated, seed):
    rows = []
    for place, background in (("speech", sounds.speech(300)), ("noise", sounds.pink_noise(300, 1))):
        bounds = {name: correlate(background, samples).max() for name, samples in effects.items()} if correlated else {}
        for label, decibels, change in changes(brief):
            stream, truth = sounds.plant(background, effects, decibels, seed, change)
            hits, decisions, seconds = tool.detect(stream, effects)
            rows.append({"stream": place, "change": label, "planted": len(truth),
                         "found": sum(near(hits, name, onset, 0.2) for name, onset, _ in truth), "hits": len(hits),
                         "elsewhere": sounds.others(hits, truth), "decisions": len(decisions), "seconds": seconds})
            if correlated:
                rows[-1]["correlation"] = peer(stream, bounds, effects, truth)
            say(rows[-1])
    return rows


def null(tool, effects, seconds, music, brief):
    kinds, each, single = (collections.defaultdict(lambda: [0, 0, 0]) for _ in range(3))
    for kind, stream in nulls(seconds, music, brief):
        for row in tool.detect(stream, effects)[1]:
            low, hit = float(row["p_value"]) <= 0.01, row["decision"] != "-"
            for count in (kinds[kind], each[row["effect"]], single[row["effect"], kind]):
                count[0] += 1
                count[1] += low
                count[2] += hit
        say(kind, *kinds[kind])
    table = lambda counts: [{"name": name, "decisions": a, "p_low": b, "detected": c} for name, (a, b, c) in sorted(counts.items())]
    judged = lambda counts: sorted(((b / a, name) for name, (a, b, _) in counts.items() if a >= ENOUGH), reverse=True)
    effects, pairs = judged(each), judged(single)
    return {"kinds": table(kinds), "effects": table(each),
            "judged_effects": len(effects), "judged_effects_above": sum(rate > 0.015 for rate, _ in effects),
            "judged_pairs": len(pairs), "judged_pairs_above": sum(rate > 0.015 for rate, _ in pairs),
            "worst_effects": [{"effect": name, "rate": rate} for rate, name in effects[:10]],
            "worst_pairs": [{"effect": name, "kind": kind, "rate": rate} for rate, (name, kind) in pairs[:10]]}


def peak_level(samples):
    frames = samples[:len(samples) // 1024 * 1024].reshape(-1, 1024)
    return np.sqrt((frames ** 2).mean(axis=1).max())


def spoken():
    for k, word in enumerate(WORDS):
        subprocess.run(["espeak-ng", "-v", "en-us+f2", "-s", "120", "-w", "word.wav", word], check=True)
        yield f"word{k}", sounds.read("word.wav")


def mixed(tool, effects, music):
    chosen = {name: samples for name, samples in [*effects.items(), *spoken()] if 1 <= len(samples) / RATE <= 2}
    for name, samples in chosen.items():
        sounds.write(name + ".wav", 0.9 * samples / abs(samples).max())
    rows = []
    places = [("speech", sounds.speech(8 * len(chosen), 50))] + [("music", sounds.read(path)) for path in music[:3]]
    for place, background in places:
        background = np.resize(background, 8 * len(chosen) * RATE)
        stream, truth, at = background.copy(), [], 3 * RATE
        for name, samples in chosen.items():
            stream[at:at + len(samples)] += samples / peak_level(samples) * 10 ** 0.5
            truth.append((name, at / RATE))
            at += 8 * RATE - 1234
        hits, decisions, _ = tool.detect(stream, chosen)
        lost = [name for name, onset in truth if not near(hits, name, onset, 0.25)]
        rows.append({"stream": place, "planted": len(truth), "found": len(truth) - len(lost), "lost": lost,
                     "hits": len(hits), "decisions": len(decisions)})
        say(rows[-1])
    return rows


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.processor())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("davit")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--music", nargs="*", default=[])
    parser.add_argument("--options", default="")
    parser.add_argument("--parts", nargs="*", default=["planted", "peer", "null", "mixed"])
    parser.add_argument("--seed", type=int, default=7, help="of the places of planted sounds")
    parser.add_argument("--brief", action="store_true", help="20 and 10 dB only, one stream of each kind")
    given = parser.parse_args()
    tool = Tool(os.path.abspath(given.davit), given.options.split())
    music = [os.path.abspath(path) for path in given.music]
    lacking = sounds.missing()
    if lacking:
        sys.exit("not installed: " + " ".join(lacking))
    report = {"benchmark": "detect_quality",
              "version": subprocess.run([tool.davit, "--version"], capture_output=True, text=True).stdout.split()[-1],
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "command": "detect_quality.py DAVIT " + " ".join(
                  [f"--seconds {given.seconds} --parts {' '.join(given.parts)}" + " --brief" * given.brief + f" --seed {given.seed}" * (given.seed != 7), "--music " + " ".join(map(os.path.basename, music))] + tool.options),
              "machine": f"{processor()}, {os.cpu_count()} cores, busy with other work"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        few, all_names = sounds.load_effects(), sorted(glob.glob(sounds.THEME + "*.oga") + glob.glob(sounds.ALSA + "*.wav"))
        every = {os.path.splitext(os.path.basename(path))[0]: sounds.read(path) for path in all_names}
        for name, samples in every.items():
            sounds.write(name + ".wav", 0.1 * samples)
        if "planted" in given.parts:
            report["planted"] = planted(tool, few, given.brief, "peer" in given.parts, given.seed)
        if "mixed" in given.parts:
            report["mixed"] = mixed(tool, every, music)
        if "null" in given.parts:
            report["null"] = null(tool, every, given.seconds, music, given.brief)
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

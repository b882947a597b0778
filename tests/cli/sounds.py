# SPDX-License-Identifier: Apache-2.0
"""Real sounds for tests and measurements: effects from Debian's sound-theme-freedesktop and alsa-utils, speech by espeak-ng, noise,
and streams in which effects are planted at known times and levels.
"""
import ctypes
import ctypes.util
import json
import os
import shutil
import subprocess
import wave

import numpy as np

RATE = 22050
THEME, ALSA = "/usr/share/sounds/freedesktop/stereo/", "/usr/share/sounds/alsa/"
PATHS = [THEME + name + ".oga" for name in (
    "complete", "dialog-error", "message-new-instant", "phone-incoming-call", "phone-outgoing-busy", "phone-outgoing-calling",
    "service-login", "service-logout", "suspend-error", "trash-empty", "camera-shutter")] + [
    ALSA + name + ".wav" for name in ("Noise", "Front_Left")]
TEXT = """\
The harbour lay quiet that morning, and the boats rocked gently against the wooden pier while the first light came over the hills.
A man in a grey coat walked along the quay, counted the ropes, and wrote something into a small book that he kept in his pocket.
Nobody had told him why the ships were late, but he knew the wind had turned twice during the night, and that was reason enough.
In the kitchen above the shop, two children argued about the last piece of bread, until their grandmother cut it in half and left the room.
We measured the temperature every hour for seven days; the numbers went up, went down, and went up again, as numbers like to do.
Please remember to close the windows before you leave, because the forecast promises heavy rain for the whole of the afternoon.
The train to the north will depart from platform four in twelve minutes, and passengers are asked to keep their luggage with them.
She opened the old piano, struck one key after another, and listened to how long each of the tones remained in the empty hall.
Between the mountains and the sea there are nine villages, three bridges, and a single road that is closed from November until April.
What could be said about the experiment was said in a single sentence: it worked once, and nobody has been able to repeat it since.
""".splitlines()
VOICES = ("en", "en+f3", "en-us+m3", "en+f5", "en+m7")


def missing():
    """What is not installed, as a list of words."""
    lacking = [path for path in PATHS if not os.path.exists(path)]
    lacking += [] if shutil.which("espeak-ng") else ["espeak-ng"]
    return lacking + ([] if ctypes.util.find_library("sndfile") else ["libsndfile"])


class Info(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64)] + [(name, ctypes.c_int) for name in
                                              ("samplerate", "channels", "format", "sections", "seekable")]


def encode(path, form, rate, samples):
    """A file of libsndfile's format number `form`, one column a channel; False where this libsndfile does not write that."""
    found = ctypes.util.find_library("sndfile")
    if not found:
        return False
    library = ctypes.CDLL(found)
    library.sf_open.restype = ctypes.c_void_p
    library.sf_writef_float.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.sf_close.argtypes = [ctypes.c_void_p]
    data = np.ascontiguousarray(samples, "f4")
    info = Info(0, rate, 1 if data.ndim == 1 else data.shape[1], form, 0, 0)
    file = library.sf_open(os.fsencode(path), 0x20, ctypes.byref(info)) if library.sf_format_check(ctypes.byref(info)) else None
    if not file:
        return False
    library.sf_writef_float(file, data.ctypes.data, len(data))
    library.sf_close(file)
    return True


def resample(samples, ratio):
    """By the spectrum; silence is appended so that the end does not meet the beginning."""
    if ratio == 1:
        return samples
    padded = np.concatenate([samples, np.zeros(1024)])
    length = round(len(padded) * ratio)
    old, new = np.fft.rfft(padded), np.zeros(length // 2 + 1, complex)
    kept = min(len(old), len(new))
    new[:kept] = old[:kept]
    return np.fft.irfft(new, length)[:round(len(samples) * ratio)] * ratio


def read(path):
    """Mono, at RATE, without the silence at both ends, of mean square 1."""
    library = ctypes.CDLL(ctypes.util.find_library("sndfile"))
    library.sf_open.restype = ctypes.c_void_p
    library.sf_readf_float.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.sf_close.argtypes = [ctypes.c_void_p]
    info = Info()
    file = library.sf_open(os.fsencode(path), 0x10, ctypes.byref(info))
    samples = np.zeros((info.frames, info.channels), "f4")
    library.sf_readf_float(file, samples.ctypes.data, info.frames)
    library.sf_close(file)
    mono = resample(samples.mean(axis=1).astype(float), RATE / info.samplerate)
    loud = np.flatnonzero(abs(mono) > 1e-3 * abs(mono).max())
    return level(mono[loud[0]:loud[-1] + 1])


def level(samples):
    return samples / np.sqrt((samples ** 2).mean())


def write(path, samples, rate=RATE):
    """A 16-bit WAV file of samples within [-1, 1], one column a channel."""
    data = np.clip(np.round(np.asarray(samples) * 32767), -32768, 32767).astype("<i2")
    with wave.open(path, "wb") as file:
        file.setnchannels(1 if data.ndim == 1 else data.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(data.tobytes())
    return path


def speech(seconds, first=0):
    """One sentence after the other, each in another voice, speed and pitch."""
    parts, k = [], first
    while sum(map(len, parts)) < seconds * RATE:
        subprocess.run(["espeak-ng", "-v", VOICES[(k // len(TEXT) + k) % len(VOICES)], "-s", str(140 + 17 * (k % 5)),
                        "-p", str(30 + 13 * (k % 4)), "-w", "sentence.wav", TEXT[k % len(TEXT)]], check=True)
        parts.append(read("sentence.wav"))
        parts.append(np.zeros(RATE // 4))
        k += 1
    os.remove("sentence.wav")
    return level(np.concatenate(parts)[:int(seconds * RATE)])


def pink_noise(seconds, seed):
    count = int(seconds * RATE)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(count))
    return level(np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), count))


def load_effects():
    return {os.path.splitext(os.path.basename(path))[0]: read(path) for path in PATHS}


def plant(background, effects, decibels, seed, change=lambda samples: samples):
    """Effects in random order, 1 to 4 s apart, each with a mean square `decibels` above the background's. Returns the stream and a
    list of (name, onset, offset) in seconds."""
    rng, stream, truth, at = np.random.default_rng(seed), background.copy(), [], 2 * RATE
    while True:
        for name in rng.permutation(sorted(effects)):
            samples = change(effects[name])
            at += int(rng.uniform(1, 4) * RATE)
            if at + len(samples) > len(stream) - RATE:
                return 0.9 * stream / abs(stream).max(), truth
            stream[at:at + len(samples)] += samples * 10 ** (decibels / 20)
            truth.append((str(name), at / RATE, (at + len(samples)) / RATE))
            at += len(samples)


def hits(davit, stream, names, *options):
    """What is detected, and the number of decisions: windows times effects."""
    effects = [name + ".wav" for name in names]
    report = subprocess.run([davit, "detect", stream, "--effect", *effects, "--json", *map(str, options)],
                            check=True, capture_output=True).stdout
    found = json.loads(report)
    return found["hits"], found["windows"] * len(names)


def recall(found, truth, tolerance=0.2):
    """How many of the planted are found, their onset within `tolerance` seconds."""
    return sum(any(hit["effect"] == name and abs(hit["onset_s"] - onset) <= tolerance for hit in found)
               for name, onset, _ in truth)


def others(found, truth):
    """Detections where the effect is not."""
    return sum(not any(hit["effect"].partition("@")[0] == name and hit["onset_s"] < offset and hit["offset_s"] > onset
                       for name, onset, offset in truth) for hit in found)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that no output of a command is a file that the command reads, whatever its name (docs/cli.md is the contract).

usage: test_outputs.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import gzip
import os
import subprocess
import sys
import wave

import numpy as np

sys.dont_write_bytecode = True
from support import DAVIT, LIMIT_S, davit, expect, listing, main, put, refuse, sampled, save

CPU = ("--devices", "cpu")


def bytes_of(names):
    contents = {}
    for name in names:
        with open(name, "rb") as file:
            contents[name] = file.read()
    return contents


def refuse_input(words, option, name, read=None):
    """The command does not write `name`, which it reads as `read`, and leaves all files alone."""
    before = bytes_of(entry for entry in listing() if os.path.isfile(entry))
    sentence = f"{option} {name}: the command reads this file" + (f", as {read}\n" if read else "\n")
    refuse((*words, option, name), sentence, code=2)
    expect(bytes_of(before) == before, f"{words} {option} {name}: no file changes")


def sound(name, samples):
    with wave.open(name, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(22050)
        file.writeframes((20000 * samples).astype("<i2").tobytes())
    return name


def test_names():
    """All names of the input: through folders, links and hard links."""
    save("x.npy", np.arange(4.0))
    os.mkdir("folder")
    os.symlink("x.npy", "link.npy")
    os.symlink("link.npy", "far.npy")
    os.link("x.npy", "hard.npy")
    for name in ("./x.npy", "folder/../x.npy", os.path.abspath("x.npy"), "link.npy", "far.npy", "hard.npy"):
        refuse_input(("scan", "x.npy"), "-o", name, "x.npy")
        refuse_input(("scan", name), "-o", "x.npy", name)
    refuse_input(("scan", "x.npy"), "-o", "x.npy")
    refuse_input(("scan", "x.npy", "--check", *CPU), "-o", "x.npy")
    put("other.npy", "old")
    davit("scan", "x.npy", "-o", "other.npy", *CPU)
    expect(np.array_equal(np.load("other.npy"), [0, 1, 3, 6]), "another file is replaced")
    for name in ("/dev/null", "/dev/zero"):
        davit("scan", "x.npy", "-o", name, *CPU)


def run_on(arguments, read=None, write=None):
    """The tool with a file as its standard input, or one that its standard output is appended to."""
    with open(read or os.devnull, "rb") as file, open(write or os.devnull, "ab") as to:
        return subprocess.run([DAVIT, *arguments], stdin=file, stdout=to, stderr=subprocess.PIPE, timeout=LIMIT_S, text=True)


def test_two_outputs():
    """Two outputs are two files, standard output among them."""
    save("d.npy", np.arange(6.0).reshape(3, 2))
    save("x.npy", np.arange(4.0))
    for words in (("covariance", "d.npy", "-o", "-", "--mean", "to.npy"), ("scan", "x.npy", "-o", "-", "--trace", "to.npy")):
        found = run_on([*words, *CPU], write=put("to.npy", "old"))
        expect(found.returncode == 2 and found.stderr == f"davit {words[0]}: to.npy: this file is two outputs of the command\n", found)
        expect(bytes_of(["to.npy"]) == {"to.npy": b"old"}, "the file is not touched")
    put("a.npy", "old")
    os.link("a.npy", "b.npy")
    refuse(("covariance", "d.npy", "-o", "a.npy", "--mean", "b.npy"), "this file is two outputs of the command", code=2)


def test_standard_streams():
    """Standard input and standard output are files, too, where they are redirected."""
    save("x.npy", np.arange(4.0))
    before = bytes_of(["x.npy"])
    for name, called in (("-", "standard input"), ("/dev/stdin", "/dev/stdin"), ("/proc/self/fd/0", "/proc/self/fd/0")):
        found = run_on(["scan", name, "-o", "x.npy", *CPU], read="x.npy")
        expect(found.returncode == 2 and found.stderr == f"davit scan: -o x.npy: the command reads this file, as {called}\n", found)
    found = run_on(["scan", "x.npy", "-o", "-", *CPU], write="x.npy")
    expect(found.returncode == 2 and found.stderr == "davit scan: -o -: the command reads this file, as x.npy\n", found)
    expect(bytes_of(["x.npy"]) == before, "the file is not touched")
    davit("scan", "-", "-o", "x.npy", *CPU, data=before["x.npy"])
    expect(np.array_equal(np.load("x.npy"), [0, 1, 3, 6]), "a pipe is another file")
    put("q.fa", ">a\nACGTACGT\n")
    found = run_on(["align", "q.fa", "q.fa", "--dna", *CPU], write="q.fa")
    expect(found.returncode == 2 and found.stderr.endswith("-o -: the command reads this file, as q.fa\n"), found)


def test_commands():
    """All commands, all their outputs, all that they read."""
    a, b = save("a.npy", np.eye(4) * 2), save("b.npy", np.ones((4, 4)))
    x, y, f = save("x.npy", np.ones(4)), save("y.npy", np.ones(4)), save("f.npy", np.ones(4, "u1"))
    k = save("k.npy", np.ones((3, 3)))
    p, q = put("p.csv", "0,0\n3,4\n0,1\n"), put("q.csv", "1,1\n2,2\n")
    put("q.fa", ">a\nACGTACGT\n")
    put("t.fa.gz", gzip.compress(b">b\nACGTACGA\n"))
    put("m.txt", "  A C G T\nA 1 0 0 0\nC 0 1 0 0\nG 0 0 1 0\nT 0 0 0 1\n")
    np.savez("z.npz", a=np.eye(4))
    samples = np.sin(np.arange(22050) * 0.3) * np.hanning(22050)
    s, e = sound("s.wav", samples), sound("e.wav", samples[8000:16000])
    cases = [(("gemm", a, b), "-o", a), (("gemm", a, b), "-o", b), (("gemm", a, a, "--c0", b), "-o", b), (("gemm", a, b), "--trace", b),
             (("gemv", a, x), "-o", x), (("axpy", x, y), "-o", y), (("dot", x, y), "--trace", x), (("reduce", a, "--axis", 0), "-o", a),
             (("scan", x, "--flags", f), "-o", f), (("stencil", a, "--coefficients", k), "-o", k), (("atax", a, x), "-o", x),
             (("covariance", a), "-o", a), (("covariance", a, "-o", "s.npy"), "--mean", a), (("solve", a, x), "-o", x),
             (("factor", a, "--kind", "lu", "-o", "l.npy"), "--pivots", a), (("factor", a, "--kind", "qr", "-o", "l.npy"), "--tau", a),
             (("align", "q.fa", "t.fa.gz", "--dna"), "-o", "q.fa"), (("align", "q.fa", "t.fa.gz", "--dna"), "-o", "t.fa.gz"),
             (("align", "q.fa", "t.fa.gz", "--dna", "--matrix", "m.txt"), "-o", "m.txt"), (("align", "q.fa", "q.fa"), "--trace", "q.fa"),
             (("detect", s, "--effect", e), "-o", s), (("detect", s, "--effect", e), "--labels", e),
             (("detect", s, "--effect", e), "--plot", s), (("detect", s, "--effect", e), "--trace", s),
             (("detect", s, "--effect", e), "--trace", e), (("closest", p), "--trace", p), (("cluster", p, "--eps", 1), "-o", p),
             (("neighbors", p, "--queries", q), "-o", q), (("neighbors", p, "-o", "n.npy"), "--distances", p),
             (("neighbors", p, "--radius", 1, "-o", "n.npy"), "--offsets", p)]
    for words, option, name in sampled(cases):
        refuse_input((*words, *CPU), option, name)
    refuse_input(("reduce", "z.npz:a", *CPU), "--trace", "z.npz", "z.npz:a")
    os.link(s, "s.npy")
    refuse_input(("features", s), "-o", "s.npy", s)


def test_devices():
    """With devices it is the same as on the CPU."""
    a = save("a.npy", np.eye(64))
    for devices in ("all", "host"):
        refuse_input(("gemm", a, a, "--devices", devices), "-o", a)
        refuse_input(("gemm", a, a, "-o", "c.npy", "--devices", devices), "--trace", a)


def test_trace():
    """A trace replaces its file as soon as it begins, so it begins in no input, not through a link to nothing, and not at '-'."""
    a = save("a.npy", np.eye(4))
    os.symlink("nowhere.json", "link.json")
    refuse(("gemm", a, a, "-o", "c.npy", "--trace", "link.json"), "link.json: cannot be written: it is a link to a file that does not exist",
           code=1)
    expect(not os.path.exists("nowhere.json"), "the file behind the link is not made")
    refuse(("gemm", a, a, "-o", "c.npy", "--trace", "-"), "--trace -: a trace goes to a file, not to standard output", code=2)
    davit("gemm", a, a, "-o", "c.npy", "--trace", "./-", *CPU)
    os.remove("./-")
    put("nowhere.json", "old")
    davit("gemm", a, a, "-o", "c.npy", "--trace", "link.json", *CPU)
    with open("nowhere.json", encoding="utf-8") as file:
        expect(file.read(1) == "[", "a link to a file is followed")


if __name__ == "__main__":
    sys.exit(main(globals()))

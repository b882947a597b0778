#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tool on several ranks: it writes what one process writes, and ends with one message when a rank fails.

usage: test_tool.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all

The environment variable DAVIT_MPIRUN names the launcher.
"""
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "cli"))
from support import DAVIT, LIMIT_S, SCALE, davit, expect, listing, main, noise, put, sampled, save

LAUNCH = [os.environ.get("DAVIT_MPIRUN", "mpirun"), "--oversubscribe", "--bind-to", "none", "--quiet"]
RANKS = (2, 3, 4, 6)


class Job:
    """A job of parts [(ranks, arguments)], or (ranks, arguments, words before the command)."""

    def __init__(self, parts, data=None):
        line = list(LAUNCH)
        for ranks, arguments, *prefix in parts:
            line += [":"] * (len(line) > len(LAUNCH)) + ["-n", str(ranks), *sum(prefix, []), DAVIT, *map(str, arguments)]
        process = subprocess.run(line, input=data, capture_output=True, timeout=LIMIT_S, check=False,
                                 stdin=subprocess.DEVNULL if data is None else None)
        self.line, self.code, self.out = shlex.join(line[len(LAUNCH):]), process.returncode, process.stdout
        self.err = process.stderr.decode(errors="replace")

    def __str__(self):
        return f"{self.line} -> {self.code}: {self.err.strip()[:300]}"


def run(ranks, *arguments, code=0, **options):
    job = Job([(ranks, arguments)], **options)
    expect(job.code == code, f"exit {code} expected: {job}")
    return job


turn = itertools.cycle(RANKS)
compared = itertools.cycle((True, False))


def expect_same(names, *arguments, ranks=(), check=False):
    """One process and several, as many as the last time or others, write the same bytes to standard output and to the files
    `names`; with `check` the tool's check holds, too. A short test leaves out every second comparison
    that does not name its `ranks`."""
    if SCALE < 1 and not ranks and not next(compared):
        return
    alone = davit(*arguments)
    right = {name: open(name, "rb").read() for name in names}
    for count in ranks or (next(turn),):
        for name in names:
            os.remove(name)
        job = run(count, *arguments)
        expect(job.out == alone.out, f"standard output of {job}: {job.out[:80]} for {alone.out[:80]}")
        expect(job.err == alone.err, f"standard error of {job} for {alone.err}")
        for name in names:
            expect(open(name, "rb").read() == right[name], f"the bytes of {name}: {job}")
    if check:
        checked = run(next(turn), *arguments, "--check")
        expect(", bound " in checked.err, f"a check: {checked}")


def refuse(parts, *words, code, **options):
    """The job ends with one line that has these words, nothing is printed, and no file is new."""
    before = listing()
    job = Job(parts, **options)
    lines = [line for line in job.err.splitlines() if line.startswith("davit")]
    expect(job.code == code and len(lines) == 1, f"exit {code} and one line expected: {job}")
    for word in words:
        expect(word in job.err, f"'{word}' expected: {job}")
    expect(job.out == b"" and listing() == before, f"nothing written: {job}")


# ---- the same bytes ----


def test_reduce():
    rng = np.random.default_rng(7)
    save("x.npy", noise(rng, 300007))
    save("f.npy", noise(rng, 70001, dtype="f4"))
    save("i.npy", rng.integers(-1000, 1000, 99991))
    save("few.npy", noise(rng, 3))
    save("fortran.npy", rng.integers(-9, 9, (301, 17, 23)).astype("f8"), order="F")
    save("bool.npy", rng.random(5001) < 0.3)
    save("nan.npy", np.r_[np.zeros(5000), np.nan, np.ones(3000), np.nan])
    put("raw.bin", rng.integers(-9, 9, 4001).astype(">i2").tobytes())
    ops = ("sum", "prod", "min", "max", "mean", "var", "norm", "argmin", "argmax")
    for (i, op), name in sampled(itertools.product(enumerate(ops), ("x.npy", "fortran.npy", ""))):
        name = name or ("few.npy" if i % 2 else "nan.npy")
        expect_same([], "reduce", name, "--op", op, check=name == "x.npy")
    for op in ("sum", "argmax"):
        expect_same([], "reduce", "i.npy", "--op", op, check=True)
        expect_same([], "reduce", "f.npy", "--op", op)
    expect_same([], "reduce", "bool.npy")
    expect_same([], "reduce", "raw.bin", "--dtype", ">i2", "--op", "argmax")
    expect_same(["y.npy"], "reduce", "fortran.npy", "--axis", "1", "-o", "y.npy")
    expect_same([], "reduce", "f.npy", "--devices", "cpu")


def test_scan():
    rng = np.random.default_rng(8)
    save("x.npy", noise(rng, 50021))
    save("i.npy", rng.integers(-1000, 1000, 100003))
    save("two.npy", np.arange(2, dtype="i4"))
    save("flags.npy", (rng.random(100003) < 0.0003).astype("u1"))
    save("none.npy", np.zeros(100003, "u1"))
    put("x.mtx", "%%MatrixMarket matrix array integer general\n5 1\n3\n1\n4\n1\n5\n")
    for options in sampled(([], ["--op", "max"], ["--exclusive"], ["--flags", "flags.npy"], ["--flags", "none.npy", "--exclusive"])):
        expect_same(["y.npy"], "scan", "i.npy", *options, "-o", "y.npy", check=True)
    for op in ("sum", "min"):
        expect_same(["y.npy"], "scan", "x.npy", "--op", op, "-o", "y.npy")
    expect_same(["y.npy"], "scan", "two.npy", "-o", "y.npy", ranks=(3,))
    expect_same(["y.npy"], "scan", "x.mtx", "-o", "y.npy")
    expect_same(["y.npy"], "scan", "x.npy", "--devices", "cpu", "-o", "y.npy")
    # Launchers leave a rank one processor, where one process has all.
    save("long.npy", noise(rng, 200003))
    davit("scan", "long.npy", "--threads", "2", "-o", "y.npy")
    with open("y.npy", "rb") as file:
        right = file.read()
    run(4, "scan", "long.npy", "--threads", "1", "-o", "again.npy")
    with open("again.npy", "rb") as file:
        expect(file.read() == right, "a rank's one thread gives the bytes of a process with two")


def test_align():
    rng = np.random.default_rng(9)
    letters, bases = np.array(list("ARNDCQEGHILKMFPSTWYV")), np.array(list("ACGT"))

    def sequences(path, count, of, longest):
        made = ["".join(rng.choice(of, rng.integers(5, longest))) for _ in range(count)]
        put(path, "".join(f">{path[0]}{i}\n{s}\n" for i, s in enumerate(made)))
        return made

    sequences("targets.fa", 101, letters, 300)
    sequences("queries.fa", 6, letters, 120)
    sequences("one.fa", 1, letters, 50)
    genes = sequences("genes.fa", 30, bases, 400)
    put("reads.fa", "".join(f">r{i}\n{genes[3 * i][:90]}\n" for i in range(8)))
    for options in sampled((["--cigar"], ["--top", "1", "--format", "paf"], ["--mode", "global", "--top", "3"],
                    ["--devices", "cpu", "--top", "500"], ["--evalue", "10", "--format", "blast6"])):
        expect_same(["a.txt"], "align", "queries.fa", "targets.fa", *options, "-o", "a.txt", check=True)
    expect_same(["a.txt"], "align", "queries.fa", "one.fa", "-o", "a.txt", ranks=(3,))  # ranks without targets
    expect_same(["a.sam"], "align", "reads.fa", "genes.fa", "--dna", "--strand", "both", "--format", "sam", "-o", "a.sam",
                check=True)


def test_detect():
    rng = np.random.default_rng(10)
    effects = [noise(rng, 25, 12, dtype="f4") for _ in range(3)]
    stream = noise(rng, 3000, 12, dtype="f4")
    for k, at in enumerate((100, 700, 1300, 2100, 2700)):
        stream[at:at + 25] += 3 * effects[k % 3]
    save("stream.npy", stream)
    for k, effect in enumerate(effects):
        save(f"e{k}.npy", effect)
    names = ["e0.npy", "e1.npy", "e2.npy"]
    outputs = ["-o", "rows.tsv", "--labels", "hits.txt", "--plot", "hits.svg"]
    for options in sampled(([], ["--fdr", "0.05"], ["--window", "60", "--hop", "30"],
                    ["--null", "window", "--window", "60", "--hop", "30", "--permutations", "3999"])):
        expect_same(["rows.tsv", "hits.txt", "hits.svg"], "detect", "stream.npy", "--effect", *names, *options, *outputs, check=True)


def test_gemm():
    """BLAS rounds by the shapes of its operands, so the bits may differ; the error has the bound of a product."""
    rng = np.random.default_rng(11)
    for m, n, k in sampled(((300, 200, 170), (1000, 3, 40), (3, 1000, 40), (129, 65, 1), (5, 5, 5))):
        a, b, c = noise(rng, m, k), noise(rng, k, n), noise(rng, m, n)
        save("a.npy", a)
        save("at.npy", a.T, order="F")
        save("b.npy", b, order="F")
        save("bt.npy", b.T)
        save("c.npy", c)
        bound = 1e-15 * (k + 9) * (abs(a) @ abs(b) + abs(c))
        for operands, right in sampled((
                (["a.npy", "b.npy"], a @ b), (["at.npy", "bt.npy", "--transa", "--transb"], a @ b),
                (["a.npy", "b.npy", "--c0", "c.npy", "--alpha", "2", "--beta", "-1"], 2 * a @ b - c))):
            job = run(next(turn), "gemm", *operands, "-o", "out.npy", "--check")
            expect(", bound " in job.err, f"a check: {job}")
            out = np.load("out.npy")
            expect(out.shape == (m, n) and (abs(out - right) <= 3 * bound).all(), f"the product: {job}")
    expect_same(["out.npy"], "gemm", "a.npy", "b.npy", "-o", "out.npy", "--devices", "cpu")


def test_exact_gemm():
    """Exact sums have the same bits on any number of ranks, also where the ranks' parts alone would need other moduli."""
    rng = np.random.default_rng(12)
    for dtype in ("f8", "f4", "c16", "c8"):
        a, b = noise(rng, 200, 90, dtype=dtype), noise(rng, 90, 150, dtype=dtype)
        save("plain.npy", a)
        a[:64] = np.rint(1000 * a[:64])  # nothing of them would be rounded
        save("a.npy", a, order="F")
        save("b.npy", b)
        save("c.npy", noise(rng, 200, 150, dtype=dtype))
        for ranks, operands in (((3,), ["plain.npy", "b.npy"]),
                                ((2, 6), ["a.npy", "b.npy", "--c0", "c.npy", "--alpha", "0.7", "--beta", "-1"])):
            expect_same(["out.npy"], "gemm", *operands, "--arithmetic", "exact", "-o", "out.npy", ranks=ranks)
    job = run(3, "gemm", "a.npy", "b.npy", "--arithmetic", "exact", "-o", "out.npy", "--check", "--json")
    found = json.loads(job.out)
    alone = json.loads(davit("gemm", "a.npy", "b.npy", "--arithmetic", "exact", "-o", "out.npy", "--json").out)
    expect(found["arithmetic"] == "exact" and found["moduli"] == alone["moduli"] and found["error"] <= found["bound"], str(job))
    few = save("few.npy", a[:5]), save("thin.npy", b[:, :5])  # rank 0 has them
    job, alone = (run(n, "gemm", *few, "--arithmetic", "exact", "-o", "out.npy", "--json") for n in (2, 1))
    found, alone = json.loads(job.out), json.loads(alone.out)
    expect(found["arithmetic"] == "exact" and found["moduli"] == alone["moduli"], f"few rows: {job.out}")
    a[150, 3] = np.inf
    save("a.npy", a)
    job = run(3, "gemm", "a.npy", "b.npy", "--arithmetic", "exact", "-o", "out.npy", "--json")
    expect("not finite" in json.loads(job.out)["why_native"], f"native on all ranks: {job}")


def test_json():
    save("x.npy", np.arange(1000.0))
    save("a.npy", np.eye(70))
    for arguments, ranks in ((["reduce", "x.npy"], 3), (["scan", "x.npy", "-o", "y.npy"], 3), (["gemm", "a.npy", "a.npy"], 3),
                             (["dot", "x.npy", "x.npy"], None)):
        job = run(3, *arguments, "--json")
        found = json.loads(job.out)
        expect(found.get("ranks") == ranks, f"ranks of {job}: {found.get('ranks')}")
        expect(found.get("n", 70) in (1000, 70), f"the length of all: {job}")


# ---- one process of all ----


def test_rank_0_alone():
    """Commands that do not divide print once."""
    save("x.npy", np.arange(1000.0))
    for arguments in (["dot", "x.npy", "x.npy"], ["help"], ["reduce", "--help"], ["--completion", "bash"]):
        expect(run(3, *arguments).out == davit(*arguments).out, f"once: {arguments}")
    os.environ["DAVIT_RANKS"] = "apart"
    expect(run(3, "dot", "x.npy", "x.npy").out == 3 * davit("dot", "x.npy", "x.npy").out, "each for itself")
    del os.environ["DAVIT_RANKS"]


def test_failures():
    save("x.npy", np.arange(1000.0))
    put("bad.npy", open("x.npy", "rb").read()[:700])
    refuse([(3, ["reduce", "none.npy"])], "davit reduce: none.npy", code=3)
    refuse([(1, ["reduce", "x.npy"]), (1, ["reduce", "bad.npy"]), (1, ["reduce", "x.npy"])], "rank 1: bad.npy: offset", code=3)
    refuse([(3, ["reduce", "x.npy", "--op", "nothing"])], "--op takes", code=2)
    refuse([(3, ["nothing"])], "unknown command", code=2)
    refuse([(2, ["scan", "x.npy", "-o", "/nowhere/y.npy"])], "/nowhere/y.npy: cannot be written", code=1)
    refuse([(2, ["scan", "x.npy", "-o", "/dev/full"])], "/dev/full: cannot be written: No space left", code=1)
    refuse([(2, ["dot", "x.npy", "none.npy"])], "davit dot: none.npy", code=3)
    refuse([(2, ["gemm", "x.npy", "x.npy"])], "expected a matrix, found a vector of 1000", code=3)
    refuse([(2, ["reduce", "-"])], "standard input", "2 processes", code=2, data=open("x.npy", "rb").read())
    refuse([(1, ["scan", "x.npy", "--op", "min"]), (1, ["scan", "x.npy", "--op", "max"])], "rank 1: its --op differs from rank 0's",
           code=2)
    save("more.npy", np.arange(1001.0))
    save("whole.npy", np.arange(1000))
    for other in ("more.npy", "whole.npy"):  # which ranks of several machines may see under one name
        for command in (["reduce"], ["scan", "--op", "max"]):
            refuse([(1, [*command, "x.npy"]), (2, [*command, other])], "rank 1: its files differ from rank 0's", code=3)
    save("a.npy", np.ones((40, 30)))
    save("b.npy", np.ones((30, 20)))
    save("wide.npy", np.ones((30, 21)))
    put("q.fa", ">q\nARNDARND\n")
    put("t.fa", ">t\nARNDARNDARND\n>u\nARND\n")
    put("u.fa", ">t\nARNDARNDARN\n>u\nDARND\n")
    refuse([(1, ["align", "q.fa", "t.fa", "--protein"]), (1, ["align", "q.fa", "u.fa", "--protein"])],
           "rank 1: its files differ from rank 0's", code=3)
    refuse([(2, ["gemm", "a.npy", "b.npy"]), (1, ["gemm", "a.npy", "wide.npy"])], "rank 2: its files differ from rank 0's", code=3)
    refuse([(2, ["gemm", "a.npy", "a.npy"])], "expected 30 rows", "found 40 x 30", code=3)
    save("empty.npy", np.zeros(0))
    refuse([(3, ["reduce", "empty.npy", "--op", "mean"])], "at least one element", code=3)


def test_outputs():
    """No output is a file that the ranks read: rank 0 has the outputs, and all end."""
    x, a = save("x.npy", np.arange(1000.0)), save("a.npy", np.ones((70, 70)))
    os.link(a, "hard.npy")
    put("q.fa", ">a\nACGTACGT\n")
    before = {name: open(name, "rb").read() for name in listing()}
    for ranks, (command, option, name) in zip(itertools.cycle(RANKS), (
            (["scan", x], "-o", "./x.npy"), (["gemm", a, a], "-o", "hard.npy"), (["gemm", a, a, "-o", "c.npy"], "--trace", "hard.npy"),
            (["covariance", a, "-o", "s.npy"], "--mean", "hard.npy"), (["align", "q.fa", "q.fa", "--dna"], "-o", "q.fa"))):
        refuse([(ranks, [*command, option, name])], f"{option} {name}: the command reads this file", code=2)
    refuse([(3, ["gemm", a, a, "-o", "c.npy", "--trace", "-"])], "--trace -: a trace goes to a file", code=2)
    expect({name: open(name, "rb").read() for name in listing()} == before, "the files stay")


def test_failures_of_one_rank():
    """What one rank alone does not get, or is told, does not leave the others waiting; test_tool_ranks.c has every step."""
    save("x.npy", np.arange(1000.0))
    save("a.npy", np.ones((70, 70)))
    for command in (["reduce", "x.npy"], ["gemm", "a.npy", "a.npy", "-o", "c.npy"]):
        refuse([(1, command), (1, command, ["env", "DAVIT_BACKEND=nope"]), (1, command)], "rank 1: DAVIT_BACKEND", code=2)
        refuse([(1, command), (1, [*command, "--repeat", "3"])], "rank 1: its --repeat differs from rank 0's", code=2)
        refuse([(2, command), (1, [*command, "--check"])], "rank 2: its --check differs from rank 0's", code=2)
        refuse([(2, [*command, "--trace", "/nowhere/t"])], "/nowhere/t", code=1)
        refuse([(1, command), (1, ["nothing"])], "rank 1: its command differs from rank 0's", code=2)
        refuse([(1, command), (1, ["help"])], "rank 1: its command differs from rank 0's", code=2)
    refuse([(1, command), (1, [*command, "--alpha", "2"])], "rank 1: its --alpha differs from rank 0's", code=2)
    refuse([(1, command), (1, command[:-2])], "rank 1: its -o differs from rank 0's", code=2)


def pids_of(path):
    """The tool's processes whose command line has the path."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if words[0].decode() == DAVIT and path.encode() in words:
            found.append(int(entry))
    return found


def test_killed_rank():
    """A rank that is killed while the others wait for it takes them with it; the launcher says which it was, in one line.
    LAUNCH ends in --quiet, which would suppress that line."""
    folder = os.getcwd()
    save("x.npy", np.arange(1000))
    os.mkfifo("never.npy")
    output = ["-o", f"{folder}/y.npy"]
    line = [*LAUNCH[:-1], "-n", "2", DAVIT, "scan", "x.npy", *output, ":", "-n", "1", DAVIT, "scan", f"{folder}/never.npy", *output]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
        end = time.monotonic() + 60
        while not (pids_of(f"{folder}/never.npy") and len(pids_of(f"{folder}/y.npy")) == 3) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1)  # until the others wait
        for pid in pids_of(f"{folder}/never.npy"):
            os.kill(pid, signal.SIGKILL)
        try:
            job.wait(30)
        except subprocess.TimeoutExpired:
            job.kill()
        error = job.stderr.read().decode(errors="replace")
    expect(job.returncode not in (0, -signal.SIGKILL), f"the job ends: {job.returncode}: {error}")
    named = [row for row in error.splitlines() if re.search(r"rank \d|davit", row)]
    expect(len(named) == 1 and re.search("process rank 2 .* exited on signal 9", named[0]), f"one line that names the rank: {error}")
    expect(not pids_of(f"{folder}/y.npy") and not os.path.exists("y.npy"), "no process and no file is left")


if __name__ == "__main__":
    for setting in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        os.environ[setting] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(globals()))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit bench with programs made for them (docs/cli.md is the contract).

usage: test_cli_bench.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import collections
import itertools
import json
import os
import shutil
import subprocess
import sys
import wave

import numpy as np

sys.dont_write_bytecode = True
from support import DAVIT, LIMIT_S, davit, expect, expect_keys, main, put, refuse, run_json, save

# Tells its name and arguments on both streams, as benchmarks tell what they measured.
PROGRAM = """#!/bin/sh
echo "$(basename "$0") measures: $*" >&2
printf '{\\n  "benchmark": "%s", "arguments": "%s"\\n}\\n' "$(basename "$0")" "$*"
"""


def program(path, text=PROGRAM):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    put(path, text)
    os.chmod(path, 0o755)


def programs():
    os.environ["DAVIT_BENCH_DIR"] = os.path.abspath("some")
    for name in ("queue", "reduction_ladder", "a_b_c", "x_study"):
        program(f"some/bench_{name}")
    put("some/bench_notes.txt", "not a program")
    put("some/davit", "nor is this")


def names_of(report):
    return [document["benchmark"] for document in report["benchmarks"]]


def test_names():
    programs()
    for names, wanted in (([], ["a_b_c", "queue"]), (["queue"], ["queue"]),
                          (["reduction-ladder"], ["reduction_ladder"]), (["x-study", "queue"], ["x_study", "queue"]), (["a_b-c", "queue"], ["a_b_c", "queue"])):
        report = run_json("bench", *names)
        expect_keys(report, "benchmarks")
        expect(report["command"] == "bench" and report["devices"], "command and devices")
        expect(names_of(report) == [f"bench_{name}" for name in wanted], f"{names}: {names_of(report)}")
        result = davit("bench", *names)
        lines = [f"bench_{name} measures: " for name in wanted]
        found = [line for line in result.out.decode().splitlines() if "measures" in line]
        expect(found == lines and not result.err, f"text for humans on standard output: {result.out}")
        expect("{" not in result.out.decode(), "no JSON without --json")
    result = davit("bench", "--list")
    expect(result.out == b"a-b-c\nqueue\nreduction-ladder\nx-study\n" and not result.err, f"--list alone: {result}")
    refuse(("bench", "--list", "--json"), "--list", "--json", code=2)


def test_usage():
    """The programs beside the tool, where they were built: nothing is measured for --help and for what is no option."""
    folder = os.path.dirname(DAVIT)
    for name in sorted(name for name in os.listdir(folder) if name.startswith("bench_")):
        def run(*arguments):
            return subprocess.run([os.path.join(folder, name), *arguments], capture_output=True, timeout=LIMIT_S, text=True)

        usage = run("--help")
        expect(usage.returncode == 0 and usage.stdout.startswith(f"{name} [--") and not usage.stderr, f"{name} --help: {usage}")
        for arguments, word in ((["--sise", "5"], "--sise"), (["5"], "5"), (["--repeats", "1", "2"], "2"), (["-h"], "-h"),
                                (["--json", "--repeat", "1"], "--repeat")):
            wrong = run(*arguments)
            expect(wrong.returncode == 2 and not wrong.stdout and wrong.stderr == f"{word} is no option\n{usage.stdout}",
                   f"{name} {arguments}: {wrong}")


def test_tables():
    """Programs of the study refuse a table that they do not have."""
    for name in ("align_study", "closest_study", "dense_study", "queue_study", "reduction_ladder"):
        program = os.path.join(os.path.dirname(DAVIT), f"bench_{name}")
        for tables in ("nonsense", "blocks,nonsense", "block"):
            if os.path.exists(program):
                wrong = subprocess.run([program, "--tables", tables], capture_output=True, timeout=LIMIT_S, text=True)
                expect(wrong.returncode == 2 and not wrong.stdout and "there is no table" in wrong.stderr, f"{tables}: {wrong}")


def test_study_names():
    """So does the study of alignment with its programs and its random numbers."""
    program = os.path.join(os.path.dirname(DAVIT), "bench_align_study")
    for option, name in (("--program", "V9"), ("--program", "V1,,V2"), ("--program", "V1,V6"), ("--random", "none")):
        if os.path.exists(program):
            wrong = subprocess.run([program, option, name], capture_output=True, timeout=LIMIT_S, text=True)
            expect(wrong.returncode == 2 and not wrong.stdout and wrong.stderr.startswith("there "), f"{option} {name}: {wrong}")


def align_files(movie, patterns, *options, code=0):
    """The rows of the study of alignment for files of one's own, in windows of 6 frames on the CPU."""
    program = os.path.join(os.path.dirname(DAVIT), "bench_align_study")
    run = subprocess.run([program, "--json", "--device", "-1", "--window", "6", "--permutations", "20", "--repeats", "1",
                          "--cpu-repeats", "1", "--movie", movie, "--patterns", patterns, *options],
                         capture_output=True, timeout=LIMIT_S, text=True)
    expect(run.returncode == code, f"{movie} {patterns} {options}: {run}")
    if code:
        expect(not run.stdout and run.stderr.count("\n") == 1, f"one line on standard error: {run}")
    return run.stderr if code else json.loads(run.stdout)["rows"]


def scores_of(rows):
    return {(row["window"], row["effect"]): row["score"] for row in rows if row["table"] == "scores"}


def test_study_files():
    """The study of alignment on files of one's own, where it is built. Frames with one feature each of 20 are as similar as 100
    if they are the same, 0 if not: an effect that is in the window has 100 a frame, less 100 and the penalty where it lacks one.
    Of a sound the frames that are in both are equal, and above a threshold of 99.9 they are all that counts."""
    if not os.path.exists(os.path.join(os.path.dirname(DAVIT), "bench_align_study")):
        return
    letters = np.eye(20, dtype="f4")
    save("movie.npy", letters[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 6]])
    save("lacks.npy", letters[[0, 1, 2, 4, 5]])
    save("whole.npy", letters[[6, 7, 8, 9, 10, 6]])
    for options, lacking in (((), 367), (("--penalty", "0"), 400), (("--penalty", "50"), 350)):
        found = scores_of(align_files("movie.npy", "lacks.npy,whole.npy", "--tables", "scores", *options))
        expect(found == {(0, 0): lacking, (0, 1): 0, (1, 0): 0, (1, 1): 600}, f"{options}: {found}")
    rows = align_files("movie.npy", "lacks.npy,whole.npy", "--program", "V2,V5", "--tables", "programs")
    expect([row["program"] for row in rows] == ["S", "CPU", "CPU", "V2", "V5"], f"chosen programs: {rows}")
    samples = (20000 * np.random.default_rng(1).uniform(-1, 1, 24 * 1024)).astype("<i2")
    for name, part in (("movie.wav", samples), ("effect.wav", samples[12 * 1024:18 * 1024])):
        with wave.open(name, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(22050)
            file.writeframes(part.tobytes())
    rows = align_files("movie.wav", "effect.wav")
    found = scores_of(rows)
    expect({row["table"] for row in rows} == {"programs", "effects", "scores", "region"} and len(found) == 4, f"all tables: {rows}")
    expect(max(found, key=found.get) == (2, 0) and 0 < min(found.values()), f"the effect's window: {found}")
    found = scores_of(align_files("movie.wav", "effect.wav", "--tables", "scores", "--threshold", "99.9"))
    expect(found.pop((2, 0)) >= 400 and set(found.values()) == {0}, f"equal frames alone: {found}")
    expect("movie's have 62" in align_files("movie.wav", "lacks.npy", code=3), "frames of another width")
    expect("--patterns" in align_files("movie.npy", "", code=2), "no effects")
    expect("none.wav" in align_files("none.wav", "lacks.npy", code=3), "no such file")


def test_capability_names():
    """The programs beside the tool, where they were built: the closest pair is called as its command is."""
    os.environ.pop("DAVIT_BENCH_DIR", None)
    if os.path.exists(os.path.join(os.path.dirname(DAVIT), "bench_scan")):
        names = davit("bench", "--list").out.decode().split()
        expect("closest" in names and "scan" in names, f"{names}")


def test_threads():
    """--threads is in the environment of the programs, for davit and for peers that use OpenMP."""
    programs()
    program("some/bench_queue", """#!/bin/sh
printf '{"benchmark": "queue", "threads": "%s %s"}' "$DAVIT_THREADS" "$OMP_NUM_THREADS"
""")
    os.environ.update(DAVIT_THREADS="7", OMP_NUM_THREADS="6")
    for options, wanted in (([], "7 6"), (["--threads", 3], "3 3")):
        document, = run_json("bench", "queue", *options)["benchmarks"]
        expect(document["threads"] == wanted, f"{options}: {document}")
    del os.environ["DAVIT_THREADS"], os.environ["OMP_NUM_THREADS"]
    put("old.json", '{"benchmark": "queue", "rows": []}')
    refuse(("bench", "--from", "old.json", "--json", "--threads", 2), "--threads and --from", code=2)


def test_options():
    programs()
    for options, wanted in ((["--json"], "--json"), (["--json", "--peers"], "--json --peers")):
        result = davit("bench", "queue", *options)
        document = json.loads(result.out)["benchmarks"][0]
        expect(document["arguments"] == wanted, f"{options} are passed on: {document}")
        expect("bench_queue measures: " in result.err, "progress on standard error with --json")
    expect("measures: --peers" in davit("bench", "--peers", "queue").out.decode(), "--peers is passed on")
    for options in (["--devices", "cpu"], ["--check"], ["--repeat", "2"], ["-o", "x"]):
        davit("bench", *options, code=2)


def test_exact():
    """Exact products beside native ones: within their bounds, and with as many moduli as were asked for."""
    program = os.path.join(os.path.dirname(DAVIT), "bench_exact")
    if not os.path.exists(program):
        return
    run = subprocess.run([program, "--sizes", "90,33", "--types", "d,s,z,c", "--place", "pageable,pinned", "--moduli", "0,17",
                          "--repeats", "1", "--phi", "2", "--energy", "1e-6"], capture_output=True, timeout=LIMIT_S, text=True)
    rows = json.loads(run.stdout)["rows"]
    expect(run.returncode == 0 and len(rows) == 4 * 2 * 2 * 3, str(run))
    for row, kind in zip(rows, itertools.cycle(("native", "exact", "exact"))):
        expect(row["arithmetic"] == kind and row["phi"] == 2 and (row["moduli"] > 0) == (kind == "exact"), str(row))
        expect(0 < row["error"] <= row["bound"] == (min(row["k"], 64) if kind == "exact" else row["k"]), str(row))
    expect(all(row["moduli"] >= 17 for row in rows[2::3]) and any(row["moduli"] < 17 for row in rows[1::3]), "--moduli")


def test_queue_study():
    """The experiments on queues, where they are built: a row for each back end, the first one twice; a failing one costs its
    rows only."""
    program = os.path.join(os.path.dirname(DAVIT), "bench_queue_study")
    if not os.path.exists(program):
        return
    run = subprocess.run([program, "--dgemm", "100", "--dgemv", "130", "--daxpy", "1000", "--subqueues", "1,2", "--warmups", "1",
                          "--repeats", "3", "--backends", "openmp,nonsense,threads"], capture_output=True, timeout=LIMIT_S, text=True)
    rows = json.loads(run.stdout)["rows"]
    expect(run.returncode == 0 and [row["table"] for row in rows] == 8 * ["dgemm"] + 8 * ["dgemv"] + 8 * ["daxpy"], str(run))
    expect([row["backend"] for row in rows[:4]] == ["openmp", "nonsense", "threads", "openmp again"], f"back ends: {rows[:4]}")
    for row in rows:
        if row["backend"] == "nonsense":
            expect("outcome" in row and "gflops" not in row, f"no such back end: {row}")
        else:
            expect(row["calls"] == 3 and row["warmups"] == 1 and row["error"] <= 1e-9, f"calls: {row}")
            expect(row["min_ms"] <= row["mean_ms"] <= row["max_ms"] and row["gflops"] > 0, f"times: {row}")
    run = subprocess.run([program, "--tables", "daxpy", "--daxpy", "1000", "--subqueues", "1", "--backends", "openmp,threads",
                          "--cell-seconds", "0,1e-9"], capture_output=True, timeout=LIMIT_S, text=True)
    calls = [(row["warmups"], row["calls"]) for row in json.loads(run.stdout)["rows"]]
    expect(calls == [(10, 100), (2, 2), (10, 100)], f"limits by back end: {calls}")


def study_run(name, *options):
    """The rows of a program of the study on the CPU, by table, and what it tells people; None where it is not built."""
    program = os.path.join(os.path.dirname(DAVIT), f"bench_{name}")
    if not os.path.exists(program):
        return None, ""
    run = subprocess.run([program, "--json", "--device", "-1", *map(str, options)], capture_output=True, timeout=LIMIT_S, text=True)
    expect(run.returncode == 0, f"{name}: {run}")
    tables = {}
    for row in json.loads(run.stdout)["rows"]:
        tables.setdefault(row["table"], []).append(row)
    heads = {line.partition(":")[0] for line in run.stderr.splitlines() if line[:1].isalpha()}
    expect(tables.keys() <= heads, f"{name}: tables {tables.keys()}, heads {heads}")
    for row in tables.get("region", []):
        expect(row["us"] >= row["best_us"] >= 0 and row["in_a_row_us"] >= 0, f"an empty region: {row}")
    return tables, run.stderr


def study_rows(name, *options):
    return study_run(name, *options)[0]


def test_dense_study():
    """All programs of the three exercises; parts are those of the kernels' time in their row."""
    tables = study_rows("dense_study", "--convolution", 100, "--atax", 90, "--covariance", "20,33", "--covariance-most", 20,
                        "--sides", "8,16", "--blocks", "32,64", "--repeats", 4, "--peak", 0.001)
    if tables is None:
        return
    expect(list(tables) == ["convolution", "atax", "covariance", "blocks", "region"], f"tables: {tables.keys()}")
    programs = ["handout", "one core", "all cores", "kernels", "kernels with copies", "symmetric kernels", "library"]
    parts = {"convolution": ["kernel_ms"], "atax": ["rows_ms", "columns_ms"], "covariance": ["means_ms", "centre_ms", "product_ms"]}
    for name, keys in parts.items():
        rows = tables[name]
        found = [row["program"] for row in rows if row["n"] == rows[0]["n"]]
        expect(found == [p for p in programs if name == "covariance" or p != "symmetric kernels"], f"{name}: {found}")
        for row in rows + tables["blocks"]:
            if row["exercise"] == name and "kernels" in row["program"].split() and "copies" not in row["program"]:
                whole = sum(row[key] for key in keys)
                expect(abs(whole - row["ms"]) <= 1e-6 * whole, f"{name}: the parts of {row}")
            expect(row["of_peak"] > 0 and row["of_copy"] > 0 and row["gflops"] > 0, f"rates: {row}")
    measured = {(row["n"], row["program"]): row for row in tables["covariance"]}
    expect(measured[20, "handout"]["handout_measured"] == 1 and measured[20, "handout"]["repeats"] == 4, "the handout, measured")
    expect(measured[33, "handout"]["handout_measured"] == 0 and measured[33, "handout"]["repeats"] == 0, "the handout, calculated")
    expect(len(tables["blocks"]) == 6, f"sizes of teams: {tables['blocks']}")


def test_closest_study():
    """All tables; the parts of a row are of one run; options that choose sizes."""
    sizes = {"--cpu": 300, "--blocks": "128,256,512", "--brute": "300,600", "--threads": "64,128", "--divide": 1024, "--base": "64,128",
             "--divide-cpu": "1024,2000", "--cutoff": "3,8", "--kernels": 1024, "--limit": "1000,1024", "--sorts": "512,1024",
             "--combinations": 1024, "--distributions": 1024, "--crossover": "256,512", "--elements": 4096, "--repeats": 3}
    tables, text = study_run("closest_study", *(word for pair in sizes.items() for word in pair))
    if tables is None:
        return
    unified = [] if "no unified memory" in text else ["unified"] * 2  # an OpenMP runtime may have none
    count = {name: len(rows) for name, rows in tables.items()}
    expect(count == {"blocked": 3, "brute": 4, "brute-average": 3, "balance": 2, "divide-cpu": 4, "divide": 2, "divide-average": 3,
                     "kernels": 5, "limit": 8, "sorts": 4, "combinations": 12, "distributions": 7, "crossover": 2, "crossover-from": 1, "layouts": 5,
                     "memory": 10 + len(unified), "streams": 2, "region": 1}, f"rows: {count}")
    expect([row["n"] for row in tables["sorts"]] == [512, 512, 1024, 1024], "--sorts")
    expect([row["sort_launches"] for row in tables["sorts"]] == [3, 3, 4, 4], "a launch by x and one for each step")
    sets = [(row["distribution"], row["v"]) for row in tables["distributions"]]
    expect(sets == [("uniform", None), ("signed", None)] + [("normal", v) for v in range(1, 6)], f"sets of points: {sets}")
    for row in tables["distributions"]:
        expect(row["p4_comparisons"] > 0 and row["p5_tests"] > 0 and 0 < row["p4_search_ms"] < row["p4_ms"], f"work: {row}")
    expect([row["n"] for row in tables["limit"]] == 4 * [1000] + 4 * [1024], "--limit")
    expect({row["n"] for row in tables["kernels"]} == {1024}, "--kernels")
    for name, rows in tables.items():
        for row in rows:
            expect(row.get("repeats", 3 if "average" in name or "from" in name else 0) in (3, 64), f"{name}, repeats: {row}")
    for row in tables["sorts"] + tables["combinations"]:
        expect(0 < row["sort_ms"] < row["ms"], f"sorting is a part of the whole: {row}")
    for row in tables["brute"]:
        expect(0 < row["kernels_ms"] + row["transfer_ms"] <= row["ms"] * (1 + 1e-6), f"parts of P3: {row}")
    for row in tables["divide-cpu"]:
        share = row["search_ms"] / row["ms"] + row["sort_percent"] / 100
        expect(abs(share - 1) < 1e-6, f"parts of P4: {row}")
    kinds = [(row["memory"], row["work"]) for row in tables["memory"]]
    expect([kind for kind, _ in kinds] == ["pageable"] * 2 + ["pinned"] * 2 + ["mapped"] + ["device"] * 3 + unified +
           ["global", "shared"] and len(set(kinds)) == len(kinds), f"kinds of memory: {kinds}")
    expect(all(row["ms"] > 0 and row["gbs"] > 0 for row in tables["memory"]), "rates of memory")
    chosen = study_rows("closest_study", "--tables", "blocked", "--cpu", "20000,40000,80000", "--blocks", "128,256", "--repeats", 3,
                        "--cell-seconds", 1e-6, "--together", 2, "--patience", 1e-3)["blocked"]
    expect([row["n"] for row in chosen] == 3 * [20000] and {row["repeats"] for row in chosen} == {1}, f"--patience: {chosen}")
    chosen = study_rows("closest_study", "--tables", "blocked", "--cpu", "1000,4000", "--blocks", "128,256", "--repeats", 3,
                        "--cell-seconds", 1e-6, "--together", 2)["blocked"]
    expect([row["together"] for row in chosen] == [1, 1, 1, 2, 2, 2], f"--together: {chosen}")
    chosen = study_rows("closest_study", "--tables", "limit,sorts,crossover", "--limit", "512,1024", "--sorts", 512, "--crossover", 256,
                        "--repeats", 1, "--patience", 1e-9)
    expect([row["n"] for row in chosen["limit"]] == 4 * [512] and list(chosen) == ["limit", "crossover-from"], f"--patience: {chosen}")
    one_core_study()


def one_core_study():
    """P1's time is that of a run where some table measured the size, otherwise that of the largest one by n^2."""
    rows = study_rows("closest_study", "--tables", "blocked,brute", "--cpu", "2000,1000", "--blocks", 128, "--cpu-most", 300,
                      "--brute", "300,1000,2000,4000", "--threads", 64, "--repeats", 1)["brute"]
    expect([row["one_core_measured"] for row in rows] == [1, 1, 1, 0], f"--cpu-most: {rows}")
    expect(abs(rows[3]["one_core_ms"] / rows[2]["one_core_ms"] - 4) < 1e-6, f"P1 by n^2: {rows}")


def test_align_study():
    """Both tables: every program, and every number of effects."""
    tables = study_rows("align_study", "--windows", 2, "--window", 40, "--pattern", 20, "--permutations", 5, "--effects", "1,2",
                        "--repeats", 3, "--cpu-repeats", 2)
    if tables is None:
        return
    expect(list(tables) == ["programs", "effects", "region"], f"tables: {tables.keys()}")
    programs = [row["program"] for row in tables["programs"]]
    expect(programs == ["S", "CPU", "CPU", "V1", "V2", "V3", "V4a", "V4b", "V5"], f"programs: {programs}")
    expect([(row["program"], row["effects"]) for row in tables["effects"]] == [("S", 1), ("V2", 1), ("S", 2), ("V2", 2)], "effects")
    for row in tables["programs"] + tables["effects"]:
        parts = row["prepare_ms"] + row["transfer_ms"] + row["kernel_ms"]
        expect(abs(parts - row["ms"]) <= 1e-6 * row["ms"], f"the parts of a run: {row}")
        expect(row["repeats"] == (2 if row["program"] in ("S", "CPU") else 3) and row["gcups"] > 0, f"repeats: {row}")


def test_several_gpus():
    """The commands for machines with several GPUs are commands of programs that were built; a run leaves its result."""
    folder = os.path.dirname(DAVIT)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/several_gpus.sh")
    listed = subprocess.run([script, "--list"], capture_output=True, timeout=LIMIT_S, text=True, check=True).stdout.splitlines()
    names = [line.split()[0] for line in listed]
    expect(len(names) == len(set(names)) > 10, f"names: {names}")
    for name, program, *options in map(str.split, listed):
        program = os.path.join(folder, program)
        if os.path.exists(program):
            usage = subprocess.run([program, *options, "--help"], capture_output=True, timeout=LIMIT_S)
            expect(usage.returncode == 0 and not usage.stderr, f"{name}: {usage}")
    for arguments in ([], ["x", "y"], [folder, "results", "here", "nonsense"]):
        wrong = subprocess.run([script, *arguments], capture_output=True, timeout=LIMIT_S)
        expect(wrong.returncode == 2 and wrong.stderr and not wrong.stdout, f"{arguments}: {wrong}")
    os.mkdir("programs")
    put("programs/bench_gemm", b"#!/bin/sh\necho \"$@\"\n")
    os.chmod("programs/bench_gemm", 0o755)
    subprocess.run([script, "programs", "results", "here", "gemm-thin"], capture_output=True, timeout=LIMIT_S, check=True)
    files = os.listdir("results")
    expect(len(files) == 1 and files[0].endswith("-gemm-thin-here.json"), f"results: {files}")
    expect(open(os.path.join("results", files[0])).read().startswith("--thin 1 "), "the command's options")


def test_timeline():
    """A made-up trace of four calls on two GPUs. Of the median call the first GPU has, in microseconds, 100 of loads, 50 of both, 30
    of products, 20 of nothing, 40 of copies in between, 60 of products, 80 of stores; the other loads for 50 and computes for the
    100 that follow. The host has the rest of 0.5 ms. Around the calls are small copies, a large one before the first, and one after
    a pause."""
    def command(name, begin, duration, gpu=3, **args):
        return {"ph": "X", "name": name, "cat": "stream", "pid": gpu, "tid": 1, "ts": begin, "dur": duration, "args": args}

    def call(at, longer=0):
        return [command("copy", at, 150, bytes=6 * 10**6, route="h2d"), command("gemm", at + 100, 80), command("copy", at + 200, 40),
                command("copy", at + 130, 20, bytes=10**6, route="d2h"), command("kernel", at + 240, 60, kernel="sm90_gemm"),
                command("copy", at + 300, 80 + longer, bytes=8 * 10**6, route="d2h"),
                command("copy", at, 50, 4, bytes=5 * 10**6, route="h2d"), command("gemm", at + 50, 100, 4)]

    def parts(*options):
        run = subprocess.run([sys.executable, script, *options, "trace.json", "gemm.json"], capture_output=True, timeout=LIMIT_S, text=True)
        tables = collections.defaultdict(list)
        for row in json.loads(run.stdout)["rows"] if run.returncode == 0 else ():
            tables[row["table"]].append(row)
        return run, tables, [round(row["ms"], 6) for row in tables["parts"]]

    events = [{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "a GPU"}},
              command("copy", 1090, 5, bytes=64), command("copy", 1060, 5, bytes=10**6),
              *call(5000), *call(1100), *call(3000, 70), *call(7000, -50),
              command("copy", 9500, 9, bytes=10**6),
              {"ph": "X", "name": "cuMemAlloc", "cat": "call", "pid": 9, "tid": 8, "ts": 4990, "dur": 40},
              {"ph": "X", "name": "cuMemAlloc", "cat": "call", "pid": 9, "tid": 7, "ts": 5010, "dur": 40},
              {"ph": "X", "name": "cuMemFree", "cat": "call", "pid": 9, "tid": 7, "ts": 1070, "dur": 22}]
    row = {"who": "davit", "type": "f64", "place": "pinned", "m": 100, "n": 100, "k": 100, "devices": 2, "tile": 50, "median_ms": 0.5,
           "first_ms": 0.4}
    put("trace.json", json.dumps(events))
    put("gemm.json", json.dumps({"benchmark": "gemm", "command": "bench_gemm --repeats 3", "rows": [row]}))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/timeline.py")
    run, tables, found = parts()
    expect(found == [0.075, 0.025, 0.095, 0.02, 0.04, 0.125, 0.12, 0.5], f"parts: {found} {run.stderr}")
    expect(abs(tables["parts"][-1]["product_tflops"] - 2e-3 / 0.24) < 1e-3, "the rate while products run")
    expect([(one["gpu"], one["h2d_gb"], one["h2d_gbs"], one.get("both_ways_ms"), one["products_ms"]) for one in tables["gpus"]]
           == [(3, 0.006, 40, 0.02, 0.14), (4, 0.005, 100, None, 0.1)], f"copies: {tables['gpus']}")
    expect([(one["function"], one["calls"], one["ms"]) for one in tables["driver"]] == [("cuMemAlloc", 2, 0.06)], f"driver: {tables['driver']}")
    run, tables, found = parts("--first")
    expect(found == [0.075, 0.025, 0.095, 0.02, 0.04, 0.125, 0.02, 0.4], f"parts of the first call: {found} {run.stderr}")
    expect([one["function"] for one in tables["driver"]] == ["cuMemFree"], f"driver: {tables['driver']}")
    os.makedirs("traced")
    put("traced/bench_gemm", b"#!/bin/sh\ncp trace.json $DAVIT_CUPTI && [ -n \"$CUDA_INJECTION64_PATH\" ] && cat gemm.json\n")
    os.chmod("traced/bench_gemm", 0o755)
    subprocess.run([os.path.join(os.path.dirname(script), "several_gpus.sh"), "traced", "taken", "here", "gemm-timeline-first"],
                   capture_output=True, timeout=LIMIT_S, check=True)
    files = os.listdir("taken")
    expect(len(files) == 1 and open(os.path.join("taken", files[0])).read() == run.stdout, f"the script's: {files}")
    for repeats, sentence in ((7, "12 products are not 8 equal calls"), (2, "the median of 2 calls is none of them")):
        put("gemm.json", json.dumps({"command": f"bench_gemm --repeats {repeats}", "rows": [row]}))
        wrong = parts()[0]
        expect(wrong.returncode == 1 and sentence in wrong.stderr, f"another trace: {wrong}")
    put("trace.json", json.dumps([*call(100), *call(480)]))
    put("gemm.json", json.dumps({"command": "bench_gemm --repeats 1", "rows": [row]}))
    wrong = parts()[0]
    expect(wrong.returncode == 1 and "nothing parts call 1" in wrong.stderr, f"calls without a pause: {wrong}")


def test_unknown():
    programs()
    for name in ("queues", "que", "", "-queue", "reduction_ladder_", "notes", "notes.txt", "../some/queue"):
        refuse(("bench", "queue", "--", name), "a-b-c queue reduction-ladder", f"'{name}'", code=2)
    for folder in ("empty", "missing"):
        os.environ["DAVIT_BENCH_DIR"] = os.path.abspath(folder)
        os.makedirs("empty", exist_ok=True)
        expect(folder in davit("bench", code=2).err, "the directory is named")
        davit("bench", "queue", code=2)


def test_failures():
    """A failing program is named; what the others measured is told all the same."""
    programs()
    endings = {"status": ("exit 3", 1, "bench_n_status"), "device": ("exit 4", 4, "bench_n_device"),
               "signal": ("kill -9 $$", 1, "signal 9"), "empty": ("exit 0", 1, "JSON"),
               "text": ("echo 'hello {}'", 1, "JSON"), "half": ("echo '{\"rows\": ['", 1, "JSON")}
    for name, (line, code, part) in endings.items():
        program(f"some/bench_n_{name}", f"#!/bin/sh\n{line}\n")
        process = subprocess.run([DAVIT, "bench", "--json"], capture_output=True, timeout=LIMIT_S)
        complaints = [line for line in process.stderr.decode().splitlines() if line.startswith("davit bench: ")]
        expect(process.returncode == code, f"exit {code} of {name}: {process.returncode}")
        expect(len(complaints) == 1 and part in complaints[0], f"{part} expected: {complaints}")
        expect(len(names_of(json.loads(process.stdout))) == 2, f"the others are there: {process.stdout}")
        davit("bench", f"n-{name}", code=0 if part == "JSON" else code)
        os.remove(f"some/bench_n_{name}")
    program("some/bench_n_bad", "#!/missing/interpreter\n")
    expect("bench_n_bad: cannot be run" in davit("bench", "n-bad", code=1).err, "a program that cannot be run")


def test_places():
    """Beside the executable, or in DAVIT_BENCH_DIR."""
    os.environ.pop("DAVIT_BENCH_DIR", None)
    os.makedirs("prefix/bin")
    copy = shutil.copy(DAVIT, "prefix/bin/davit")

    def run(*arguments):
        return subprocess.run([copy, "bench", *arguments], capture_output=True, timeout=LIMIT_S)

    nothing = run()
    expect(nothing.returncode == 2 and b"they are not installed" in nothing.stderr and nothing.stderr.count(b"\n") == 1,
           f"no benchmark anywhere: {nothing.stderr}")
    program("prefix/bin/bench_built")
    expect(b"bench_built measures" in run().stdout, "a benchmark beside the executable")
    program("other/bench_other")
    os.environ["DAVIT_BENCH_DIR"] = os.path.abspath("other")
    expect(b"bench_other measures" in run().stdout, "DAVIT_BENCH_DIR comes first")
    os.environ.pop("DAVIT_BENCH_DIR")


def test_real():
    """A program of the study, where it is built: its table without --json, its document with it."""
    if not os.path.exists(os.path.join(os.path.dirname(DAVIT), "bench_reduction_ladder")):
        return
    lines = davit("bench", "reduction-ladder").out.decode().splitlines()
    expect(lines[0] == "== bench_reduction_ladder" and not any(line.startswith("{") for line in lines), str(lines[:3]))
    for kernel in ("K1", "K6 shuffles", "reduction clause", "davit_reduce", "CPU, padded"):
        expect(any(line.strip().startswith(kernel + " ") for line in lines), f"{kernel} in {lines}")
    rows = run_json("bench", "reduction-ladder")["benchmarks"][0]["rows"]
    ladder = [row for row in rows if row["table"] == "ladder"]
    expect([row["kernel"] for row in ladder].count("K6") == 2 and ladder[0]["n"] == 65536, f"rows: {rows[:1]}")
    expect({row["table"] for row in rows} == {"ladder", "blocks", "operators", "model", "scans"}, "all tables")


if __name__ == "__main__":
    sys.exit(main(globals()))

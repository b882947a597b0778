#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what follows from the rows of the commands: help texts and their examples, docs/cli, ranges, messages.

usage: test_help.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import gzip
import os
import random
import re
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
import help_page
from support import DAVIT, EACH, LIMIT_S, davit, expect, listing, main, on_terminal, put, refuse, run_json, sampled, save
from test_cli_detect import chirps, sound
from test_cli_pssm import pssm_text, random_rows

COMMANDS = help_page.commands(DAVIT)
# What a script relies on: names of options that must stay.
OPTIONS = {
    "gemm": "-o --alpha --beta --c0 --transa --transb --tile", "gemv": "-o --alpha --beta --y0 --trans", "axpy": "-o --alpha",
    "reduce": "-o --op --axis --ordered --dtype --shape", "scan": "-o --op --exclusive --flags", "stencil": "-o --border --coefficients", "atax": "-o",
    "covariance": "-o --mean --divisor --mean-divisor --packed", "solve": "-o --spd --upper", "factor": "-o --kind --upper --pivots --tau",
    "align": "-o --mode --format --dna --protein --matrix --match --mismatch --gap-open --gap-extend --strand --min-score --evalue "
             "--top --cigar --pairs --band", "features": "-o --rate --frame --binning",
    "detect": "-o --effect --window --hop --threshold --gap-penalty --round --permutations --block --alpha --coverage --rate "
              "--frame --binning --seed --null --fdr --any-dependence --floor --effect-floor --labels --plot --all --no-copies --stretch", "closest": "--algorithm --columns --sphere",
    "cluster": "-o --emst --eps --min-points --columns --sphere", "neighbors": "-o --queries --columns --k --radius --distances --offsets --sphere", "points": "-n -o --kind --sigma --dim --type --seed",
    "occupancy": "--threads --registers --shared --thread-shared --card --sweep", "tune": "-o --size --budget --repeat --show", "bench": "--list --peers --report --compare --noise --from",
    "demo": "--size --devices --seed", "devices": "", "dot": "", "version": "-v"}
COMPUTING = "gemm gemv axpy dot reduce scan stencil atax covariance solve factor align detect closest neighbors cluster".split()


def help_of(name):
    return davit("help", name).out.decode()


def options_of(text):
    """The rows of the section, as (name, text)."""
    rows = re.split(r"\n  (?=-)", "\n" + re.search(r"\noptions:\n(.*?)\n\n", text, re.S)[1])[1:]
    return {row.split()[0].rstrip(","): " ".join(row.split()) for row in rows}


def test_texts():
    overview = davit("help").out.decode()
    expect(set(COMMANDS) == set(OPTIONS), f"all commands are tested: {set(COMMANDS) ^ set(OPTIONS)}")
    for name in COMMANDS:
        text = help_of(name)
        expect(f"  {name} " in overview and text.startswith(f"usage: davit {name}"), f"usage of {name}")
        for way in ("--help", "-h"):
            expect(davit(name, way).out.decode() == text, f"{name} {way} is help {name}")
        expect(max(map(len, text.splitlines())) <= 100, f"the width of {name}")
        rows = options_of(text)
        for option in (OPTIONS[name] + " --json").split():
            expect(option in rows, f"{option} in the help of {name}")
        for option in "--devices --check --repeat --warmup --quiet -v".split() if name in COMPUTING else ():
            expect(option in rows, f"{option} in the help of {name}")
    expect(davit("--help").out.decode() == overview, "--help is help")
    davit(code=2)
    davit("help", "gem", code=2)
    davit("help", "gemm", "gemv", code=2)
    with open("/dev/full", "wb") as full:
        process = subprocess.run([DAVIT, "help"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT_S)
    expect(process.returncode == 1, "a full standard output is exit 1")


def test_ranges():
    """Ranges, defaults and choices of the help are those of the messages and of the library."""
    for name, option, wanted in (
            ("gemm", "--repeat", "(from 1 to 1000000; default 1)"), ("gemm", "--tile", "auto or a whole number (from 1; default auto)"),
            ("scan", "--op", "sum, prod, min or max (default sum)"), ("detect", "--window", "(from 1 to 65535; default twice the effect"),
            ("detect", "--gap-penalty", "(above 0, at most 10000; default 33)"), ("detect", "--alpha", "(from 0 to 1; default 0.01)"),
            ("detect", "--hop", "default the length of the effect"), ("features", "--frame", "(from 2 to 16777216; default 1024)"),
            ("covariance", "--divisor", "rows, rows-1 or a number (default rows-1)"), ("align", "--mismatch", "(from -128 to 0)"),
            ("stencil", "--border", "(default keep) keep copied from A zero zeros"), ("points", "--sigma", "(above 0, at most 10; default 1)")):
        expect(wanted in options_of(help_of(name))[option], f"{name} {option}: {options_of(help_of(name))[option]}")
    x = save("x.npy", np.ones(4))
    for arguments, wanted in ((("dot", x, x, "--repeat", 0), "--repeat takes a whole number from 1 to 1000000, not '0'"),
                              (("scan", x, "--op", "mean"), "--op takes sum, prod, min or max, not 'mean'"),
                              (("gemm", x, x, "--tile", "big"), "--tile takes auto or a whole number from 1, not 'big'"),
                              (("covariance", x, "--divisor", "row"), "--divisor takes rows, rows-1 or a number, not 'row'"),
                              (("points", "-n", "1.5", "-o", "p.npy"), "-n takes a whole number from 1, not '1.5'"),
                              (("points", "-o", "p.npy"), "-n is missing"), (("scan",), "operand X is missing"),
                              (("align", x, x, "--match", 1), "--match needs --mismatch"),
                              (("tune", "--show", "-o", "x"), "--show and -o exclude each other")):
        expect(wanted in davit(*arguments, code=2).err, f"{wanted}: {davit(*arguments, code=2).err}")


# Options whose value is any text; what it has to be is known later.
TEXTS = ("-o --mean --c0 --y0 --flags --coefficients --effect --matrix --card --devices --labels --plot --dtype --shape --columns "
         "--trace --report --compare --from --pivots --tau --queries --distances --offsets").split()


def bad_values(option, row):
    """Values that the option refuses, by its row in the help."""
    found = re.search(r"\((from|above) ([\d.e+-]+?)(?: to ([\d.e+-]+?)|, at most ([\d.e+-]+?))?[;)]", row)
    if not found:
        return [] if option in TEXTS else ["banana", "SUM", ""]
    least, most = float(found[2]), found[3] or found[4]
    bad = ["x", "", "1x", " 1", "nan", "--json", f"{least if found[1] == 'above' else least - 1:.0f}"]
    return bad + ([f"{float(most) + 1:.0f}", "inf"] if most else ["99999999999999999999999"])


def test_values():
    """Every option of every command refuses what is outside the range, or is none of the choices, in its help."""
    seen = set()  # options that commands have in common are one row
    for name in COMMANDS:
        for option, row in sampled(options_of(help_of(name)).items()):
            if option == "-h" or row in seen:
                continue
            seen.add(row)
            if not re.fullmatch(r"[A-Z[][A-Z|\]]*", row.split()[1]):
                refuse((name, f"{option}=1"), f"{option} takes no value", code=2)
                continue
            if row.split()[1][0] != "[":
                refuse((name, option), f"{option} needs a value", code=2)
            for value in bad_values(option, row)[:: min(EACH, 5)]:
                if value != "99999999999999999999999" or option not in ("--budget", "--radius", "--eps"):
                    refuse((name, f"{option}={value}"), f"{option} takes ", f"not '{value}'", code=2)


def test_usage():
    """What is wrong with several options together, with operands, or with an option's text."""
    x, a, f4 = save("x.npy", np.ones(4)), save("a.npy", np.ones((5, 6))), save("f4.npy", np.ones(3, "f4"))
    save("s.npy", np.ones((30, 2), "f4"))
    save("e.npy", np.ones((3, 2), "f4"))
    fasta = put("q.fa", ">q\nACGT\n")
    detect, points, card = ("detect", "s.npy", "--effect", "e.npy"), ("points", "-n", 5, "-o", "q.npy"), ("occupancy", "--card", "H100")
    tune, align, dna = ("tune", "axpy", "-o", "t"), ("align", fasta, fasta), ("--match", 1, "--mismatch", -1)
    os.environ["DAVIT_TUNING_FILE"] = ""
    for arguments, *words in (
            (("axpy", x), "operand Y is missing"), (("axpy", x, x, "third.npy"), "'third.npy'"), (("devices", "x"), "'x'"),
            (("devices", "--check"), "--check"), (("axpy", x, x, "--unknown"),), (("axpy", x, x, "-x"),), (("axpy", x, x, "-json"),),
            (("axpy", x, x, "--o", "y.npy"),), (("axpy", x, x, "--alph", 1),), (("axpy", x, x, "--alpha", "1e999"),),
            *((("axpy", x, x, "--devices", text),) for text in
              ("", "0,", "0,x", "0,0", "12345", "-2", "gpus", "99999999999999999999")), (("axpy", x, x, "-o", ""),),
            (("axpy", f4, f4, "--alpha", "1e300"), "range of float32"), (("gemm", a, a, "--transa=X"),),
            (("gemm", a, a, "--transa", "X"), "'X'"), (("reduce", x, "--exclusive"),),
            (("reduce", x, x),), (("scan", x, "--exclusive", 1),), (("atax", a),), (("atax", a, x, "--trans"),),
            *((("covariance", a, f"--{option}", value), f"--{option}") for option, value in
              (("divisor", 0), ("divisor", "-0.0"), ("divisor", "nan"), ("mean-divisor", 0), ("mean-divisor", "rows-1"))),
            (("covariance", a, "-o", "s.npy", "--mean", "s.npy"), "both write to 's.npy'"),
            (("covariance", a, "-o", "-", "--mean", "-"), "both write to '-'"), (("covariance", a, "--json", "--mean", "-"), "--json"),
            (("covariance", a, "--json", "-o", "-"), "--json"), ((*align, *dna[:2]), "--mismatch"), ((*align, *dna[2:]), "--match"),
            ((*align, *dna, "--matrix", "blosum62"), "--matrix"), ((*align, "--json", "-o", "-"), "--json"),
            ((*align, "--gap-extend", 1.5),), ((*align, "third"),), (("align", fasta), "TARGET"),
            ((*detect, "--hop", 201), "--hop"), ((*detect, "--block", 201), "--block"),
            ((*detect, "--round", "--gap-penalty", 0.5), "--gap-penalty"), (("detect", "s.npy"), "--effect"),
            (("detect", "--effect", "e.npy", "s.npy"), "missing"), ((*detect, "--json", "-o", "-"), "--json"),
            (("features", "s.npy"), "-o"), (points[:3], "-o"), (("points", "-o", "q.npy"), "-n"), ((*points, "--sigma", 1), "--sigma"),
            (("points", "-n", 1 << 49, "-o", "q.npy"), "2^48"), ((*card, "--threads", 32, "operand"),),
            (("occupancy", "--card", "Banana", "--threads", 32), "GT 560M, GTX 670, 930M, V100, A100, RTX 3090"),
            (("occupancy", "--card", 99999999999, "--threads", 32),), (("tune",),), (("tune", "dot"), "gemm gemv axpy"),
            (("tune", "axpy", "gemv"),), (("tune", "--show", "axpy"),), (("tune", "axpy"), "no tuning file"),
            ((*tune, "--size", 2**50),), (("tune", "gemv", "-o", "t", "--size", 2**39),), ((*tune, "--devices", "cpu"),)):
        refuse(arguments, *words, code=2)
    for file, *arguments in (("s.npy", "detect", "-", "--effect", "-"), (a, "gemm", "-", "-"), (fasta, "align", "-", "-"),
                             (x, "scan", "-", "--flags", "-")):
        davit(*arguments, code=2, data=open(file, "rb").read())
    davit("axpy", x, x, "--alpha=-.5", "--repeat=2", "--warmup=0", "--quiet", "--devices", "cpu")
    davit("axpy", "--alpha", "1", "--alpha", "2", "--devices", "cpu", "--", x, x)
    davit("axpy", "--", "--json", x, code=3)
    del os.environ["DAVIT_TUNING_FILE"]


def test_counts():
    for text, n in (("1e3", 1000), ("2.5e1", 25), ("1E2", 100), ("12", 12)):
        expect(run_json("points", "-n", text, "-o", "p.npy")["n"] == n, f"-n {text}")
    for text in ("1e-1", "1e99", "0x10", "+5", " 5", "1e", "e3", "inf", "nan", "1e3x", str(2**64)):
        davit("points", "-n", text, "-o", "p.npy", code=2)
    expect(run_json("points", "-n", 1, "--seed", 2**64 - 1, "-o", "p.npy")["n"] == 1, "the largest seed")
    davit("points", "-n", 1, "--seed", 2**64, "-o", "p.npy", code=2)


def test_nearest():
    for arguments, wanted in ((("gem",), "gemm"), (("sacn",), "scan"), (("clostest",), "closest"), (("help", "aling"), "align"),
                              (("scan", "--exlusive"), "--exclusive"), (("detect", "--windwo", "1"), "--window"),
                              (("closest_pair",), "closest"), (("help", "closest-pair"), "closest"),
                              (("tune", "closest_pair"), "closest"), (("tune", "gemn"), "gemm"),
                              (("gemm", "--wramup", "2"), "--warmup"), (("axpy", "--alhpa=2"), "--alpha"),
                              (("reduce", "x", "--op", "maximum"), "max"), (("reduce", "x", "--op", "Minimum"), "min"),
                              (("reduce", "x", "--op", "stddev"), "std"), (("scan", "x", "--op", "product"), "prod"),
                              (("reduce", "x", "--op", "mena"), "mean"), (("closest", "x", "--algorithm", "gird"), "grid"),
                              (("dot", "x", "x", "--verbos"), "--verbose")):
        expect(f"did you mean {wanted}?" in davit(*arguments, code=2).err, f"{arguments}: {davit(*arguments, code=2).err}")
    for arguments in (("banana",), ("scanner",), ("scan", "--banana"), ("scan", "-x"), ("tune", "banana")):
        expect("did you mean" not in davit(*arguments, code=2).err, f"{arguments}: nothing is near")


def test_version():
    for arguments in (("version",), ("--version",)):
        expect(re.fullmatch(rb"davit \d+\.\d+\.\d+\n", davit(*arguments).out), f"{arguments}: {davit(*arguments).out}")
        text = davit(*arguments, "-v").out.decode()
        for part in ("built_for: host", "cuda: ", "compiler: ", "libomptarget.so", "blis: "):
            expect(part in text, f"{part} in {text}")
    davit("--version", "x", code=2)


def test_terminal():
    """Binary goes to a terminal only with -f; nothing is in colour, NO_COLOR or not."""
    save("x.npy", np.arange(4.0))
    for force, wanted in (([], 2), (["-f"], 0)):
        code, shown = on_terminal("scan", "x.npy", "-o", "-", *force, stdout=True)
        expect(code == wanted and (b"NUMPY" in shown) == bool(force), f"{force}: {code} {shown}")
    for value in ("", "1"):
        os.environ["NO_COLOR"] = value
        expect(not re.search(rb"\x1b\[[0-9;]*m", on_terminal("reduce", "x.npy", "-v", "--check", stdout=True)[1]), "no colour")
    del os.environ["NO_COLOR"]


def make_inputs():
    """The files that the examples name."""
    rng = np.random.default_rng(1)
    for name in "ABCD":
        save(f"{name}.npy", rng.standard_normal((30, 30)))
    save("A.npy", np.cov(rng.standard_normal((30, 90))))  # positive definite
    for name in "bxy":
        save(f"{name}.npy", rng.standard_normal(30))
    save("flags.npy", (rng.random(30) < 0.2).astype("u1"))
    save("C3.npy", rng.standard_normal((3, 3)))
    put("points.csv", "".join(f"{x},{y}\n" for x, y in rng.random((50, 2))))
    put("query.fa", ">q\nHEAGAWGHEE\n")
    put("targets.fa.gz", gzip.compress(b">t\nPAWHEAE\n>u\nHEAGAWGHEE\n"))
    put("family.pssm", pssm_text("HEAGAWGHEE", random_rows(random.Random(1), "HEAGAWGHEE")))
    put("proteins.fa.gz", gzip.compress(b">t\nPAWHEAE\n>u\nHEAGAWGHEE\n"))
    put("reads.fq", "@r\nACGTACGT\n+\n!!!!!!!!\n")
    put("genes.fa", ">g\nTTACGTACGTTT\n")
    put("places.fa", ">p\nTACGTACGT\n")
    stream, door, shot = (chirps(rng, seconds) for seconds in (12, 1, 0.8))
    stream[22050:22050 + len(door)] = door
    for name, samples in (("stream", stream), ("door", door), ("shot", shot)):
        sound(f"{name}.wav", samples)
    results = '{"benchmark": "b", "rows": [{"operation": "o", "n": 8, "us": 1}]}'
    for path in ("bench/bench_queue", "bench/bench_scan"):
        put(path, f"#!/bin/sh\necho '{results}'\n")
        os.chmod(path, 0o755)
    put("old.json", results)
    put("new.json", results)


def test_examples():
    """Every example of every help text runs, in a folder with the files it names."""
    os.mkdir("bench")
    make_inputs()
    os.symlink(DAVIT, "bench/davit")
    os.environ.update(PATH=os.path.abspath("bench") + ":" + os.environ["PATH"], DAVIT_BENCH_DIR=os.path.abspath("bench"))
    for name in COMMANDS:
        examples = re.search(r"\nexamples:\n((?:  davit .*\n)+)$", help_of(name))
        expect(examples, f"the help of {name} ends with examples")
        for line in examples[1].splitlines() if examples else ():
            process = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, timeout=LIMIT_S)
            expect(process.returncode == 0, f"{line.strip()}: {process.returncode} {process.stderr.decode()}")
            for output in re.findall(r" (?:-o|--mean) (\S\S+)", line):
                expect(output in listing(), f"{line.strip()} writes {output}")
    del os.environ["DAVIT_BENCH_DIR"]


def test_pages():
    pages = help_page.written(DAVIT)
    for path, text in pages.items():
        expect(path.exists() and path.read_text() == text,
               f"{path.relative_to(help_page.DOCS)} has another help: tests/cli/help_page.py DAVIT writes it")
    for path in (help_page.DOCS / "cli").glob("*.md"):
        expect(path in pages, f"{path.relative_to(help_page.DOCS)} is the page of no command")
        expect(help_page.FENCE.search(path.read_text()), f"{path.relative_to(help_page.DOCS)} has no fence for the help")


if __name__ == "__main__":
    sys.exit(main(globals()))

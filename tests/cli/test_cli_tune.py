#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit tune (docs/cli.md and docs/tuning.md are the contract; the search is tested in tests/test_tune_search.c).

usage: test_cli_tune.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np

sys.dont_write_bytecode = True
from support import DAVIT, EACH, LIMIT_S, davit, expect, expect_keys, listing, main, noise, npy_bytes, put, refuse, run_json, save

QUICK = ("--repeat", 2, "--budget", 0.5)


def version():
    return davit("--version").out.decode().split()[1]


def use(name):
    os.environ["DAVIT_TUNING_FILE"] = name


def entries():
    return run_json("tune", "--show")["entries"]


def lines(name):
    with open(name, encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if line and not line.startswith("#")]


def host_key():
    """The first column of an entry for the host device."""
    kind, name = next((e["kind"], e["name"]) for e in run_json("devices")["list"] if e["device"] == -1)
    return f"{kind} {name}"


def table(*rows):
    return "".join([f"davit-tuning\t{version()}\n"] + ["\t".join(map(str, row)) + "\n" for row in rows])


def test_report():
    use("")
    report = run_json("tune", "axpy", "--size", 200000, "--devices", -1, "-o", "t.tsv", *QUICK)
    expect_keys(report, "capability", "device_name", "path", "tuned", "complete", "searches", "repeat")
    expect(report["capability"] == "axpy" and report["devices"] == [-1] and len(report["searches"]) == 1, f"{report}")
    search = report["searches"][0]
    for key in ("what", "n", "complete", "tuned", "gain", "own", "winner", "comparisons", "pruned", "runs", "trials"):
        expect(key in search, f"key {key} expected in {sorted(search)}")
    expect(search["n"] == 200000, f"{search}")
    trials = search["trials"]
    expect(trials[0]["values"] == {"chunk": 0}, "the first trial is the library's own choice")
    expect(all(trial["seconds"] > 0 and trial["noise"] >= 0 and trial["rounds"] > 0 for trial in trials), "times and noise")
    values = [trial["values"]["chunk"] for trial in trials]
    expect(len(set(values)) == len(values), f"no trial twice: {values}")
    expect(search["tuned"] == (search["winner"]["values"]["chunk"] > 0), "tuned where the winner is not the default")
    if search["tuned"]:
        expect(search["winner"]["seconds"] < search["own"]["seconds"] and search["gain"] > 1, "the winner is faster")
        expect(search["comparisons"][0]["candidate"] == search["winner"], "by the last comparison")
    else:
        expect(search["winner"] == search["own"] and search["gain"] == 1, "or it is the default")
    expect(report["written"] == search["tuned"] == os.path.exists("t.tsv"), f"what won is written: {report}")
    if search["tuned"]:
        rows = lines("t.tsv")
        expect(rows[0] == f"davit-tuning\t{version()}" and len(rows) == 2, f"what won is in the file: {rows}")
    text = davit("tune", "axpy", "--size", 200000, "--devices", -1, "-o", "t.tsv", *QUICK).out.decode()
    expect("rounds" in text and "trials" in text and "t.tsv" in text, f"{text}")
    expect(listing() in ([], ["t.tsv"]), f"no temporary file stays: {listing()}")


def test_capabilities():
    use("")
    gpu = any(entry["kind"] == "nvidia" for entry in run_json("devices")["list"])
    for name, size in (("gemm", 256), ("gemv", 500), ("axpy", 100000), ("stencil", 300), ("atax", 300), ("covariance", 500)):
        report = run_json("tune", name, "--size", size, "-o", "t.tsv", "--repeat", 1, "--budget", 0.1)
        found = report["figures"]["comparisons"] if name == "gemm" else report["searches"]
        expect(found and all(search["trials"] for search in report["searches"]), f"{name}: {report}")
    for name in ("reduce", "scan", "closest", "copy", "align"):
        if gpu:
            expect(run_json("tune", name, "--size", 10**7, "-o", "t.tsv", *QUICK).get("searches"), name)
        else:
            refuse(("tune", name, "--devices", "all", "-o", "t.tsv"), "no parameters to tune on host devices", code=2)
    if gpu:
        for name in ("reduce", "stencil", "atax", "covariance", "align", "detect", "closest"):
            search = run_json("tune", name, "--size", 1000, "-o", "t.tsv", *QUICK)["searches"][0]
            expect(search["own_shape"]["registers"] > 0 and search["own_shape"]["teams"] > 0, f"{name}: {search}")
    else:
        refuse(("tune", "detect", "--devices", "all", "-o", "t.tsv"), "no parameters to tune on host devices", code=2)
    refuse(("tune", "reduce", "--devices", -1, "-o", "t.tsv"), "on one host device", code=2)


def test_figures():
    """The figures of gemm's model are measured, written, used and shown; bad ones are left out with a warning."""
    use("")
    report = run_json("tune", "gemm", "--devices", -1, "-o", "t.tsv", *QUICK)
    measured = {row["parameter"]: row["value"] for row in report["figures"]["measured"]}
    expect(report["figures"]["kept"] and measured["thread_mflops"] > 0 and measured["thread_copy_mbytes_s"] > 0, f"{report}")
    rows = [line.split("\t") for line in lines("t.tsv")[1:]]
    expect({row[2]: int(row[3]) for row in rows} == measured, f"{rows}")
    rng = np.random.default_rng(3)
    a, b = save("a.npy", noise(rng, 64, 64)), save("b.npy", noise(rng, 64, 64))

    def explained(err=""):
        result = davit("gemm", a, b, "--explain", "-o", "c.npy")
        expect(err in result.err and bool(err) == bool(result.err), f"{result}")
        return {line.split("\t")[1]: line.split("\t")[2:] for line in result.out.decode().splitlines() if line.startswith("figure\t")}

    builtin = explained()
    expect(builtin["thread rate"] == ["1.6e+10 flop/s", "built in"], f"{builtin}")
    use(put("t.tsv", table((host_key(), "gemm", "thread_mflops", 20000, 0))))
    tuned = explained()
    expect(tuned["thread rate"] == ["2e+10 flop/s", "measured"] and tuned["copy"] == builtin["copy"], f"{tuned}")
    for bad in ("2e4", "-5", "0", "99999999999", ""):
        use(put("t.tsv", table((host_key(), "gemm", "thread_mflops", bad, 0))))
        expect(explained("t.tsv: 1 ") == builtin, f"{bad} is ignored, with a warning")
    use("")


def test_others_stay():
    use("")
    other = ("nvidia NVIDIA Nothing", "axpy", "chunk", 16384, 5)
    put("t.tsv", table(other, (host_key(), "gemv", "chunk", 8192, 7)))
    davit("tune", "axpy", "--size", 100000, "--devices", -1, "-o", "t.tsv", *QUICK)
    rows = lines("t.tsv")
    expect("\t".join(map(str, other)) in rows, f"entries of other machines stay: {rows}")
    expect(f"{host_key()}\tgemv\tchunk\t8192\t7" in rows, f"entries of other capabilities stay: {rows}")


def test_show():
    use("t.tsv")
    expect(not os.path.exists("t.tsv"), "")
    put("t.tsv", table((host_key(), "axpy", "chunk", 8192, 1500)))
    report = run_json("tune", "--show")
    expect(report["path"] == "t.tsv" and report["warning"] == "", f"{report}")
    expect(report["entries"] == [{"device": host_key(), "capability": "axpy", "parameter": "chunk", "value": 8192,
                                  "seconds": 1.5e-06}], f"{report['entries']}")
    text = davit("tune", "--show").out.decode()
    expect(text.startswith("t.tsv\n") and "axpy chunk = 8192" in text, f"{text}")
    put("t.tsv", table((host_key(), "closest_pair", "teams", 5, 0)))
    expect(run_json("tune", "--show")["entries"][0]["capability"] == "closest", "the command's name, not the file's key")
    expect("\nclosest teams = 5 on " in davit("tune", "--show").out.decode(), "as text, too")
    use("")
    expect(run_json("tune", "--show")["entries"] == [], "an empty name is no file")
    del os.environ["DAVIT_TUNING_FILE"]
    os.environ["XDG_CONFIG_HOME"] = os.path.abspath("config")
    path = os.path.join(os.path.abspath("config"), "davit", "tuning.tsv")
    result = davit("tune", "--show")
    expect(result.out.decode() == f"{path}\n" and not result.err, f"a usual file that is missing is no matter: {result}")
    davit("tune", "gemm", "--size", 64, "--devices", -1, *QUICK)
    expect(os.path.exists(path), "its directory is made")
    del os.environ["XDG_CONFIG_HOME"]
    use("")


def test_warnings():
    rng = np.random.default_rng(1)
    x, y = save("x.npy", noise(rng, 1000)), save("y.npy", noise(rng, 1000))
    for content, words in (("nonsense\n", "is not of davit"), (table((host_key(), "axpy")), "line 2"),
                           (table((host_key(), "axpy", "colour", 1, 1)), "does not know"),
                           (table(("nvidia Nothing", "axpy", "chunk", 8192, 1)), "devices that are not here")):
        use(put("t.tsv", content))
        result = davit("axpy", x, y, "-o", "z.npy")
        expect(result.err.count("\n") == 1 and words in result.err and result.err.startswith("davit: t.tsv: "),
               f"one line: {result}")
        expect(words in run_json("tune", "--show")["warning"], f"--show tells, too: {words}")
        expect(davit("help").err == "", "commands that read no value do not read the file")
    use("nowhere.tsv")
    expect("nowhere.tsv: cannot be read" in davit("axpy", x, y, "-o", "z.npy").err, "a named file that is missing is worth a word")
    use(put("t.tsv", table((host_key(), "axpy", "chunk", 8192, 1))))
    expect(davit("axpy", x, y, "--devices", -1, "-o", "z.npy").err == "", "a good file is worth none")
    use("")


def test_more_rights():
    """A tool that has more rights than its user does not look at the user's environment."""
    shutil.copy(DAVIT, "davit")
    os.chmod("davit", 0o4755)
    os.chmod(".", 0o755)
    put("t.tsv", "secret\n")
    if os.geteuid() or os.statvfs(".").f_flag & os.ST_NOSUID or EACH > 1:
        print("  left out: needs root, a folder that allows it, and no sanitizer")
        return
    arguments = ["./davit", "axpy", save("x.npy", np.ones(9)), "x.npy", "-o", "-"]
    for user, lines in ((0, 1), (12345, 0)):
        process = subprocess.run(arguments, user=user, env={**os.environ, "DAVIT_TUNING_FILE": "t.tsv"}, capture_output=True,
                                 timeout=LIMIT_S, check=False)
        expect(process.returncode == 0 and process.stderr.count(b"\n") == lines, f"user {user}: {process}")


def test_used():
    """A file's values are used: a chunk of axpy is a command of its own. Tiles of gemm, which older files have, are not."""
    use(put("t.tsv", table((host_key(), "gemm", "tile_1024_2", 160, 1), (host_key(), "axpy", "chunk", 8192, 7))))
    report = run_json("tune", "--show")
    expect([row["parameter"] for row in report["entries"]] == ["chunk"], f"the tile is left out: {report}")
    a = save("a.npy", noise(np.random.default_rng(2), 1100, 1100))
    result = davit("gemm", a, a, "--check", "-o", "c.npy")
    expect("1 lines with a parameter" in result.err and "first is line 2" in result.err, f"a warning, no error: {result}")
    use("")


def content_of(name):
    with open(name, "rb") as file:
        return file.read()


def test_other_files():
    """A file that is no tuning file is not replaced, and this is said before anything is measured."""
    gemm = ("tune", "gemm", "--size", 64, "--devices", -1, "--repeat", 1, "--budget", 0)
    for content in (b"notes\n", b"\n", b"\0", b"davit-tuning", b"davit-tuning \t1\n", npy_bytes(np.ones(3)), b"x" * 1000):
        name = put("notes.txt", content)
        del os.environ["DAVIT_TUNING_FILE"]
        refuse(("tune", "gemm", "--size", 30000, "--devices", -1, "-o", name), f"{name}: expected a tuning file or a new name", code=2)
        use("")
        refuse((*gemm, "-o", name), f"{name}: expected a tuning file", code=2)
        expect(content_of(name) == content, "the file is as it was")
    use("notes.txt")
    named = subprocess.run([DAVIT, *map(str, gemm)], capture_output=True, timeout=LIMIT_S, text=True)
    expect(named.returncode == 2 and content_of("notes.txt") == content, f"nor by its variable: {named}")
    use("")
    put("empty.tsv", b"")
    davit(*gemm, "-o", "empty.tsv")
    expect(lines("empty.tsv")[0] == f"davit-tuning\t{version()}", "an empty file is written")


def test_nothing_faster():
    """Without news the file stays as it is, of whichever version; none is made."""
    use("")
    axpy = ("tune", "axpy", "--size", 100000, "--devices", -1, "--repeat", 1, "--budget", 0)
    gemm = ("tune", "gemm", "--size", 64, "--devices", -1, "--repeat", 1, "--budget", 0)
    report = run_json(*axpy, "-o", "new.tsv")
    expect(not report["tuned"] and not report["written"] and not os.path.exists("new.tsv"), f"no file: {report}")
    expect("new.tsv: nothing is written\n" in davit(*axpy, "-o", "new.tsv").out.decode(), "which is said")
    other = put("t.tsv", table(("nvidia NVIDIA Nothing", "axpy", "chunk", 16384, 5)) + "# mine\n")
    before = content_of(other)
    expect(not run_json(*axpy, "-o", other)["written"] and content_of(other) == before, "comments and all")
    put("t.tsv", table((host_key(), "axpy", "chunk", 8192, 1)))
    expect(run_json(*axpy, "-o", "t.tsv")["written"] and len(lines("t.tsv")) == 1, "a value that is not the fastest goes")
    old = "davit-tuning\t0.0.1\n" + "\t".join((host_key(), "axpy", "chunk", "8192", "1")) + "\n"
    put("old.tsv", old)
    dropped = "davit tune: old.tsv: its values are of davit 0.0.1; they are not used, and are dropped when new ones are written\n"
    result = davit(*axpy, "-o", "old.tsv")
    expect(result.err == dropped and content_of("old.tsv").decode() == old, f"the old file stays: {result}")
    result = davit(*gemm, "-o", "old.tsv")
    rows = lines("old.tsv")
    expect(result.err == dropped and rows[0] == f"davit-tuning\t{version()}", f"it is said that it does not: {result}")
    expect(len(rows) > 1 and not any("axpy" in row for row in rows), f"its values are gone: {rows}")
    put("old.tsv", old)
    expect(davit(*gemm, "-o", "old.tsv", "--quiet").err == "", "not with --quiet")


def test_files():
    use("")
    davit("tune", "gemv", "-o", "t", "--size", 2**24, code=4)  # 2 PiB
    refuse(("tune", "axpy", "-o", "no/such/place", "--size", 10**9), "cannot be written", code=1)
    os.mkdir("folder")
    davit("tune", "axpy", "-o", "folder", "--size", 1000000, code=3)
    if os.getuid() != 0:
        put("fixed.tsv", table())
        os.chmod("fixed.tsv", stat.S_IRUSR)
        davit("tune", "axpy", "-o", "fixed.tsv", "--size", 10**9, code=1)
    # Stopped half-way: the old file is as it was, and nothing lies beside it.
    old = table((host_key(), "axpy", "chunk", 8192, 1))
    os.mkdir("work")
    put("work/t.tsv", old)
    process = subprocess.Popen([DAVIT, "tune", "axpy", "-o", "work/t.tsv", "--size", "20000000", "--repeat", "50",
                                "--devices", "-1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    expect(process.wait(30) == -signal.SIGTERM, "stopped")
    expect(os.listdir("work") == ["t.tsv"] and open("work/t.tsv", encoding="utf-8").read() == old, "all as before")


if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The environment variables of the OpenMP runtimes: what would end the tool is left out, and said; what is right counts.
Called with DAVIT [GROUP ...] (support.py)."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import *

HUGE = "9" * 23
WRONG = {
    "OMP_NUM_THREADS": ("", "-1", "abc", "0", "4abc", "1.5", "2,", ",2", "2,-1", "1025", "2147483647", "99999999999", HUGE),
    "OMP_STACKSIZE": ("", "1", "-1", "abc", "16k", "255k", "5X", "1000000G", "1000000000T", HUGE),
    "KMP_STACKSIZE": ("3", HUGE),
    "GOMP_STACKSIZE": ("16", HUGE),
    "KMP_DEVICE_THREAD_LIMIT": ("", "0", "1", "2", "abc"),
    "KMP_ALL_THREADS": ("0", "1"),
    "KMP_MAX_THREADS": ("2",),
    "OMP_DISPLAY_AFFINITY": ("TRUE", "1", "yes", " On", ".t.", "enabled"),
}
RIGHT = {
    "OMP_NUM_THREADS": ("1", "3", " 2 , 1 ", "1024"),
    "OMP_STACKSIZE": ("256", "256k", "8M", "8 m "),
    "KMP_STACKSIZE": ("1048576", "1m"),
    "KMP_DEVICE_THREAD_LIMIT": ("16", "64"),
    "OMP_DISPLAY_AFFINITY": ("false", "0", "off", "no", ".f."),
}


def run_with(environment, *arguments):
    return subprocess.run([DAVIT, *arguments], env={**os.environ, **environment}, capture_output=True, timeout=LIMIT_S, text=True)


def test_wrong():
    """A sentence names the variable and its value, and the work is done as without it, by each command."""
    save("x.npy", np.arange(1000.0))
    for name, values in WRONG.items():
        for value in values if SCALE >= 1 else values[:2]:
            result = run_with({name: value}, "reduce", "x.npy")
            lines = [line for line in result.stderr.splitlines() if not line.startswith("==")]
            expect(result.returncode == 0 and result.stdout == "499500\n", f"{name}={value}: {result}")
            expect(len(lines) == 1 and lines[0].startswith(f'davit: {name} is "{value[:60]}') and
                   lines[0].endswith("it is ignored"), f"{name}={value}: {lines}")
    for command in ("help", "version", "devices"):
        result = run_with({"OMP_NUM_THREADS": "", "OMP_STACKSIZE": "1"}, command)
        expect(result.returncode == 0 and result.stderr.count("it is ignored") == 2, f"two variables of {command}: {result}")


def test_right():
    save("x.npy", np.arange(1000.0))
    for name, values in RIGHT.items():
        for value in values:
            result = run_with({name: value}, "reduce", "x.npy")
            right = result.returncode == 0 and "ignored" not in result.stderr and result.stdout == "499500\n"
            expect(right, f"{name}={value}: {result}")
    threads = json.loads(run_with({"OMP_NUM_THREADS": "3,1"}, "devices", "--json").stdout)["threads"]
    expect(threads == 3, f"OMP_NUM_THREADS=3,1 gives {threads} threads")


def test_stack():
    """Loops of alignments need more than the least stack that the runtime allows."""
    letters = "ARNDCQEGHILKMFPSTWYV"
    put("q.fa", "".join(f">q{i}\n{''.join(chance.choices(letters, k=300))}\n" for i in range(4)).encode())
    put("t.fa", "".join(f">t{i}\n{''.join(chance.choices(letters, k=300))}\n" for i in range(40)).encode())
    for value in ("16k", "256k"):
        result = run_with({"OMP_STACKSIZE": value, "OMP_NUM_THREADS": "4"}, "align", "q.fa", "t.fa")
        expect(result.returncode == 0 and result.stdout.count("\n") > 1, f"align with {value}: {result}")


def test_ranks():
    """A launcher's processes without what joins them: a sentence that names the package."""
    with open(DAVIT, "rb") as file:
        tool = file.read()
    put("davit", tool.replace(b"libdavit_ranks.so", b"libdavit_ranqs.so"))
    os.chmod("davit", 0o755)
    launched = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    result = subprocess.run(["./davit", "version"], env=launched, capture_output=True, timeout=LIMIT_S, text=True)
    expect(result.returncode == 4 and result.stderr.count("\n") == 1 and "package libdavit-mpi0" in result.stderr and
           "cannot open shared object" not in result.stderr, f"{result}")
    start = time.monotonic()
    result = subprocess.run(["./davit", "version"], env={**launched, "OMPI_COMM_WORLD_RANK": "1"}, capture_output=True, timeout=LIMIT_S)
    expect(result.returncode == 4 and not result.stderr, f"rank 1: {result}")
    expect(time.monotonic() - start > 0.9, "rank 1 ends after rank 0, whose sentence would be lost otherwise")
    result = subprocess.run(["./davit", "version"], env={**launched, "DAVIT_RANKS": "apart"}, capture_output=True, timeout=LIMIT_S)
    expect(result.returncode == 0, f"apart: {result}")


def closed(which, *arguments):
    """The tool, started with these standard descriptors closed."""
    return subprocess.run(["bash", "-c", f'exec "$0" "$@" {which}', DAVIT, *arguments], capture_output=True, timeout=LIMIT_S)


def test_closed_descriptors():
    """No file takes the place of a standard descriptor that is closed: remarks are lost, and results are the same."""
    put("d.fa", ">d\nACGTACGTTGCA\n")
    davit("align", "d.fa", "d.fa", "-o", "wanted.tsv")
    for which in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        result = closed(which, "align", "d.fa", "d.fa", "-o", "rows.tsv")
        expect(result.returncode == 0 and open("rows.tsv").read() == open("wanted.tsv").read(), f"{which}: {result}")
    for arguments, which, code in ((("reduce", "-"), "<&-", 3), (("version",), ">&-", 1)):
        result = closed(which, *arguments)
        expect(result.returncode == code and b"Bad file descriptor" in result.stderr, f"{arguments} {which}: {result}")


def test_message():
    """A value cannot command a terminal."""
    result = run_with({"OMP_NUM_THREADS": "\x1b[31m2\n3"}, "version")
    expect(result.returncode == 0 and 'OMP_NUM_THREADS is "?[31m2?3"' in result.stderr, f"{result}")


if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's multiprocessing with each of its start methods: parent and children call the shared library by ctypes.

    fork.py LIBDAVIT [DRIVER]      (ctest runs it as `fork_python`; with outside/driver.c as `fork_python_driver`)
"""
import ctypes
import multiprocessing
import os
import signal
import sys

if len(sys.argv) > 2:  # in this interpreter alone, not in scripts that may have started it
    os.execve(sys.executable, [sys.executable, *sys.argv[:2]], {**os.environ, "LD_PRELOAD": sys.argv[2]})

SUM, DOUBLE = 0, 1  # davit_operator, davit_type
CHILDREN, TASKS, SECONDS = 3, 12, 180
METHODS = ["fork", "spawn", "fork"]
if "LD_PRELOAD" not in os.environ:  # a forkserver has no driver of its own: its children load davit, and that the driver
    METHODS.append("forkserver")

davit = ctypes.CDLL(sys.argv[1])
davit.davit_last_error.restype = ctypes.c_char_p


def total(count):
    numbers, result = (ctypes.c_double * count)(*range(count)), ctypes.c_double()
    if davit.davit_reduce(SUM, DOUBLE, ctypes.c_int64(count), numbers, ctypes.byref(result), None):
        raise RuntimeError(davit.davit_last_error().decode())
    return result.value


def try_method(method, counts, expected):
    context = multiprocessing.get_context(method)
    with context.Pool(CHILDREN) as pool:
        assert pool.map(total, counts) == expected, method
        pool.close()
        pool.join()
    unused = context.Process(target=int)
    unused.start()
    unused.join()
    assert unused.exitcode == 0, method


def main():
    signal.alarm(SECONDS)  # ends the test if a child hangs
    counts = range(1000, 1000 + TASKS)
    expected = [count * (count - 1) / 2 for count in counts]
    assert total(10) == 45
    for method in METHODS:
        try_method(method, counts, expected)
    assert [total(count) for count in counts] == expected


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy and libdavit in one interpreter that forks: its children multiply by both.

    fork_numpy.py LIBDAVIT [DROPIN]      (ctest runs it as `fork_numpy`, with the drop-in as `dropin_fork_numpy`)

BLIS computes on threads of GCC's OpenMP in the parent, for NumPy on the drop-in or for libdavit, and no child has those.
"""
import ctypes
import multiprocessing
import os
import signal
import sys

if len(sys.argv) > 2:  # in this interpreter alone, not in scripts that may have started it
    os.execve(sys.executable, [sys.executable, *sys.argv[:2]],
              {**os.environ, "LD_PRELOAD": sys.argv[2], "BLIS_NUM_THREADS": "2"})
os.environ["OMP_TARGET_OFFLOAD"] = "DISABLED"  # one device has all threads
if "LD_PRELOAD" not in os.environ:
    ctypes.CDLL("libgomp.so.1", ctypes.RTLD_GLOBAL)

import numpy as np

ORDER, CHILDREN, SECONDS = 300, 2, 180
TURNS = max(2, int(6 * float(os.environ.get("DAVIT_TEST_SCALE", "1"))))

davit = ctypes.CDLL(sys.argv[1])
davit.davit_last_error.restype = ctypes.c_char_p


def call(name, *arguments):
    if getattr(davit, name)(*arguments):
        raise RuntimeError(f"{name}: {davit.davit_last_error().decode()}")


def size(n):
    return ctypes.c_int64(n)


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def letter(text):
    return ctypes.c_char(text.encode())


def products(_=None):
    """All results are small whole numbers, and so exact."""
    n, one, zero = size(ORDER), ctypes.c_double(1), ctypes.c_double(0)
    lower = np.asfortranarray(np.tril(np.ones((ORDER, ORDER))))
    ones = np.ones((ORDER, ORDER), order="F")
    counted = np.tile(np.arange(1.0, ORDER + 1)[:, None], (1, ORDER))
    assert (lower @ ones == counted).all(), "NumPy"
    c = np.zeros((ORDER, ORDER), order="F")
    call("davit_dgemm", letter("N"), letter("N"), n, n, n, one, pointer(lower), n, pointer(ones), n, zero, pointer(c), n,
         None)
    assert (c == counted).all(), "dgemm"
    call("davit_dtrsm", letter("L"), letter("L"), letter("N"), letter("N"), n, n, one, pointer(lower), n, pointer(c), n,
         None)
    assert (c == ones).all(), "dtrsm"
    call("davit_dsyrk", letter("L"), letter("N"), n, n, one, pointer(lower), n, zero, pointer(c), n, None)
    assert (np.tril(c) == np.tril(np.minimum(counted, counted.T))).all(), "dsyrk"
    return os.getpid()


def fork_and_multiply():
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS // 4)  # ends a child that hangs
        status = 1
        try:
            products()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"status {status:#x} of the child"


def main():
    signal.alarm(SECONDS)
    products()
    for _ in range(TURNS):
        fork_and_multiply()
    with multiprocessing.get_context("fork").Pool(CHILDREN) as pool:
        assert os.getpid() not in pool.map(products, range(3 * CHILDREN))
        pool.close()
        pool.join()
    products()


if __name__ == "__main__":
    main()

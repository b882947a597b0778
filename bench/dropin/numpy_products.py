# SPDX-License-Identifier: Apache-2.0
"""Products of NumPy on the BLAS that it finds, for bench_dropin.c.

    numpy_products.py dgemm|sgemm|zgemm REPEATS N...

Prints a line "N SECONDS SECONDS..." for each N, the first call first.
"""
import sys
import time

import numpy as np

dtype = {"s": np.float32, "d": np.float64, "z": np.complex128}[sys.argv[1][0]]
for n in map(int, sys.argv[3:]):
    a, b = (np.random.default_rng(seed).standard_normal((n, n)).astype(dtype) for seed in (1, 2))
    times = []
    for _ in range(int(sys.argv[2]) + 1):
        begin = time.perf_counter()
        c = a @ b
        times.append(time.perf_counter() - begin)
    print(n, *times, flush=True)

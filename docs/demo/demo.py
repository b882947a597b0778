# SPDX-License-Identifier: Apache-2.0
"""The NumPy side of demo.sh: makes the matrices, and checks and times the product.

make DEVICES.json                 writes A.npy (C order) and B.npy (Fortran order)
check DEVICES.json REPORT.json    compares C.npy with A @ B and prints what ran where; exits 1 if they differ
"""
import json
import sys
import time

import numpy as np


def load(name):
    with open(name) as file:
        return json.load(file)


def make(devices):
    gpu = any(device["kind"] in ("nvidia", "amd", "other") for device in devices["list"])
    m, k, n = (8000, 7000, 9000) if gpu else (1500, 1200, 1700)
    rng = np.random.default_rng(20240229)
    np.save("A.npy", rng.standard_normal((m, k)))
    np.save("B.npy", np.asfortranarray(rng.standard_normal((k, n))))
    print(f"A.npy {m} x {k} in C order, B.npy {k} x {n} in Fortran order, float64")


def check(devices, report):
    a, b, c = np.load("A.npy"), np.load("B.npy"), np.load("C.npy")
    start = time.perf_counter()
    wanted = a @ b
    seconds = time.perf_counter() - start

    names = {device["device"]: f'{device["kind"]}, {device["name"]}' for device in devices["list"]}
    for part in report["device_products"]:
        print(f'device {part["device"]} ({names[part["device"]]}): {part["products"]} tile products')
    flops = 2 * a.shape[0] * b.shape[1] * a.shape[1]
    ours = f'{report["seconds"]:9.4f} s  {report["gflops"]:9.1f} GFLOP/s'
    print(f'davit  {ours}, transfers included, tile {report["tile"]}')
    print(f"numpy  {seconds:9.4f} s  {flops / seconds * 1e-9:9.1f} GFLOP/s")

    norm = np.linalg.norm
    bound = 3 * np.finfo(float).eps * np.sqrt(a.shape[1] + 2) * norm(a) * norm(b)
    error = norm(c - wanted) if c.shape == wanted.shape else np.inf
    print(f"error {error:.3g}, bound {bound:.3g}: ||C - A B||_F <= 3 eps sqrt(k + 2) ||A||_F ||B||_F")
    return 0 if error <= bound else 1


if __name__ == "__main__":
    command, *files = sys.argv[1:]
    sys.exit({"make": make, "check": check}[command](*map(load, files)))

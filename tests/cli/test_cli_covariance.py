#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit covariance against NumPy (docs/cli.md is the contract).

usage: test_cli_covariance.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import io
import os
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import CHECKED, PLACES, cases, davit, expect, expect_keys, main, noise, npy_bytes, refuse, run_json, save


def wanted_covariance(d, divisor, mean_divisor):
    wide = d.astype(np.longdouble)
    mean = wide.sum(axis=0) / mean_divisor
    centred = wide - mean
    return mean, centred.T @ centred / divisor


def covariance_limit(d, divisor, mean_divisor, growth):
    rows, eps, wide = len(d), np.finfo(d.dtype).eps, d.astype(np.longdouble)
    centred = wide - wide.sum(axis=0) / mean_divisor
    square = (centred**2).sum()
    e = growth * eps * np.sqrt((abs(wide).sum(axis=0) ** 2).sum()) / abs(mean_divisor)
    v = np.sqrt((centred.sum(axis=0) ** 2).sum())
    return float(3 * (eps * np.sqrt(rows + 2) * square + 2 * e * v + rows * e * e) / abs(divisor))


def divisors(rows):
    return (([], rows - 1, rows), (["--divisor", "rows"], rows, rows),
            (["--divisor=rows-1", "--mean-divisor", "rows"], rows - 1, rows), (["--divisor", "-2.5"], -2.5, rows),
            (["--divisor", "1", "--mean-divisor", "3214212.01"], 1, 3214212.01))


def expect_covariance(s, d, wanted, limit, what):
    cols = d.shape[1]
    expect(s.shape == (cols, cols) and s.dtype == d.dtype, f"{what}: {s.dtype} {s.shape}")
    expect(s.flags.f_contiguous, f"{what}: Fortran order is written")
    expect(np.array_equal(s, s.T), f"{what}: symmetric exactly")
    expect(np.linalg.norm((s - wanted).astype(float)) <= limit, f"{what}: S")


def expect_packed(p, d, wanted, limit, what):
    upper = np.triu_indices(d.shape[1], 1)
    expect(p.shape == upper[0].shape and p.dtype == d.dtype, f"{what}: packed {p.dtype} {p.shape}")
    if p.shape == upper[0].shape:
        expect(np.linalg.norm((p - wanted[upper]).astype(float)) <= limit, f"{what}: packed")


def expect_means(m, d, wanted, mean_divisor, what):
    limit = np.finfo(d.dtype).eps * (len(d) + 1) * abs(d.astype(float)).sum(axis=0) / abs(mean_divisor)
    expect(m.shape == wanted.shape and m.dtype == d.dtype, f"{what}: {m.dtype} {m.shape}")
    expect(m.shape == wanted.shape and np.all(abs(m - wanted) <= limit), f"{what}: means")


def test_covariance():
    rng = np.random.default_rng(19)
    shapes = ((50, 13), (13, 50), (2, 1), (2, 5), (300, 40))
    for dtype, (rows, cols), order, choice in cases(("f8", "f4"), shapes, "CF", range(5)):
        options, divisor, mean_divisor = divisors(rows)[choice]
        d = (noise(rng, rows, cols) + rng.standard_normal(cols) * 3).astype(dtype)
        save("d.npy", d, order)
        mean, wanted = wanted_covariance(d, divisor, mean_divisor)
        devices = PLACES[(choice + (order == "F")) % 2]
        what = f"{rows} x {cols} {dtype} {order} {options} on {devices}"
        report = run_json("covariance", "d.npy", "-o", "s.npy", "--mean", "m.npy", "--check", "--devices", devices,
                          *options)
        expect_keys(report, "gflops", "rows", "cols", "divisor", "mean_divisor", *CHECKED)
        expect(report["error"] <= report["bound"], f"the check holds: {report}")
        told = tuple(report[key] for key in ("rows", "cols", "divisor", "mean_divisor"))
        expect(told == (rows, cols, divisor, mean_divisor), f"{what}: {told}")
        limit = covariance_limit(d, divisor, mean_divisor, rows if devices == "cpu" else np.sqrt(rows + 2))
        expect(abs(report["bound"] / limit - 1) < 1e-3, f"{what}: bound {report['bound']}, not {limit}")
        s = np.load("s.npy")
        expect_covariance(s, d, wanted, limit, what)
        expect_means(np.load("m.npy"), d, mean, mean_divisor, what)
        if not options:
            oracle = np.cov(d.astype(float), rowvar=False).reshape(cols, cols)
            expect(np.linalg.norm(s - oracle) <= limit, f"{what}: np.cov")
        davit("covariance", "d.npy", "-o", "p.npy", "--packed", "--check", "--devices", devices, *options)
        expect_packed(np.load("p.npy"), d, wanted, limit, what)


def test_edges():
    for order in "CF":
        for shape in ((3, 0), (1, 4), (0, 4), (0, 0)):
            save("d.npy", np.ones(shape), order)
            rows, cols = shape
            davit("covariance", "d.npy", "--divisor", "2", "--mean-divisor", "2", "-o", "s.npy", "--mean", "m.npy")
            wanted = np.full((cols, cols), rows * (1 - rows / 2) ** 2 / 2)
            s, m = np.load("s.npy"), np.load("m.npy")
            expect(s.shape == wanted.shape and np.allclose(s, wanted), f"{shape}: {s}")
            expect(np.array_equal(m, np.full(cols, rows / 2)), f"{shape}: {m}")
            davit("covariance", "d.npy", "--divisor", "2", "--mean-divisor", "2", "-o", "s.npy", "--packed", "--check")
            expect(np.load("s.npy").shape == (cols * (cols - 1) // 2,), f"{shape}: packed")
    d = noise(np.random.default_rng(20), 30, 4)
    result = davit("covariance", "-", "-o", "-", data=npy_bytes(d))
    expect(np.allclose(np.load(io.BytesIO(result.out)), np.cov(d, rowvar=False)), "through pipes")
    result = davit("covariance", "-", "--mean", "-", "-v", data=npy_bytes(d))
    expect(np.allclose(np.load(io.BytesIO(result.out)), d.mean(axis=0)), "the means to standard output")
    for part in ("gflops: ", "rows: 30", "cols: 4"):
        expect(part in result.err, f"{part} in {result.err}")


def test_nan():
    rng = np.random.default_rng(21)
    for dtype, order, devices, form in cases(("f8", "f4"), "CF", PLACES, ([], ["--packed"])):
        d = noise(rng, 30, 6, dtype=dtype)
        d[7, 2] = np.nan
        save("d.npy", d, order)
        davit("covariance", "d.npy", "--check", "-o", "s.npy", "--mean", "m.npy", "--devices", devices, *form)
        of_column = np.arange(6) == 2
        nans = of_column[:, None] | of_column
        wanted = nans[np.triu_indices(6, 1)] if form else nans
        expect(np.array_equal(np.isnan(np.load("s.npy")), wanted), f"NaN in S, {dtype} {order} {form} on {devices}")
        expect(np.array_equal(np.isnan(np.load("m.npy")), of_column), f"NaN in the means, {dtype} {order} on {devices}")


def test_underflow():
    """The check allows what is lost below the least number of the type."""
    rng = np.random.default_rng(22)
    for order, devices, scale in cases("CF", PLACES, (1e-25, 1, 1e6)):
        save("d.npy", noise(rng, 30, 6, dtype="f4") * np.float32(scale), order)
        for options in (["--divisor", "1e46"], ["--divisor", "-1e39"], ["--mean-divisor", "1e46"], ["--divisor", "inf"], []):
            davit("covariance", "d.npy", "--check", "-o", "s.npy", "--devices", devices, *options)
            expect(np.isfinite(np.load("s.npy")).all(), f"finite, {order} {scale} {options} on {devices}")


def test_divisors():
    """A divisor whose reciprocal overflows would make NaN of the covariance 0."""
    d = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    for dtype, least, bad in (("f8", 1e-307, 1e-320), ("f4", 1e-37, 1e-39), ("f4", 1e-37, -1e-46)):
        save("d.npy", d.astype(dtype))
        for devices in PLACES:
            for name in ("divisor", "mean-divisor"):
                refuse(("covariance", "d.npy", f"--{name}", bad, "--devices", devices), f"--{name} cannot be",
                       f"range of {np.dtype(dtype).name}", code=2)
            davit("covariance", "d.npy", "--divisor", least, "--check", "-o", "s.npy", "--devices", devices)
            expect(np.load("s.npy")[0, 1] == 0, f"0 stays 0 on {devices}")


def test_same_output():
    """Two results never go to one file, however it is called."""
    os.mkdir("folder")
    np.save("d.npy", np.arange(12.0).reshape(4, 3))
    for first, second in (("s.npy", "./s.npy"), ("folder/s.npy", "folder/../folder/s.npy"), ("s.npy", os.path.abspath("s.npy"))):
        refuse(("covariance", "d.npy", "-o", first, "--mean", second), second, "two outputs", code=2)
        expect(not os.path.exists(first), f"{first} was written")


if __name__ == "__main__":
    sys.exit(main(globals()))

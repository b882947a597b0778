#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of --check at the ends of the range: what overflows or underflows on the way, infinities and NaN (docs/check.md).

usage: test_check.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import sys
import warnings

import numpy as np

sys.dont_write_bytecode = True
from support import PLACES, cases, davit, expect, main, run_json, sampled, save

REAL = ("mean", "var", "std", "norm")
HUGE, TINY, LEAST = 1e308, 1e-200, 5e-324
# Results, in the order of REAL; the first number is not finite, too large in a partial result, or too small.
RANGES = {
    (1, np.inf, 2): (np.inf, np.nan, np.nan, np.inf),
    (1, -np.inf, 2): (-np.inf, np.nan, np.nan, np.inf),
    (np.inf, -np.inf, 2): (np.nan, np.nan, np.nan, np.inf),
    (1, np.nan, np.inf): (np.nan, np.nan, np.nan, np.nan),
    (HUGE, HUGE, HUGE): (np.inf, np.inf, np.inf, np.sqrt(3) * HUGE),
    (HUGE, -HUGE, 0): (0, np.inf, np.inf, np.sqrt(2) * HUGE),
    (-HUGE, -HUGE, np.inf): (None, np.nan, np.nan, np.inf),
    (1.5 * HUGE, 1.5 * HUGE): (np.inf, np.inf, np.inf, np.inf),
    (TINY, TINY, 3 * TINY): (5 / 3 * TINY, 0, 0, np.sqrt(11) * TINY),
    (LEAST, 0): (0, 0, 0, LEAST),
    (LEAST, LEAST, LEAST): (LEAST, 0, 0, None),
}


def expect_result(found, wanted, what):
    right = wanted is None or (np.isnan(found) if np.isnan(wanted) else found == wanted or abs(found / wanted - 1) < 1e-14)
    expect(right, f"{what}: {found}, expected {wanted}")


def test_reduce():
    for (x, wanted), (place, op), along, devices in cases(RANGES.items(), enumerate(REAL), (False, True), PLACES):
        save("x.npy", np.stack([x, x]) if along else np.array(x))
        found = davit("reduce", "x.npy", "--op", op, "--check", "--devices", devices, *(["--axis", 1] if along else []))
        for line in found.out.decode().split():
            expect_result(float(line), wanted[place], f"{op} of {x} on {devices}")


def test_types():
    """Infinities in every floating type; complex numbers have two parts."""
    for dtype, op, devices in cases(("f2", "f4", "f8", "c8", "c16"), REAL, PLACES):
        save("x.npy", np.array([1, np.inf, 2], dtype))
        davit("reduce", "x.npy", "--op", op, "--check", "--devices", devices)
        save("x.npy", (np.array([HUGE, HUGE, HUGE]) * (1 + (1j if dtype[0] == "c" else 0))).astype("c16" if dtype[0] == "c" else "f8"))
        davit("reduce", "x.npy", "--op", op, "--check", "--devices", devices)


def test_any_range():
    """The check of what the tool computes never fails, whatever the exponents are, and bounds are finite."""
    rng = np.random.default_rng(31)
    for turn in sampled(range(24)):
        x = rng.standard_normal((5, 7)) * 10.0 ** rng.choice((-323, -200, -160, 0, 150, 160, 200, 307), (5, 7) if turn % 2 else ())
        if turn % 3 == 0:
            x[rng.integers(5), rng.integers(7)] = rng.choice((np.inf, -np.inf, np.nan))
        save("x.npy", x, "CF"[turn % 2])
        for op in ("sum", *REAL):
            report = run_json("reduce", "x.npy", "--op", op, "--check", "--devices", PLACES[turn // 2 % 2],
                              *(() if turn % 4 == 0 else ("--axis", turn % 2)))
            expect(report["error"] is not None and report["bound"] is not None, f"{op} of {x}: {report}")
        report = run_json("covariance", "x.npy", "--check", "--devices", PLACES[turn // 2 % 2])
        expect(report["error"] is not None and report["bound"] is not None, f"covariance of {x}: {report}")


def test_covariance():
    """Sums, centred elements and products of columns overflow, of others in the same matrix none."""
    other = np.array([1.0, 2, 4])
    columns = ((HUGE,) * 3, (1e200,) * 3, (1e200, 2e200, 4e200), (HUGE, -HUGE, HUGE), (3e38,) * 3, (1e25, 2e25, 4e25), (1, np.inf, 2),
               (TINY, TINY, 3 * TINY))
    for column, dtype, form, devices in cases(columns, ("f8", "f4"), ([], ["--packed"]), PLACES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            d = np.stack([column, column, other, -other], axis=1).astype(dtype)
        save("d.npy", d)
        report = run_json("covariance", "d.npy", "--check", "-o", "s.npy", "--devices", devices, *form)
        what = f"{column} {dtype} {form} on {devices}"
        expect(report["error"] is not None and report["bound"] is not None, f"{what}: {report}")
        expect(np.isclose(np.load("s.npy")[-1] if form else np.load("s.npy")[2, 3], -np.var(other, ddof=1)), f"{what}: the others")


if __name__ == "__main__":
    sys.exit(main(globals()))

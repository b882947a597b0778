#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit solve and davit factor against NumPy, and of what they refuse.

usage: test_cli_solve.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import io
import os
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import CHECKED, PLACES, cases, davit, expect, listing, main, noise, npy_bytes, put, refuse, run_json, save

TYPES = ("f4", "f8", "c8", "c16")
SIZES = (0, 1, 2, 31, 257)


def random(rng, *shape, dtype="f8"):
    x = noise(rng, *shape)
    return (x + 1j * noise(rng, *shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def definite(rng, n, dtype="f8"):
    m = random(rng, n, n, dtype=dtype)
    return (m @ m.conj().T / max(n, 1) + np.eye(n)).astype(dtype)


def half(a, upper):
    """What is read of A: NaN elsewhere, and what LAPACK's rules ignore on the diagonal."""
    kept = np.where((np.triu if upper else np.tril)(np.ones(a.shape, bool)), a, np.nan).astype(a.dtype)
    return kept + np.diag(np.full(len(a), 7j)).astype(a.dtype) if a.dtype.kind == "c" else kept


def near(found, wanted):
    """Whether the results of a matrix with a small condition are the same, up to rounding."""
    eps = np.finfo(wanted.dtype).eps
    return found.shape == wanted.shape and abs(found - wanted).max(initial=0) <= 40 * eps * abs(wanted).max(initial=1)


def test_solve():
    rng = np.random.default_rng(1)
    for n, columns, dtype, order, order_b, upper, place in cases(SIZES, ((), (1,), (3,), (0,)), TYPES, "CF", "CF", (False, True), PLACES):
        a, b = definite(rng, n, dtype), random(rng, n, *columns, dtype=dtype)
        save("a.npy", half(a, upper), order)
        save("b.npy", b, order_b)
        davit("solve", "a.npy", "b.npy", "-o", "x.npy", "--check", "--devices", place, *["--upper"] * upper)
        x, wanted = np.load("x.npy"), np.linalg.solve(a, b)
        expect(x.dtype == dtype and near(x, wanted), f"solve {dtype} {n} {columns} {order}{order_b} {upper} {place}")


def test_factor():
    rng = np.random.default_rng(2)
    for n, dtype, order, upper, place in cases(SIZES, TYPES, "CF", (False, True), PLACES):
        a = definite(rng, n, dtype)
        save("a.npy", half(a, upper), order)
        davit("factor", "a.npy", "-o", "l.npy", "--check", "--devices", place, *["--upper"] * upper)
        found, lower = np.load("l.npy"), np.linalg.cholesky(a)
        wanted = lower.conj().T if upper else lower
        expect(found.dtype == dtype and near(found, wanted), f"factor {dtype} {n} {order} {upper} {place}")
        expect((np.where(wanted == 0, found, 0) == 0).all(), f"zeros beside the factor: {dtype} {n} {order} {upper}")


def test_errors():
    """What --check prints, beside a computation in long double. The off-diagonal elements make most of the norm, and the
    imaginary parts of the diagonal count as 0."""
    rng, n = np.random.default_rng(3), 400
    a = np.diag(np.full(n, 20 + 0j))
    a[0, 1:] = np.exp(1j * noise(rng, n - 1))
    a[1:, 0] = a[0, 1:].conj()
    b, norm = random(rng, n, 2, dtype="c16"), abs(a).sum(axis=0).max()
    save("b.npy", b)
    for order in "CF":
        save("a.npy", a + 1e6j * np.eye(n), order)
        report = run_json("solve", "a.npy", "b.npy", "-o", "x.npy", "--check")
        x = np.load("x.npy").astype(np.clongdouble)
        wanted = max(abs(b - a @ x).max(axis=0) / (norm * abs(x).max(axis=0) + abs(b).max(axis=0)))
        expect(set(CHECKED) <= set(report) and (report["n"], report["k"]) == (n, 2), f"{report}")
        expect(wanted / 5 < report["error"] < wanted * 5, f"the backward error is {wanted}: {report}")
        expect(abs(report["bound"] / (401 * 2**1.5 * 2**-52) - 1) < 1e-10, f"{report}")
        report = run_json("factor", "a.npy", "-o", "l.npy", "--check")
        lower = np.load("l.npy").astype(np.clongdouble)
        wanted = abs(a - lower @ lower.conj().T).sum(axis=0).max() / norm
        expect(report["n"] == n and wanted / 5 < report["error"] < wanted * 5, f"the factor's error is {wanted}: {report}")


def test_conditions():
    """The backward error is small where the error is not."""
    rng = np.random.default_rng(6)
    q, _ = np.linalg.qr(random(rng, 60, 60, dtype="c16"))
    save("a.npy", (q * np.logspace(0, -14, 60)) @ q.conj().T)
    davit("solve", "a.npy", save("b.npy", random(rng, 60, 2, dtype="c16")), "-o", "x.npy", "--check")
    davit("factor", "a.npy", "-o", "l.npy", "--check")
    diagonal = save("diagonal.npy", np.diag([1e-300, 1, 1e300]))
    davit("solve", diagonal, save("ones.npy", np.ones(3)), "-o", "x.npy", "--check")
    expect(np.allclose(np.load("x.npy"), [1e300, 1, 1e-300], rtol=1e-15), "elements of all sizes")


def test_check():
    """What is not finite fails the check, and nothing is written."""
    a = save("a.npy", np.eye(3))
    for value in (np.nan, np.inf):
        b = save("b.npy", np.array([[2, 1], [value, 3], [6, 5]]))
        refuse(("solve", a, b, "-o", "x.npy", "--check"), "check failed: error nan of bound 8.88e-16: max_j", code=1)
        davit("solve", a, b, "-o", "x.npy")
        expect((np.load("x.npy")[:, 1] == (1, 3, 5)).all(), f"{value} stays in its column")
        os.unlink("x.npy")


def test_indefinite():
    rng = np.random.default_rng(4)
    for dtype, place, order, upper, bad in cases(("f4", "c16"), PLACES, "CF", (False, True), (0, 1, 130, 199)):
        a = definite(rng, 200, dtype)
        a[bad, bad] = -1
        words = ("solve" if bad else "factor") + f": the leading minor of order {bad + 1} is not positive definite\n"
        save("a.npy", a, order)
        put("x.npy", "old")
        save("b.npy", np.ones(200, dtype))
        command = ("solve", "a.npy", "b.npy") if bad else ("factor", "a.npy")
        refuse((*command, "-o", "x.npy", "--check", "--devices", place, *["--upper"] * upper), words, code=1)
        expect(open("x.npy").read() == "old", "an older file stays")
    for value in (0, np.nan):
        refuse(("factor", save("a.npy", np.full((2, 2), value)), "-o", "y.npy"), "order 1 is not positive definite", code=1)
    refuse(("solve", save("a.npy", np.array([[1, 0], [2, 1.0]])), save("b.npy", np.ones((2, 0))), "-o", "y.npy"), "order 2", code=1)
    davit("solve", "a.npy", "b.npy", "--upper", "-o", "y.npy")


def test_runs():
    """Every run begins with A and B."""
    rng = np.random.default_rng(5)
    a, b = definite(rng, 40, "c16"), random(rng, 40, 3, dtype="c16")
    save("a.npy", a)
    save("b.npy", b)
    for words in (("solve", "a.npy", "b.npy"), ("factor", "a.npy")):
        davit(*words, "-o", "once.npy", "--devices", "cpu")
        report = run_json(*words, "-o", "again.npy", "--repeat", 3, "--warmup", 1, "--check", "--devices", "cpu")
        expect((np.load("once.npy") == np.load("again.npy")).all(), f"{words[0]}: the third run's bits")
        expect(report["gflops"] > 0 and report["type"] == "complex128", f"{report}")
    expect("gflops: " in davit("factor", "a.npy", "-v").err, "the rate")
    expect("not kept; -o X writes it" in davit("solve", "a.npy", "b.npy").err, "a lost result")


def test_files():
    a, b = np.array([[4, -2], [-2, 5]]), np.array([2, 7])
    wanted = np.linalg.solve(a, b)
    save("a.npy", a)
    put("a.csv", "4,-2\n-2,5\n")
    put("b.csv", "2\n7\n")
    put("a.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n4\n-2\n5\n")
    put("h.mtx", "%%MatrixMarket matrix array complex hermitian\n2 2\n4 0\n1 2\n5 0\n")
    save("swapped.npy", a.astype(">f8"))
    for name in ("a.npy", "swapped.npy", "a.csv", "a.mtx"):
        davit("solve", name, save("b.npy", b), "-o", "x.npy")
        expect(np.allclose(np.load("x.npy"), wanted, rtol=1e-15) and np.load("x.npy").shape == (2,), f"{name}")
    davit("solve", "a.npy", "b.csv", "-o", "x.npy")
    expect(np.allclose(np.load("x.npy").ravel(), wanted), "B as a table")
    result = davit("solve", "-", "b.npy", "-o", "-", data=npy_bytes(a.astype("f8")))
    expect(np.allclose(np.load(io.BytesIO(result.out)), wanted), "standard input and output")
    davit("factor", "h.mtx", "-o", "l.csv")
    found = np.loadtxt("l.csv", dtype=complex, delimiter=",")
    expect(np.allclose(found, np.linalg.cholesky(np.array([[4, 1 - 2j], [1 + 2j, 5]]))), f"a Hermitian file: {found}")


def test_refused():
    a, b = save("a.npy", np.eye(4)), save("b.npy", np.ones(4))
    wide, long = save("wide.npy", np.ones((3, 4))), save("long.npy", np.ones((3, 4, 4)))
    rows = "expected a vector of 4 or a matrix of as many rows, found "
    for arguments, sentence in (
            (("solve", wide, b), "wide.npy: expected a square matrix, found 3 x 4"), (("factor", wide), "expected a square matrix, found 3 x 4"),
            (("factor", b), "b.npy: expected a matrix, found a vector of 4"), (("solve", long, b), "expected a matrix, found 3 x 4 x 4"),
            (("solve", a, save("b3.npy", np.ones(3))), rows + "a vector of 3"), (("solve", a, wide), rows + "3 x 4"),
            (("solve", a, save("row.npy", np.ones((1, 4)))), rows + "1 x 4"), (("solve", a, long), rows + "3 x 4 x 4"),
            (("solve", a, save("long4.npy", np.ones((4, 2, 2)))), rows + "4 x 2 x 2"),
            (("solve", save("one.npy", np.ones((1, 1))), save("scalar.npy", np.float64(1))), "as many rows, found a scalar"),
            (("solve", a, save("f4.npy", np.ones(4, "f4"))), "expected float64 as in the first operand, found float32"),
            (("solve", a, save("c16.npy", np.ones(4, "c16"))), "expected float64 as in the first operand, found complex128"),
            (("factor", save("big.npy", np.full((2, 2), 2**53 + 1))), "exact in float64"),
            (("factor", save("text.npy", np.full((2, 2), "x"))), "text.npy"),
            (("factor", save("wider.npy", np.ones((2, 2), np.longdouble))), "(long double)")):
        refuse((*arguments, "-o", "x.npy"), sentence)
    for arguments, sentence in ((("solve", a), "operand B is missing"), (("factor", a, b), "'b.npy'"),
                                (("factor", a, "--upper=1"), "--upper takes no value"), (("factor", a, "--lower"), "--lower"),
                                (("solve", a, b, "-o", "x.txt"), "-o x.txt: expected a name that ends in")):
        refuse(arguments, sentence, code=2)
    davit("factor", a, "-o", "missing/l.npy", code=1)
    expect("x.npy" not in listing(), "no output")


if __name__ == "__main__":
    sys.exit(main(globals()))

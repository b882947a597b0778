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


def mixed(rng, m, n, dtype="f8"):
    """A matrix with a small condition, whose pivots lie below the diagonal."""
    return (random(rng, m, n, dtype=dtype) + 6 * max(m, n) ** 0.5 * np.roll(np.eye(m, n), m // 3, 0)).astype(dtype)


def half(a, upper):
    """What is read of A: NaN elsewhere, and what LAPACK's rules ignore on the diagonal."""
    kept = np.where((np.triu if upper else np.tril)(np.ones(a.shape, bool)), a, np.nan).astype(a.dtype)
    return kept + np.diag(np.full(len(a), 7j)).astype(a.dtype) if a.dtype.kind == "c" else kept


def near(found, wanted):
    """Whether the results of a matrix with a small condition are the same, up to rounding."""
    eps = np.finfo(wanted.dtype).eps
    return found.shape == wanted.shape and abs(found - wanted).max(initial=0) <= 40 * eps * abs(wanted).max(initial=1)


def test_definite():
    rng = np.random.default_rng(1)
    for n, columns, dtype, order, order_b, upper, place in cases(SIZES, ((), (1,), (3,), (0,)), TYPES, "CF", "CF", (False, True), PLACES):
        a, b = definite(rng, n, dtype), random(rng, n, *columns, dtype=dtype)
        save("a.npy", half(a, upper), order)
        save("b.npy", b, order_b)
        davit("solve", "a.npy", "b.npy", "-o", "x.npy", "--check", "--devices", place, "--spd", *["--upper"] * upper)
        x, wanted = np.load("x.npy"), np.linalg.solve(a, b)
        expect(x.dtype == dtype and near(x, wanted), f"solve {dtype} {n} {columns} {order}{order_b} {upper} {place}")


def test_solve():
    """Square systems by LU; least squares, and the shortest solution."""
    rng = np.random.default_rng(7)
    shapes = ((0, 0), (1, 1), (2, 2), (31, 31), (257, 257), (1, 0), (0, 3), (5, 1), (1, 5), (90, 31), (31, 90), (300, 257))
    for (m, n), columns, dtype, order, order_b, place in cases(shapes, ((), (3,), (0,)), TYPES, "CF", "CF", PLACES):
        a, b = mixed(rng, m, n, dtype), random(rng, m, *columns, dtype=dtype)
        save("a.npy", a, order)
        save("b.npy", b, order_b)
        report = run_json("solve", "a.npy", "b.npy", "-o", "x.npy", "--check", "--devices", place)
        x, wanted = np.load("x.npy"), (np.linalg.pinv(a) @ b).astype(dtype)
        expect(x.dtype == dtype and near(x, wanted), f"solve {dtype} {m} x {n} {columns} {order}{order_b} {place}")
        expect(("A^H" in report["check"]) == (m > n) and report["error"] <= report["bound"], f"{m} x {n}: {report}")


def test_lu():
    rng = np.random.default_rng(8)
    for m, n, dtype, order, place in cases(SIZES, SIZES, TYPES, "CF", PLACES):
        a, k = mixed(rng, m, n, dtype), min(m, n)
        save("a.npy", a, order)
        davit("factor", "a.npy", "-o", "f.npy", "--kind", "lu", "--pivots", "p.npy", "--check", "--devices", place)
        f, p = np.load("f.npy"), np.load("p.npy")
        lower, upper = np.tril(f[:, :k], -1) + np.eye(m, k), np.triu(f[:k])
        rows = np.arange(m)
        for i, j in enumerate(p):
            rows[[i, j]] = rows[[j, i]]
        expect(f.dtype == dtype and p.dtype == "i4" and p.shape == (k,), f"types {f.dtype} {p.dtype} {p.shape}")
        expect(near((lower @ upper).astype(dtype), a[rows]), f"LU {dtype} {m} x {n} {order} {place}")
        expect(abs(lower).max(initial=0) <= 2**0.5 and (m < 9 or n < 9 or (p > range(k)).sum() > k / 3), f"exchanges {m} x {n}")


def test_qr():
    rng = np.random.default_rng(9)
    for m, n, dtype, order, place in cases(SIZES, SIZES, TYPES, "CF", PLACES):
        a, k = mixed(rng, m, n, dtype), min(m, n)
        save("a.npy", a, order)
        davit("factor", "a.npy", "-o", "f.npy", "--kind", "qr", "--tau", "t.npy", "--check", "--devices", place)
        f, tau = np.load("f.npy"), np.load("t.npy")
        product = np.triu(f)
        expect(f.dtype == tau.dtype == dtype and tau.shape == (k,), f"types {f.dtype} {tau.dtype} {tau.shape}")
        for i in reversed(range(k)):
            v = np.concatenate(([1], f[i + 1:, i]))
            product[i:] -= tau[i] * np.outer(v, v.conj() @ product[i:])
        expect(near(product.astype(dtype), a), f"QR {dtype} {m} x {n} {order} {place}")
        if k:
            expect(near(abs(np.triu(f)[:k]), abs(np.linalg.qr(a)[1]).astype(f.real.dtype)), f"R {dtype} {m} x {n} {order} {place}")


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
        report = run_json("solve", "a.npy", "b.npy", "-o", "x.npy", "--check", "--spd")
        x = np.load("x.npy").astype(np.clongdouble)
        wanted = max(abs(b - a @ x).max(axis=0) / (norm * abs(x).max(axis=0) + abs(b).max(axis=0)))
        expect(set(CHECKED) <= set(report) and (report["n"], report["k"]) == (n, 2), f"{report}")
        expect(wanted / 5 < report["error"] < wanted * 5, f"the backward error is {wanted}: {report}")
        expect(abs(report["bound"] / (401 * 2**1.5 * 2**-52) - 1) < 1e-10, f"{report}")
        report = run_json("factor", "a.npy", "-o", "l.npy", "--check", "--kind", "cholesky")
        lower = np.load("l.npy").astype(np.clongdouble)
        wanted = abs(a - lower @ lower.conj().T).sum(axis=0).max() / norm
        expect(report["n"] == n and wanted / 5 < report["error"] < wanted * 5, f"the factor's error is {wanted}: {report}")


def test_other_errors():
    """The same of LU, QR and least squares, whose matrices are not symmetric."""
    rng, m, n = np.random.default_rng(10), 300, 200
    for order, dtype in cases("CF", ("f8", "c16")):
        square, tall = random(rng, m, m, dtype=dtype), random(rng, m, n, dtype=dtype)
        b = random(rng, m, 2, dtype=dtype)
        save("b.npy", b)
        for a, path in ((square, "square.npy"), (tall, "tall.npy"), (tall[:n].T, "wide.npy")):
            save(path, a, order)
            rows = save("b.npy", b[:len(a)])
            report = run_json("solve", path, rows, "-o", "x.npy", "--check")
            x = np.load("x.npy").astype(np.clongdouble)
            error, norm = b[:len(a)] - a @ x, abs(a).sum(axis=1).max()
            if path == "tall.npy":
                error = a.conj().T @ error / abs(a).sum(axis=0).max()
            wanted = max(abs(error).max(axis=0) / (norm * abs(x).max(axis=0) + abs(b[:len(a)]).max(axis=0)))
            expect(wanted / 5 < report["error"] < wanted * 5, f"{path}: the error is {wanted}: {report}")
            bound = report["bound"]
            expect(bound < 1e-9, f"{report}")
            if path == "square.npy":
                davit("factor", path, "-o", "f.npy", "--kind", "lu")
                growth = (abs(np.tril(np.load("f.npy"), -1) + np.eye(m)) @ abs(np.triu(np.load("f.npy")))).sum(axis=1).max() / norm
                eps = (2**1.5 if dtype == "c16" else 1) * 2**-52
                expect(abs(bound / (3 * (m + 1) * eps * growth) - 1) < 1e-10, f"the bound has |L| |U|: {growth}, {report}")
        report = run_json("factor", "tall.npy", "-o", "f.npy", "--kind", "lu", "--pivots", "p.npy", "--check")
        f, rows = np.load("f.npy"), np.arange(m)
        for i, j in enumerate(np.load("p.npy")):
            rows[[i, j]] = rows[[j, i]]
        lower, upper = np.tril(f, -1).astype(np.clongdouble) + np.eye(m, n), np.triu(f[:n]).astype(np.clongdouble)
        wanted = abs(tall[rows] - lower @ upper).sum(axis=1).max() / (abs(lower) @ abs(upper)).sum(axis=1).max()
        expect(wanted / 5 < report["error"] < wanted * 5 and report["m"] == m, f"LU's error is {wanted}: {report}")


def test_singular():
    """A matrix without an inverse, or of less than full rank: one sentence, and no file."""
    rng = np.random.default_rng(11)
    for dtype, place, order, bad in cases(TYPES, PLACES, "CF", (0, 7, 129)):
        a = np.triu(mixed(rng, 130, 130, dtype))
        a[:, bad], a[bad, :] = 0, 0
        save("a.npy", a, order)
        save("b.npy", np.ones(130, dtype))
        for command in (("solve", "a.npy", "b.npy"), ("factor", "a.npy", "--kind", "lu", "--pivots", "p.npy")):
            refuse((*command, "-o", "x.npy", "--devices", place), "the matrix is singular: U(", code=1)
        save("tall.npy", np.vstack((a * (np.arange(130) != bad), 0 * a)).astype(dtype), order)
        save("b2.npy", np.ones(260, dtype))
        refuse(("solve", "tall.npy", "b2.npy", "-o", "x.npy", "--devices", place), "the matrix has not full rank: R(", code=1)
    davit("factor", "a.npy", "-o", "f.npy", "--kind", "qr", "--check")


def test_conditions():
    """The backward error is small where the error is not."""
    rng = np.random.default_rng(6)
    q, _ = np.linalg.qr(random(rng, 60, 60, dtype="c16"))
    save("a.npy", (q * np.logspace(0, -14, 60)) @ q.conj().T)
    diagonal = save("diagonal.npy", np.diag([1e-300, 1, 1e300]))
    for words in ((), ("--spd",)):
        davit("solve", "a.npy", save("b.npy", random(rng, 60, 2, dtype="c16")), "-o", "x.npy", "--check", *words)
        davit("solve", diagonal, save("ones.npy", np.ones(3)), "-o", "x.npy", "--check", *words)
        expect(np.allclose(np.load("x.npy"), [1e300, 1, 1e-300], rtol=1e-15), "elements of all sizes")
    for kind in ("cholesky", "lu", "qr"):
        davit("factor", "a.npy", "-o", "l.npy", "--check", "--kind", kind)


def test_refine():
    rng = np.random.default_rng(12)
    for dtype in ("f8", "c16"):
        for words in ((), ("--spd",)):
            a, b = definite(rng, 60, dtype), random(rng, 60, 2, dtype=dtype)
            save("a.npy", a), save("b.npy", b)
            said = davit("solve", "a.npy", "b.npy", "-o", "x.npy", "--refine", "--check", "--devices", "cpu", *words)
            expect(near(np.load("x.npy"), np.linalg.solve(a, b)) and "not refined" not in said.err, f"{dtype} {words}: {said}")
    hilbert = 1 / (np.arange(12)[:, None] + np.arange(12) + 1.0)
    said = davit("solve", save("a.npy", hilbert), save("b.npy", np.ones(12)), "-o", "x.npy", "--refine", "--devices", "cpu")
    expect("not refined, because it does not converge" in said.err, f"Hilbert's matrix: {said}")
    said = davit("solve", save("a.npy", np.eye(3, dtype="f4")), save("b.npy", np.ones(3, "f4")), "-o", "x.npy", "--refine")
    expect("not refined: A was factored in its own type" in said.err, f"float32: {said}")


def test_check():
    """What is not finite fails the check, and nothing is written."""
    a = save("a.npy", np.eye(3))
    for value in (np.nan, np.inf):
        b = save("b.npy", np.array([[2, 1], [value, 3], [6, 5]]))
        refuse(("solve", a, b, "-o", "x.npy", "--check", "--spd"), "check failed: error nan, bound 8.88e-16: max_j", code=1)
        refuse(("solve", a, b, "-o", "x.npy", "--check"), "check failed: error nan, bound 2.66e-15: max_j", code=1)
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
        command = ("solve", "a.npy", "b.npy", "--spd") if bad else ("factor", "a.npy")
        refuse((*command, "-o", "x.npy", "--check", "--devices", place, *["--upper"] * upper), words, code=1)
        expect(open("x.npy").read() == "old", "an older file stays")
    for value in (0, np.nan):
        refuse(("factor", save("a.npy", np.full((2, 2), value)), "-o", "y.npy"), "order 1 is not positive definite", code=1)
    refuse(("solve", save("a.npy", np.array([[1, 0], [2, 1.0]])), save("b.npy", np.ones((2, 0))), "--spd", "-o", "y.npy"), "order 2", code=1)
    davit("solve", "a.npy", "b.npy", "--spd", "--upper", "-o", "y.npy")


def test_runs():
    """Every run begins with A and B."""
    rng = np.random.default_rng(5)
    a, b = definite(rng, 40, "c16"), random(rng, 40, 3, dtype="c16")
    save("a.npy", a)
    save("b.npy", b)
    save("tall.npy", a[:, :30])
    for words in (("solve", "a.npy", "b.npy", "--spd"), ("solve", "a.npy", "b.npy"), ("solve", "tall.npy", "b.npy"), ("factor", "a.npy"),
                  ("factor", "a.npy", "--kind", "lu"), ("factor", "a.npy", "--kind", "qr")):
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
        davit("solve", name, save("b.npy", b), "-o", "x.npy", *["--spd"] * (name == "a.mtx"))
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
    rows = "expected a vector of 4 or a matrix with as many rows, found "
    for arguments, sentence in (
            (("solve", wide, save("three.npy", np.ones(3)), "--spd"), "wide.npy: expected a square matrix, found 3 x 4"), (("factor", wide), "expected a square matrix, found 3 x 4"),
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
                                (("solve", a, b, "-o", "x.txt"), "-o x.txt: expected a name that ends in"),
                                (("solve", a, b, "--upper"), "--upper needs --spd"), (("factor", a, "--upper", "--kind", "qr"), "--upper needs --kind cholesky"),
                                (("factor", a, "--pivots", "p.npy"), "--pivots needs --kind lu"), (("factor", a, "--kind", "lu", "--tau", "t.npy"), "--tau needs --kind qr"),
                                (("factor", a, "--kind", "svd"), "svd")):
        refuse(arguments, sentence, code=2)
    davit("factor", a, "-o", "missing/l.npy", code=1)
    expect("x.npy" not in listing(), "no output")


if __name__ == "__main__":
    sys.exit(main(globals()))

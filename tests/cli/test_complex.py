#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of complex arrays: products, sums, files and what is refused, against NumPy.

usage: test_complex.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import PLACES, cases, davit, expect, main, put, refuse, run_json, save

TYPES = ("c16", ">c8")
ALPHA, BETA = 1.5 - 2j, -0.5j


def noise(rng, *shape, dtype="c16"):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def tolerance(dtype):
    return 1e-4 if dtype.endswith("c8") else 1e-12


def operand(op, matrix):
    """The matrix whose op() is `matrix`."""
    return {"N": matrix, "T": matrix.T, "C": matrix.conj().T}[op]


def test_gemm():
    rng = np.random.default_rng(3)
    for dtype, place, left, right, order in cases(TYPES, PLACES, "NTC", "NTC", "CF"):
        a, b, c0 = noise(rng, 7, 5, dtype=dtype), noise(rng, 5, 6, dtype=dtype), noise(rng, 7, 6, dtype=dtype)
        save("a.npy", operand(left, a), order)
        save("b.npy", operand(right, b), order)
        save("c0.npy", c0)
        davit("gemm", "a.npy", "b.npy", "--transa", left, "--transb", right, "--c0", "c0.npy", "--alpha", "1.5-2j",
              "--beta", "-0.5j", "-o", "c.npy", "--check", "--devices", place)
        c = np.load("c.npy")
        expect(c.dtype == np.dtype(dtype.strip(">")), f"{dtype} gives {c.dtype}")
        expect(np.allclose(c, ALPHA * (a @ b) + BETA * c0, rtol=tolerance(dtype)), f"gemm {dtype} {place} {left}{right} {order}")
    report = run_json("gemm", "a.npy", "b.npy", "--transa", left, "--transb", right)
    expect(report["type"].startswith("complex") and (report["m"], report["n"], report["k"]) == (7, 6, 5), f"{report}")


def test_vectors():
    rng = np.random.default_rng(4)
    for dtype, place, order, op in cases(TYPES, PLACES, "CF", "NTC"):
        a, x, y = noise(rng, 9, 4, dtype=dtype), noise(rng, 4, dtype=dtype), noise(rng, 9, dtype=dtype)
        save("a.npy", operand(op, a), order)
        save("x.npy", x)
        save("y.npy", y)
        near = dict(rtol=tolerance(dtype), atol=tolerance(dtype))
        davit("gemv", "a.npy", "x.npy", "--trans", op, "--y0", "y.npy", "--alpha", "1.5-2j", "--beta", "-0.5j", "-o", "z.npy",
              "--check", "--devices", place)
        expect(np.allclose(np.load("z.npy"), ALPHA * (a @ x) + BETA * y, **near), f"gemv {dtype} {place} {order} {op}")
        davit("axpy", "y.npy", "y.npy", "--alpha", "2j", "-o", "z.npy", "--check", "--devices", place)
        expect(np.allclose(np.load("z.npy"), 2j * y + y, **near), f"axpy {dtype} {place}")
        for conjugate, wanted in (((), x @ x), (("--conjugate",), np.vdot(x, x))):
            result = davit("dot", "x.npy", "x.npy", *conjugate, "--check", "--devices", place)
            expect(np.allclose(complex(result.out.decode()), wanted, **near), f"dot {dtype} {place} {conjugate}: {result.out}")
            real, imaginary = run_json("dot", "x.npy", "x.npy", *conjugate, "--devices", place)["result"]
            expect(np.allclose(complex(real, imaginary), wanted, **near), "dot's parts in JSON")
    save("r.npy", np.arange(3.0))
    expect(davit("dot", "r.npy", "r.npy", "--conjugate").out == b"5\n", "conjugation changes no real number")


def norm(x, axis):
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis))


def test_reduce():
    rng = np.random.default_rng(5)
    functions = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "norm": norm}
    shapes = (((40,), None), ((6, 5), None), ((6, 5), 0), ((6, 5), 1), ((3, 4, 5), 1), ((3, 4, 5), -1), ((1,), None),
              ((0,), None), ((2, 0), 1), ((0, 2), 1), ((), None))
    for op, (shape, axis), order, dtype, place in cases(functions, shapes, "CF", TYPES, PLACES)[::3]:
        x = noise(rng, *shape, dtype=dtype)
        if x.size == 0 and op in ("mean", "var", "std"):
            continue
        save("x.npy", x, order)
        arguments = ("reduce", "x.npy", "--op", op, "--devices", place, *(() if axis is None else ("--axis", axis)))
        wanted, text = functions[op](x, axis=axis), f"{op} of {dtype} {shape} along {axis}, order {order}, {place}"
        davit(*arguments, "-o", "y.npy", "--check")
        found = np.load("y.npy")
        expect(found.shape == np.shape(wanted) and found.dtype.kind == wanted.dtype.kind, f"{text}: {found.shape} {found.dtype}")
        expect(np.allclose(found, wanted, rtol=1e-4, atol=1e-5), f"{text}: {found}, expected {wanted}")
        lines = davit(*arguments).out.decode().replace("\n", ",").split(",")[:-1]
        expect(np.allclose([complex(word) for word in lines], np.ravel(wanted), rtol=1e-4, atol=1e-5), f"{text}: {lines}")
        report = run_json(*arguments)
        pairs = np.ravel(np.asarray(report["result"], "f8"))
        flat = pairs.view("c16") if wanted.dtype.kind == "c" and wanted.size else pairs
        expect(np.allclose(flat, np.ravel(wanted), rtol=1e-4, atol=1e-5), f"{text}: {report['result']}")
        expect(report["n"] == x.size, f"{text}: n is {report['n']}")


def test_large():
    """Sums go to the devices, and are as good as those of real numbers."""
    x = noise(np.random.default_rng(6), 300_001)
    save("x.npy", x)
    for op, wanted in (("sum", x.sum()), ("mean", x.mean()), ("var", x.var()), ("std", x.std()), ("norm", norm(x, None))):
        found = complex(davit("reduce", "x.npy", "--op", op, "--check").out.decode())
        expect(abs(found - wanted) <= 1e-12 * abs(x).sum(), f"{op}: {found}, expected {wanted}")
    save("x.npy", np.exp(1j * np.angle(x)))
    result = davit("reduce", "x.npy", "--op", "prod", "--check")
    expect(abs(abs(complex(result.out.decode())) - 1) < 1e-9, f"a product of numbers of size 1: {result.out}")


def test_files():
    rng = np.random.default_rng(7)
    a = noise(rng, 4, 3)
    save("a.npy", a)
    save("one.npy", np.eye(3, dtype="c16"))
    for name in ("c.npy", "c.mtx", "c.csv"):
        davit("gemm", "a.npy", "one.npy", "-o", name)
    expect((np.loadtxt("c.csv", dtype=complex, delimiter=",") == a).all(), "CSV gives the numbers back")
    expect(open("c.mtx").readline() == "%%MatrixMarket matrix array complex general\n", "the banner")
    davit("gemm", "c.mtx", "one.npy", "-o", "d.npy")
    expect((np.load("d.npy") == a).all(), "Matrix Market gives the numbers back")
    h = noise(rng, 3, 3)
    lower = "".join(f"{h[i, j].real!r} {h[i, j].imag!r}\n" for j in range(3) for i in range(j, 3))
    for form, upper in (("symmetric", h.T), ("hermitian", h.conj().T)):
        put("h.mtx", f"%%MatrixMarket matrix array complex {form}\n3 3\n{lower}".replace("np.float64(", "").replace(")", ""))
        davit("gemm", "h.mtx", "one.npy", "-o", "d.npy")
        expect(np.allclose(np.load("d.npy"), np.tril(h) + np.triu(upper, 1), rtol=1e-15), f"the upper triangle: {form}")
    np.savez("a.npz", a=a)
    put("a.raw", a.astype(">c8").tobytes())
    for arguments in (("a.npz:a",), ("a.raw", "--dtype", ">c8", "--shape", "4x3"), ("c.mtx",)):
        found = complex(davit("reduce", *arguments).out.decode())
        expect(abs(found - a.sum()) < 1e-5, f"{arguments}: {found}")


def test_refused():
    x, a = save("x.npy", np.ones(4, "c16")), save("a.npy", np.ones((3, 3), "c8"))
    real, points = save("r.npy", np.ones((3, 3))), save("p.npy", np.ones((4, 2), "c16"))
    for op in ("min", "max", "argmin", "argmax"):
        refuse(("reduce", x, "--op", op), "complex128", "no minimum or maximum")
    for arguments in (("scan", x), ("stencil", a), ("atax", a, x), ("atax", real, x), ("covariance", a),
                      ("stencil", real, "--coefficients", a)):
        refuse(arguments, "expected real numbers, found complex")
    refuse(("closest", points), "complex128")
    refuse(("gemm", real, a), "expected float64 as in the first operand, found complex64")
    refuse(("gemm", real, real, "--alpha", "1+2j"), "--alpha 1+2j is complex", "float64", code=2)
    refuse(("gemm", a, a, "--alpha", "1+1e39j"), "range of float32", code=2)
    for text in ("1+", "j", "1+2", "1+2i", "1 +2j", "1+ 2j", "(1+2j)", "1+2j3", "2jj", "1e999j", "--"):
        davit("axpy", x, x, f"--alpha={text}", code=2)
    for text, wanted in (("1e0", 2), ("-1+0j", 0), ("inf", np.inf), ("+2j", 1 + 2j), ("1e-1-.5j", 1.1 - .5j)):
        davit("axpy", x, x, f"--alpha={text}", "-o", "z.npy")
        found = np.load("z.npy")[0]
        expect(found == wanted or np.isinf(wanted), f"--alpha {text}: {found}")
    save("long.npy", np.ones(3, np.clongdouble))
    refuse(("reduce", "long.npy"), "'<c32' (complex long double)")
    put("bad.mtx", "%%MatrixMarket matrix array complex general\n1 1\n1\n")
    refuse(("reduce", "bad.mtx"), "line 3", "two real numbers")
    put("bad.mtx", "%%MatrixMarket matrix array real hermitian\n1 1\n1\n")
    refuse(("reduce", "bad.mtx"), "line 1", "'general' or 'symmetric'")


if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit reduce, scan, stencil and atax against NumPy, and of what they and davit covariance refuse.

usage: test_arrays.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import io
import itertools
import os
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import (CHECKED, DAVIT, EACH, LIMIT_S, PLACES, cases, davit, expect, expect_keys, header_of, listing, main, noise,
                     npy_bytes, npy_raw, put, refuse, run_json, sampled, save)

DTYPES = ("f8", "f4", "i8", "i4")
UFUNCS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def identity(op, dtype):
    whole = np.dtype(dtype).kind == "i"
    least, greatest = (np.iinfo(dtype).min, np.iinfo(dtype).max) if whole else (-np.inf, np.inf)
    return np.dtype(dtype).type({"sum": 0, "prod": 1, "min": greatest, "max": least}[op])


def numbers(rng, n, dtype, op="sum"):
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    if op == "prod":  # near 1, so that a product of all stays in range
        return np.exp(rng.standard_normal(n) / np.sqrt(n + 1)).astype(dtype) * rng.choice([-1, 1], n).astype(dtype)
    return noise(rng, n, dtype=dtype)


def terms_bound(op, x):
    """Of a sum or product of the elements of x, which is one segment so far: any order stays below."""
    eps = np.finfo(x.dtype).eps
    wide = x.astype(np.longdouble)
    return len(x) * eps * (abs(wide).sum() if op == "sum" else abs(wide.prod()))


# ---- reduce ----


def wanted_value(op, x):
    if not len(x):
        return identity(op, x.dtype)
    if x.dtype.kind == "f" and op in ("sum", "prod"):
        return UFUNCS[op].reduce(x.astype(np.longdouble))
    return UFUNCS[op].reduce(x, dtype=x.dtype)


def expect_value(report, op, x, tree, what):
    wanted, found = wanted_value(op, x), report.get("result", "missing")
    if x.dtype.kind == "i":
        expect(type(found) is int and found == int(wanted), f"{what}: {found}, expected {wanted}")
    elif not np.isfinite(wanted):
        expect(found is None, f"{what}: {found}, expected null")
    elif op in ("sum", "prod"):
        limit = terms_bound(op, x)
        if op == "sum" and tree:
            limit = min(limit, 2 * np.finfo(x.dtype).eps * (8 + np.log2(len(x) + 1)) * abs(x.astype(float)).sum())
        expect(abs(found - wanted) <= limit, f"{what}: {found}, expected {wanted} within {limit}")
    else:
        expect(found == float(wanted), f"{what}: {found}, expected {wanted}")


def test_reduce():
    rng = np.random.default_rng(11)
    for dtype, op, n in cases(DTYPES, UFUNCS, (0, 1, 2, 1000, 16384, 3 * 16384 + 17)):
        x = numbers(rng, n, dtype, op)
        save("x.npy", x)
        if not n and op in ("min", "max"):  # as NumPy does
            refuse(("reduce", "x.npy", "--op", op), "x.npy: expected at least one element for a minimum", "a vector of 0")
            continue
        results = set()
        for devices in ("all", "-1", "cpu"):
            report = run_json("reduce", "x.npy", "--op", op, "--check", "--devices", devices)
            expect_keys(report, "result", "gbytes_per_s", "op", "n", *CHECKED)
            expect_value(report, op, x, devices != "cpu", f"{op} of {n} {dtype} on {devices}")
            expect((report["op"], report["n"]) == (op, n), "op and n are told")
            if devices != "cpu":
                results.add(report["result"])
        expect(len(results) == 1, f"{op} of {n} {dtype}: the same bits everywhere: {results}")


def test_reduce_forms():
    rng = np.random.default_rng(12)
    a = noise(rng, 37, 41)
    for order in "CF":
        report = run_json("reduce", save("a.npy", a, order), "--check", "--ordered")
        expect_value(report, "sum", a.ravel(), True, f"a matrix in order {order}")
        report = run_json("reduce", "a.npy", "--op=max", "--repeat", 3, "--warmup", 1)
        expect(report["result"] == a.max(), "the greatest of a matrix")
    expect(run_json("reduce", save("s.npy", np.int32(-7)))["result"] == -7, "a scalar")
    expect(run_json("reduce", save("e.npy", np.zeros((0, 5))), "--check")["result"] == 0, "a matrix without rows")
    put("i.mtx", f"%%MatrixMarket matrix array integer general\n3 1\n{2**62}\n{2**62}\n{2**62 + 1}\n")
    expect(run_json("reduce", "i.mtx")["result"] == 3 * 2**62 + 1 - 2**64, "int64 of Matrix Market wraps around")
    x = np.array([1, 2**53, 1], "i8")
    expect(run_json("reduce", "-", data=npy_bytes(x))["result"] == 2**53 + 2, "whole numbers beyond 2^53, by a pipe")
    result = davit("reduce", save("x.npy", x))
    expect((result.out, result.err) == (f"{2**53 + 2}\n".encode(), ""), f"the value and nothing else: {result.out}")
    result = davit("reduce", "x.npy", "-v")
    for part in ("gbytes_per_s: ", "type: int64", "op: sum", "device"):
        expect(part in result.err, f"{part} in {result.err}")
    big = np.array([1e300, 1e300, -1e300])
    expect(run_json("reduce", save("b.npy", big), "--check", "--op", "prod")["result"] is None, "-inf is null")
    expect(davit("reduce", "b.npy", "--op", "prod").out == b"-inf\n", "-inf")
    for op in UFUNCS:
        for dtype in ("f8", "f4"):
            save("n.npy", np.array([1, np.nan, 2], dtype))
            report = run_json("reduce", "n.npy", "--op", op, "--check")
            expect(report["result"] is None and report["error"] == 0, f"{op} of NaN: {report}")
    for n in (50, 2000):
        tiny = save("t.npy", np.full(n, 0.1, "f4"))
        expect(run_json("reduce", tiny, "--op", "prod", "--check")["result"] == 0, f"underflow of {n} factors")
        davit("scan", tiny, "--op", "prod", "--check")


def folded(op, x, axis=None):
    """What davit reduce gives, by NumPy, and how far it may be off."""
    if op.startswith("arg"):
        return getattr(np, op)(x, axis), 0
    n, eps, wide = x.size if axis is None else x.shape[axis], np.finfo("f8").eps, x.astype(np.longdouble)
    total = abs(wide).sum(axis)
    if op == "mean":
        return wide.mean(axis), 4 * n * eps * total / n
    if op == "var":
        return wide.var(axis), 4 * n * eps * wide.var(axis) + (4 * n * eps * total / n) ** 2
    if op == "std":
        limit = 4 * n * eps * wide.var(axis) + (4 * n * eps * total / n) ** 2
        return wide.std(axis), np.sqrt(limit) if (wide.var(axis) == 0).any() else 2 * limit / wide.std(axis)
    if op == "norm":
        norm = np.sqrt((wide * wide).sum(axis))
        return norm, 4 * n * eps * norm
    if x.dtype.kind == "i":
        return UFUNCS[op].reduce(x, axis=axis, dtype=x.dtype), 0
    wanted = UFUNCS[op].reduce(wide, axis=axis)
    return wanted, 0 if op in ("min", "max") else n * np.finfo(x.dtype).eps * (total if op == "sum" else abs(wanted))


def expect_near(found, wanted, limit, what):
    found, wanted = np.asarray(found), np.asarray(wanted)
    expect(found.shape == wanted.shape, f"{what}: shape {found.shape}, expected {wanted.shape}")
    if found.shape == wanted.shape:
        expect((abs(found - wanted) <= limit).all(), f"{what}: {found}, expected {wanted}")


MORE_OPS = ("sum", "prod", "min", "max", "mean", "var", "std", "norm", "argmin", "argmax")
SHAPES = ((7,), (5, 9), (1, 6), (6, 1), (4, 5, 6), (2, 1, 3, 4))


def test_reduce_along():
    """Every operator along every dimension, in both orders, on devices and without them."""
    rng = np.random.default_rng(13)
    for turn, (shape, op, order, dtype, _) in enumerate(cases(SHAPES, MORE_OPS, "CF", ("f8", "f4", "i4", "i8"), range(2))):
        x = (noise(rng, *shape) * 9).astype(dtype)
        axes = (None, *range(-len(shape), len(shape)))
        axis, devices = axes[turn % len(axes)], PLACES[turn // 3 % 2]
        where = [] if axis is None else ["--axis", axis]
        report = run_json("reduce", save("x.npy", x, order), "--op", op, *where, "--check", "--devices", devices)
        found = np.array(report["result"]).reshape(report.get("shape", ()))
        what = f"{op} of {dtype} {shape} {order} along {axis} on {devices}"
        expect_near(found, *folded(op, x, axis), what)
        expect(report["error"] <= report["bound"], f"the check of {what}: {report}")
    x = noise(rng, 3, 4, 5)
    for order, axis in cases("CF", range(3)):
        davit("reduce", save("x.npy", x, order), "--op", "max", "--axis", axis, "-o", "y.npy")
        expect((np.load("y.npy") == x.max(axis)).all(), f"a file of the maxima along {axis} in order {order}")
    result = davit("reduce", save("x.npy", np.arange(24, dtype="i4").reshape(2, 3, 4)), "--axis", 0)
    expect(result.out == b"12,14,16,18\n20,22,24,26\n28,30,32,34\n", f"lines of the last dimension: {result.out}")
    result = davit("reduce", save("x.npy", np.arange(6.0).reshape(2, 3)), "--axis", 1, "--op", "mean")
    expect(result.out == b"1\n4\n", f"a value a line: {result.out}")


def test_reduce_far():
    """Means far from 0, squares beyond the range, NaN, ties, nothing."""
    far = 1e9 + noise(np.random.default_rng(14), 100000)
    report = run_json("reduce", save("x.npy", far), "--op", "var", "--check")
    expect(abs(report["result"] / far.astype(np.longdouble).var() - 1) < 1e-9, f"variance far from 0: {report}")
    report = run_json("reduce", "x.npy", "--op", "std", "--check")
    expect(abs(report["result"] / far.astype(np.longdouble).std() - 1) < 1e-9, f"deviation far from 0: {report}")
    for scale in (1e200, 1e-200):
        report = run_json("reduce", save("x.npy", np.array([3, 4]) * scale), "--op", "norm", "--check")
        expect(abs(report["result"] / (5 * scale) - 1) < 1e-15, f"norm of {scale}: {report}")
    save("x.npy", np.array([[2, 1, 1], [np.nan, 5, np.nan]]))
    for op, wanted in (("argmin", [1, 0]), ("argmax", [0, 0])):
        expect(run_json("reduce", "x.npy", "--op", op, "--axis", 1)["result"] == wanted, f"{op} of ties and NaN")
    expect(run_json("reduce", save("x.npy", np.zeros((3, 0))), "--axis", 1, "--check")["result"] == [0, 0, 0], "sums of nothing")
    expect(run_json("reduce", "x.npy", "--axis", 0, "--check")["result"] == [], "no sums")
    expect(run_json("reduce", "x.npy", "--op", "norm")["result"] == 0, "norm of nothing")
    for op in ("min", "max", "mean", "var", "std", "argmin", "argmax"):
        refuse(("reduce", "x.npy", "--op", op), "x.npy: expected at least one element", "3 x 0")
        expect(run_json("reduce", "x.npy", "--op", op, "--axis", 0)["result"] == [], f"{op} of no groups")
    for axis in (2, -3):
        refuse(("reduce", "x.npy", "--axis", axis), f"dimension {axis} for --axis", "3 x 0")
    save("x.npy", np.zeros((2, 2, 2, 2)))
    refuse(("reduce", "x.npy", "--axis", 1, "-o", "y.csv"), "ends in .npy", code=2)
    davit("reduce", "x.npy", "--axis", "33", code=2)


# ---- files of other types ----


CONVERTED = {"f2": "f4", "i1": "i8", "i2": "i8", "u1": "i8", "u2": "i8", "u4": "i8", "u8": "i8", "?": "i8"}


def some(rng, dtype, n):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return noise(rng, n).astype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    info = np.iinfo(dtype)
    return rng.integers(info.min, min(info.max, 2**63 - 1), n, dtype.newbyteorder("="), endpoint=True).astype(dtype)


def test_conversions():
    """All types and both byte orders, from files, pipes and without a header; the values are NumPy's."""
    rng = np.random.default_rng(15)
    for code, mark, n in sampled(itertools.product((*CONVERTED, "f4", "f8", "i4", "i8"), "<>", (1, 40001))):
        if n == 1 and mark == ">":
            continue
        x, op = some(rng, mark + code, n), ("sum", "max")[n % 3 == 1]
        as_read, dtype = x.astype(CONVERTED.get(code, code)), (mark + code).replace("?", "b1")
        raw, pipe, report = put("x.bin", x.tobytes()), {"data": x.tobytes()}, run_json("reduce", save("x.npy", x), "--op", op)
        expect(report["type"] == as_read.dtype.name, f"{mark}{code} is read as {report['type']}")
        expect_near(report["result"], *folded(op, as_read), f"{op} of {n} {mark}{code}")
        others = [run_json("reduce", raw, "--dtype", dtype, "--op", op)["result"]]
        if n == 1 or mark == ">":
            others += [run_json("reduce", "-", "--op", op, data=npy_bytes(x))["result"],
                       run_json("reduce", "-", "--dtype", dtype, "--shape", n, "--op", op, **pipe)["result"]]
        expect(all(r == report["result"] for r in others), f"{mark}{code}, {n}: the same by file, pipe and raw: {others}")
    halves = np.arange(2**16, dtype="u2").view("f2")
    halves = halves[np.isfinite(halves)]
    davit("scan", save("x.npy", halves), "--op", "max", "-o", "y.npy")
    expect((np.load("y.npy") == np.maximum.accumulate(halves.astype("f4"))).all(), "every float16")
    found = "x.npy: offset 136: expected a number below 2^63, found 9223372036854775808"
    refuse(("reduce", save("x.npy", np.array([1, 2**63], "u8"))), found)


def test_raw():
    a = noise(np.random.default_rng(17), 6, 5)
    davit("stencil", put("a.bin", a.astype(">f8").tobytes()), "--dtype", ">f8", "--shape", "6x5", "-o", "raw.npy")
    davit("stencil", save("a.npy", a), "-o", "npy.npy")
    expect((np.load("raw.npy") == np.load("npy.npy")).all(), "a raw matrix")
    davit("covariance", "a.bin", "--dtype=>f8", "--shape", "6,5", "-o", "s.npy")
    expect(abs(np.load("s.npy") - np.cov(a.T)).max() < 1e-14, "covariance of a raw matrix")
    for arguments, *words in ((("--dtype", "c4"), "--dtype takes one of", "c4"), (("--dtype", "|f8"), "--dtype"),
                              (("--shape", "3"), "--dtype"), (("--dtype", "f8", "--shape", "6x"), "--shape takes"),
                              (("--dtype", "f8", "--shape", "-6"), "--shape"), (("--dtype", "f8", "--shape", "x"), "--shape takes"),
                              (("--dtype", "f8", "--shape", f"{2**64}"), "--shape takes")):
        refuse(("reduce", "a.bin", *arguments), *words, code=2)
    refuse(("reduce", "-", "--dtype", "f8"), "--shape is needed", code=2, data=b"")
    refuse(("reduce", put("b.bin", b"12345"), "--dtype", "f8"), "b.bin: offset 0: expected elements of 8 bytes, found 5 bytes")
    refuse(("reduce", put("b.bin", b"1"), "--dtype", "f8"), "expected elements of 8 bytes, found 1 byte\n")
    refuse(("reduce", "b.bin", "--dtype", "f8", "--shape", "1"), "expected 8 bytes for a vector of 1 of f8, found 1\n")
    refuse(("reduce", "b.bin", "--dtype", "u1", "--shape", "2x0"), "expected 0 bytes for 2 x 0 of u1, found 1\n")
    refuse(("reduce", put("b.bin", b"12"), "--dtype", "u1", "--shape", "1"), "expected 1 byte for a vector of 1 of u1, found 2\n")
    refuse(("reduce", "a.bin", "--dtype", "f8", "--shape", "7x5"), "a.bin: offset 0: expected 280 bytes for 7 x 5 of f8, found 240")
    refuse(("reduce", "a.bin", "--dtype", "f8", "--shape", f"{2**40}x{2**40}"), "below 2^63 bytes")


def test_archives():
    rng = np.random.default_rng(16)
    a, b = noise(rng, 40, 30), noise(rng, 30, 20)
    for write in (np.savez, np.savez_compressed):
        write("two.npz", a=a, b=b)
        davit("gemm", "two.npz:a", "two.npz:b", "-o", "c.npy", "--check")
        expect(abs(np.load("c.npy") - a @ b).max() < 1e-12, "a product of members")
        write("one.npz", a)
        for name in ("one.npz", "one.npz:arr_0", "one.npz:arr_0.npy"):
            expect(run_json("reduce", name, "--op", "max")["result"] == a.max(), name)
    refuse(("reduce", "two.npz"), "two.npz: expected one array, or two.npz:NAME with a NAME among a and b")
    refuse(("reduce", "two.npz:c"), "two.npz:c: expected a member among a and b")
    refuse(("reduce", "none.npz:a"), "none.npz:a: expected an archive of arrays", "No such file")
    refuse(("reduce", put("text.npz", b"not an archive, but long enough for one" * 9)), "text.npz: expected an archive of arrays")
    put("odd.npz:a", npy_bytes(np.float64(7)))
    expect(run_json("reduce", "odd.npz:a")["result"] == 7, "a file that has a member's name")
    content = open("one.npz", "rb").read()
    for at in range(60, len(content) - 200, 300 * min(EACH, 5)):  # within the compressed data
        damaged = content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1:]
        refuse(("reduce", put("damaged.npz", damaged)), "damaged.npz: ")
    for cut in (0, 1, 50, len(content) - 1):
        refuse(("reduce", put("cut.npz", content[:cut])), "cut.npz: expected an archive")
    np.savez("empty.npz")
    refuse(("reduce", "empty.npz"), "the archive is empty")


# ---- scan ----


def wanted_scan(op, x, exclusive=False, flags=None):
    """y and, of floating sums and products, what each element may differ by."""
    wide = x.astype(np.longdouble) if x.dtype.kind == "f" and op in ("sum", "prod") else x
    y, limit = wide.copy(), np.zeros(len(x), np.longdouble)
    heads = [0, *(np.flatnonzero(flags[1:]) + 1 if flags is not None and len(x) else []), len(x)]
    for begin, end in zip(heads, heads[1:]):
        part = UFUNCS[op].accumulate(wide[begin:end], dtype=wide.dtype)
        sizes = np.add.accumulate(abs(wide[begin:end])) if op == "sum" else abs(part)
        if exclusive:
            first = np.array([identity(op, x.dtype)], wide.dtype)
            part, sizes = np.concatenate([first, part[:-1]]), np.concatenate([[0], sizes[:-1]])
        y[begin:end] = part
        if wide is not x:
            terms = np.arange(end - begin) + (not exclusive)
            limit[begin:end] = terms * np.finfo(x.dtype).eps * sizes
    return y, limit


def expect_scan(found, op, x, what, **how):
    wanted, limit = wanted_scan(op, x, **how)
    expect(found.shape == x.shape and found.dtype == x.dtype, f"{what}: {found.dtype} {found.shape}")
    if found.shape == x.shape:
        equal = (found == wanted) | ((found != found) & (wanted != wanted))
        with np.errstate(invalid="ignore"):
            equal |= abs(found - wanted) <= limit if x.dtype.kind == "f" else False
        worst = np.flatnonzero(~equal)
        expect(not len(worst), f"{what}: {len(worst)} elements, the first {worst[:1]}: "
                               f"{found[worst[:1]]}, expected {wanted[worst[:1]]}")


def test_scan():
    rng = np.random.default_rng(13)
    for dtype, op, exclusive, n in cases(DTYPES, UFUNCS, (False, True), (0, 1, 2, 1000, 40001)):
        x = numbers(rng, n, dtype, op)
        save("x.npy", x)
        devices = PLACES[n % 2]
        options = ["--exclusive"] if exclusive else []
        report = run_json("scan", "x.npy", "-o", "y.npy", "--op", op, "--check", "--devices", devices,
                          *options)
        expect_keys(report, "gbytes_per_s", "op", "n", "exclusive", *CHECKED)
        expect(report["exclusive"] is exclusive, "exclusive is told")
        expect_scan(np.load("y.npy"), op, x, f"{op} of {n} {dtype} {options} on {devices}",
                    exclusive=exclusive)


def test_scan_segments():
    rng = np.random.default_rng(14)
    sizes = ((0, 1), (1, 0), (1000, 0.1), (1000, 1), (1000, 0), (40001, 0.001))
    for dtype, op, exclusive, (n, density) in cases(DTYPES, UFUNCS, (False, True), sizes):
        x = numbers(rng, n, dtype, op)
        flags = (rng.random(n) < density).astype("u1") * rng.integers(1, 255, n, dtype="u1", endpoint=True)
        save("x.npy", x)
        save("f.npy", flags)
        devices = PLACES[density == 0.1]
        options = ["--exclusive"] if exclusive else []
        report = run_json("scan", "x.npy", "-o", "y.npy", "--op", op, "--check", "--flags", "f.npy",
                          "--devices", devices, *options)
        expect(report["error"] <= report["bound"], "the check holds")
        expect_scan(np.load("y.npy"), op, x, f"{op} of {n} {dtype} {density} {options} on {devices}",
                    exclusive=exclusive, flags=flags)


def test_scan_forms():
    rng = np.random.default_rng(15)
    x = noise(rng, 300)
    flags = (rng.random(300) < 0.2).astype("u1")
    save("f.npy", flags[None, :])
    for shape, order in (((1, 300), "C"), ((300, 1), "F"), ((300,), "C")):
        save("x.npy", x.reshape(shape), order)
        davit("scan", "x.npy", "-o", "y.npy", "--repeat", 3, "--flags", "f.npy")
        expect_scan(np.load("y.npy"), "sum", x, f"a vector of shape {shape}", flags=flags)
    result = davit("scan", "-", "-o", "-", "--op", "max", "-v", data=npy_bytes(x))
    expect_scan(np.load(io.BytesIO(result.out)), "max", x, "through pipes")
    expect("gbytes_per_s: " in result.err, "rates go to standard error")
    result = davit("scan", "x.npy", "--flags", "-", "-o", "y.npy", data=npy_bytes(flags))
    expect_scan(np.load("y.npy"), "sum", x, "flags through a pipe", flags=flags)
    davit("scan", "x.npy", "-o", "y.mtx")
    expect(open("y.mtx").read().split("\n")[1] == "300 1", "Matrix Market")
    report = run_json("scan", "x.npy", "--flags", "f.npy", "--repeat", 5)
    wanted = 1e-9 * 300 * 17 / report["seconds"]
    expect(abs(report["gbytes_per_s"] / wanted - 1) < 1e-9, f"{report['gbytes_per_s']} GB/s, expected {wanted}")
    result = davit("scan", "x.npy", "--exclusive", "--flags", "f.npy", "-v")
    for part in ("op: sum", "exclusive: true", "n: 300", "type: float64", "gbytes_per_s", "-o Y writes it"):
        expect(part in result.err, f"{part} in {result.err}")
    expect(not result.out, f"nothing on standard output: {result.out}")
    davit("scan", "x.npy", "--flags", save("b.npy", flags != 0), "-o", "b.y.npy")
    davit("scan", "x.npy", "--flags", save("f.npy", flags), "-o", "f.y.npy")
    expect(np.array_equal(np.load("b.y.npy"), np.load("f.y.npy")), "flags of bool")
    nan = np.array([1, np.nan, 2, 3])
    for op in UFUNCS:
        davit("scan", save("n.npy", nan), "--op", op, "--check", "--flags", save("g.npy", np.array([0, 0, 0, 1], "u1")),
              "-o", "y.npy")
        nans = np.isnan(np.load("y.npy"))
        expect(np.array_equal(nans, [False, True, True, False]), f"{op}: NaN to the end of its segment")


def test_range_is_left():
    """Sums and products that leave the range of their type and come back, in any order, are as IEEE 754 says."""
    long = np.ones(3 * 16384)
    long[:16], long[-16:] = 1e300, 1e-300
    cases_of = {"sum": ([1e308, 1e308, -1e308], [1e308, 1e308, -1e308, -1e308], [np.inf, -1e308, -1e308],
                        [np.finfo("f8").max, 1e292]),
                "prod": ([1e200, 1e200, 1e-300], [1e-200, 1e-200, 1e300], [1e-200, 1e-200, 1e200, 1e200], long,
                         [1e300, 1e300, 0], [np.inf, 1e-200, 1e-200], 20 * [1e308] + 21 * [1e-308])}
    for op, lists in cases_of.items():
        for x, devices in cases(lists, PLACES):
            save("x.npy", np.array(x))
            report = run_json("reduce", "x.npy", "--op", op, "--check", "--devices", devices)
            expect(report["error"] <= report["bound"], f"{op} of {x[:4]} on {devices}: {report}")
            for options in ([], ["--exclusive"]):
                davit("scan", "x.npy", "--op", op, "--check", "--devices", devices, "-o", "y.npy", *options)
    save("x.npy", np.array([1e308, 1e308, -1e308], "f8"))
    expect(davit("reduce", "x.npy", "--check", "--devices", "cpu").out == b"inf\n", "in order")


def test_nan_of_finite_operands():
    words = "the result has NaN from finite operands: partial results overflow"
    refuse(["dot", save("a.npy", [1e200, 1e200]), save("b.npy", [1e200, -1e200]), "--check"], words, code=1)
    result = davit("scan", save("z.npy", [1e308, 1e308, -1e308, -1e308]), "--check", "-o", "w.npy")
    expect(np.isnan(np.load("w.npy")).any() == (words in result.err), result.err)
    result = davit("reduce", save("z.npy", [1e200, 1e200, 0]), "--op", "prod", "--check", "--devices", "cpu")
    expect(b"nan" in result.out and words in result.err, f"{result}")
    result = davit("reduce", save("z.npy", [1e200, np.inf, 0]), "--op", "prod", "--check", "--devices", "cpu")
    expect(b"nan" in result.out and words not in result.err, f"{result}")


def test_factors_that_are_not_finite():
    save("a.npy", np.ones((3, 3)))
    save("x.npy", np.ones(3))
    for command, option in (("gemm a.npy a.npy --alpha nan", "--alpha"), ("gemm a.npy a.npy --alpha inf", "--alpha"),
                            ("gemm a.npy a.npy --c0 a.npy --beta nan", "--beta"),
                            ("gemm a.npy a.npy --c0 a.npy --alpha 0 --beta=nan", "--beta"),
                            ("gemv a.npy x.npy --alpha nan", "--alpha"), ("gemv a.npy x.npy --y0 x.npy --beta nan", "--beta"),
                            ("axpy x.npy x.npy --alpha nan", "--alpha")):
        for devices in ([], ["--devices", "cpu"]):
            call = [*command.split(), *devices]
            refuse([*call, "--check"], f"{option} is not finite", code=1)
            err = davit(*call, "--check", code=1).err
            expect("overflow" not in err and "-nan" not in err, f"{call}: {err}")
            davit(*call, "-o", "y.npy", "-f")
            expect("inf" in command or np.isnan(np.load("y.npy")).all(), f"{call}")
    result = davit("gemm", "a.npy", "a.npy", "--beta", "nan", "--check", "-o", "y.npy", "-f")
    expect("not finite" not in result.err and np.load("y.npy").max() == 3, f"beta without c0: {result}")


def test_products_of_nothing():
    """y = beta y0 where a sum has no terms, and what a factor of 0 leaves out is not read."""
    for dtype in ("f8", "f4", "c16", "c8"):
        a, x, y = (save(name, np.ones(shape, dtype)) for name, shape in (("a.npy", (3, 0)), ("x.npy", 0), ("y0.npy", 3)))
        b = save("b.npy", np.ones((0, 3), dtype))
        lost = save("lost.npy", np.full(3, np.nan, dtype))
        for devices in ("all", "cpu"):
            for words, wanted in (((a, x), 0), ((a, x, "--y0", y, "--beta", -2), -2), ((b, x, "--trans", "--y0", y, "--beta", 3), 3),
                                  ((a, x, "--y0", y, "--beta", 0), 0), ((a, x, "--y0", lost, "--beta", 0), 0)):
                davit("gemv", *words, "--check", "--devices", devices, "-o", "y.npy")
                expect(np.array_equal(np.load("y.npy"), np.full(3, wanted, dtype)), f"gemv {words} {dtype}: {np.load('y.npy')}")
            square = save("s.npy", np.ones((3, 3), dtype))
            davit("gemv", square, y, "--y0", lost, "--beta", 0, "--check", "--devices", devices)
            davit("gemv", save("n.npy", np.full((3, 3), np.nan, dtype)), y, "--alpha", 0, "--y0", y, "--beta", 1, "--check", "--devices", devices)


def test_a_nan_has_no_sign():
    for value, printed in ((-np.nan, "nan"), (complex(-np.nan, -np.nan), "nan+nanj")):
        out = davit("reduce", save("n.npy", [value])).out
        expect(out.split() == [printed.encode()], f"{value}: {out}")


def test_failed_checks():
    nan = save("nan.npy", np.full((3, 3), np.nan))
    ones = save("ones.npy", np.ones(3))
    for devices in PLACES:
        report = run_json("gemv", nan, ones, "--check", "--devices", devices, "-o", "y.npy", code=1)
        expect(report["error"] is None, f"the check fails: {report}")
    expect(listing() == ["nan.npy", "ones.npy"], "a result that fails its check is not written")


# ---- stencil ----


def wanted_stencil(a, coefficients, border):
    b = a.copy() if border == "keep" else np.zeros_like(a)
    rows, cols = a.shape
    if rows >= 3 and cols >= 3:
        total = np.zeros((rows - 2, cols - 2))
        for r in range(3):
            for c in range(3):
                total += float(coefficients[r, c]) * a[r:rows - 2 + r, c:cols - 2 + c].astype(float)
        b[1:-1, 1:-1] = total.astype(a.dtype)
    return b


def expect_image(found, a, coefficients, border, what):
    wanted = wanted_stencil(a, coefficients, border)
    expect(found.shape == wanted.shape and found.dtype == wanted.dtype, f"{what}: {found.dtype} {found.shape}")
    expect(found.flags.f_contiguous, f"{what}: Fortran order is written")
    if found.shape == wanted.shape and a.size:
        limit = 20 * np.finfo(a.dtype).eps * abs(coefficients).sum() * abs(a).max()
        error = abs(found.astype(float) - wanted.astype(float)).max()
        expect(error <= limit, f"{what}: error {error} of bound {limit}")
        edge = np.ones(a.shape, bool)
        edge[1:-1, 1:-1] = False
        expect(np.array_equal(found[edge], wanted[edge]), f"{what}: the border")


DEFAULT = np.array([[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.1]])


def test_stencil():
    rng = np.random.default_rng(16)
    shapes = ((57, 83), (3, 3), (3, 40), (40, 3), (2, 9), (9, 2), (1, 7), (7, 1), (1, 1), (0, 4), (4, 0), (0, 0))
    borders = (("keep", []), ("keep", ["--border", "keep"]), ("zero", ["--border=zero"]))
    for dtype, shape, order, (border, options) in cases(("f8", "f4"), shapes, "CF", borders):
        a = noise(rng, *shape, dtype=dtype)
        save("a.npy", a, order)
        devices = PLACES[border == "zero" and order == "C"]
        report = run_json("stencil", "a.npy", "-o", "b.npy", "--check", "--devices", devices, *options)
        expect_keys(report, "rows", "cols", "gbytes_per_s", *CHECKED)
        expect((report["rows"], report["cols"]) == shape, "the shape is told")
        expect_image(np.load("b.npy"), a, DEFAULT, border, f"{dtype} {shape} {order} {options} {devices}")


def test_stencil_coefficients():
    rng = np.random.default_rng(17)
    a = noise(rng, 31, 19)
    c = rng.standard_normal((3, 3))
    for order in "CF":
        save("a.npy", a, order)
        for coefficients in (c, c.astype("f4"), np.arange(1, 10).reshape(3, 3), np.arange(9, dtype="i4").reshape(3, 3)):
            for c_order in "CF":
                save("c.npy", coefficients, c_order)
                davit("stencil", "a.npy", "--coefficients", "c.npy", "-o", "b.npy", "--check", "--repeat", 2)
                expect_image(np.load("b.npy"), a, coefficients, "keep", f"{coefficients.dtype} {c_order} on {order}")
        for r in range(3):  # a single 1 shifts the image
            for s in range(3):
                one = np.zeros((3, 3))
                one[r, s] = 1
                davit("stencil", "a.npy", "--coefficients", "-", "-o", "b.npy", data=npy_bytes(one))
                inner = np.load("b.npy")[1:-1, 1:-1]
                expect(np.array_equal(inner, a[r:29 + r, s:17 + s]), f"shift by {r} {s}, {order}")
    put("c.mtx", "%%MatrixMarket matrix array real general\n3 3\n" + "".join(f"{v!r}\n" for v in map(float, c.T.flat)))
    davit("stencil", "a.npy", "--coefficients", "c.mtx", "-o", "b.npy")
    expect_image(np.load("b.npy"), a, c, "keep", "coefficients in Matrix Market")
    result = davit("stencil", "-", "-o", "-", data=npy_bytes(a))
    expect_image(np.load(io.BytesIO(result.out)), a, DEFAULT, "keep", "through pipes")
    davit("stencil", save("n.npy", np.full((4, 4), np.nan)), "--check")


# ---- atax ----


def test_atax():
    rng = np.random.default_rng(18)
    norm = np.linalg.norm
    shapes = ((47, 33), (33, 47), (1, 9), (9, 1), (1, 1), (0, 3), (3, 0), (0, 0), (300, 200))
    for dtype, (m, n), order, devices in cases(("f8", "f4"), shapes, "CF", PLACES):
        a, x = noise(rng, m, n, dtype=dtype), noise(rng, n, dtype=dtype)
        wanted = a.T.astype(float) @ (a.astype(float) @ x.astype(float))
        sizes = norm(a.astype(float)) ** 2 * norm(x.astype(float))
        limit = 3 * np.finfo(dtype).eps * (np.sqrt(m + 2) + np.sqrt(n + 2)) * sizes
        report = run_json("atax", save("a.npy", a, order), save("x.npy", x), "-o", "y.npy", "--check",
                          "--devices", devices, "--repeat", 2)
        expect_keys(report, "m", "n", "gbytes_per_s", *CHECKED)
        expect((report["m"], report["n"]) == (m, n), "m and n are told")
        y = np.load("y.npy")
        expect(y.shape == (n,) and y.dtype == np.dtype(dtype), f"{y.dtype} {y.shape}")
        expect(norm(y - wanted) <= limit, f"atax {m} x {n} {dtype} {order} on {devices}")
    a, x = noise(rng, 300, 200), noise(rng, 200)
    save("a.npy", a)
    save("x.npy", x)
    text = davit("atax", "a.npy", "x.npy", "-v").err
    expect("gbytes_per_s: " in text and "m: 300\nn: 200" in text, text)
    result = davit("atax", "-", "x.npy", "-o", "-", data=npy_bytes(a))
    expect(np.allclose(np.load(io.BytesIO(result.out)), a.T @ (a @ x)), "through pipes")


def test_atax_nan():
    for dtype, order, devices in cases(("f8", "f4"), "CF", PLACES):
        for at in ("a", "x"):
            operands = {"a": np.ones((7, 5), dtype), "x": np.ones(5, dtype)}
            operands[at].flat[3] = np.nan
            save("a.npy", operands["a"], order)
            save("x.npy", operands["x"])
            davit("atax", "a.npy", "x.npy", "--check", "-o", "y.npy", "--devices", devices)
            expect(np.isnan(np.load("y.npy")).all(), f"a NaN in {at}, {dtype} {order} on {devices}")


# ---- what is refused ----


def test_refused():
    """Exit 3 and the file, what was expected and what was found."""
    x, a = save("x.npy", np.ones(4)), save("a.npy", np.ones((5, 6)))
    single, a34 = save("single.npy", np.ones((5, 6), "f4")), save("a34.npy", np.ones((3, 4)))
    flags = [("expected a vector of 4 as in x.npy", np.zeros(5, "u1")), ("vector", np.zeros((2, 2), "u1"))]
    flags += [("expected uint8", np.zeros(4, dtype)) for dtype in ("f8", "i4", "i8")]
    shapes = [np.ones((3, 4)), np.ones(9), np.ones((2, 2)), np.float64(1), np.ones((9, 1))]
    matrix, vector = "expected a matrix", "expected a vector"
    rows = [(("scan", np.ones((2, 3))), vector, "2 x 3"), (("scan", np.ones((2, 1, 1))), vector, "2 x 1 x 1"),
            *((("scan", x, "--flags", array), word) for word, array in flags),
            *((("stencil", array), "expected") for array in (np.ones(5), np.ones(5, "u1"), np.float64(1))),
            *((("stencil", a, "--coefficients", array), matrix + " of 3 x 3") for array in shapes),
            (("stencil", np.ones((2, 3, 4))), "matrix", "2 x 3 x 4"),
            (("stencil", single, "--coefficients", np.full((3, 3), 1e200)), "range of float32"),
            (("atax", a34, np.ones(3)), vector + " of 4"), (("atax", a34, a34), vector), (("atax", x, x), matrix),
            (("atax", a34, np.ones(4, "f4")), "float64", "float32"), (("atax", np.full((3, 4), 2**53 + 1), x), "exact in float64"),
            *((("covariance", array), "expected") for array in (np.ones(5), np.full((5, 2), 2**53 + 1))),
            (("covariance", np.ones((1, 4))), "at least 2 rows"), (("covariance", np.ones((0, 4))), "at least 2 rows"),
            (("covariance", np.ones((0, 4)), "--divisor", "3"), "at least 1 row"),
            (("covariance", np.ones((0, 4)), "--divisor", "rows"), "at least 1 row")]
    short = put("short.npy", npy_bytes(np.ones((5, 6)))[:-1])
    for command in (("reduce",), ("scan",), ("scan", x, "--flags"), ("stencil",), ("stencil", a, "--coefficients"), ("atax", a34),
                    ("covariance",)):
        rows += [((*command, "missing.npy"), "missing.npy", "No such file"), ((*command, short), "short.npy: offset")]
    os.mkdir("folder")
    rows += [((command, "folder"), "folder: expected a readable file: Is a directory") for command in ("reduce", "closest")]
    save("bad.npy", 0)
    for arguments, *words in rows:
        bad = [save("bad.npy", part) for part in arguments if not isinstance(part, str)]
        refuse(["bad.npy" if not isinstance(part, str) else part for part in arguments], *(name + ":" for name in bad), *words)
    davit("reduce", "-", code=3, data=b"")


# ---- files ----


def test_outputs():
    """Whole or not at all, and of two files both or none."""
    x, a = save("x.npy", np.ones(4)), save("a.npy", np.ones((4, 4)))
    nan = save("nan.npy", np.array([[1, 2], [np.nan, 4]]))  # which fails the checks of products and factors
    put("old.npy", b"old")
    put("short.npy", npy_bytes(np.ones((4, 4)))[:-1])
    before = listing()
    for arguments in (["scan", x, "--op", "mean"], ["scan", "short.npy"], ["scan", x, "--flags", x],
                      ["stencil", "short.npy"], ["stencil", a, "--coefficients", a], ["atax", a, "short.npy"],
                      ["gemm", nan, nan, "--check"], ["covariance", "short.npy"],
                      ["covariance", a, "--divisor", "0"], ["factor", nan, "--kind", "lu", "--check", "--pivots", "m.npy"],
                      ["covariance", a, "--mean", "missing/m.npy"], ["covariance", a, "--mean", "/dev/full"],
                      ["covariance", "short.npy", "--mean", "m.npy"]):
        for path in ("old.npy", "new.npy"):
            process = subprocess.run([DAVIT, *arguments, "-o", path], capture_output=True, timeout=LIMIT_S)
            expect(process.returncode in (1, 2, 3), f"{arguments} fails: {process.returncode}")
            expect(listing() == before, f"{arguments} leaves nothing behind: {listing()}")
            expect(open("old.npy", "rb").read() == b"old", f"{arguments} leaves the old file alone")
    davit("covariance", a, "-o", "/dev/full", "--mean", "m.npy", code=1)
    expect(listing() == before, f"no means without their covariance: {listing()}")
    davit("covariance", a, "-o", "old.npy", "--mean", "m.npy")
    expect(np.load("old.npy").shape == (4, 4) and np.load("m.npy").shape == (4,), "both are written")
    expect(not [name for name in listing() if ".davit-" in name], "no temporary file stays")


def test_memory():
    """Exit 4 of memory that is not there."""
    wide = put("wide.npy", npy_raw(header_of(f"(0, {2**40})")))
    for devices in PLACES:
        davit("covariance", wide, "--divisor", "1", "--mean-divisor", "1", "--devices", devices, "-o", "s.npy", code=4)
        davit("atax", wide, save("x.npy", np.ones(1)), "--devices", devices, code=3)
    expect(not os.path.exists("s.npy"), "no result, no file")


if __name__ == "__main__":
    sys.exit(main(globals()))

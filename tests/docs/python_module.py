#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/python/davit.py: its results against NumPy's, its structs against the headers, its refusals.

    python_module.py SOURCE_DIR LIBRARY      (ctest runs it as `python_module`)
"""
import collections
import ctypes.util
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from unittest import mock

import numpy as np

SOURCE, os.environ["DAVIT_LIBRARY"] = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "docs/python"))
import davit

rng = np.random.default_rng(5)
ORDERS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "strided": lambda x: np.repeat(np.repeat(x, 2, -1), 2, 0)[::2, ..., ::2]
          if x.ndim == 2 else np.repeat(x, 2)[::2]}


def close(got, wanted, kind):
    np.testing.assert_allclose(got, wanted, rtol=1e-4 if kind == "f4" else 1e-11, atol=1e-3 if kind == "f4" else 1e-10)


def each(test):
    for kind in ("f8", "f4"):
        for order in ORDERS.values():
            test(kind, lambda *shape: order(rng.standard_normal(shape).astype(kind)))


def blas(kind, make):
    a, b, c = make(7, 5), make(5, 9), make(7, 9)
    before = c.copy()
    close(davit.gemm(a, b), a @ b, kind)
    close(davit.gemm(a, b, alpha=2, beta=-1, c=c), 2 * (a @ b) - c, kind)
    close(davit.gemm(make(5, 7), b.T, transa="T", transb="T").shape, (7, 9), kind)
    p, q = make(5, 7), make(9, 5)
    close(davit.gemm(p, q, transa="T", transb="T", devices=[davit.HOST]), p.T @ q.T, kind)
    assert np.array_equal(c, before), "inputs stay as they are"
    x, y = make(5), make(7)
    close(davit.gemv(a, x), a @ x, kind)
    close(davit.gemv(a, y, trans="T", alpha=3, beta=2, y=x), 3 * (a.T @ y) + 2 * x, kind)
    close(davit.axpy(2.5, x, make(5) * 0 + 1), 2.5 * x + 1, kind)
    close(davit.dot(x, x), x @ x, kind)
    close(davit.atax(a, x), a.T @ (a @ x), kind)
    close(davit.covariance(a), np.cov(a, rowvar=False), kind)
    close(davit.covariance(a, divisor=3), np.cov(a, rowvar=False) * 6 / 3, kind)


def fields():
    """Complex numbers, in both orders and by all letters."""
    ops = {"N": lambda x: x, "T": np.transpose, "C": lambda x: x.conj().T}
    for kind in ("c16", "c8"):
        for order in ORDERS.values():
            def make(*shape):
                return order((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind))
            near = "f4" if kind == "c8" else kind
            for ta, tb in itertools.product(ops, ops):
                a, b = make(*((4, 6) if ta == "N" else (6, 4))), make(*((6, 3) if tb == "N" else (3, 6)))
                close(davit.gemm(a, b, alpha=1 - 2j, transa=ta, transb=tb), (1 - 2j) * (ops[ta](a) @ ops[tb](b)), near)
            a, c, x, y = make(4, 6), make(4, 4), make(6), make(4)
            close(davit.gemm(a, a, c=c, beta=2j, transb="C"), a @ a.conj().T + 2j * c, near)
            close(davit.gemv(a, x, alpha=1j), 1j * (a @ x), near)
            close(davit.gemv(a, y, trans="C", beta=3, y=x), a.conj().T @ y + 3 * x, near)
            close(davit.axpy(2 + 1j, x, make(6) * 0 + 1), (2 + 1j) * x + 1, near)
            close(davit.dot(x, x), np.dot(x, x), near)
            close(davit.reduce(a), a.sum(), near)
            close(davit.reduce(a, axis=0), a.sum(axis=0), near)
            close(davit.scan(x), np.cumsum(x), near)
            assert davit.gemm(a, a, transb="T").dtype == kind and davit.reduce(a).dtype == kind


def types():
    """Results have NumPy's types and values, whatever the operands' types are."""
    mixtures = ("f4", "f8"), ("f2", "f4"), (">f8", "f8"), (">f4", "<f4"), ("u1", "f8"), ("bool", "f4"), ("i2", "f4"), ("f4", "c8"), \
        ("f8", "c8"), ("f2", "f2"), (">f2", "f2"), ("i8", "f8")
    for one, other in mixtures:
        a, b, x = (rng.integers(0, 4, shape).astype(kind) for shape, kind in (((3, 4), one), ((4, 5), other), (4, other)))
        for got, wanted in ((davit.gemm(a, b), a @ b), (davit.gemv(a, x), a @ x), (davit.dot(a[0], x), np.dot(a[0], x)),
                            (davit.axpy(1, a[0], x), a[0] + x)):
            assert got.dtype == np.asarray(wanted).dtype and np.array_equal(got, wanted), (one, other, got, wanted)
    for kind in "? b B h H i I l L f d e".split() + [">i4", ">u8", ">f8", ">i2"]:
        x = rng.integers(0, 3, (4, 3, 5)).astype(kind)
        for op, axis in itertools.product(("sum", "prod", "min", "max"), (None, 0, 1, -1, (0, 2), (0, 1, 2))):
            wanted, got = getattr(np, op)(x, axis=axis), davit.reduce(x, op, axis=axis)
            assert got.dtype == wanted.dtype.newbyteorder("=") and np.array_equal(got, wanted), (kind, op, axis, got, wanted)
        for (op, function), axis in itertools.product((("sum", np.cumsum), ("prod", np.cumprod)), (None, 0, 1, 2, -2)):
            wanted, got = function(x, axis=axis), davit.scan(x, op, axis=axis)
            assert got.dtype == wanted.dtype.newbyteorder("=") and np.array_equal(got, wanted), (kind, axis, got, wanted)
        for op in ("sum", "prod", "min", "max"):
            one = davit.reduce(x[3, 2, 4], op), davit.scan(x[3, 2, 4], op)
            assert one[0].dtype == one[1].dtype and one[0] == x[3, 2, 4] and one[1].tolist() == [x[3, 2, 4]], (kind, op, one)
        least = False if kind == "?" else -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        assert davit.scan(x, "max", exclusive=True)[0] == least, kind
    edge = np.array([3, 2**63 + 5, 2**64 - 1, 0], "u8")
    assert davit.reduce(edge, "max") == 2**64 - 1 and davit.reduce(edge, "min") == 0 and davit.reduce(edge) == edge.sum()
    assert davit.reduce(np.full(9, 2**30, "i4")) == 9 * 2**30, "not in 32 bits"
    assert davit.reduce(np.full(9, 2**30, "i4"), dtype="i4") == np.full(9, 2**30, "i4").sum(dtype="i4")
    assert davit.reduce(np.ones((0, 3)), axis=0).tolist() == [0, 0, 0] and davit.reduce(np.ones((3, 0)), "max", axis=0).shape == (0,)
    assert davit.reduce([[1, 2], [3, 4]], axis=1).tolist() == [3, 7]
    close(davit.covariance(rng.integers(0, 9, (8, 3))).shape, (3, 3), "f8")
    assert davit.closest_pair([[0, 0], [5, 5], [5, 6]])[:2] == (1, 2)
    assert davit.stencil(np.ones((4, 4), ">f4"), np.eye(3, dtype=int))[1, 1] == 3
    assert davit.reduce(np.ma.array([1.0, 2.0], mask=[False, False])) == 3


def images(kind, make):
    a, factors = make(8, 6), rng.standard_normal((3, 3))
    wanted = a.astype("f8")
    wanted[1:-1, 1:-1] = sum(factors[r, c] * a[r:r + 6, c:c + 4] for r in range(3) for c in range(3))
    close(davit.stencil(a, factors), wanted, kind)
    assert davit.stencil(a, factors, border="zero")[0].sum() == 0


def numbers():
    for kind in ("f8", "f4", "i8", "i4"):
        x = rng.integers(1, 4, 30).astype(kind)
        for name, function in (("sum", np.add), ("prod", np.multiply), ("min", np.minimum), ("max", np.maximum)):
            assert davit.reduce(x[:12], name) == function.reduce(x[:12])
            close(davit.scan(x[:12], name), function.accumulate(x[:12]), kind)
        assert davit.reduce(x.reshape(5, 6).T[::2]) == x.reshape(5, 6).T[::2].sum()
        assert davit.scan(x, exclusive=True)[0] == 0 and davit.scan(x, exclusive=True)[-1] == x[:-1].sum()
        flags = np.zeros(30, bool)
        flags[[0, 11, 12]] = True
        wanted = np.concatenate([np.cumsum(part) for part in np.split(x, [11, 12])])
        assert np.array_equal(davit.scan(x, flags=flags), wanted)


def points_and_sequences():
    for dim in (2, 3):
        points = rng.random((200, dim))
        distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.where(np.tri(200), np.inf, 0)
        i, j = np.unravel_index(np.argmin(distances), distances.shape)
        for algorithm in ("auto", "brute", "grid", "divide"):
            found = davit.closest_pair(points, algorithm=algorithm)
            assert (found.i, found.j) == (i, j) and np.isclose(found.distance, distances[i, j])
        order = np.argsort(distances, axis=None)[:5]
        i, j, distance = davit.closest_pairs(points, 5)
        assert np.array_equal(i * 200 + j, order) and np.allclose(distance, distances.flat[order])
        assert len(davit.closest_pairs(points, radius=distance[3])[0]) == 4
        assert len(davit.closest_pairs(points, 10**6)[2]) == 200 * 199 // 2
    # Durbin et al., Biological Sequence Analysis (1998), section 2.3.
    assert davit.align("HEAGAWGHEE", "PAWHEAE", matrix="BLOSUM50", gap_open=8, gap_extend=8) == (28, 4, 9, 1, 5, "2=1I2=")
    assert davit.align("HEAGAWGHEE", "PAWHEAE", matrix="BLOSUM50", gap_open=8, gap_extend=8, mode="global").score == 1
    letters()
    loud = davit.features(np.sin(np.arange(10000) * 0.3), rate=22050, frame=500)
    assert loud.shape == (20, 62) and np.isfinite(loud).all() and loud[:, :31].sum() > 0


def letters():
    """Bases or amino acids, by the letters; text and bytes."""
    assert davit.align("ACGTACGT", "acguacgu") == davit.align(b"ACGTACGT", bytearray(b"ACGTACGT")) == (16, 0, 8, 0, 8, "8=")
    assert davit.align("ACGTACGTAC", "ACGTRCGTAC").score == 9 * 2 - 3, "one ambiguous base leaves them bases"
    assert davit.align("ACGTACGTAN", "ACGTACGTAN").score == 18, "N matches nothing"
    assert davit.align("ACGT", "ACGT", matrix="BLOSUM62").score > davit.align("ACGT", "ACGT").score
    assert davit.is_dna("ACGTACGTA", "R") and davit.is_dna(b"acgun", "") and not davit.is_dna("ACGTACGT", "R")
    assert not davit.is_dna("ACGTACGTACGTACGT", "E"), "no letter of bases"
    assert davit.align("MKVLE", "MKVLE") == davit.align("MKVLE", "MKVLE", matrix="BLOSUM62", gap_open=11, gap_extend=1)


def loading():
    """Without the library, or with another one, the import says what names it."""
    for name in ("/nowhere/libdavit.so.0", ctypes.util.find_library("c")):
        run = subprocess.run([sys.executable, "-B", "-c", "import davit"], capture_output=True, text=True, check=False,
                             env={**os.environ, "DAVIT_LIBRARY": name, "PYTHONPATH": str(SOURCE / "docs/python")})
        last = run.stderr.strip().split("\n")[-1]
        assert last.startswith("ImportError") and "DAVIT_LIBRARY" in last and name in last, run.stderr
    everything = {}
    exec("from davit import *", everything)
    assert set(davit.__all__) == set(everything) - {"__builtins__"} and "np" not in everything
    defined = {name for name, value in vars(davit).items() if name[0] != "_" and getattr(value, "__module__", "davit") == "davit"}
    assert defined - {"STRUCTS", *(name for name in defined if isinstance(vars(davit)[name], type(os)))} <= set(davit.__all__), defined


def refused(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"expected {words}")


def poisoned(make):
    """np.empty or np.empty_like whose numbers are 77, so that one that nobody writes is seen."""
    def made(*arguments, **options):
        array = make(*arguments, **options)
        if array.dtype.kind in "biufc":
            array[...] = 77
        return array
    return made


def zeros():
    """NumPy's results of dimensions of 0 and near it."""
    def same(got, wanted, what):
        assert got.shape == wanted.shape and got.dtype == wanted.dtype and np.array_equal(got, wanted), (what, got, wanted)

    ops, sizes = {"N": np.asarray, "T": np.transpose, "C": lambda a: a.conj().T}, range(4)
    for (m, n), kind, order in itertools.product(itertools.product(sizes, sizes), ("f8", "f4", "c8", "c16"), "CF"):
        a, what = np.ones((m, n), kind, order), (m, n, kind, order)
        for k in (0, 2):
            same(davit.gemm(np.ones((m, k), kind), np.ones((k, n), kind), c=a, beta=2), k * a + 2 * a, what)
            same(davit.gemm(a, np.ones((n, k), kind)), a @ np.ones((n, k), kind), what)
        for trans, op in ops.items():
            x, y = (np.ones(size, kind) for size in op(a).shape[::-1])
            same(davit.gemv(a, x, trans=trans), op(a) @ x, what)
            same(davit.gemv(a, x, trans=trans, y=y * 3, beta=2), op(a) @ x + 6 * y, what)
            same(davit.gemv(a, x, trans=trans, y=y * np.nan), op(a) @ x, (*what, "y counts without a beta"))
        same(davit.axpy(2, a.ravel(), a.ravel()), 3 * a.ravel(), what)
        assert davit.dot(a.ravel(), a.ravel()) == m * n
        for axis in (None, 0, 1, (0, 1), ()):
            same(davit.reduce(a, axis=axis), a.sum(axis=axis), what)
        for axis in (None, 0, 1):
            same(davit.scan(a, axis=axis), a.cumsum(axis=axis), what)
        same(davit.scan(a, flags=np.zeros(m * n)), a.cumsum(), what)
        if kind[0] == "c":
            continue
        same(davit.atax(a, np.ones(n, kind)), a.T @ (a @ np.ones(n, kind)), what)
        same(davit.stencil(a, np.eye(3), border="zero")[1:-1, 1:-1], 3 * a[1:-1, 1:-1], what)
        same(davit.stencil(a, np.eye(3) / 3), a, what)
        same(davit.covariance(a), np.zeros((n, n), kind), what)
    for points, dim in itertools.product((0, 1), (2, 3)):
        refused(davit.Error, "less than 2", lambda: davit.closest_pairs(np.ones((points, dim))))
    for count in (0, 1, 2, 7):
        found = davit.features(np.zeros(count), frame=2)
        assert found.shape == (count // 2, 62) and not found.any()
    for frame in (0, 1, -5):
        refused(ValueError, f"frame is {frame} and", lambda: davit.features(np.zeros(5000), frame=frame))
    refused(ValueError, "rate 0;", lambda: davit.features(np.zeros(5000), rate=0))


def whole_numbers():
    """None is cut to the bits of C's types, none is rounded."""
    x, points = np.ones(3), [[0, 0], [5, 5], [5, 6]]
    for call in (lambda n: davit.reduce(x, devices=[n]), lambda n: davit.scan(x, devices=n), davit.set_threads,
                 lambda n: davit.align("A", "A", gap_open=n), lambda n: davit.align("A", "A", gap_extend=n)):
        for wrong in (2**31, -2**31 - 1, 2**32 + 1, 2**64 + 2):
            refused(OverflowError, f"{wrong} does not fit in int32", lambda: call(wrong))
    for call in (lambda n: davit.closest_pairs(points, n), lambda n: davit.features(x, frame=n)):
        for wrong in (2**63, 2**64 + 3):
            refused(OverflowError, f"{wrong} does not fit in int64", lambda: call(wrong))
        refused(TypeError, "integer", lambda: call(2.5))
    refused(TypeError, "integer", lambda: davit.align("A", "A", gap_open=7.0))
    refused(TypeError, "integer", lambda: davit.scan(np.ones((2, 2)), axis=0.5))
    for number in (davit.HOST, np.int64(-1), np.int8(-1), np.array(-1), np.array([-1]), (-1,), [np.int64(-1)], iter([-1])):
        assert davit.reduce(x, devices=number) == 3, number
    assert davit.align("ACGT", "ACG", gap_open=np.int64(7)) == davit.align("ACGT", "ACG", gap_open=7)
    assert len(davit.closest_pairs(points, np.uint8(2))[0]) == 2
    for kind, wrong in (("i8", 2**53 + 1), ("i8", -2**53 - 1), ("i8", 2**60 + 1), ("i8", 2**63 - 1), ("i8", -2**63 + 1),
                        ("u8", 2**64 - 1), (">i8", 2**60 + 1), ("u8", 2**63 + 1024)):
        rows, line = np.array([[0, 0], [0, wrong], [1, 0]], kind), np.array([0, wrong], kind)
        for call in (lambda: davit.closest_pair(rows), lambda: davit.closest_pairs(rows, 1), lambda: davit.covariance(rows),
                     lambda: davit.gemm(rows, np.ones((2, 2))), lambda: davit.gemv(rows, [0.5, 1]), lambda: davit.atax(rows, [0.5, 1]),
                     lambda: davit.axpy(1, [0.5, 1], line), lambda: davit.dot(np.ones(2, "c8"), line),
                     lambda: davit.stencil(np.ones((3, 3)), np.repeat(rows[:, 1:], 3, 1)),
                     lambda: davit.gemm(np.ones((1, 3)), np.ones((3, 2)), c=rows[1:2])):
            refused(ValueError, f"has {wrong}, which is not exact in float64", call)
    for kind, right in (("i8", 2**53), ("i8", -2**53), ("i8", 2**53 + 2), ("i8", -2**63), ("u8", 2**64 - 2048), ("i8", 2**62 + 2**10)):
        assert davit.dot([1.0], np.array([right], kind)) == float(right), right
        assert davit.closest_pair(np.array([[right, 0], [right, 1], [5, 5]], kind))[:] == (0, 1, 1), right


def refusals():
    x = np.ones(3)
    refused(davit.Error, "99", lambda: davit.reduce(x, devices=[99]))
    refused(davit.Error, "NOMATRIX", lambda: davit.align("A", "A", matrix="NOMATRIX"))
    refused(davit.Error, "not finite", lambda: davit.closest_pair(np.array([[0, 0], [np.nan, 1]])))
    refused(ValueError, "op is 'mean'", lambda: davit.reduce(x, "mean"))
    refused(ValueError, "columns", lambda: davit.gemm(np.ones((2, 3)), np.ones((2, 3))))
    refused(ValueError, "shape", lambda: davit.gemv(np.ones((2, 3)), np.ones(2)))
    refused(ValueError, "transa is 'X'", lambda: davit.gemm(np.ones((2, 2)), np.ones((2, 2)), transa="X"))
    ones = np.ones((2, 2))
    refused(TypeError, "int64, b has int64; float32 or float64 or", lambda: davit.gemm(ones.astype(int), ones.astype(int)))
    refused(TypeError, "longdouble" if np.longdouble is np.float64 else "float128", lambda: davit.reduce(x.astype("g")))
    refused(TypeError, "object", lambda: davit.reduce(np.array([None, 1])))
    refused(TypeError, "<U1", lambda: davit.dot(x, np.array(["a", "b", "c"])))
    refused(TypeError, "datetime64", lambda: davit.reduce(np.zeros(2, "M8[s]"), "max"))
    refused(TypeError, "complex128", lambda: davit.atax(ones * 1j, x[:2]))
    refused(TypeError, "sums alone", lambda: davit.reduce(x * 1j, "max"))
    refused(TypeError, "alpha is complex", lambda: davit.gemm(ones, ones, alpha=1j))
    refused(TypeError, "dtype is for sums", lambda: davit.reduce(x, "max", dtype="f8"))
    refused(TypeError, "full scale", lambda: davit.features(np.zeros(5000, "i2")))
    refused(TypeError, "complex128", lambda: davit.stencil(ones, np.eye(3) * 1j))
    refused(ValueError, "no max", lambda: davit.reduce([], "max"))
    refused(ValueError, "no min", lambda: davit.reduce(np.ones((0, 3)), "min", axis=0))
    refused(np.AxisError if hasattr(np, "AxisError") else np.exceptions.AxisError, "axis", lambda: davit.reduce(x, axis=1))
    refused(ValueError, "exclude", lambda: davit.scan(x, axis=0, flags=x))
    refused(ValueError, "2 dimensions, not 1", lambda: davit.dot(ones, ones))
    refused(ValueError, "letter 2 of query is '1'", lambda: davit.align("A1", "A"))
    refused(ValueError, "not ASCII", lambda: davit.align("A", "\u00c4"))
    refused(TypeError, "neither str nor bytes", lambda: davit.align("A", 5))
    refused(ValueError, "mode is 'up'", lambda: davit.align("A", "A", mode="up"))
    hidden = np.ma.array(ones, mask=[[True, False], [False, False]])
    for call in (lambda: davit.gemm(ones, hidden), lambda: davit.gemv(hidden, x[:2]), lambda: davit.axpy(1, hidden[0], x[:2]),
                 lambda: davit.reduce(hidden), lambda: davit.scan(hidden, axis=0), lambda: davit.covariance(hidden),
                 lambda: davit.stencil(hidden, np.eye(3)), lambda: davit.closest_pair(hidden), lambda: davit.atax(ones, hidden[0]),
                 lambda: davit.dot([1, 2], list(hidden)), lambda: davit.scan(x[:2], flags=hidden[0]),
                 lambda: davit.features(hidden[0]), lambda: davit.gemm(ones, ones, c=hidden), lambda: davit.reduce(list(hidden[0])),
                 lambda: davit.reduce([[hidden[0]]]), lambda: davit.reduce([[1, (2, np.ma.masked)]]),
                 lambda: davit.dot(collections.deque(hidden[0]), x[:2])):
        refused(TypeError, "masked", call)


def structs():
    """The C compiler's sizes and offsets of all members."""
    compiler = shutil.which("cc")
    if not compiler:
        print("structs: left out, there is no cc")
        return
    rows = [(struct.__name__, name) for struct in davit.STRUCTS for name, _ in struct._fields_]
    text = "#include <davit/davit.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n"
    text += "".join(f'  printf("%zu %zu\\n", offsetof({struct}, {name}), sizeof((({struct} *)0)->{name}));\n' for struct, name in rows)
    text += "".join(f'  printf("%zu\\n", sizeof({struct.__name__}));\n' for struct in davit.STRUCTS) + "  return 0;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "structs")
        path.with_suffix(".c").write_text(text)
        subprocess.run([compiler, f"-I{SOURCE}/include", path.with_suffix(".c"), "-o", path], check=True)
        given = subprocess.run([path], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    own = [f"{getattr(struct, name).offset} {getattr(struct, name).size}" for struct in davit.STRUCTS for name, _ in struct._fields_]
    own += [str(ctypes.sizeof(struct)) for struct in davit.STRUCTS]
    for row, (a, b) in zip([*rows, *davit.STRUCTS], zip(own, given)):
        assert a == b, f"{row}: {a} here, {b} in C"
    assert len(own) == len(given)


def main():
    structs()
    assert davit.version().count(".") == 2
    assert [device.number for device in davit.devices()] == list(range(-1, len(davit.devices()) - 1))
    davit.set_threads(2)
    loading()
    each(blas)
    fields()
    types()
    each(images)
    numbers()
    points_and_sequences()
    refusals()
    whole_numbers()
    with mock.patch.object(np, "empty", poisoned(np.empty)), mock.patch.object(np, "empty_like", poisoned(np.empty_like)):
        zeros()
    print("docs/python/davit.py does what NumPy does")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/python/davit.py: its results against NumPy's, its structs against the headers, its refusals.

    python_module.py SOURCE_DIR LIBRARY      (ctest runs it as `python_module`)
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

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
            assert davit.reduce(x[:12], name) == function.reduce(x[:12]) and davit.reduce(x, name).dtype == x.dtype
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
    loud = davit.features(np.sin(np.arange(10000) * 0.3), rate=22050, frame=500)
    assert loud.shape == (20, 62) and np.isfinite(loud).all() and loud[:, :31].sum() > 0


def refusals():
    def refused(kind, words, call):
        try:
            call()
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"expected {words}")

    x = np.ones(3)
    refused(davit.Error, "99", lambda: davit.reduce(x, devices=[99]))
    refused(davit.Error, "NOMATRIX", lambda: davit.align("A", "A", matrix="NOMATRIX"))
    refused(davit.Error, "not finite", lambda: davit.closest_pair(np.array([[0, 0], [np.nan, 1]])))
    refused(ValueError, "op is 'mean'", lambda: davit.reduce(x, "mean"))
    refused(ValueError, "columns", lambda: davit.gemm(np.ones((2, 3)), np.ones((2, 3))))
    refused(ValueError, "shape", lambda: davit.gemv(np.ones((2, 3)), np.ones(2)))
    refused(ValueError, "transa is 'X'", lambda: davit.gemm(np.ones((2, 2)), np.ones((2, 2)), transa="X"))
    refused(TypeError, "float64", lambda: davit.gemm(np.ones((2, 2), int), np.ones((2, 2))))
    refused(TypeError, "b has", lambda: davit.gemm(np.ones((2, 2)), np.ones((2, 2), "f4")))


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
    each(blas)
    each(images)
    numbers()
    points_and_sequences()
    refusals()
    print("docs/python/davit.py does what NumPy does")


if __name__ == "__main__":
    main()

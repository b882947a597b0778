#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the command-line tool against its contract (docs/cli.md): exit codes, formats, files, results.

usage: test_cli.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all

Results are compared with NumPy by the bound that --check uses. Prints one line a group; exits 1 when any
check failed.
"""
import gzip
import io
import os
import pty
import random
import re
import signal
import stat
import subprocess
import sys
import time

import numpy as np

sys.dont_write_bytecode = True
from support import (DAVIT, EACH, LIMIT_S, davit, expect, expect_keys, failing, header_of, listing, main, noise, npy_bytes,
                     npy_raw, on_terminal, put, refuse, run_json, sampled, save, shows)


def bound(alpha, a, b, beta=0, c0=None):
    eps = np.finfo(a.dtype).eps
    norm = np.linalg.norm
    addend = 0 if c0 is None else 2 * abs(beta) * norm(c0.astype(float))
    return 3 * eps * (np.sqrt(a.shape[-1] + 2) * abs(alpha) * norm(a.astype(float)) * norm(b.astype(float)) + addend)


def expect_close(found, wanted, limit, what):
    expect(found.shape == wanted.shape and found.dtype == wanted.dtype,
           f"{what}: {found.dtype} {found.shape}, expected {wanted.dtype} {wanted.shape}")
    if found.shape == wanted.shape:
        error = np.linalg.norm(found.astype(float) - wanted.astype(float))
        expect(error <= limit, f"{what}: error {error} of bound {limit}")


def device_list():
    listed = run_json("devices")["list"]
    return [entry["device"] for entry in listed if entry["device"] >= 0]


# ---- help, options, devices ----


def test_devices():
    report = run_json("devices")
    expect_keys(report, "list")
    expect(len(report["list"]) == len(report["devices"]), "an entry for each device")
    for entry in report["list"]:
        for key in ("device", "kind", "name", "memory", "links", "compute_units", "compute_capability", "bus"):
            expect(key in entry, f"{key} of device {entry.get('device')}")
        free, total = entry["memory"]["free_bytes"], entry["memory"]["total_bytes"]
        known = entry["kind"] not in ("amd", "other") or free is not None
        expect(0 < free <= total if known else total is None, "free and total memory")
        expect(entry["kind"] in ("cpu", "host-offload", "nvidia", "amd", "other"), entry["kind"])
        expect([link["to"] for link in entry["links"]] == report["devices"], "a link to each device")
        own = [link["kind"] for link in entry["links"] if link["to"] == entry["device"]]
        expect(own == ["same"], "one memory with itself")
    result = davit("devices")
    for entry in report["list"]:
        expect(entry["name"] in result.out.decode(), f"{entry['name']} in the text")
    if {entry["kind"] for entry in report["list"]} <= {"cpu", "host-offload"}:
        offload = len(report["list"]) - 1
        place = f"; the CPU stands in as {offload} host-offload devices" if offload > 1 else ""
        expect(result.err == f"davit devices: no GPU: {report.get('no_gpu')}{place}\n", f"why there is no GPU: {result.err}")
        lines = [line for line in result.out.decode().splitlines() if report["list"][0]["name"] in line]
        expect(len(lines) == 1 + (offload > 0), f"the CPU as such, and once more for all host-offload devices: {lines}")
        built_for_gpus = "NVIDIA" in run_json("version")["built_for"]
        expect(built_for_gpus == ("without code for GPUs" not in result.err), f"the reason: {result.err}")
        expect("says why" in davit("gemm", "a.npy", "a.npy", "--devices", "gpu", code=2).err, "where the reason is found")
    else:
        expect("no_gpu" not in report and result.err == "", f"there is a GPU: {result.err}")


def test_unknown_memory():
    """Host-offload devices that pose as AMD's: nothing says how much memory they have, and all the same they compute."""
    save("a.npy", noise(np.random.default_rng(4), 300, 300))
    os.environ["DAVIT_SIMULATE"] = "amd"
    try:
        posing = [entry for entry in run_json("devices")["list"] if entry["kind"] == "amd"]
        expect(all(entry["memory"] == {"total_bytes": None, "free_bytes": None} for entry in posing), "null for unknown")
        text = davit("devices").out.decode()
        expect(text.count("  unknown  ") == len(posing), f"unknown memory in {text}")
        report = run_json("gemm", "a.npy", "a.npy", "--check", "--devices", "all")
        expect({entry["device"] for entry in posing} <= {*report["devices"]}, "the product runs on all of them")
    finally:
        del os.environ["DAVIT_SIMULATE"]


def test_small_files_are_left_to_the_cpu():
    """On a machine with GPUs, or with devices that pose as such, and where the user asks for no devices."""
    small = save("small.npy", np.arange(1000.0))
    large = save("large.npy", np.ones(600000))
    matrix = save("matrix.npy", noise(np.random.default_rng(5), 30, 30))
    everything = run_json("reduce", small, "--devices", "all")["devices"]
    without_gpu = {entry["kind"] for entry in run_json("devices")["list"]} <= {"cpu", "host-offload"}
    if without_gpu:
        expect(run_json("reduce", small)["devices"] == everything, "without a GPU nothing is left to the CPU alone")
    os.environ["DAVIT_SIMULATE"] = "amd"
    try:
        on_cpu = [("reduce", small), ("scan", small, "-o", "y.npy"), ("dot", small, small), ("axpy", small, small),
                  ("gemm", matrix, matrix), ("stencil", matrix, "-o", "y.npy"), ("covariance", matrix), ("atax", matrix,
                  save("v.npy", np.ones(30))), ("gemv", matrix, "v.npy"), ("solve", save("i.npy", np.eye(30)), matrix), ("factor", "i.npy"), ("closest", save("p.npy", np.eye(4, 2)))]
        for words in on_cpu:
            expect(run_json(*words, "--check")["devices"] == [-1], f"{words} is small")
        for words in (("reduce", large), ("reduce", small, "--devices", "all"), ("reduce", small, "--repeat", 2),
                      ("reduce", small, "--trace", "t.json"), ("gemm", matrix, matrix, "--tile", 16),
                      ("reduce", "-", "--dtype", "f8", "--shape", "3")):
            data = np.ones(3).tobytes() if "-" in words else None
            expect(run_json(*words, data=data)["devices"] == everything, f"{words} uses all devices")
        expect(run_json("reduce", small, "--op", "max")["result"] == 999, "the result")
    finally:
        del os.environ["DAVIT_SIMULATE"]


def test_device_lists():
    a = save("a.npy", np.eye(3))
    numbers = device_list()
    lists = {"cpu": [-1], "all": None, "host": None, "-1": [-1]}
    if numbers:
        lists[str(numbers[0])] = numbers[:1]
    if len(numbers) > 1:
        lists[",".join(map(str, numbers[1::-1]))] = numbers[1::-1]
    x, v = save("x.npy", np.ones(4)), save("v.npy", np.ones(3))
    commands = (("gemm", a, a), ("dot", x, x), ("gemv", a, v), ("axpy", x, x))
    for turn, (text, devices) in enumerate(lists.items()):
        for command in (commands[turn % 4], commands[(turn + 1) % 4]):
            report = run_json(*command, "--devices", text, "--check")
            expect(devices is None or report["devices"] == devices, f"{command} on {text}: {report['devices']}")
    kinds = {entry["kind"] for entry in run_json("devices")["list"]}
    davit("gemm", a, a, "--devices", "gpu", code=0 if kinds & {"nvidia", "amd", "other"} else 2)


# ---- results ----


def test_gemm_orders():
    rng = np.random.default_rng(1)
    m, n, k = 37, 23, 51
    for case in range(16):
        dtype, transa, transb = ("f8", "f4")[case.bit_count() & 1], case & 1, case & 2
        a, b = noise(rng, m, k, dtype=dtype), noise(rng, k, n, dtype=dtype)
        wanted = (a.astype(float) @ b.astype(float)).astype(dtype)
        save("a.npy", a.T if transa else a, "CF"[case >> 2 & 1])
        save("b.npy", b.T if transb else b, "CF"[case >> 3])
        options = [["--transa"], ["--transa", "T"], ["--transa=C"]][case % 3] if transa else ["--transa", "N"]
        options += ["--transb"] if transb else []
        davit("gemm", "a.npy", "b.npy", "-o", "c.npy", *options)
        c = np.load("c.npy")
        expect(c.flags.f_contiguous, "Fortran order is written")
        expect_close(c, wanted, bound(1, a, b), f"{dtype} {options} {case}")


def test_gemm_scalars():
    rng = np.random.default_rng(2)
    a, b, c0 = noise(rng, 20, 30), noise(rng, 30, 40), noise(rng, 20, 40)
    save("a.npy", a)
    save("b.npy", b, "F")
    for order, options, alpha, beta in (("C", [], 1, 1), ("F", ["--alpha", "-2.5"], -2.5, 1), ("C", ["--beta", "0.5"], 1, .5),
                                        ("F", ["--alpha", "0", "--beta", "3"], 0, 3), ("C", ["--beta", "0"], 1, 0)):
        save("c0.npy", c0, order)
        report = run_json("gemm", "a.npy", "b.npy", "--c0", "c0.npy", "-o", "c.npy", "--check", "--repeat", 3,
                          "--warmup", 2, "--tile", 8, *options)
        limit = bound(alpha, a, b, beta, c0)
        expect_close(np.load("c.npy"), alpha * a @ b + beta * c0, limit, f"{options} {order}")
        expect(report["error"] <= report["bound"], "the check holds")
        expect(beta != 1 or abs(report["bound"] / limit - 1) < 1e-9, f"bound {report['bound']}, not {limit}")
        expect_keys(report, "gflops", "tile", "m", "n", "k", "check")
        expect((report["m"], report["n"], report["k"]) == (20, 40, 30), "m, n and k")
    davit("gemm", "a.npy", "b.npy", "--beta", "7", "-o", "c.npy")
    expect_close(np.load("c.npy"), a @ b, bound(1, a, b), "beta of a zero matrix")
    save("nan.npy", np.full((20, 40), np.nan))
    davit("gemm", "a.npy", "b.npy", "--c0", "nan.npy", "--beta", "0", "-o", "c.npy")
    expect_close(np.load("c.npy"), a @ b, bound(1, a, b), "beta = 0 does not read C")


def test_gemm_explains():
    rng = np.random.default_rng(3)
    save("a.npy", noise(rng, 300, 200))
    save("b.npy", noise(rng, 200, 100))
    lines = davit("gemm", "a.npy", "b.npy", "--tile", 64, "--explain").out.splitlines()
    expect(any(line.startswith(b"predicted\t") for line in lines), "the predicted time")
    expect(any(line.startswith(b"chosen\t") for line in lines), "what was chosen")
    expect(not davit("gemm", "a.npy", "b.npy").out, "nothing else is printed")


def test_gemm_arithmetic():
    """Products are native, or exact sums with the same bits wherever they are computed; emulation is cuBLAS's own matter."""
    rng = np.random.default_rng(5)
    a = save("a.npy", noise(rng, 20, 20))
    davit("gemm", a, a, "-o", "c.npy")
    davit("gemm", a, a, "--arithmetic", "native", "-o", "d.npy")
    expect(open("c.npy", "rb").read() == open("d.npy", "rb").read(), "native is what davit does")
    refuse(("gemm", a, a, "--arithmetic", "precise", "-o", "e.npy"), "--arithmetic", "native or exact", code=2)
    for dtype in ("f8", "f4", "c16", "c8"):
        b = save("b.npy", noise(rng, 70, 130, dtype=dtype))
        c = save("c0.npy", noise(rng, 130, 130, dtype=dtype), order="F")
        options = ("--transa", "--c0", c, "--alpha", "0.7", "--beta", "-1", "--arithmetic", "exact", "--check")
        files = set()
        for devices in ("host", "cpu", "-1"):
            report = run_json("gemm", b, b, "--devices", devices, *options, "-o", "e.npy")
            expect(report["arithmetic"] == "exact" and 4 < report["moduli"] < 20 and "why_native" not in report, str(report))
            expect("min(k, 64)" in report["check"] and report["error"] <= report["bound"], str(report))
            files.add(open("e.npy", "rb").read())
        expect(len(files) == 1, f"{dtype}: the same bits everywhere")
    error = davit("gemm", b, b, *options, "-v", "--explain")
    expect("arithmetic: exact" in error.err and "moduli: " in error.err, error.err)
    expect(b"exact sums in" in error.out, f"--explain: {error}")
    nan = save("nan.npy", np.full((9, 9), np.nan))
    result = davit("gemm", nan, nan, "--arithmetic", "exact", "-o", "e.npy")
    expect("multiplied natively: a number of an operand is not finite" in result.err, result.err)
    report = run_json("gemm", nan, nan, "--arithmetic", "exact", "-o", "e.npy")
    expect(report["arithmetic"] == "native" and "not finite" in report["why_native"], str(report))
    expect(run_json("gemm", a, a, "-o", "e.npy")["arithmetic"] == "native", "as a rule")


def test_gemm_edges():
    for m, n, k, order in ((1, 1, 1, "C"), (0, 3, 2, "C"), (3, 0, 2, "F"), (3, 2, 0, "C"), (1, 5, 1, "F"), (5, 1, 3, "C")):
        a, b = np.ones((m, k)), np.ones((k, n))
        davit("gemm", save("a.npy", a, order), save("b.npy", b, order), "-o", "c.npy", "--check")
        expect_close(np.load("c.npy"), a @ b, 1e-12, f"{m} x {n} x {k}")


def test_gemm_text():
    save("a.npy", np.eye(4))
    result = davit("gemm", "a.npy", "a.npy", "--check", "-v", "--repeat", 3)
    for part in ("gflops: ", "error", ", bound ", "device", "seconds_minimum: ", "the result was not kept; -o C"):
        expect(part in result.err, f"{part} in {result.err}")
    expect(not result.out, f"nothing on standard output: {result.out}")
    expect("cpu: reference" in davit("gemm", "a.npy", "a.npy", "--devices", "cpu", "-v").err, "cpu is named")
    expect(davit("gemm", "a.npy", "a.npy", "--quiet").err == "", "--quiet makes no remark")
    report = run_json("gemm", "a.npy", "a.npy", "--repeat", 5)
    expect(0 < report["seconds_minimum"] <= report["seconds"] <= report["seconds_maximum"], f"times: {report}")
    expect(report["seconds_deviation"] >= 0, f"deviation: {report}")


def test_gemm_tiles():
    """What -v, --json and --explain say of tiles is one thing."""
    a = save("a.npy", noise(np.random.default_rng(8), 1500, 1500).astype("f4"))
    report = run_json("gemm", a, a, "--devices", "host")
    result = davit("gemm", a, a, "--devices", "host", "-v", "--explain")
    chosen = re.search(r"^chosen\t(\d+) x (\d+) x (\d+) devices\ttiles of (\d+) x (\d+) x (\d+)\t", result.out.decode(), re.M)
    if not chosen:  # one host device alone
        expect("tiles: none\n" in result.err and report["products"] == 1, f"the whole: {result}")
        return
    rows, cols, parts, *tiles = map(int, chosen.groups())
    expect(tiles == [report["tile_m"], report["tile_n"], report["tile_k"]], f"tiles in JSON: {report}, {chosen[0]}")
    expect(report["tile"] == max(tiles), f"the longest side: {report}")
    expect(f"tiles: at most {tiles[0]} x {tiles[1]} of C, {tiles[2]} of k\n" in result.err, f"in words: {result.err}")
    blocks = [-(-1500 // parts) + 32 for parts in (rows, cols, parts)]
    if all(tile > block - 48 for tile, block in zip(tiles, blocks)):
        expect(report["products"] == rows * cols * parts, f"one product for each whole block: {report}")
    lines = [line for line in result.out.splitlines() if line.startswith((b"chosen", b"alternative"))]
    expect(len({line.split(b"\t", 1)[1].rsplit(b"\t", 1)[0] for line in lines}) == len(lines), f"no choice is listed twice: {lines}")


def test_repeat():
    """One line with median, range and rate, on standard error; -v has units."""
    x = save("x.npy", np.ones(1000))
    line = r"median [\d.]+ (µs|ms|s) \([\d.]+ … [\d.]+\)"
    result = davit("reduce", x, "--repeat", 3)
    expect(re.fullmatch(line + r", [\d.e+-]+ GB/s\n", result.err) and result.out == b"1000\n", f"one line: {result}")
    for arguments, unit in ((("gemm", save("a.npy", np.eye(9)), "a.npy", "-o", "c.npy"), "GFLOP/s"), (("dot", x, x), "GFLOP/s")):
        err = davit(*arguments, "--repeat", 2, "--warmup", 1).err
        expect(re.fullmatch(line + rf", [\d.e+-]+ {unit}\n", err), f"one line: {err!r}")
    for quiet in (("--quiet",), ("--json",)):
        expect(davit("reduce", x, "--repeat", 3, *quiet).err == "", f"no line with {quiet}")
    expect("median" not in davit("reduce", x).err, "no line of one run")
    err = davit("gemm", "a.npy", "a.npy", "-v").err
    for part in (r"^seconds: \S+ s$", r"^gflops: \S+ GFLOP/s$", r"^bytes_from_host: \d+ bytes$", r"^cache_bytes: \d+ bytes$"):
        expect(re.search(part, err, re.M), f"{part} in {err}")
    expect(davit("gemm", "a.npy", "a.npy", "--verbose").err.count("\n") == err.count("\n"), "--verbose is -v")


def test_whole_numbers():
    """Matrix operations take them as the first operand's type, or as float64, if they are exact."""
    rng = np.random.default_rng(8)
    for dtype, order in (("u1", "C"), (">i4", "F"), ("?", "C")):
        a, x = rng.integers(0, 100, (6, 4)).astype(dtype), rng.integers(0, 100, 4).astype(dtype)
        save("a.npy", a, order)
        save("x.npy", x)
        davit("gemm", "a.npy", "a.npy", "--transb", "-o", "c.npy", "--check")
        wide, v = a.astype("f8"), x.astype("f8")
        expect(np.load("c.npy").dtype == "f8" and (np.load("c.npy") == wide @ wide.T).all(), f"gemm of {dtype} {order}")
        davit("atax", "a.npy", "x.npy", "-o", "y.npy", "--check")
        expect((np.load("y.npy") == wide.T @ (wide @ v)).all(), f"atax of {dtype}")
        davit("covariance", "a.npy", "-o", "s.npy", "--check")
        expect(np.allclose(np.load("s.npy"), np.cov(wide.T), atol=1e-9), f"covariance of {dtype}")
        davit("stencil", "a.npy", "-o", "b.npy", "--check")
        expect(np.load("b.npy").shape == a.shape, f"stencil of {dtype}")
    for first, wanted in (("f4", "f4"), ("c8", "c8"), ("i2", "f8")):
        davit("axpy", save("x.npy", np.ones(4, first)), save("y.npy", np.arange(4)), "-o", "z.npy")
        expect(np.load("z.npy").dtype == wanted and (np.load("z.npy") == np.arange(1, 5)).all(), f"{first} and int64")
    large = save("large.npy", np.array([1, 2**53 + 1]))
    refuse(("dot", large, large), "exact in float64", str(2**53 + 1))
    refuse(("dot", save("f.npy", np.ones(2, "f4")), save("y.npy", np.array([1, 2**24 + 1]))), "exact in float32")
    grid = save("p.npy", np.array([[0, 0], [3, 4], [9, 9]], "u1"))
    expect(run_json("closest", grid)["distance"] == 5, "points of whole numbers")


def test_gemv():
    rng = np.random.default_rng(3)
    for dtype, order, options in (("f8", "C", []), ("f4", "F", []), ("f4", "C", ["--trans"]), ("f8", "F", ["--trans"])):
        a = noise(rng, 33, 47, dtype=dtype)
        op = a.T if options else a
        x, y0 = noise(rng, op.shape[1], dtype=dtype), noise(rng, op.shape[0], dtype=dtype)
        save("x.npy", x)
        save("y0.npy", y0[:, None])
        save("a.npy", a, order)
        wanted = op.astype(float) @ x.astype(float)
        report = run_json("gemv", "a.npy", "x.npy", "-o", "y.npy", "--check", *options)
        expect_keys(report, "gflops", "m", "n", "check", "error", "bound")
        expect_close(np.load("y.npy"), wanted.astype(dtype), bound(1, op, x), f"gemv {dtype} {order} {options}")
        davit("gemv", "a.npy", "x.npy", "-o", "y.npy", "--y0", "y0.npy", "--alpha", "2", "--beta", "-1",
              "--repeat", 2, "--check", *options)
        expect_close(np.load("y.npy"), (2 * wanted - y0).astype(dtype), bound(2, op, x, 1, y0),
                     f"gemv with y0 {dtype} {order} {options}")
    davit("gemv", "a.npy", "a.npy", code=3)
    davit("gemv", "x.npy", "x.npy", code=3)


def test_axpy_dot():
    rng = np.random.default_rng(4)
    for dtype in ("f8", "f4"):
        eps = np.finfo(dtype).eps
        x, y = noise(rng, 1001, dtype=dtype), noise(rng, 1001, dtype=dtype)
        save("x.npy", x[None, :])
        save("y.npy", y[:, None], "F")
        report = run_json("axpy", "x.npy", "y.npy", "-o", "z.npy", "--alpha", "-1.5", "--check", "--repeat", 3)
        expect_keys(report, "gflops", "n")
        z = np.load("z.npy")
        expect(np.all(abs(z - (-1.5 * x.astype(float) + y)) <= 2 * eps * (abs(1.5 * x) + abs(y))), f"axpy {dtype}")
        report = run_json("dot", "x.npy", "y.npy", "--check", "--repeat", 2)
        expect_keys(report, "gflops", "result")
        exact = np.dot(x.astype(float), y.astype(float))
        expect(abs(report["result"] - exact) <= bound(1, x, y), f"dot {dtype}: {report['result']}, not {exact}")
        text = davit("dot", "x.npy", "y.npy").out.decode()
        expect(np.dtype(dtype).type(text) == np.dtype(dtype).type(report["result"]), f"dot prints its result: {text}")
    save("empty.npy", np.zeros(0))
    expect(run_json("dot", "empty.npy", "empty.npy", "--check")["result"] == 0, "an empty dot product is 0")
    davit("axpy", "empty.npy", "empty.npy", "-o", "z.npy")
    expect(np.load("z.npy").shape == (0,), "an empty sum")
    save("scalar.npy", np.float64(3))
    expect(run_json("dot", "scalar.npy", "scalar.npy")["result"] == 9, "scalars are vectors of one element")


# ---- formats ----


def test_npy_versions():
    x = np.arange(5.0)
    for version in ((1, 0), (2, 0), (3, 0)):
        put("x.npy", npy_bytes(x, version))
        expect(run_json("dot", "x.npy", "x.npy")["result"] == 30, f"version {version}")
    for header in ('{"shape":(5,),"descr":"<f8","fortran_order":True}', "{ 'fortran_order' :False,\n\t'shape':( 5 , ),"
                   "'descr':'=f8' }   \n", "{'descr': 'f8', 'fortran_order': False, 'shape': (5, 1)}"):
        put("x.npy", npy_raw(header, x.tobytes()))
        expect(run_json("dot", "x.npy", "x.npy")["result"] == 30, header)


def test_npy_malformed():
    data = np.arange(4.0).tobytes()
    good = npy_raw(header_of("(4,)"), data)
    deep = header_of("(4,)").replace("\n", " " * 70000)
    cases = {
        "empty": b"", "only magic": b"\x93NUMPY", "wrong magic": b"\x93NUMPX" + good[6:], "text": b"hello\n",
        "version 0": npy_raw(header_of("(4,)"), data, b"\x00\x00"),
        "version 4": npy_raw(header_of("(4,)"), data, b"\x04\x00"),
        "minor version": npy_raw(header_of("(4,)"), data, b"\x01\x01"),
        "truncated length": good[:9], "truncated header": good[:40],
        "header longer than the file": npy_raw(header_of("(4,)"), data, length=60000),
        "absurd header length": npy_raw(header_of("(4,)"), data, b"\x02\x00", length=2**32 - 1),
        "long header": npy_raw(deep, data, b"\x02\x00"),
        "truncated data": good[:-1], "no data": good[:-32], "trailing byte": good + b"\0",
        "object": npy_raw(header_of("(4,)", "'|O'"), data), 
        "long complex": npy_raw(header_of("(1,)", "'<c32'"), data), "text": npy_raw(header_of("(8,)", "'<U1'"), data),
        "no dtype": npy_raw(header_of("(4,)", "''"), data), "two-byte bool": npy_raw(header_of("(16,)", "'<b2'"), data),
        "structured": npy_raw(header_of("(4,)", "[('a', '<f8')]"), data),
        "negative shape": npy_raw(header_of("(-4,)"), data), "fractional shape": npy_raw(header_of("(4.0,)"), data),
        "shape is a number": npy_raw(header_of("(4)"), data), "shape is a list": npy_raw(header_of("[4]"), data),
        "absurd shape": npy_raw(header_of(f"({2**62},)"), data), "huge shape": npy_raw(header_of(f"({2**40},)"), data),
        "overflowing product": npy_raw(header_of(f"({2**32}, {2**32})"), data),
        "overflowing dimension": npy_raw(header_of(f"({2**64},)"), data),
        "many dimensions": npy_raw(header_of("(" + "1, " * 33 + ")"), data),
        "no key": npy_raw("{'descr': '<f8', 'shape': (4,)}", data), "no keys": npy_raw("{}", data),
        "key twice": npy_raw("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", data),
        "foreign key": npy_raw("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), 'x': 1}", data),
        "no comma": npy_raw("{'descr': '<f8' 'fortran_order': False, 'shape': (4,)}", data),
        "order is a number": npy_raw(header_of("(4,)", order="0"), data),
        "junk after the dictionary": npy_raw(header_of("(4,)").strip() + " x\n", data),
        "no dictionary": npy_raw("[1, 2]\n", data), "open dictionary": npy_raw("{'descr': '<f8'", data),
        "open string": npy_raw("{'descr: <f8}", data), "escape": npy_raw(header_of("(4,)", "'\\x3cf8'"), data),
        "zero byte": npy_raw(header_of("(4,)").replace(" ", "\0"), data),
    }
    good_file = put("good.npy", good)
    for name, content in list(cases.items())[:: min(EACH, 3)]:
        bad = put("bad.npy", content)
        for where, result in (("file", davit("dot", bad, good_file, "--devices", "cpu", code=3)),
                              ("second", davit("dot", good_file, bad, "--devices", "cpu", code=3))):
            expect("bad.npy: offset " in result.err and "expected" in result.err, f"{name}: {result}")
        refuse(("dot", "-", good_file, "--devices", "cpu"), "standard input: offset ", data=content)
    for name, error in (("missing.npy", "No such file"), (".", "directory")):
        refuse(("dot", name, good_file), name, error)
    result = davit("dot", "two\nlines.npy", good_file, code=3)
    for name, kind in (("U1", "(text)"), ("S4", "(text)"), ("M8[D]", "(dates or times)"), ("V8", "(records)")):
        refuse(("dot", save("other.npy", np.zeros(4, name)), good_file), "expected a dtype among", kind)
    refuse(("dot", save("other.npy", np.zeros(4, [("a", "f4")])), good_file), "found records")
    save("single.npy", np.ones(4, "f4"))
    refuse(("dot", good_file, "single.npy"), "single.npy: expected float64")


def test_npy_mutations():
    """No mutation of a header may crash the tool: what NumPy would not read is exit 3."""
    chance = random.Random(5)
    good = npy_bytes(np.arange(6.0).reshape(2, 3))
    good_vector = put("good.npy", npy_bytes(np.arange(6.0)))
    for _ in sampled(range(80)):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            bad[chance.randrange(80)] = chance.choice(b"\0 ,'(){}[]0189-<>TF\xff" + bytes([chance.randrange(256)]))
        put("bad.npy", bytes(bad))
        process = subprocess.run([DAVIT, "gemv", "bad.npy", good_vector, "--devices", "cpu"], capture_output=True,
                                 timeout=LIMIT_S)
        expect(process.returncode in (0, 3), f"mutation {bytes(bad[:80])!r}: {process.returncode} {process.stderr!r}")


MTX = "%%MatrixMarket matrix array real general\n"


def test_mtx():
    good = MTX + "% a comment\n\n  2  3\n1\n2.5\n% another\n-3e2\n\n4\r\n 5 \n6"
    wanted = np.array([[1, -300, 5], [2.5, 4, 6]])
    put("a.mtx", good)
    eye = save("eye.npy", np.eye(3))
    davit("gemm", "a.mtx", eye, "-o", "c.npy")
    expect(np.array_equal(np.load("c.npy"), wanted), "a dense Matrix Market file")
    davit("gemm", "-", eye, "-o", "c.npy", data=good.encode())
    expect(np.array_equal(np.load("c.npy"), wanted), "Matrix Market from a pipe")
    for n in (0, 1, 2, 3):
        full = np.arange(n * n, dtype=float).reshape(n, n)
        full = full + full.T
        packed = [full[i, j] for j in range(n) for i in range(j, n)]
        banner = "%%matrixmarket MATRIX Array Real SYMMETRIC\n"
        put("s.mtx", banner + f"{n} {n}\n" + "".join(f"{value}\n" for value in packed))
        davit("gemm", "s.mtx", save("i.npy", np.eye(n)), "-o", "c.npy")
        expect(np.array_equal(np.load("c.npy"), full), f"a symmetric matrix of {n}")
    rng = np.random.default_rng(6)
    for dtype in ("f8", "f4"):
        a, x = noise(rng, 7, 5, dtype=dtype), noise(rng, 5, dtype=dtype)
        save("a.npy", a)
        save("x.npy", x)
        davit("gemm", "a.npy", save("e.npy", np.eye(5, dtype=dtype)), "-o", "c.mtx")
        lines = open("c.mtx").read().split("\n")
        expect(lines[:2] == [MTX.strip(), "7 5"] and len(lines) == 38, "the form of a written Matrix Market file")
        expect(np.array_equal(np.array(lines[2:-1], float).astype(dtype), a.flatten("F")), "every digit is written")
        davit("gemv", "a.npy", "x.npy", "-o", "y.mtx")
        expect(open("y.mtx").read().split("\n")[1] == "7 1", "a vector is one column")
    davit("gemm", put("i.mtx", MTX.replace("real", "integer") + "1 1\n5\n"), save("one.npy", np.ones((1, 1))), "-o", "c.npy")
    expect(np.load("c.npy") == 5, "whole numbers of Matrix Market")


def test_mtx_malformed():
    integer = MTX.replace("real", "integer")
    symmetric = MTX.replace("general", "symmetric")
    malformed = {
        "banner": ("%%MatrixMarkt matrix array real general\n1 1\n1\n", 1), "short": ("%%MatrixMarket matrix\n", 1),
        "long": (MTX.strip() + " x\n1 1\n1\n", 1), "sparse": (MTX.replace("array", "coordinate") + "1 1 1\n1 1 1\n", 1),
        "pattern": (MTX.replace("real", "pattern") + "1 1\n1 0\n", 1), "no size": (MTX, 2), "comments": (MTX + "%\n", 3),
        "skew": (MTX.replace("general", "skew-symmetric") + "1 1\n", 1), "one size": (MTX + "4\n", 2),
        "three sizes": (MTX + "1 1 1\n1\n", 2), "negative": (MTX + "-1 1\n", 2), "fraction": (MTX + "1.5 1\n", 2),
        "overflow": (MTX + f"{2**64} 1\n", 2), "product": (MTX + f"{2**32} {2**32}\n", 2),
        "absurd": (MTX + f"{2**62} 1\n1\n", 2), "huge": (MTX + "1000000 1000000\n1\n", 2),
        "not square": (symmetric + "2 3\n1\n", 2), "few": (MTX + "2 2\n1\n2\n3\n", 6), "none": (MTX + "1 1\n", 3),
        "many": (MTX + "1 1\n1\n2\n", 4), "word": (MTX + "1 2\n1\nx\n", 4), "junk": (MTX + "1 2\n1\n1.0x\n", 4),
        "two a line": (MTX + "1 2\n1 2\n", 3), "range": (MTX + "1 1\n1e999\n", 3), "real": (integer + "1 1\n1.5\n", 3),
        "integer range": (integer + f"1 1\n{2**63}\n", 3), "zero byte": (MTX + "1 1\n1\0\n", 3),
        "long line": (MTX + "%" + "x" * (1 << 24) + "\n1 1\n1\n", 2),
    }
    one = save("one.npy", np.ones((1, 1)))
    for name, (text, line) in malformed.items():
        places = () if name in ("huge", "few", "none") else (f"line {line}:",)
        refuse(("gemm", put("bad.mtx", text), one, "--devices", "cpu"), "bad.mtx: ", "expected", *places)
        places = () if name == "huge" else (f"line {line}:",)
        refuse(("gemm", "-", one, "--devices", "cpu"), "standard input: ", *places, data=text.encode())


def test_kinds():
    """A file of another kind is named as what it is, whatever its name says."""
    of_sound = b"RIFF\x24\0\0\0WAVEfmt "
    rows = [("sequences (FASTA)", ">q\nACGT\n"), ("sequences (FASTQ or SAM)", "@r\nAC\n+\nII\n"), ("JSON", '{"a": 1}'),
            ("XML or HTML", "<a/>"), ("blank lines", "\n \n"), ("the end of the file", ""), ("a sound (WAV)", of_sound),
            ("a zip archive", b"PK\3\4\0"), ("compressed by bzip2", b"BZh91"), ("text in UTF-16", "1;2\n".encode("utf-16")), ("text in UTF-16", "1;2\n".encode("utf-16-le")),
            ("sequences (FASTA)", gzip.compress(b">q\nACGT\n")), ("an HDF5 file", b"\x89HDF\r\n"),
            ("an unknown format", b"\1\2\0\3")]
    for kind, content in rows:
        put("x.npy", content)
        refuse(("reduce", "x.npy"), "x.npy: offset 0: expected a NumPy array (.npy), a Matrix Market file or a table of "
               "numbers (CSV), found ", kind)
    put("a.fa", npy_bytes(np.ones(3)))
    refuse(("align", "a.fa", "a.fa"), "a.fa: line 1: expected '>' (FASTA) or '@' (FASTQ), found a NumPy array")


def test_demo():
    """The same data for the same seed, on every device, and other data for another seed."""
    sums = [run_json("demo", "--size", 20, "--seed", seed, "--devices", devices)["sum"]
            for seed, devices in ((0, "all"), (0, "cpu"), (2**62 + 1, "all"), (1, "all"))]
    expect(sums[0] == sums[1], f"one sum for one seed: {sums}")
    expect(len({sums[0], *sums[2:]}) == 3, f"other sums for other seeds: {sums}")


def test_shapes():
    a = save("a.npy", np.ones((3, 4)))
    for arguments in (["gemm", a, a], ["gemm", a, a, "--transa", "--transb"], ["gemm", a, save("x.npy", np.ones(4))],
                      ["gemm", a, a, "--transb", "--c0", a], ["gemm", a, save("s.npy", np.float64(1))],
                      ["gemv", a, save("x3.npy", np.ones(3))], ["gemv", a, "x.npy", "--y0", "x.npy"],
                      ["gemm", a, save("f4.npy", np.ones((4, 3), "f4"))], ["axpy", "x.npy", "x3.npy"],
                      ["gemm", a, a, "--transa", "--c0", "f4.npy"], ["dot", "x.npy", "x3.npy"], ["dot", a, a]):
        refuse(arguments, "expected", ".npy")


# ---- streams and files ----


def test_streams():
    rng = np.random.default_rng(7)
    a, b = noise(rng, 30, 20), noise(rng, 20, 10)
    save("a.npy", a)
    save("b.npy", b)
    for arguments, data in ((["-", "b.npy"], a), (["a.npy", "-"], b)):
        result = davit("gemm", *arguments, "-o", "-", "-v", data=npy_bytes(data))
        expect_close(np.load(io.BytesIO(result.out)), a @ b, bound(1, a, b), f"a pipe for {arguments}")
        expect("gflops: " in result.err, "rates go to standard error")
    with open("a.npy", "rb") as file:
        process = subprocess.run([DAVIT, "gemm", "-", "b.npy", "-o", "c.npy"], stdin=file, stdout=subprocess.DEVNULL,
                                 timeout=LIMIT_S)
    expect(process.returncode == 0 and np.allclose(np.load("c.npy"), a @ b), "standard input may be a file")
    x = np.ones(9_000_000)
    save("x.npy", x)
    report = run_json("dot", "-", "x.npy", data=npy_bytes(x))
    expect(report["result"] == len(x), "72 MB through a pipe")
    huge = npy_raw(header_of(f"({2**55},)"), b"\0" * 64)
    refuse(("dot", "-", "x.npy"), "end of the file", data=huge)


def test_outputs():
    a = save("a.npy", np.eye(2))
    os.mkdir("folder")
    put("old.npy", b"old")
    before = listing()
    for path in ("missing/c.npy", "folder", "folder/", "a.npy/c.npy", "x" * 300 + ".npy"):
        refuse(("gemm", a, a, "-o", path), path, code=1)
    expect(os.path.exists("/dev/full") and davit("gemm", a, a, "-o", "/dev/full", code=1), "/dev/full")
    davit("gemm", a, "missing.npy", "-o", "c.npy", code=3)
    davit("gemm", a, "missing.npy", "-o", "old.npy", code=3)
    for path in ("missing/c.npy", "x" * 300 + ".npy"):
        davit("gemm", a, "missing.npy", "-o", path, code=1)
    nan = save("nan.npy", np.full((2, 2), np.nan))
    davit("gemm", a, nan, "-o", "old.npy", "--check", code=1)
    os.remove(nan)
    expect(listing() == before, f"a failure leaves nothing behind: {listing()}")
    expect(open("old.npy", "rb").read() == b"old", "a failure leaves the old file alone")
    if os.geteuid():
        os.chmod("folder", 0o555)
        davit("gemm", a, a, "-o", "folder/c.npy", code=1)
        os.chmod("old.npy", 0o444)
        davit("gemm", a, a, "-o", "old.npy", code=1)
        os.chmod("old.npy", 0o644)
    davit("gemm", a, a, "-o", "/dev/null")
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null stays what it is")
    davit("gemm", a, a, "-o", "old.npy")
    expect(np.array_equal(np.load("old.npy"), np.eye(2)), "an old file is replaced")
    os.symlink("old.npy", "link.npy")
    davit("gemm", a, a, "-o", "link.npy", "--alpha", "4")
    expect(os.path.islink("link.npy") and np.array_equal(np.load("old.npy"), 4 * np.eye(2)), "links are followed")
    mask = os.umask(0o027)
    davit("gemm", a, a, "-o", "mode.npy")
    os.umask(mask)
    expect(stat.S_IMODE(os.stat("mode.npy").st_mode) == 0o640, "the umask is respected")
    expect(not [name for name in listing() if ".davit-" in name], "no temporary file stays")


def new_files(process):
    """What the tool has opened beside its outputs: files without a name, or with a temporary one."""
    found = set()
    for entry in os.scandir(f"/proc/{process.pid}/fd"):
        try:
            target = os.readlink(entry.path)
        except FileNotFoundError:
            continue
        if target.startswith(os.getcwd()) and (target.endswith(" (deleted)") or ".davit-" in target):
            found.add(target)
    return found


def end_by(number, arguments, outputs, environment):
    """Ends the tool while it reads its operands; what its folder held before that, and after."""
    process = subprocess.Popen([DAVIT, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **environment})
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and len(new_files(process)) < outputs and time.monotonic() < deadline:
        time.sleep(0.01)
    expect(process.poll() is None and time.monotonic() < deadline, "the outputs are opened before the operands are read")
    time.sleep(0.05)
    before = listing()
    process.send_signal(number)
    expect(process.wait(LIMIT_S) == -number, f"{number.name} ends the tool")
    return before, listing()


NAMED = failing("unnamed")  # as on a file system without O_TMPFILE


def test_signal():
    """A signal while the operands are read leaves nothing, even one that the tool cannot handle."""
    os.mkfifo("fifo.npy")
    one, two = ("axpy", "fifo.npy", "fifo.npy", "-o", "z.npy"), ("covariance", "fifo.npy", "-o", "s.npy", "--mean", "m.npy")
    for arguments, outputs in ((one, 1), (two, 2)):
        before, after = end_by(signal.SIGKILL, arguments, outputs, {})
        expect(before == after == ["fifo.npy"], f"files without a name: {before}, {after}")
    cases = [(one, 1, "TERM"), (two, 2, "TERM")]
    cases += [(one, 1, name) for name in "QUIT USR1 USR2 XCPU ALRM VTALRM HUP INT".split()]
    for arguments, outputs, name in cases:
        before, after = end_by(getattr(signal, "SIG" + name), arguments, outputs, NAMED)
        expect(len(before) == 1 + outputs and after == ["fifo.npy"], f"nothing stays after SIG{name}: {before}, {after}")


def test_named_outputs():
    """On a file system without O_TMPFILE results are the same."""
    a = save("a.npy", np.arange(16.0).reshape(4, 4))
    put("s.npy", b"old")
    os.chmod("s.npy", 0o640)
    for environment in ({}, NAMED):
        process = subprocess.run([DAVIT, "covariance", a, "-o", "s.npy", "--mean", "m.npy"], timeout=LIMIT_S, check=False,
                                 env={**os.environ, **environment})
        expect(process.returncode == 0 and listing() == ["a.npy", "m.npy", "s.npy"], f"both outputs: {listing()}")
        expect(np.array_equal(np.load("m.npy"), [6, 7, 8, 9]), "the means")
        expect(stat.S_IMODE(os.stat("s.npy").st_mode) == 0o640, "the mode stays")
        os.remove("m.npy")


def test_owner():
    """Owner, group and mode of a file that is replaced stay; where that is not possible, it is not replaced."""
    a, x = save("a.npy", np.eye(2)), save("x.npy", np.ones(4))
    for mode in (0o600, 0o664, 0o4755):
        put("old.npy", b"old")
        os.chmod("old.npy", mode)
        if os.geteuid() == 0:
            os.chown("old.npy", 12345, 23456)
            os.chmod("old.npy", mode)
        old = os.stat("old.npy")
        davit("gemm", a, a, "-o", "old.npy")
        new = os.stat("old.npy")
        expect((new.st_uid, new.st_gid) == (old.st_uid, old.st_gid), f"the owner stays: {new}")
        expect(stat.S_IMODE(new.st_mode) == mode & 0o777, f"the mode stays: {new.st_mode:o}")
        expect(np.array_equal(np.load("old.npy"), np.eye(2)), "the result is written")
    if os.geteuid() == 0:
        put("new.npy", b"old")
        os.chmod("new.npy", 0o666)
        os.chmod(".", 0o777)
        try:
            process = subprocess.run([DAVIT, "scan", x, "-o", "new.npy"], user=12345, group=12345, extra_groups=[],
                                     capture_output=True, text=True, timeout=LIMIT_S, check=False)
        except PermissionError:
            print("  left out: other users cannot run the tool in its folder")
            return
        expect(process.returncode == 1 and "new.npy: cannot be written: a new file cannot be given its owner" in process.stderr,
               f"another user's file: {process}")
        expect(open("new.npy", "rb").read() == b"old" and os.stat("new.npy").st_uid == 0, "it is as it was")


def test_full_disk():
    """A full disk behind standard output is named, whoever writes there."""
    x, a = save("x.npy", np.ones(100_000)), save("a.npy", np.eye(9))
    for arguments in (("reduce", x), ("reduce", x, "--json"), ("scan", x, "-o", "-"), ("gemm", a, a, "--explain"), ("help",),
                      ("help", "gemm"), ("devices",), ("demo", "--size", 20), ("version",), ("points", "-n", 1e5, "-o", "-")):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([DAVIT, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT_S, text=True)
        last = process.stderr.splitlines()[-1]
        expect(process.returncode == 1 and last.endswith("standard output: cannot be written: No space left on device"),
               f"{arguments}: {process.returncode}, {process.stderr}")


def test_terminal_as_input():
    """Who waits for standard input at a terminal says so; a pipe is read in silence."""
    for command in (("closest", "-"), ("reduce", "-"), ("align", "-", put("q.fa", ">q\nACGT\n"))):
        ours, terminal = pty.openpty()
        process = subprocess.Popen([DAVIT, *command], stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = process.stderr.readline()
        os.write(ours, b"\x04")
        os.close(terminal)
        process.communicate(timeout=LIMIT_S)
        os.close(ours)
        expect("waiting for standard input, which is a terminal" in line, f"{command}: {line}")
    expect(davit("reduce", "-", data=npy_bytes(np.ones(3))).err == "", "nothing of a pipe")


def test_dangling_link():
    """A link to a file that does not exist is not replaced by a result."""
    x = save("x.npy", np.ones(4))
    os.symlink("nowhere.npy", "link.npy")
    refuse(("scan", x, "-o", "link.npy"), "link.npy", "does not exist", code=1)
    expect(os.path.islink("link.npy") and not os.path.exists("nowhere.npy"), "the link stays")


def most_threads(*arguments):
    """The most threads that the tool had at a time."""
    process = subprocess.Popen([DAVIT, *map(str, arguments)], stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            most = max(most, len(os.listdir(f"/proc/{process.pid}/task")))
        except OSError:  # it has just ended
            pass
        time.sleep(1e-3)
    expect(process.returncode == 0, f"davit {arguments} -> {process.returncode}")
    return most


def test_threads():
    """--threads reaches the library and the reference, and is what OMP_NUM_THREADS would be."""
    x = save("x.npy", np.ones(1_000_000))
    for n in (1, 3):
        err = davit("reduce", x, "-v", "--devices", "cpu", "--threads", n).err
        expect(f"cpu: reference on {n} thread{'s' if n > 1 else ''}\n" in err, f"{n} of the reference: {err}")
        expect(run_json("devices", "--threads", n)["threads"] == n, f"{n} of the library")
    work = ("reduce", x, "--devices", -1, "--repeat", 200, "--quiet")
    one, many = most_threads(*work, "--threads", 1), most_threads(*work, "--threads", 9)
    expect(many - one >= 7, f"{one} threads with one to compute on, {many} with nine")
    for n in (0, 1025):
        refuse(("reduce", x, "--threads", n), "--threads", code=2)


def test_progress():
    """Work of more than 2 s shows what is done and how long it takes, on a terminal only, and not with --quiet."""
    x = save("x.npy", np.ones(100_000))
    work = ("dot", x, x, "--devices", "cpu", "--threads", 1)
    seconds = run_json(*work, "--repeat", 100)["seconds"]
    for longer in (1, 2, 4, 8):  # where the machine was busy while it was measured, the work is too short
        arguments = (*work, "--json", "--repeat", min(1_000_000, int(3 * longer / seconds)))
        code, shown = on_terminal(*arguments)
        line = re.search(rb"dot: [1-9]\d* of [1-9]\d* runs, 2 s, about \d+ s left", shown)
        if line:
            break
    expect(code == 0 and line and shown.endswith(b"\r\x1b[K"), f"runs and times are shown, then removed: {shown!r}")
    expect(on_terminal(*arguments, "--quiet") == (0, b""), "--quiet shows nothing")


def test_progress_of_gemm():
    """In products of tiles, of a product that takes some seconds."""
    a = save("a.npy", np.ones((1000, 1000), "f4"))
    seconds = run_json("gemm", a, a, "--tile", 100, "-o", "c.npy", "--devices", "host")["seconds"]
    for longer in (1, 3, 9, 27):  # as in test_progress()
        n = min(20_000, int(1000 * (6 * longer / seconds) ** (1 / 3)))
        save("a.npy", np.ones((n, n), "f4"))
        right, shown = shows(r"gemm: [1-9]\d* of [1-9]\d* products of tiles, \d+ s, about \d+ s left", "gemm", a, a,
                             "--tile", n // 10, "-o", "c.npy", "--devices", "host")
        if right:
            break
    expect(right, f"products of tiles: {shown!r}")


def test_failures():
    """Exit 1 of a check that does not hold, exit 4 of memory that is not there."""
    nan = save("nan.npy", np.full((2, 2), np.nan))
    report = run_json("gemm", nan, nan, "--check", "-o", "c.npy", code=1)
    expect(report["error"] is None and report["bound"] is None, "NaN is null")
    expect(not os.path.exists("c.npy"), "a result that fails its check is not written")
    x = save("x.npy", np.full(3, np.nan))
    davit("dot", x, x, "--check", code=1)
    davit("axpy", x, x, "--check", code=1)
    davit("gemv", nan, save("x2.npy", np.ones(2)), "--check", code=1)
    for n in (2**24, 2**40):
        put("a.npy", npy_raw(header_of(f"({n}, 0)")))
        put("b.npy", npy_raw(header_of(f"(0, {n})")))
        for devices in ("all", "cpu"):
            davit("gemm", "a.npy", "b.npy", "--devices", devices, "-o", "c.npy", code=4)
    expect(not os.path.exists("c.npy"), "no result, no file")


if __name__ == "__main__":
    sys.exit(main(globals()))

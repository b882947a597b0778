#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs bench_mpi with tiny sizes and checks its document; and the model of docs/scaling.md on it and on stored results.

    bench.py SOURCE_DIR BENCH_MPI MPIRUN
"""
import json
import math
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "bench/mpi"))
import model

SIZES = ["--n", "300", "--n1", "200", "--elements", "50001", "--elements1", "40000", "--block", "64", "--repeats", "1", "--json"]
problems = []


def expect(ok, problem):
    if not ok:
        problems.append(problem)


def run(ranks):
    command = [sys.argv[2], *SIZES]
    if ranks > 1:
        command = [sys.argv[3], "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
    process = subprocess.run(command, capture_output=True, timeout=200, text=True)
    expect(process.returncode == 0, f"{ranks} ranks: exit {process.returncode}: {process.stderr[-500:]}")
    return json.loads(process.stdout)


def check_rows(ranks):
    """One document, from rank 0, with every row once."""
    result = run(ranks)
    rows = result["rows"]
    expect(result["benchmark"] == "mpi" and result["rows"][0]["ranks"] == ranks, f"{ranks} ranks: {rows[0]}")
    expect(not [row for row in rows if "error" in row], f"{ranks} ranks: rows with errors")
    expect(rows.pop()["operation"] == "load", f"{ranks} ranks: the share of others comes last")
    found = [(row["operation"], row.get("type"), row.get("variant"), row.get("form")) for row in rows[1:]]
    wanted = [(operation, kind, variant, form) for variant in ("strong", "weak") for form in ("mpi", "plain")
              for operation, kind in (("gemm", "f64"), ("gemm", "f32"), ("syrk", "f64"), ("trsm", "f64"), ("potrf", "f64"),
                                      ("getrf", "f64"), ("reduce", "f64"), ("scan", "f64"))]
    for row in wanted:
        expect(found.count(row) == 1, f"{ranks} ranks: {found.count(row)} rows {row}")
    expect((("ping-pong", None, None, "mpi") in found) == (ranks > 1), f"{ranks} ranks: messages")
    peer = "peer" in rows[0]
    for row in rows[1:]:
        if row["form"] == "mpi" and "cols" in row:
            expect(("peer_us" in row) == peer and row["ranks"] == ranks and row["floor_us"] > 0, f"{ranks} ranks: {row}")
            expect(not peer or "blas" in row["peer_blas"] or "blis" in row["peer_blas"], f"peer_blas: {row}")
    expect(len(list(model.compared(result))) == 8, f"{ranks} ranks: the model has eight rows")


def check_model():
    """What holds without measuring anything, and that the stored runs can be read."""
    expect([model.local_size(1000, 256, p) for p in (1, 2, 3, 4, 5)] == [1000, 512, 488, 256, 256], "parts of 1000")
    expect(model.grid_of(6) == (2, 3) and model.grid_of(1024) == (32, 32) and model.grid_of(7) == (1, 7), "grids")
    net = model.Network("", 1e-6, 1e10)
    rank = model.Rank("", 1e12, 1e12, 0, 1e10, 0, 0, 1e11, 1e11)
    expect(math.isclose(net.broadcast(1e4, 8), 6e-6) and net.broadcast(1e4, 1) == 0, "a tree of three levels")
    points = [{"operation": "ping-pong", "bytes": s, "us": 2 + s * 1e-4} for s in (8, 1000, 10 ** 6)]
    latency, bandwidth = model.fit(points)
    expect(math.isclose(latency, 2e-6, rel_tol=1e-6) and math.isclose(bandwidth, 1e10, rel_tol=1e-6), "the fit of a line")
    free = model.Network("", 0, 1e30)
    for operation, f in model.MODELS.items():
        n = 8192 if operation in ("gemm", "trsm") else 2 ** 24
        one, four, costly = (f(n, p, w, rank)[0] for p, w in ((1, net), (4, free), (4, net)))
        expect(four < one and four < costly, f"{operation}: messages cost time: {one} {four} {costly}")
    expect(math.isclose(model.gemm(8192, 1, net, rank)[0], 4 * model.gemm(8192, 4, free, rank)[0], rel_tol=0.02),
           "a product without messages scales, but for packing")
    for path in sorted((ROOT / "bench/results").glob("*-mpi-*.json")):
        result = model.load(path)
        rows = list(model.compared(result))
        # One rank calls the plain form, whose trsm has no blocks of 256. GPUs of one machine copy panels from each
        # other, which the model, of messages, does not know.
        gpus = sum(device["kind"] == "nvidia" for device in result["machine"]["devices"])
        far = [row for row in rows if not 0.2 < row[5] / row[4] < 5 and (row[0], row[3]) != ("trsm", 1)] if gpus < 2 else []
        expect(rows and not far, f"{path.name}: the model is far off: {far}")


for count in (1, 2):
    check_rows(count)
check_model()
print("\n".join(problems) or "bench_mpi and its model hold")
sys.exit(1 if problems else 0)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit closest and points against SciPy's k-d tree where it is installed, else against all pairs in NumPy.

usage: test_closest.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import json
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import cases, davit, expect, expect_keys, main, on_terminal, put, refuse, run_json, sampled, save

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None

ALGORITHMS = ("auto", "brute", "divide", "grid")
PLACES = ("all", "cpu", "host")


def square(points):
    """Sum of squares of differences, in the order that davit documents."""
    total = points[..., 0] * points[..., 0]
    for axis in range(1, points.shape[-1]):
        total = total + points[..., axis] * points[..., axis]
    return total


def all_pairs(points):
    wide = points.astype(float)
    best = (np.inf, -1, -1)
    for i in range(len(wide) - 1):
        differences = wide[i + 1:] - wide[i]
        scale = 2.0 ** -600 if abs(differences).max() > 1e150 else 1
        distances = np.sqrt(square(differences * scale)) / scale
        j = int(np.argmin(distances))
        if distances[j] < best[0]:
            best = (float(distances[j]), i, i + 1 + j)
    return best


def oracle(points):
    if cKDTree is None or len(points) < 3000:
        return all_pairs(points)
    wide = points.astype(float)
    least = cKDTree(wide).query(wide, k=2)[0][:, 1].min()
    close = cKDTree(wide).query_pairs(least * (1 + 1e-9), output_type="ndarray")
    close.sort(axis=1)
    distances = np.sqrt(square(wide[close[:, 0]] - wide[close[:, 1]]))
    order = np.lexsort((close[:, 1], close[:, 0], distances))[0]
    return float(distances[order]), int(close[order, 0]), int(close[order, 1])


def expect_pair(report, points, what):
    wanted = oracle(points)
    found = (report.get("distance"), report.get("i"), report.get("j"))
    expect(found == wanted, f"{what}: {found}, expected {wanted}")


def clouds(rng, dim):
    yield "uniform", rng.random((2000, dim))
    yield "normal", rng.standard_normal((1500, dim)) * 0.01
    yield "lattice", np.stack(np.meshgrid(*[np.arange(11.0)] * dim), -1).reshape(-1, dim)[:900]
    line = np.full((700, dim), 0.5)
    line[:, 1] = rng.random(700)
    yield "line", line
    yield "one place", np.full((200, dim), 0.1)
    duplicate = rng.random((1000, dim))
    duplicate[777] = duplicate[333]
    yield "duplicate", duplicate
    yield "two", np.array([[0.0] * dim, [3e300] * dim])
    yield "tiny", rng.random((500, dim)) * 1e-150


def test_closest():
    rng = np.random.default_rng(3)
    shapes = [(dim, *cloud) for dim in (2, 3) for cloud in clouds(rng, dim)]
    for (dim, name, points), dtype, order, algorithm, place in cases(shapes, ("f8", "f4"), "CF", ALGORITHMS, PLACES):
        with np.errstate(over="ignore"):
            array = points.astype(dtype)
        if np.isfinite(array).all():
            report = run_json("closest", save("p.npy", array, order), "--algorithm", algorithm, "--devices", place)
            expect_pair(report, array, f"{name} {dim} {dtype} {order} {algorithm} on {place}")


def test_large():
    rng = np.random.default_rng(4)
    for dim in (2, 3):
        points = rng.random((40000 if cKDTree else 9000, dim)).astype("f4")
        save("p.npy", points)
        expect_pair(run_json("closest", "p.npy"), points, f"large {dim}")


def several(points, k=None, radius=np.inf):
    """The first k pairs within the radius by (distance, i, j), from all pairs."""
    wide = points.astype(float)
    i, j = np.triu_indices(len(wide), 1)
    distances = np.sqrt(square(wide[i] - wide[j]))
    order = np.lexsort((j, i, distances))[:k]
    return [(int(i[p]), int(j[p]), float(distances[p])) for p in order if distances[p] <= radius]


def test_several():
    rng = np.random.default_rng(10)
    shapes = [(dim, *cloud) for dim in (2, 3) for cloud in clouds(rng, dim) if cloud[0] not in ("two", "tiny")]
    for (dim, name, points), dtype, order, algorithm, place in cases(shapes, ("f8", "f4"), "CF", ALGORITHMS, PLACES):
        array = points.astype(dtype)[:400]
        save("p.npy", array, order)
        middle = several(array, 150)[-1][2]
        for k, radius in sampled(((1, None), (37, None), (10**6 if dtype == "f8" else 1000, None), (None, middle),
                                  (20, middle), (None, 0))):
            arguments = ([] if k is None else ["--k", k]) + ([] if radius is None else ["--radius", repr(radius)])
            report = run_json("closest", "p.npy", *arguments, "--algorithm", algorithm, "--devices", place)
            found = [(pair["i"], pair["j"], pair["distance"]) for pair in report["pairs"]]
            wanted = several(array, k, np.inf if radius is None else radius)
            expect(found == wanted and report["count"] == len(wanted),
                   f"{name} {dim} {dtype} {arguments} by {algorithm} on {place}: {found[:3]} …, expected {wanted[:3]} …")
    lines = davit("closest", "p.npy", "--k", 3, "--check").out.decode().splitlines()
    expect(lines == ["i\tj\tdistance"] + ["%d\t%d\t%.17g" % pair for pair in several(array, 3)], f"text: {lines}")
    refuse(("closest", "p.npy", "--k", 0), "--k", code=2)
    refuse(("closest", "p.npy", "--radius", -1), "--radius", code=2)
    refuse(("closest", "p.npy", "--radius", "nan"), "--radius", code=2)


def test_many_pairs():
    if cKDTree is None:
        return
    rng = np.random.default_rng(11)
    for dim in (2, 3):
        points = rng.random((20000, dim))
        radius = 0.004 if dim == 2 else 0.02
        save("p.npy", points)
        near = cKDTree(points).query_pairs(radius * (1 + 1e-9), output_type="ndarray")
        near.sort(axis=1)
        distances = np.sqrt(square(points[near[:, 0]] - points[near[:, 1]]))
        order = np.lexsort((near[:, 1], near[:, 0], distances))
        order = order[distances[order] <= radius]
        out = davit("closest", "p.npy", "--radius", radius).out.decode().splitlines()[1:]
        wanted = ["%d\t%d\t%.17g" % (near[p, 0], near[p, 1], distances[p]) for p in order]
        expect(out == wanted and len(out) > 5000, f"{len(out)} pairs in {dim}-D, expected {len(wanted)}")


def lattice_pairs(side, dim, radius):
    """How many pairs of a lattice are at most that far apart."""
    by = np.stack(np.meshgrid(*[np.arange(1 - side, side)] * dim, indexing="ij"), -1).reshape(-1, dim)
    near = by[(by * by).sum(1) <= radius * radius]
    return (int((side - abs(near)).prod(1).sum()) - side**dim) // 2


def test_too_many():
    """Where the pairs do not fit, that is said at once, with a number that is not above theirs, and near it."""
    rng = np.random.default_rng(12)
    for dim, side, near in ((2, 1000, 0.75), (3, 100, 0.35)):
        points = np.stack(np.meshgrid(*[np.arange(float(side))] * dim), -1).reshape(-1, dim)
        rng.shuffle(points)
        flat = points * ([1] * (dim - 1) + [0])  # all on a line, or a plane
        for cloud, dtype, scale, radius, devices in sampled(((points, "f8", 1, side / 3, "all"), (points, "f4", 1, side, "cpu"), (points, "f8", 1e-300, np.inf, "all"),
                                                     (points, "f8", 1e290, 2 * side, "cpu"), (flat, "f8", 1, np.inf, "all"), (0 * points, "f8", 1, 0, "cpu"))):
            save("p.npy", (cloud * scale).astype(dtype))
            right = side**dim * (side**dim - 1) // 2 if radius in (0, np.inf) or radius > side * dim**0.5 else lattice_pairs(side, dim, radius)
            result = davit("closest", "p.npy", "--radius", repr(float(radius * scale)), "--devices", devices, code=4)
            expect("not enough memory for the pairs within the radius, which are at least" in result.err, result)
            least = int(result.err.split()[-1])
            expect(near * right <= least <= right, f"{dim}-D, {radius} of {side}: at least {least} of {right} pairs")
            expect(least == right or radius <= side, f"all pairs are known to be within {radius} of {side}: {least} of {right}")


def test_report():
    save("p.npy", np.random.default_rng(5).random((300, 2)))
    report = run_json("closest", "p.npy", "--check", "--repeat", 3, "--warmup", 1)
    expect_keys(report, "algorithm", "n", "dim", "i", "j", "distance", "check", "error", "bound")
    expect(report["i"] < report["j"] and report["n"] == 300 and report["dim"] == 2 and report["error"] == 0,
           f"report {report}")
    for place in PLACES:
        expect(b"distance" in davit("closest", "p.npy", "--check", "--devices", place).out, "text")


def test_algorithm():
    """What ran is reported, not what was asked for."""
    rng = np.random.default_rng(8)
    for n, asked, place, ran in ((20000, "auto", "all", "grid"), (300, "auto", "all", "brute"), (20000, "auto", "cpu", "divide"),
                                 (300, "grid", "all", "grid"), (20, "grid", "all", "brute"), (300, "grid", "cpu", "divide"),
                                 (300, "brute", "cpu", "brute"), (300, "divide", "all", "divide")):
        save("p.npy", rng.random((n, 2)))
        report = run_json("closest", "p.npy", "--algorithm", asked, "--devices", place)
        expect(report.get("algorithm") == ran, f"{n} points by {asked} on {place}: {report}, expected {ran}")
    save("p.npy", np.array([[-1.7e308, 0], [1.7e308, 0]]))
    expect(run_json("closest", "p.npy").get("distance", 0) is None, "a distance beyond the range of double is null")


def test_csv():
    rows, cpu = [[1.5, 2], [3, 4.25], [1.25, 2.125]], ("--devices", "cpu")
    for text in ("1.5,2\n3,4.25\n1.25,2.125\n", "x,y\n1.5,2\n3,4.25\n1.25,2.125", "# x y\n\n1.5 2\r\n 3\t4.25 \n1.25 2.125\n",
                 "1.5; 2\n3;4.25\n# between\n1.25 ;2.125\n\n", "\ufeff1.5,2\n3,4.25\n1.25,2.125\n",
                 "\ufeffx,y\n1.5,2\n3,4.25\n1.25,2.125\n", '"x","y (m)"\n1.5,2\n3,4.25\n1.25,2.125\n',
                 "x1,2nd\n1.5,2\n3,4.25\n1.25,2.125\n"):
        put("p.csv", text)
        expect_pair(run_json("closest", "p.csv", *cpu), np.array(rows), repr(text))
    result = run_json("closest", "-", *cpu, data=b"0,0,0\n9,9,9\n0,0,1\n")
    expect(result.get("j") == 2 and result.get("dim") == 3, f"standard input: {result}")
    put("p.mtx", "%%MatrixMarket matrix array real general\n3 2\n1.5\n3\n1.25\n2\n4.25\n2.125\n")
    expect_pair(run_json("closest", "p.mtx", *cpu), np.array(rows), "mtx")
    many = np.random.default_rng(6).random((5000, 3))
    put("p.csv", "".join(",".join(map(repr, map(float, row))) + "\n" for row in many))
    expect_pair(run_json("closest", "p.csv"), many, "many lines")
    # Two points more than 2^20 bytes hold, and so at every edge of the buffer that grows.
    edge = np.random.default_rng(7).random((43692, 3)).round(6)
    put("p.csv", "".join("%.6f,%.6f,%.6f\n" % tuple(row) for row in edge))
    expect_pair(run_json("closest", "p.csv"), edge, "a buffer's edge")


def test_columns():
    """Which columns of a table are coordinates, and what is said of it."""
    rng = np.random.default_rng(9)
    points = rng.random((50, 3)).round(6)

    def table(header, *columns, separator=","):
        lines = [separator.join(map(str, row)) for row in zip(*columns)]
        return "\n".join(([header] if header else []) + lines) + "\n"

    def taken(text, wanted, words, *arguments):
        put("p.csv", text)
        result = davit("closest", "p.csv", *arguments, "--json", "--devices", "cpu")
        expect((words in result.err) if words else not result.err, f"{text[:30]!r} says {words}: {result.err!r}")
        expect_pair(json.loads(result.out), wanted, f"{text[:30]!r} {arguments}")

    x, y, z = points.T
    counts, quoted, plane = range(50), [f'"point {i}, say"' for i in range(50)], points[:, :2]
    for first in (0, 1):
        taken(table("", range(first, first + 50), x, y, z), points, "columns 1, 2 and 3;")
        taken(table("", range(first, first + 50), x, y, separator=" "), plane, "columns 1 and 2;")
    taken(table("", range(2, 52), x, y), np.stack([range(2, 52), x, y], 1), None)
    taken(table("", counts, x), np.stack([counts, x], 1), None)
    taken("0,5,5\n1,5,6\n", np.array([[0, 5, 5], [1, 5, 6.0]]), None)
    for name in ("id", "Index", "NAME", "label", '""', ""):
        taken(table(f"{name},lon,lat", quoted, x, y), plane, "columns 'lon' and 'lat';")
    taken(table("mass;X;y;when;Z", counts, x, y, ["noon"] * 50, z, separator=";"), points, "columns 'X', 'y' and 'Z';")
    taken(table("x,y", x, y), plane, None)
    taken(table("a,b,c,d", x, quoted, z, y), np.stack([y, x], 1), None, "--columns", "d,a")
    taken(table("a,b,c,d", x, y, z, z), points, None, "--columns", "0, b ,2")
    taken(table("", x, y, z, z), points[:, [2, 0]], None, "--columns", "3,0")
    taken(table("id,a,b", x, y, z), points, None, "--columns", "id,a,b")
    for order in "CF":
        save("p.npy", np.stack([x, y, z, x, y], 1).astype("f4"), order)
        expect_pair(run_json("closest", "p.npy", "--columns", "1,2"), points[:, 1:].astype("f4"), "columns of a matrix")
    for columns, *words in (("x", "none is 'x'"), ("1", "2 or 3 columns"), ("0,1,2,3", "2 or 3 columns"), ("0,5", "p.npy has 5 columns without names", "none is '5'"),
                            ("0,y", "none is 'y'"), ("0,", "none is ''"), ("0,-1", "none is '-1'")):
        refuse(("closest", "p.npy", f"--columns={columns}"), *words, code=2)
    put("p.csv", table("a,b,c,d", x, y, z, quoted))
    refuse(("closest", "p.csv"), "p.csv: expected columns x and y, or 2 or 3 columns, found 4; --columns chooses some")
    refuse(("closest", "p.csv", "--columns", "a,d"), "p.csv: line 2: expected numbers in the columns of coordinates")
    refuse(("closest", "p.csv", "--columns", "a,e"), "p.csv has 4 columns, and none is 'e'", code=2)
    refuse(("closest", put("p.csv", "a\n1\n2\n"), "--columns", "a,b"), "p.csv has 1 column, and none is 'b'", code=2)
    refuse(("closest", put("p.csv", "id,x,y\na,1,2\nb,3\n")), "line 3: expected 3 fields as before, found 2")


def test_names_on_a_terminal():
    """Names of columns that would command a terminal, or that are not UTF-8."""
    put("p.csv", b"id,\x1b[31mx,y\x9b1m,\xe9\n1,0,0,0\n2,3,4,0\n3,9,9,1\n")
    for arguments in (("--columns", "2,3"), ("--columns", "x,y"), ()):
        _, shown = on_terminal("closest", "p.csv", "--devices", "cpu", *arguments, stdout=True)
        text = shown.decode(errors="surrogateescape")
        expect(text and not any(c < " " and c not in "\r\n\t" or "\x7f" <= c < "\xa0" or "\udc80" <= c <= "\udcff" for c in text), f"{arguments}: {shown}")


def test_bad_input():
    def bad(content, *words):
        refuse(("closest", put("bad.csv", content)), "bad.csv", *words)

    bad("1,2\n3,4,5\n", "line 2: expected 2 fields as before, found 3")
    bad("1,2,3\n3,4,5\n\n7,8\n", "line 4: expected 3 fields as before, found 2")
    bad("5,2,3,4\n", "line 1", "2 or 3")
    bad("1,2,3,4\n2,0,0,0\n4,0,0,0\n", "line 3", "2 or 3")
    bad("1,2,3,4,5\n", "line 1", "2 or 3")
    bad("1\n2\n", "line 1", "2 or 3")
    bad("1,2\n3,nan\n", "line 2", "finite")
    bad("1,2\n# more\n3,4\n-inf,5\n", "line 4", "finite")
    bad("1,2\n3," + "4" * (1 << 24) + "\n", "line 2", "a line of fewer than 16777216 characters")
    bad("1,2\n3,1e999\n", "line 2", "finite")
    bad("a,b\nc,d\n", "line 2", "numbers")
    bad("1,2\n3,4x\n", "line 2", "numbers")
    for line in ("1,2x", "1.5,O.2", ",1,2", '"1","2', "1,,2", "x,2", "a;b;3", "1 2 z", "1,5;2,5"):
        bad(f"# points\n{line}\n3,4\n1,9\n", "line 2", "numbers", line)
    bad(b"\xef\xbb\xbf1,2x\n3,4\n1,9\n", "line 1", "numbers", "'1,2x'")
    bad("1,2\n3,,4\n", "line 2: expected 2 fields as before, found 3")
    bad("1,2\n3,4,\n", "line 2: expected 2 fields as before, found 3")
    bad("1,2\n", "at least 2 points", "found 1 x 2")
    for text in ("", "\n\n", "# nothing\n", "x,y\n", b"\xef\xbb\xbf"):
        bad(text, "expected points, found the end of the file")
    bad(b"1,2\n3,\x004\n", "line 2", "zero bytes")
    bad("1,2\n" + "3" * 5000 + ",4\n", "line 2", "column 0 is not a number")

    def bad_array(array, *words):
        refuse(("closest", save("bad.npy", array)), "bad.npy", *words)

    for array, found in ((np.zeros((5, 4)), "5 x 4"), (np.zeros((5, 1)), "5 x 1"), (np.zeros((1, 4)), "1 x 4"),
                         (np.zeros(6), "a vector of 6")):
        bad_array(array, f"expected an n x 2 or n x 3 matrix, found {found}\n")
    for n in (0, 1):
        bad_array(np.zeros((n, 2)), f"expected at least 2 points, found {n} x 2\n")
    bad_array(np.full((4, 2), 2**53 + 1), "exact in float64")
    for value in (np.nan, np.inf):
        for order in "CF":
            points = np.zeros((9, 3), order=order)
            points[7, 1] = value
            bad_array(points, "point 7", "finite")
    davit("closest", "missing.npy", code=3)


def points_of(*arguments):
    davit("points", "-o", "p.npy", *arguments)
    return np.load("p.npy")


def test_points():
    for dim, dtype in ((2, "float32"), (3, "float64")):
        common = ("-n", 20000, "--dim", dim, "--type", dtype, "--seed", 7)
        uniform = points_of(*common)
        expect(uniform.shape == (20000, dim) and uniform.dtype == dtype, "shape and type")
        expect((uniform > 0).all() and (uniform <= 1).all(), "uniform range")
        expect(len(np.unique(uniform, axis=0)) == 20000, "uniform points differ")
        expect(abs(uniform.mean(axis=0) - 0.5).max() < 0.01, "uniform mean")
        expect(abs(uniform.std(axis=0) - 12 ** -0.5).max() < 0.01, "uniform deviation")
        expect(abs(np.corrcoef(uniform.T) - np.eye(dim)).max() < 0.03, "uniform axes do not depend on each other")
        expect((uniform[:1000] == points_of("-n", 1000, *common[2:])).all(), "a point depends on its number alone")
        expect(not (uniform == points_of(*common[:-1], 8)).all(), "another seed, other points")
        signed = points_of(*common, "--kind", "signed")
        expect((abs(signed) > 0).all() and (abs(signed) <= 1).all(), "signed range")
        expect(abs((signed > 0).mean(axis=0) - 0.5).max() < 0.02, "signed signs")
        expect(len(np.unique(signed, axis=0)) == 20000, "signed points differ")
        for sigma in (1, 0.1, 0.001):
            normal = points_of(*common, "--kind", "normal", "--sigma", sigma).astype(float)
            expect((abs(normal) <= 1).all(), "normal range")
            expect(abs(normal.mean(axis=0)).max() < 0.03 * sigma, f"normal mean {normal.mean(axis=0)}")
            if sigma < 1:
                expect(abs(normal.std(axis=0) / sigma - 1).max() < 0.03, "normal deviation")
                tail = (abs(normal) > 2 * sigma).mean()
                expect(abs(tail - 0.0455) < 0.005, f"normal tail {tail}")
    # The first points of a seed, so that another machine or release does not change them unseen.
    expect(points_of("-n", 2, "--type", "float64").tolist() == FIRST_UNIFORM, f"{np.load('p.npy').tolist()}")
    expect(points_of("-n", 2, "--kind", "normal", "--type", "float64").tolist() == FIRST_NORMAL,
           f"{np.load('p.npy').tolist()}")
    # Every value that a short coordinate can have is as good as any other, and none comes twice.
    many = points_of("-n", 1 << 20)
    expect(len(np.unique(many, axis=0)) == 1 << 20, "a million points differ")
    davit("points", "-n", 5, "-o", "p.mtx")
    expect(b"5 2" in open("p.mtx", "rb").read(), "mtx")
    for dim, dtype in ((3, "float32"), (2, "float64")):
        common = ("-n", 500, "--dim", dim, "--type", dtype, "--kind", "signed", "--seed", 3, "--quiet")
        davit("points", "-o", "p.csv", *common)
        points = points_of(*common)
        read = np.loadtxt("p.csv", delimiter=",")
        expect(read.shape == (500, dim) and (read == points).all(), f"CSV, {dim} {dtype}")
        expect_pair(run_json("closest", "p.csv"), points, f"CSV to closest, {dim} {dtype}")
    expect_keys(run_json("points", "-n", 5, "-o", "p.npy"), "kind", "n", "dim")
    expect_pair(run_json("closest", "p.npy"), np.load("p.npy"), "points to closest")


FIRST_UNIFORM = [[0.6307031770388551, 0.2544818004399332], [0.32083430319547634, 0.20912701658097244]]
FIRST_NORMAL = [[-0.993880712230948, 0.5885546247055806], [-0.026000487252961394, -0.41589774646236033]]

if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit neighbors, and of --sphere, against SciPy's k-d tree where it is installed, else against all distances
in NumPy.

usage: test_cli_neighbors.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import davit, expect, main, put, refuse, run_json, save

try:
    from scipy.spatial import cKDTree
except ImportError:
    cKDTree = None

EARTH_KM = 6371.0088


def distances_to(points, query):
    """In the order of sums that davit documents."""
    d = points.astype(float) - query.astype(float)
    total = d[:, 0] * d[:, 0]
    for axis in range(1, d.shape[1]):
        total = total + d[:, axis] * d[:, axis]
    return np.sqrt(total)


def rows(points, queries=None):
    """All neighbours of each query, in the order of (distance, index)."""
    for q, query in enumerate(points if queries is None else queries):
        far = distances_to(points, query)
        order = np.lexsort((np.arange(len(far)), far))
        if queries is None:
            order = order[order != q]
        yield order, far[order]


def table(*arguments, **options):
    text = davit("neighbors", *arguments, **options).out.decode().splitlines()
    expect(text[0] == "query\tindex\tdistance", f"the first line is {text[0]!r}")
    return [(int(q), int(i), float(d)) for q, i, d in (line.split("\t") for line in text[1:])]


def test_nearest():
    random = np.random.default_rng(3)
    for points in (random.random((300, 2)), random.random((200, 3)).astype("f4"), np.zeros((50, 2)),
                   np.indices((12, 12)).reshape(2, -1).T.astype("f8")):
        path, other = save("p.npy", points), save("q.npy", random.random((40, points.shape[1])).astype(points.dtype))
        for devices in ("all", "cpu", "host"):
            for k in (1, 7, 40) if devices == "all" else (7,):
                for queries in (None, np.load(other)):
                    more = () if queries is None else ("--queries", other)
                    davit("neighbors", path, *more, "--k", k, "-o", "n.npy", "--distances", "d.npy", "--devices", devices)
                    found, far = np.load("n.npy"), np.load("d.npy")
                    wanted = [(order[:k], d[:k]) for order, d in rows(points, queries)]
                    expect(found.dtype == np.int64 and (found == [w[0] for w in wanted]).all(), f"{devices} {k}: numbers")
                    expect((far == [w[1] for w in wanted]).all(), f"{devices} {k}: distances")


def test_scipy():
    if cKDTree is None:
        return
    random = np.random.default_rng(4)
    points = random.random((5000, 3))
    davit("neighbors", save("p.npy", points), "--k", 10, "-o", "n.npy", "--distances", "d.npy", "--check")
    far, near = cKDTree(points).query(points, 11)
    expect(np.allclose(np.load("d.npy"), far[:, 1:]) and (np.load("n.npy") == near[:, 1:]).all(), "SciPy's neighbours")


def test_radius():
    random = np.random.default_rng(5)
    points = random.random((150, 2))
    path = save("p.npy", points)
    for radius in (0, 0.1, 0.3, 5):
        for devices in ("all", "cpu"):
            davit("neighbors", path, "--radius", radius, "-o", "n.npy", "--distances", "d.npy", "--offsets", "f.npy",
                  "--devices", devices)
            found, far, offsets = np.load("n.npy"), np.load("d.npy"), np.load("f.npy")
            for q, (order, d) in enumerate(rows(points)):
                begin, end, count = offsets[q], offsets[q + 1], int((d <= radius).sum())
                expect(end - begin == count and (found[begin:end] == order[:count]).all()
                       and (far[begin:end] == d[:count]).all(), f"{radius} {devices}: row {q}")
    report = run_json("neighbors", path, "--radius", 0.1, "--check")
    expect(report["count"] == len(report["neighbors"]) and report["n"] == report["queries"] == 150, "JSON")


def test_text():
    expect(table(put("p.csv", "x,y\n0,0\n3,4\n0,1\n")) == [(0, 2, 1.0), (1, 2, 18 ** 0.5), (2, 0, 1.0)], "a table")
    expect(table("p.csv", "--queries", put("q.csv", "0,0\n"), "--k", 3) == [(0, 0, 0.0), (0, 2, 1.0), (0, 1, 5.0)],
           "queries in text")
    expect(table("p.csv", "--radius", 1) == [(0, 2, 1.0), (2, 0, 1.0)], "within 1")
    expect(table(save("one.npy", np.zeros((1, 2))), "--radius", 1) == [], "one point")


def haversine(a, b):
    (north, east), (other, further) = np.radians(a), np.radians(b)
    h = np.sin((other - north) / 2) ** 2 + np.cos(north) * np.cos(other) * np.sin((further - east) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(h))


def test_orders_of_columns():
    points = put("latlon.csv", "lat,lon\n10,20\n50,60\n")
    queries = put("lonlat.csv", "lon,lat\n20,10\n61,50\n")
    for order in ((points, queries), (queries, points)):
        found = table(order[0], "--queries", order[1], "--k", 1)
        expect([row[2] for row in found] == [0, 1], f"the nearest are the same places: {found}")
    place = save("unnamed.npy", np.array([[10.0, 20.0]]))
    expect(table(points, "--queries", place, "--k", 1)[0][2] == 0, "without names the order is that of the points")
    refuse(("neighbors", points, "--queries", put("xy.csv", "x,y\n10,20\n"), "--quiet"), "expected coordinates named as in", "found others")


def test_sphere():
    places = {"Berlin": (52.52, 13.405), "Hamburg": (53.5511, 9.9937), "Sydney": (-33.8688, 151.2093), "Suva": (-18.1416, 178.4419),
              "Apia": (-13.8333, -171.7667), "North": (90, 0), "South": (-90, 77)}
    at = list(places.values())
    lines = "".join(f"{name},{lat},{lon}\n" for name, (lat, lon) in places.items())
    turned = "".join(f"{name},{lon},{lat}\n" for name, (lat, lon) in places.items())
    for path in (put("lat.csv", "name,lat,lon\n" + lines), put("lon.csv", "name,lon,lat\n" + turned), save("places.npy", np.array(at))):
        found = table(path, "--sphere", "--k", len(at) - 1)
        expect(len(found) == len(at) * (len(at) - 1), f"{path}: rows")
        for q, i, km in found:
            expect(abs(km - haversine(at[q], at[i])) < 1e-6, f"{path}: {q} {i} {km}, not {haversine(at[q], at[i])}")
        report = run_json("closest", path, "--sphere", "--check")
        expect((report["i"], report["j"]) == (0, 1) and abs(report["distance"] - haversine(at[0], at[1])) < 1e-6, f"closest of {path}")
        within = run_json("closest", path, "--sphere", "--radius", 1200)
        expect(within["count"] == 2, f"pairs within 1200 km: {within}")
        everything = run_json("neighbors", path, "--sphere", "--radius", 20100)
        expect(everything["count"] == len(at) * (len(at) - 1), "half a turn holds all")
    for command in ("neighbors", "closest"):
        expect("--sphere" in davit(command, "lat.csv").err, f"{command} says that there is --sphere")
        expect("plane" not in davit(command, "lat.csv", "--sphere").err, f"{command} --sphere is on the sphere")
        refuse((command, put("wrong.csv", "lat,lon\n91,0\n0,0\n"), "--sphere"), "wrong.csv: point 0: expected a latitude", "found 91 and 0")
        refuse((command, save("three.npy", np.zeros((3, 3))), "--sphere"), "three.npy: expected 2 columns")


def test_sphere_edges():
    """A place has one point however it is written, and a distance that was printed is a radius that holds its pair."""
    path = put("same.csv", "lat,lon\n10,180\n10,-180\n-45.25,190\n-45.25,-170\n90,0\n90,123\n-90,5\n-90,-60\n12,0\n12,360\n")
    found = table(path, "--sphere")
    expect(found == [(q, q ^ 1, 0.0) for q in range(10)], f"equal places: {found}")
    labels = run_json("cluster", path, "--sphere", "--eps", 0, "--min-points", 2)["labels"]
    expect(labels == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], f"clusters of equal places: {labels}")
    random = np.random.default_rng(12)
    at = random.uniform((-90, -180), (90, 180), (120, 2)) * 10.0 ** random.uniform(-5, 0, (120, 1))
    path = save("at.npy", np.concatenate([at, -at[:9] + [[0, 180]]]))
    way = sorted(float(d) for _, _, d in table(path, "--sphere", "--k", 128)[::521])
    for km in way:
        pairs = run_json("closest", path, "--sphere", "--radius", repr(km))
        expect(pairs["count"] and pairs["pairs"][-1]["distance"] == km, f"{km!r} km: {pairs['count']} pairs")


def test_radius_without_end():
    path = save("wide.npy", np.array([[-1.7e308, 0], [1.7e308, 0], [1.7e308, 1.7e308]]))
    for radius, within in (("inf", 6), ("1.7e308", 2), ("1e-320", 0)):
        expect(run_json("neighbors", path, "--radius", radius)["count"] == within, f"neighbours within {radius}")
        expect(2 * run_json("closest", path, "--radius", radius)["count"] == within, f"pairs within {radius}")
        clusters = run_json("cluster", path, "--eps", radius, "--min-points", 1)["clusters"]
        expect(clusters == {6: 1, 2: 2, 0: 3}[within], f"{clusters} clusters within {radius}")
    for command, option in (("neighbors", "--radius"), ("closest", "--radius"), ("cluster", "--eps")):
        for wrong in ("nan", "-inf", "1e400"):
            refuse((command, path, option, wrong), f"{option} takes a number from 0", code=2)


def labels_of(points, eps, least):
    """By walks from core point to core point."""
    near = [np.flatnonzero(distances_to(points, p) <= eps) for p in points]
    labels, clusters = np.full(len(points), -1), 0
    for i in range(len(points)):
        if labels[i] >= 0 or len(near[i]) < least:
            continue
        ways = [i]
        labels[i] = clusters
        while ways:
            for j in near[ways.pop()]:
                if labels[j] < 0:
                    labels[j] = clusters
                    if len(near[j]) >= least:
                        ways.append(j)
        clusters += 1
    return labels, clusters


def test_cluster():
    random = np.random.default_rng(6)
    for points in (random.random((300, 2)), random.normal(size=(200, 3)) + 5 * random.integers(0, 3, (200, 1)), np.zeros((20, 2))):
        path = save("p.npy", points)
        for eps, least in ((0, 1), (0.05, 3), (0.5, 5)):
            labels, clusters = labels_of(points, eps, least)
            for devices in ("all", "cpu"):
                report = run_json("cluster", path, "--eps", eps, "--min-points", least, "--devices", devices, "--check")
                expect(report["labels"] == labels.tolist() and report["clusters"] == clusters, f"{devices} {eps} {least}: labels")
                expect(report["noise"] == int((labels < 0).sum()), f"{devices} {eps} {least}: noise")
    davit("cluster", path, "--eps", 1, "-o", "l.npy")
    expect((np.load("l.npy") == 0).all(), "equal points are one cluster")
    text = davit("cluster", put("p.csv", "0,0\n9,9\n0,1\n"), "--eps", 1, "--min-points", 2).out.decode()
    expect(text == "point\tlabel\n0\t0\n1\t-1\n2\t0\n", f"labels in text: {text!r}")
    report = run_json("cluster", put("c.csv", "lat,lon\n52.52,13.405\n53.55,9.99\n-33.87,151.21\n"), "--sphere", "--eps", 300, "--min-points", 2)
    expect(report["labels"] == [0, 0, -1], f"labels on the sphere: {report}")
    refuse(("cluster", "p.csv"), "--eps", code=2)
    refuse(("cluster", "p.csv", "--eps", -1), "--eps takes a number from 0", code=2)


def edges_of(points):
    """By Kruskal's: pairs in the order of (distance, i, j)."""
    first, second = np.triu_indices(len(points), 1)
    far = np.concatenate([distances_to(points[i + 1:], points[i]) for i in range(len(points) - 1)] or [np.zeros(0)])
    root, edges = np.arange(len(points)), []
    for e in np.lexsort((second, first, far)):
        a, b = root[first[e]], root[second[e]]
        if a != b:
            root[root == b] = a
            edges.append((int(first[e]), int(second[e]), float(far[e])))
    return edges


def test_emst():
    random = np.random.default_rng(7)
    for points in (random.random((200, 2)), random.random((150, 3)).astype("f4"), np.zeros((20, 2)), np.zeros((1, 3)),
                   np.indices((8, 8)).reshape(2, -1).T.astype("f8")):
        path, wanted = save("p.npy", points), edges_of(points)
        for devices in ("all", "cpu"):
            report = run_json("cluster", path, "--emst", "--devices", devices, "--check")
            expect([(e["i"], e["j"], e["distance"]) for e in report["edges"]] == wanted, f"{devices}: edges")
            davit("cluster", path, "--emst", "-o", "e.npy", "--devices", devices)
            expect(np.load("e.npy").tolist() == [list(e) for e in wanted], f"{devices}: edges in a file")
    text = davit("cluster", put("p.csv", "0,0\n9,9\n0,1\n"), "--emst").out.decode()
    expect(text == f"i\tj\tdistance\n0\t2\t1\n1\t2\t{145 ** 0.5:.17g}\n", f"edges in text: {text!r}")
    sphere = run_json("cluster", put("c.csv", "lat,lon\n52.52,13.405\n53.55,9.99\n-33.87,151.21\n"), "--sphere", "--emst")
    expect(abs(sphere["edges"][0]["distance"] - haversine((52.52, 13.405), (53.55, 9.99))) < 1e-6, f"edges on the sphere: {sphere}")
    for option in ("--eps", "--min-points"):
        refuse(("cluster", "p.csv", "--emst", option, 1), f"{option} and --emst exclude each other", code=2)


def test_refused():
    path = put("p.csv", "0,0\n3,4\n0,1\n")
    refuse(("neighbors", path, "--k", 3), "--k 3: p.csv has 3 points", code=2)
    refuse(("neighbors", path, "--k", 4, "--queries", path), "--k 4: p.csv has 3 points", code=2)
    one = save("one.npy", np.zeros((1, 2)))
    refuse(("neighbors", one), "--k 1: one.npy has 1 point, and a point is not its own neighbour", code=2)
    tall, wide = np.zeros((2, 3)), np.zeros((2, 2))
    for words, data, sentence in ((("neighbors", "-"), one, "--k 1: standard input has 1 point,"),
                                  (("closest", "-", "--sphere"), put("far.csv", "91,0\n0,0\n"), "standard input: point 0: expected a latitude"),
                                  (("closest", "-"), save("nan.npy", wide * np.nan), "standard input: point 0: expected finite"),
                                  (("cluster", "-", "--emst", "--sphere"), save("tall.npy", tall), "standard input: expected 2 columns"),
                                  (("neighbors", "-", "--queries", save("wide.npy", wide)), "tall.npy", "3 columns as in standard input"),
                                  (("scan", "-"), "wide.npy", "standard input: expected a vector"),
                                  (("scan", "-"), save("c.npy", np.zeros(3, "c16")), "standard input: expected real numbers"),
                                  (("solve", "wide.npy", "-"), save("f.npy", np.zeros(2, "f4")), "standard input: expected float64 as in the first operand"),
                                  (("reduce", "-", "--op", "max"), "c.npy", "standard input: expected real numbers")):
        with open(data, "rb") as file:
            refuse(words, f"davit {words[0]}: {sentence}" if sentence[0] in "-s" else sentence, code=2 if "--k" in sentence else 3, data=file.read())
    refuse(("neighbors", path, "--k", 1, "--radius", 1), "--radius", code=2)
    refuse(("neighbors", path, "--radius", "nan"), "--radius takes a number from 0", code=2)
    refuse(("neighbors", path, "--offsets", "f.npy"), "--radius", code=2)
    refuse(("neighbors", path, "--queries", save("q.npy", np.zeros((2, 3)))), "q.npy: expected 2 columns as in p.csv")
    refuse(("neighbors", save("nan.npy", np.array([[0, 1], [np.nan, 2]]))), "nan.npy: point 1: expected finite")
    refuse(("neighbors", save("none.npy", np.zeros((0, 2)))), "none.npy: expected at least 1 point")


if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit bench --report, --compare and --from with stored results and programs made for them.

usage: test_cli_bench_report.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import copy
import html.parser
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
from support import DAVIT, LIMIT_S, SCALE, davit, expect, expect_keys, main, put, refuse, run_json

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "bench"))
import report as results
import rows as reader

GPU, HOST = 0, -1
HEADER = "verdict\tchange\tnoise\tbefore\tnow\trow"
VOID = ("meta", "br", "hr", "img", "link", "input")
OPTIONAL = ("td", "th", "tr", "tbody", "thead", "li", "p")  # end tags that HTML does without


def device(number, kind, name, units=132):
    return {"device": number, "kind": kind, "name": name, "compute_units": units, "memory_bytes": 1 << 37}


MACHINE = {"devices": [device(HOST, "cpu", "A CPU", 8), device(GPU, "nvidia", "A GPU")]}


def row(n, us, best=0.99, peer=1.25, floor=0.5, **more):
    """A row as bench/rows.c writes it; best, peer and floor are shares of the time."""
    return {"backend": "openmp", "device": GPU, "operation": "scan", "type": "f64", "variant": "inclusive", "form": "queue",
            "n": n, "devices": 1, "median_us": us, "best_us": us * best, "bytes": 16 * n, "gbs": 0.016 * n / us,
            "floor_us": us * floor, "of_floor": floor, "peer": "cub", "peer_us": us * peer, "ratio": peer, **more}


def document(*rows, benchmark="scan", **more):
    return {"benchmark": benchmark, "version": "0.2.0", "date": "2026-11-24T01:02:03Z", "command": "bench_scan --device 0",
            "machine": MACHINE, "rows": list(rows), **more}


def scans():
    return document(*(row(4 ** k, 5 + 4 ** k / 1e5) for k in range(6, 14)))


def store(name, content):
    return put(name, json.dumps(content))


def slower(content, factor, *numbers):
    """The document with the times of some rows, or all, multiplied."""
    changed = copy.deepcopy(content)
    for number in numbers or range(len(changed["rows"])):
        for key in ("median_us", "best_us"):
            changed["rows"][number][key] *= factor
    return changed


def program(name, content):
    os.makedirs("some", exist_ok=True)
    store(f"some/{name}.json", content)
    put(f"some/bench_{name}", f'#!/bin/sh\necho "$* for people" >&2\ncat "{os.path.abspath(f"some/{name}.json")}"\n')
    os.chmod(f"some/bench_{name}", 0o755)
    os.environ["DAVIT_BENCH_DIR"] = os.path.abspath("some")


class Page(html.parser.HTMLParser):
    """Checks a page: tags are balanced, nothing is loaded, nothing runs, drawings are well-formed."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.open, self.text, self.tags, self.ids, self.links = [], [], [], [], []
        self.feed(self.source)
        self.close()
        expect(not [tag for tag in self.open if tag not in OPTIONAL], f"tags that are open at the end: {self.open}")
        expect(not {"script", "iframe", "object", "embed", "link", "img", "form"} & set(self.tags), "nothing runs or is loaded")
        expect(not re.search(r"https?:|url\(|@import|javascript:", self.source), "no address")
        expect(all(link[1:] in self.ids for link in self.links), f"links within the page: {self.links}")
        self.drawings = [xml.fromstring(drawing) for drawing in re.findall(r"<svg.*?</svg>", self.source, re.S)]
        for drawing in self.drawings:
            for path in drawing.iter("path"):
                numbers = [float(number) for number in re.findall(r"-?[\d.]+(?:e[+-]\d+)?", path.get("d"))]
                expect(all(-1 <= number <= 361 for number in numbers), f"a curve within its drawing: {path.get('d')}")
                expect(not re.search("nan|inf", path.get("d")), f"numbers: {path.get('d')}")
        for style in ("prefers-color-scheme:dark", "width=device-width", "<!DOCTYPE html>", 'charset="utf-8"'):
            expect(style in self.source, f"{style} expected")

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        self.ids.append(attributes.get("id"))
        expect(not any(name.startswith("on") or name == "src" for name in attributes), f"{tag} {attributes}")
        if "href" in attributes:
            self.links.append(attributes["href"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        expect(self.open and self.open.pop() == tag, f"</{tag}> closes another")

    def handle_data(self, data):
        self.text.append(data)

    def words(self):
        return re.sub(r"\s+", " ", "".join(self.text))


def report(*arguments, code=0):
    result = davit("bench", *arguments, "--report", "page.html", code=code)
    return Page("page.html"), result


def curves(page, kind):
    return [path.get("d") for drawing in page.drawings for path in drawing.iter("path") if path.get("class") == f"c {kind}"]


def test_plots():
    """A curve for each group of sizes; bars for what has one size; the peer and the limit beside davit."""
    content = scans()
    content["rows"] += [row(1024, 9.0, variant="exclusive"), row(100, 3.0, operation="stencil", rows=100, cols=100)]
    for one in content["rows"][-1:]:
        del one["n"]
    content["rows"].reverse()
    store("one.json", content)
    page, result = report("--from", "one.json")
    expect(result.out == b"" and result.err == "", f"a page alone: {result}")
    expect(len(page.drawings) == 1, f"one curve: {len(page.drawings)}")
    for kind in "dpl":
        points = re.findall(r"[ML]([\d.]+) ([\d.]+)", curves(page, kind)[0])
        xs = [float(x) for x, _ in points]
        expect(len(points) == 8 and xs == sorted(xs), f"eight sizes from left to right: {points}")
    heights = {kind: float(re.findall(r"[ML][\d.]+ ([\d.]+)", curves(page, kind)[0])[-1]) for kind in "dpl"}
    expect(heights["l"] < heights["d"] < heights["p"], f"limit above davit above the peer: {heights}")
    words = page.words()
    for part in ("GB/s", "davit", "cub", "limit", "A GPU", "0.2.0", "bench_scan --device 0", "2026-11-24 01:02", "one.json",
                 "scan f64 inclusive queue", "50 % of the limit, 1.25 × the peer", "10rows of davit", "stencil f64 inclusive queue, order 100"):
        expect(part in words, f"'{part}' expected in the page")
    bars = re.findall(r'<i class="(.)" style="(\w+):([\d.]+)%', page.source)
    expect(bars[:3] == [("d", "width", "50.0"), ("p", "width", "40.0"), ("l", "left", "100.0")], f"bars: {bars}")
    expect("Where a peer is faster" not in words, "no peer is faster")


def test_peers():
    """Where a peer is faster is said; rows of another library are the peer of davit's."""
    store("scan.json", document(row(4096, 5.0, peer=0.8), row(16384, 5.0, peer=0.99), row(65536, 9.0, peer=1.1)))
    gemm = [{"who": who, "type": "f64", "m": n, "n": n, "k": n, "devices": 1, "tile": tile, "median_ms": ms, "best_ms": ms,
             "tflops": 2e-9 * n ** 3 / ms, "floor_arithmetic_ms": ms / 2, "floor_link_ms": ms / 4}
            for n in (1000, 4096) for who, tile, ms in (("davit", 512, n / 1e3), ("cublasxt", 1024, n / 5e2), ("cublasxt", 64, n))]
    queue = [{"backend": backend, "device": GPU, "test": test, "queues": 8, key: value}
             for backend, test, key, value in (("threads", "fill", "us", 4.0), ("raw-cuda", "fill", "us", 1.0),
                                               ("threads", "copy", "gbs", 10.0), ("raw-cuda", "copy", "gbs", 5.0),
                                               ("raw-omp", "empty target", "us", 7.0))]
    store("others.json", {"benchmarks": [document(*gemm, benchmark="gemm"), document(*queue, benchmark="queue")]})
    page, _ = report("--from", "scan.json", "--from", "others.json")
    words = page.words()
    lost = words[words.index("Where a peer is faster"):words.index("bench_scan", words.index("Where a peer is faster"))]
    expect("3 rows." in lost and "size 4096, A GPU0.80 ×5.00 µs4.00 µscub" in lost, f"the peer's rows: {lost}")
    expect("queue: fill, backend threads, queues 8, A GPU0.25 ×4.00 µs1.00 µscuda" in lost, f"queues: {lost}")
    expect("2.00 × the peer" in words and "cublasxt" in words, "the fastest cuBLASXt is davit's peer")
    expect("cublasxt, order" not in words, "and has no row of its own")
    expect("10.0 GB/s2.00 × cuda" in words and "empty target, backend threads, queues 8, omp7.00 µs" in words, "rates are compared, others are shown")


def test_escaping():
    """Whatever a file holds is text."""
    evil = '<script>alert("x")</script> & \'quoted\' <!-- ]]> </style> \x00\x01\x7f\x85\ufffe\ud800 é'
    content = document(row(4096, 5.0, operation=evil, peer=1.5), row(65536, 9.0, operation=evil), row(7, 1.0, error=evil, operation="bad"),
                       benchmark=evil, version=evil, date=evil, command=evil)
    for one in content["rows"]:
        one["peer"] = evil
    content["machine"] = {"devices": [device(GPU, evil, evil)]}
    store(name := "<b>&.json", content)
    store("old.json", slower(content, 0.5))
    page, _ = report("--from", name, "--compare", "old.json", code=1)
    words = page.words()
    expect(words.count('<script>alert("x")</script> & \'quoted\' <!-- ]]> </style>') > 10 and "é" in words, "the text as it is")
    expect("<b>&.json" in words and "\x01" not in page.source and "\x7f" not in page.source, "names of files, no control characters")
    table = davit("bench", "--from", name, "--compare", "old.json", code=1).out
    expect(b"\x01" not in table and b"\x7f" not in table and b"\xc2\x85" not in table and table.count(b"\n") == 4, f"no control characters: {table}")
    old = os.fsdecode(b"old\xe9\x9b.json")
    os.rename("old.json", old)
    found = json.loads(davit("bench", "--from", name, "--compare", old, "--json", code=1).out.decode())
    expect(found["comparison"]["file"] == "old\ufffd\ufffd.json", f"JSON is UTF-8: {found}")
    davit("bench", "--from", name, "--compare", old, "--report", "page.html", code=1)
    with open("page.html", encoding="utf-8") as file:
        expect("old\ufffd\ufffd.json" in file.read(), "and so is the page")


def verdicts(result):
    lines = result.out.decode().splitlines()
    expect(lines[0] == HEADER, f"a header: {lines[:1]}")
    return [line.split("\t")[0] for line in lines[1:]]


def test_noise():
    """A row is slower beyond 5 %, --noise or its own spread, whichever is the largest."""
    old = document(row(4096, 100.0, best=1), row(65536, 100.0, best=0.8))
    store("old.json", old)
    for factor, options, wanted in ((1.04, [], []), (1.06, [], ["slower"]), (1.06, ["--noise", "7"], []), (1.3, [], ["slower"] * 2),
                                    (1.06, ["--noise", "0"], ["slower"]), (0.96, [], []), (0.94, [], ["faster"]), (0.5, [], ["faster"] * 2)):
        store("new.json", slower(old, factor))
        result = davit("bench", "--from", "new.json", "--compare", "old.json", *options, code=1 if "slower" in wanted else 0)
        expect(verdicts(result) == wanted, f"{factor} {options}: {result.out}")
    store("new.json", slower(old, 2, 1))
    result = davit("bench", "--from", "new.json", "--compare", "old.json", code=1)
    expect("1 of 2 rows became slower than in old.json; the worst: scan f64 inclusive queue, size 65536 takes 2 times as long"
           in result.err, f"one sentence: {result}")
    expect(b"slower\t2 times\t25.0 %\t100 \xc2\xb5s\t200 \xc2\xb5s\tscan f64" in result.out, f"the row: {result.out}")
    davit("bench", "--from", "old.json", "--compare", "old.json", "--noise", "-1", code=2)
    machine = [row(4096, 9.0, operation="copy", form=form) for form in ("loop", "kernel")]  # and what is no work of davit's
    store("old.json", document(row(4096, 100.0), *machine))
    store("new.json", slower(document(row(4096, 100.0), *machine), 2, 1, 2))
    expect(verdicts(davit("bench", "--from", "new.json", "--compare", "old.json")) == [], "a slower machine is no slower davit")


def test_rows():
    """Rows are found by what they measured, in any order; those of one file alone are counted."""
    old = document(*(row(4 ** k, 10.0) for k in range(5)), row(1, 5.0, device=HOST), row(4, 3.0, devices=2))
    new = slower(old, 1)
    new["rows"].reverse()
    new["rows"][-1].update(median_us=20.0, best_us=20.0)
    new["rows"] = [one for one in new["rows"] if one["n"] != 256] + [row(1 << 20, 99.0), row(16, 10.0, type="f32")]
    new["rows"][-3]["tile"] = 17  # davit's choice is no part of what is measured
    store("old.json", {"benchmarks": [old, document(row(4, 1.0, operation="reduce"), benchmark="reduce")]})
    store("new.json", new)
    found = run_json("bench", "--from", "new.json", "--compare", "old.json", code=1)
    expect_keys(found, "benchmarks", "comparison")
    comparison = found["comparison"]
    expect([comparison[key] for key in ("file", "noise", "rows", "gone", "added", "other_device")] == ["old.json", 0.05, 6, 1, 2, 0],
           f"counts: {comparison}")
    expect(comparison["slower"] == [{"benchmark": "scan", "row": "scan f64 inclusive queue", "size": 1, "before_us": 10, "now_us": 20,
                                     "change": 1, "noise": 0.05}] or abs(comparison["slower"][0]["change"] - 1) < 1e-9,
           f"the slower row: {comparison['slower']}")
    expect(not comparison["failed"] and not comparison["faster"], f"nothing else: {comparison}")
    expect(found["benchmarks"] == [new] and found["devices"] == [], "the results of --from, which name no device of ours")
    # Two rows that measured the same are compared in their order, and not at all if one is missing.
    twice = document(row(4, 10.0), row(4, 20.0))
    store("old.json", twice)
    store("new.json", slower(twice, 2, 1))
    expect(len(verdicts(davit("bench", "--from", "new.json", "--compare", "old.json", code=1))) == 1, "the second alone")
    store("new.json", document(row(4, 50.0)))
    expect("measured the same" in davit("bench", "--from", "new.json", "--compare", "old.json", code=3).err, "nothing to compare")


def test_failed_rows():
    """A row that was measured and fails now counts; a row that says nothing does not."""
    old = scans()
    new = slower(old, 1)
    for key in ("median_us", "best_us", "gbs"):
        del new["rows"][2][key]
    store("old.json", old)
    store("new.json", new)
    expect(verdicts(davit("bench", "--from", "new.json", "--compare", "old.json")) == [], "not measured")
    new["rows"][2]["error"] = "out of memory"
    store("new.json", new)
    page, result = report("--from", "new.json", "--compare", "old.json", code=1)
    expect(verdicts(result) == ["failed"] and "and 1 failed" in result.err, f"failed: {result}")
    expect("out of memory" in page.words() and "1row became slower or failed" in page.words(), "the page says so")


def test_machines():
    """Other devices are named, and their rows are no regression."""
    old = slower(scans(), 0.1)
    for change in ({"name": "Another GPU"}, {"compute_units": 66}):
        old["machine"] = {"devices": [MACHINE["devices"][0], {**MACHINE["devices"][1], **change}]}
        store("old.json", old)
        store("new.json", scans())
        page, result = report("--from", "new.json", "--compare", "old.json", code=3)
        name = f"{change.get('name', 'A GPU')} with {change.get('compute_units', 132)} compute units"
        expect(f"old.json: expected results of the same devices, found {name}, here A GPU with 132" in result.err, f"devices: {result}")
        expect("8 rows are not compared, because they are of different devices" in page.words(), "the page says so")
    old["rows"].append(row(4, 5.0, device=HOST))
    both = scans()
    both["rows"].append(row(4, 5.1, device=HOST))
    store("old.json", old)
    store("new.json", both)
    page, _ = report("--from", "new.json", "--compare", "old.json")
    expect("of 1 row that both have, 0 became slower" in page.words(), "what can be compared is compared")


def test_broken():
    """Files that are no results."""
    good = json.dumps(scans())
    cases = {"": "not valid JSON", "{": "line 1, column 2", good[:-1]: "not valid JSON", good + "x": "Extra data",
             "[]": "expected results of a benchmark", "7": "expected results of a benchmark", '{"rows": []}': '"benchmark" and "rows"',
             '{"benchmark": "a"}': "found none in a", '{"benchmark": "a", "rows": {}}': "found none in a",
             '{"benchmark": 3, "rows": []}': '"benchmark"', '{"benchmarks": [3]}': '"benchmark"',
             '{"benchmark": "a", "rows": [{}, 3]}': "a: row 2: expected an object", '{"a": 1, "a": 2}': "duplicate object key",
             '{"benchmark": "a", "rows": [{"n": 1e999}]}': "overflow", '{"benchmark": "a", "rows": [{"n": ' + "1" * 99999 + "}]}": "overflow",
             '{"benchmark": "a", "rows": [{"n": NaN}]}': "overflow", '{"benchmark": "a", "rows": [{"n": -Infinity}]}': "overflow",
             "[" * 100000: "depth", '{"benchmark": "\xff"': "can't decode byte",
             json.dumps(document(row(1, 1.0, variant="x" * 2000))): "less than 1024 bytes",
             json.dumps(document(machine={"devices": [{}] * 2000})): "at most 1024 devices",
             json.dumps(document(*[{}] * 100001)): "at most 100000 rows"}
    store("good.json", scans())
    for number, (text, word) in enumerate(cases.items()):
        put("bad.json", text.encode("latin-1"))
        try:
            reader.finish(reader.read("bad.json"))
            expect(False, f"{text[:60]} is read")
        except reader.Refused as why:
            expect(why.args[0] == 3 and why.args[1].startswith("bad.json: ") and word in why.args[1], f"{text[:60]}: {why.args}")
        if number % 5:
            continue
        refuse(("bench", "--from", "bad.json", "--report", "page.html"), "bad.json", word)
        refuse(("bench", "--from", "good.json", "bad.json", "--json"), "bad.json", word)
        refuse(("bench", "--from", "good.json", "--compare", "bad.json", "--report", "page.html"), "bad.json", word)
        refuse(("bench", "--from", "-", "--json"), "standard input", word, data=text.encode("latin-1"))
    put("bad.json", b'["' + b"x" * (17 << 20) + b'"]')
    refuse(("bench", "--from", "bad.json", "--json"), "at most 16 MiB")
    refuse(("bench", "--from", "missing.json", "--json"), "missing.json")
    refuse(("bench", "--compare", "missing.json", "--from", "good.json"), "missing.json")


def test_odd_values():
    """Wrong types and extreme numbers in rows are not measured, or drawn within the drawing."""
    odd = [None, True, "7", [], {}, -1, 0, 1e300, 1e-300, 1e29, 1e-29]
    rows = [{"operation": "o", "form": f"{key}", "n": 2 ** k, "median_us": 3.0, "gbs": 5.0, "peer_us": 4.0, "floor_us": 1.0, key: value}
            for key in ("n", "median_us", "gbs", "peer_us", "floor_us", "peer", "device", "devices", "error", "best_us", "backend", "who")
            for k, value in enumerate(odd)]
    content = document(*rows, version=3, date=[], command={})
    content["machine"] = {"devices": [{"device": "x", "name": 3}, 5, {"device": 1e300}]}
    store("odd.json", content)
    report("--from", "odd.json", "--compare", "odd.json")
    for machine in (None, 3, [], {"devices": 3}):
        store("odd.json", {**scans(), "machine": machine})
        report("--from", "odd.json")
    store("empty.json", {"benchmarks": []})
    page, _ = report("--from", "empty.json")
    expect("0rows of davit" in page.words(), "an empty page")
    store("empty.json", document())
    report("--from", "empty.json")


def test_run():
    """Programs are run with --json, the page and the comparison are made of what they print."""
    program("one", scans())
    program("two", document(row(4, 2.0, operation="reduce"), benchmark="reduce"))
    store("old.json", {"benchmarks": [slower(scans(), 0.5, 3)]})
    page, result = report("one", "two", "--peers")
    expect(result.out == b"" and result.err == "--json --peers for people\n" * 2, f"tables on standard error: {result}")
    expect("Made from" not in page.words() and page.words().count("bench_scan --device 0") >= 2, "both are on the page")
    process = subprocess.run([DAVIT, "bench", "one", "--compare", "old.json"], capture_output=True, timeout=LIMIT_S, text=True)
    expect(process.returncode == 1 and process.stdout.startswith(HEADER + "\nslower\t2 times"), f"a comparison: {process}")
    expect(process.stderr.splitlines()[-1].startswith("davit bench: 1 of 8 rows became slower"), f"one sentence: {process.stderr}")
    found = json.loads(subprocess.run([DAVIT, "bench", "--json", "--compare", "old.json", "--report", "page.html"], capture_output=True,
                                      timeout=LIMIT_S).stdout)
    expect(len(found["benchmarks"]) == 2 and len(found["comparison"]["slower"]) == 1 and found["devices"], "all at once")
    expect("What became slower" in Page("page.html").words(), "and the page")
    put("old.json", "{")
    refuse(("bench", "one", "--compare", "old.json"), "old.json")  # before the program runs
    program("three", {"benchmark": "three"})
    process = subprocess.run([DAVIT, "bench", "--report", "page.html"], capture_output=True, timeout=LIMIT_S, text=True)
    expect(process.returncode == 1 and "bench_three: expected results" in process.stderr, f"a program's broken results: {process}")
    expect("scan f64" in Page("page.html").words(), "the others are on the page")


def test_outputs():
    store("one.json", scans())
    result = davit("bench", "--from", "one.json", "--report", "-", "--compare", "one.json")
    expect(result.out.startswith(b"<!DOCTYPE html>") and result.out.endswith(b"</html>\n"), "the page alone on standard output")
    refuse(("bench", "--from", "one.json", "--report", "-", "--json"), "standard output", code=2)
    refuse(("bench", "--from", "one.json", "--report", "missing/page.html"), "missing/page.html", code=1)
    refuse(("bench", "--from", "one.json"), "--report, --compare or --json", code=2)
    for name in ("one.json", "page.htm", "page", ".html", "page.html.json"):
        refuse(("bench", "--from", "one.json", "--report", name), f"--report {name}: expected a name that ends in .html", code=2)
    davit("bench", "--from", "one.json", "--report", "/dev/null")
    davit("bench", "--from", "one.json", "--report", "Page.HTML")
    with open("one.json", "rb") as file:
        measured = put("results.html", file.read())
    os.link(measured, "link.html")
    for name in (measured, "./results.html", "link.html"):
        found = "" if name == measured else f", as {measured}"
        for arguments in (("--from", measured), ("--from", "one.json", measured), ("--from", "one.json", "--compare", measured)):
            refuse(("bench", *arguments, "--report", name), f"--report {name}: the command reads this file{found}\n", code=2)
    with open(measured, "rb") as file:
        process = subprocess.run([DAVIT, "bench", "--from", "-", "--report", measured], stdin=file, capture_output=True, timeout=LIMIT_S)
    expect(process.returncode == 2 and b"the command reads this file, as standard input" in process.stderr, process)
    expect(open("one.json", "rb").read() == open(measured, "rb").read(), "the measurements stay")
    refuse(("bench", "queue", "--from", "one.json", "--json"), "NAME", "--from", code=2)
    for options in (["--list", "--report", "x"], ["--list", "--compare", "x"], ["--list", "--from", "x"], ["--noise", "1"],
                    ["--peers", "--from", "one.json", "--json"]):
        refuse(("bench", *options), "--", code=2)


def test_missing():
    """Without Python, or without the program, nothing runs, and a sentence says why."""
    program("one", scans())
    store("one.json", scans())
    path = os.environ["PATH"]
    os.environ["PATH"] = os.path.abspath("nowhere")
    for arguments in (("one", "--report", "page.html"), ("--from", "one.json", "--compare", "one.json"), ("--from", "one.json", "--json")):
        refuse(("bench", *arguments), "need python3, which cannot be run: No such file", code=2)
    os.environ["PATH"] = path
    os.makedirs("prefix/bin")
    copied = shutil.copy(DAVIT, "prefix/bin/davit")
    process = subprocess.run([copied, "bench", "one", "--compare", "one.json"], capture_output=True, timeout=LIMIT_S, text=True)
    expect(process.returncode == 2 and process.stderr.endswith("/share/davit/report.py: expected the program that reads the results of "
                                                               "benchmarks: No such file or directory\n"), process)


def test_surroundings():
    """Python takes no modules from the folder and nothing from its variables; names of files are no options."""
    for name in ("json.py", "re.py", "rows.py", "sitecustomize.py"):
        put(name, "raise SystemExit('not the module')\n")
    os.environ.update(PYTHONPATH=os.getcwd(), PYTHONHOME="/missing", PYTHONSTARTUP="re.py", PYTHONIOENCODING="ascii", LC_ALL="C")
    store("--json", document(row(4, 5.0, operation="é")))
    davit("bench", "--from=--json", "--compare=--json", "--report", "page.html")
    expect("é" in Page("page.html").words(), "a page in UTF-8")
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONIOENCODING", "LC_ALL"):
        del os.environ[name]
    process = subprocess.run(["bash", "-c", 'python3 -I "$1" --page /dev/stdout -- ./--json | head -c 0', "",
                              os.path.join(ROOT, "bench", "report.py")], capture_output=True, timeout=LIMIT_S)
    expect(not process.stderr, f"a reader that has gone: {process}")


ODD = (None, True, "", "7", "<b>&'\x00\x85\ud800", [], [[]], {}, {"n": 1}, -1, 0, 7, 2 ** 62, 1e300, 1e-300, 1e29, 1e-29)
WORDS = (b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"null", b"1e999", b"NaN", b"-", b"\xff", b"\\ud800", b"\0", b'"n":', b"\xe2\x80\xa8")


def objects(value):
    yield from [value] if isinstance(value, dict) else []
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(part)


def mutated(chance):
    """A document in which some values are others, and some bytes."""
    gemm = [{"who": who, "type": "f64", "m": n, "n": n, "k": n, "tile": 64, "median_ms": n, "tflops": 1} for who in ("davit", "peer")
            for n in (10, 20)]
    matrix = [{"device": HOST, "operation": "o", "rows": n, "cols": 5, "us": 1, "gflops": 9, "gbs": 1, "error": "e"} for n in (4, 5, 7)]
    queue = [{"backend": name, "test": "t", "queues": 8, "gbs": 3, "ld": 9, "tile": 1} for name in ("threads", "raw-cuda")]
    parts = [scans(), document(*gemm, benchmark="gemm"), document(*matrix, benchmark="m"), document(*queue, benchmark="q")]
    content = copy.deepcopy(chance.choice([{"benchmarks": parts}, *parts]))
    for _ in range(chance.choice((0, 1, 2, 9))):
        where = chance.choice(list(objects(content)))
        where[chance.choice([*where, *row(1, 1), "who", "gflops", "error"])] = copy.deepcopy(chance.choice(ODD))
    data = bytearray(json.dumps(content, ensure_ascii=chance.random() < 0.7).encode(errors="surrogatepass"))
    for _ in range(chance.choice((0, 0, 0, 1, 2, 9))):
        at = chance.randrange(len(data))
        data[at:at + chance.choice((0, 1, 1, 9))] = chance.choice((*WORDS, bytes([chance.randrange(256)]), bytes(data[:at])[-20:]))
    return bytes(data)


def test_mutated():
    """Whatever a file holds is refused, or has finite figures, equals itself, and makes a page without markup of its own."""
    chance, taken = random.Random(1), 0
    for number in range(int(3000 * min(1, SCALE))):
        put("file.json", data := mutated(chance))
        try:
            documents = reader.read("file.json")
        except reader.Refused as why:
            expect(why.args[0] == 3 and why.args[1].startswith("file.json: "), f"{number}: {why.args}")
            continue
        taken += 1
        rows = reader.finish(documents)
        for one in rows:
            figures = one.size, one.us, one.best_us, one.floor_us, one.peer_us, one.cost, one.peer_cost, *one.rates.values()
            expect(one.label and all(math.isfinite(figure) and figure >= 0 for figure in figures), f"{number}: {data}")
        found = reader.Comparison("file.json", rows, rows, 0.05)
        expect(not found.of("slower", "failed", "faster") and not found.gone + found.added + found.other_device, f"{number}: {data}")
        json.loads(f"{{{results.members(documents, found)}}}".encode())
        page = results.page(documents, rows, found)
        expect("<script" not in page and not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f]", page), f"{number}: {data}")
        for drawing in re.findall(r"<svg.*?</svg>", page, re.S):
            xml.fromstring(drawing)
        if number % 30 == 0:
            put("page.html", page)
            Page("page.html")
    expect(taken > number / 4, f"{taken} of {number} are documents")


def test_stored():
    """The page in docs/ is small; every stored document can be read and compared."""
    folder = os.path.join(ROOT, "bench", "results")
    path = os.path.join(ROOT, "docs", "report-h200.html")
    expect(len(Page(path).drawings) > 50 and os.path.getsize(path) < 300 << 10, "the page in docs/")
    by_tool = set()
    for name in sorted(os.listdir(folder)):
        stored = os.path.join(folder, name)
        with open(stored, encoding="utf-8") as file:
            rows = json.load(file).get("rows") if name.endswith(".json") else None
        if not rows:
            continue
        several = all("k6_gbs" in row for row in rows)  # the rates of several kernels, of which none is the row's
        rows = reader.finish(documents := reader.read(stored))
        found = reader.Comparison(stored, rows, rows, 0.05)
        expect(bool(found.changes) != several and not found.of("slower", "failed", "faster"), f"{name} with itself")
        page = Page(put("page.html", results.page(documents, rows, found)))
        expect(several or "Nothing became slower." in page.words(), f"{name} with itself")
        if several in by_tool:
            continue
        by_tool.add(several)
        result = davit("bench", "--from", stored, "--compare", stored, code=3 if several else 0)
        expect("expected rows that measured the same" in result.err if several else verdicts(result) == [], f"{name} with itself: {result}")


if __name__ == "__main__":
    sys.exit(main(globals()))

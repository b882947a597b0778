#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit align against a plain Gotoh in Python, of its readers and of what they refuse.

usage: test_cli_align.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import gzip
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
from support import DAVIT, EACH, LIMIT_S, davit, expect, expect_keys, listing, main, on_terminal, put, refuse, run_json, watch

COLUMNS = "query target score qstart qend tstart tend cigar strand identity coverage evalue bits".split()
PLACES = ("all", "cpu", "host")
AMINO = "ARNDCQEGHILKMFPSTWYV"


def best_score(query, target, score, gap_open, gap_extend):
    """Gotoh, with penalties for a gap of k of gap_open + (k - 1) gap_extend."""
    h, e, best = [0] * (len(query) + 1), [-10 ** 9] * (len(query) + 1), 0
    for t in target:
        diagonal, f = 0, -10 ** 9
        for i, q in enumerate(query, 1):
            e[i] = max(h[i] - gap_open, e[i] - gap_extend)
            f = max(h[i - 1] - gap_open, f - gap_extend)
            diagonal, h[i] = h[i], max(0, diagonal + score(q, t), e[i], f)
            best = max(best, h[i])
    return best


def columns_score(row, query, target, score, gap_open, gap_extend):
    i, j, total = int(row["qstart"]) - 1, int(row["tstart"]) - 1, 0
    expect(re.fullmatch(r"(\d+[=XID])+", row["cigar"]), f"CIGAR {row['cigar']}")
    for count, kind in re.findall(r"(\d+)(.)", row["cigar"]):
        for _ in range(int(count) if kind in "=X" else 0):
            expect((query[i] == target[j]) == (kind == "="), f"{kind} of {query[i]} and {target[j]}")
            total += score(query[i], target[j])
            i, j = i + 1, j + 1
        if kind in "ID":
            total -= gap_open + (int(count) - 1) * gap_extend
            i, j = i + int(count) * (kind == "I"), j + int(count) * (kind == "D")
    expect((i, j) == (int(row["qend"]), int(row["tend"])), f"ends of {row}")
    return total


def rows_of(text):
    lines = (text if isinstance(text, str) else text.decode()).split("\n")
    expect(lines[0].split("\t") == COLUMNS, f"header {lines[0]!r}")
    expect(lines[-1] == "", "a last line that ends")
    return [dict(zip(COLUMNS, line.split("\t"))) for line in lines[1:-1]]


def align(*arguments, **options):
    return rows_of(davit("align", *arguments, **options).out)


def fasta(records, width=60):
    return "".join(f">{name} about {name}\n" + "".join(letters[i:i + width] + "\n" for i in range(0, len(letters), width))
                   for name, letters in records)


def fastq(records):
    return "".join(f"@{name} about\n{letters}\n+\n{'@' * len(letters)}\n" for name, letters in records)


def relative(rng, letters, alphabet):
    return "".join(c if rng.random() < 0.7 else rng.choice(alphabet) + rng.choice(("", alphabet[0] * 5))
                   for c in letters if rng.random() < 0.95)


def bgzip(data):
    """Blocks of bgzip and its last one, which is empty."""
    def block(part):
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = deflate.compress(part) + deflate.flush()
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(packed) + 25)
        return head + packed + struct.pack("<II", zlib.crc32(part), len(part))
    half = len(data) // 2
    return [block(data[:half]), block(data[half:]), block(b"")]


def expect_rows(rows, queries, targets, score, gap_open, gap_extend, top):
    wanted = []
    for name, letters in queries:
        scores = [(-best_score(letters, t, score, gap_open, gap_extend), k) for k, (_, t) in enumerate(targets)]
        wanted += [(name, targets[k][0], -s) for s, k in sorted(scores)[:top] if s < 0]
    found = [(row["query"], row["target"], int(row["score"])) for row in rows]
    expect(found == wanted, f"rows {found}, expected {wanted}")
    for row in rows:
        own = columns_score(row, dict(queries)[row["query"]], dict(targets)[row["target"]], score, gap_open, gap_extend)
        expect(own == int(row["score"]), f"columns of {row} score {own}")


def test_dna():
    rng = random.Random(1)
    queries = [(f"q{k}", "".join(rng.choices("ACGT", k=k))) for k in (1, 30, 90)]
    targets = [(f"t{k}", relative(rng, queries[k % 3][1] or "A", "ACGT") + "ACGT"[k % 4]) for k in range(12)]
    put("q.fa", fasta(queries))
    put("t.fa", fasta(targets, 7))
    for place in PLACES:
        for top, gap_open, gap_extend in ((3, 5, 2), (100, 2, 2), (1, 12, 1)):
            rows = align("q.fa", "t.fa", "--match", 2, "--mismatch", -3, "--gap-open", gap_open, "--gap-extend", gap_extend,
                         "--top", top, "--cigar", "--devices", place, "--check")
            expect_rows(rows, queries, targets, lambda a, b: 2 if a == b else -3, gap_open, gap_extend, top)


def best_between_ends(mode, query, target, score, gap_open, gap_extend):
    """Gotoh again: all of both sequences, or from an edge to an edge."""
    def edge(k):
        return -gap_open - (k - 1) * gap_extend if k and mode == "global" else 0

    h, e, last_row = [edge(i) for i in range(len(query) + 1)], [-10 ** 9] * (len(query) + 1), []
    for j, t in enumerate(target, 1):
        diagonal, f = h[0], -10 ** 9
        h[0] = edge(j)
        for i, q in enumerate(query, 1):
            e[i] = max(h[i] - gap_open, e[i] - gap_extend)
            f = max(h[i - 1] - gap_open, f - gap_extend)
            diagonal, h[i] = h[i], max(diagonal + score(q, t), e[i], f)
        last_row.append(h[-1])
    return h[-1] if mode == "global" else max(last_row + h[1:])


def test_modes():
    rng = random.Random(4)
    queries = [(f"q{k}", "".join(rng.choices("ACGT", k=k))) for k in (1, 40, 90)]
    targets = [(f"t{k}", relative(rng, queries[k % 3][1] or "A", "ACGT") + "ACGT"[k % 4]) for k in range(9)]
    put("q.fa", fasta(queries))
    put("t.fa", fasta(targets, 7))
    for mode in ("global", "semi"):
        for place, (gap_open, gap_extend) in zip(PLACES, ((5, 2), (2, 2), (12, 1))):
            rows = align("q.fa", "t.fa", "--match", 2, "--mismatch", -3, "--gap-open", gap_open, "--gap-extend", gap_extend,
                         "--mode", mode, "--cigar", "--devices", place, "--check")
            found = sorted((row["query"], row["target"], int(row["score"])) for row in rows)
            wanted = sorted((q, t, best_between_ends(mode, a, b, dna_score, gap_open, gap_extend)) for q, a in queries for t, b in targets)
            expect(found == wanted, f"{mode}: {found}, expected {wanted}")
            for row in rows:
                query, target = dict(queries)[row["query"]], dict(targets)[row["target"]]
                own = columns_score(row, query, target, dna_score, gap_open, gap_extend)
                expect(own == int(row["score"]), f"columns of {row} score {own}")
                begins, ends = (int(row["qstart"]), int(row["tstart"])), (int(row["qend"]), int(row["tend"]))
                whole = begins == (1, 1), ends == (len(query), len(target))
                reach = 1 in begins, ends[0] == len(query) or ends[1] == len(target)
                expect(all(whole if mode == "global" else reach), f"the stretches of {mode}: {row}")
    rows = align("q.fa", "t.fa", "--dna", "--mode", "global", "--min-score", -5, "--top", 2)
    expect(all(int(row["score"]) >= -5 and row["evalue"] == row["bits"] == "*" for row in rows), f"{rows}")
    result = run_json("align", "q.fa", "t.fa", "--dna", "--mode", "semi")
    expect(result["mode"] == "semi" and result["alignments"] == 27, f"{result}")
    refuse(("align", "q.fa", "t.fa", "--mode", "global", "--evalue", 1, "--quiet"), "there are statistics only for local", code=2)
    davit("align", "q.fa", "t.fa", "--mode", "globally", code=2)


def test_pairs():
    rng = random.Random(7)
    queries = [(f"q{k // 2}", "".join(rng.choices("ACGT", k=rng.randint(1, 80)))) for k in range(40)]  # names twice
    targets = [(f"t{k // 2}", relative(rng, letters, "ACGT") + "A") for k, (_, letters) in enumerate(queries)]
    put("q.fa", fasta(queries))
    put("t.fa", fasta(targets))
    own = ("--match", 2, "--mismatch", -3, "--gap-open", 5, "--gap-extend", 2, "--pairs", "--cigar", "--check")
    for place, mode in zip(PLACES, ("local", "global", "semi")):  # test_modes() has other pairings
        rows = align("q.fa", "t.fa", "--mode", mode, "--devices", place, *own)
        wanted = [(q, t, best_score(a, b, dna_score, 5, 2) if mode == "local" else best_between_ends(mode, a, b, dna_score, 5, 2))
                  for (q, a), (t, b) in zip(queries, targets)]
        kept = [k for k, row in enumerate(wanted) if row[2] > 0 or mode != "local"]
        found = [(row["query"], row["target"], int(row["score"])) for row in rows]
        expect(found == [wanted[k] for k in kept], f"{mode}: {found}, expected {wanted}")
        for k, row in zip(kept, rows):
            expect(columns_score(row, queries[k][1], targets[k][1], dna_score, 5, 2) == int(row["score"]), f"columns of {row}")
            expect(row["evalue"] == row["bits"] == "*", f"{row}")
    for mode in ("local", "global", "semi"):
        free = align("q.fa", "t.fa", "--mode", mode, "--band", 200, *own)
        expect(free == align("q.fa", "t.fa", "--mode", mode, *own), "a band as wide as the matrix")
        near = align("q.fa", "t.fa", "--mode", mode, "--band", 1, *own)
        expect(all(int(a["score"]) <= int(b["score"]) for a, b in zip(near, free) if len(near) == len(free)), "a band")
    minus = align("q.fa", "t.fa", "--strand", "minus", "--mode", "semi", *own)
    back = put("r.fa", fasta([(name, reverse_complement(letters)) for name, letters in queries]))
    plus = align(back, "t.fa", "--mode", "semi", *own)
    expect([row["score"] for row in minus] == [row["score"] for row in plus], "the minus strand")
    put("d.fa", fasta([(f"t{k}", letters) for k, (_, letters) in enumerate(targets)]))
    sam = davit("align", "q.fa", "d.fa", "--pairs", "--mode", "global", "--format", "sam", "--dna").out.decode().splitlines()
    expect(len([line for line in sam if not line.startswith("@")]) == 40, "a line of SAM for each pair")
    refuse(("align", "q.fa", "t.fa", "--pairs", "--format", "sam", "--dna"), "t.fa", "a unique name")
    result = run_json("align", "q.fa", "t.fa", "--pairs", "--dna", "--band", 9)
    cells = sum(len(a) * len(b) for (_, a), (_, b) in zip(queries, targets))
    expect(result["band"] == 9 and result["cells"] == cells, f"{result}")
    check_extensions(queries, targets, own)
    put("short.fa", fasta(queries[:3]))
    refuse(("align", "short.fa", "t.fa", "--pairs"), "t.fa", "short.fa", "40 and 3")
    for words in (("--strand", "both"), ("--top", 3), ("--evalue", 1)):
        davit("align", "q.fa", "t.fa", "--pairs", "--dna", *words, code=2)
    davit("align", "q.fa", "t.fa", "--band", 3, code=2)
    davit("align", "q.fa", "t.fa", "--x-drop", 3, code=2)
    davit("align", "q.fa", "t.fa", "--dna", "--pairs", "--x-drop", 3, code=2)
    davit("align", "q.fa", "d.fa", "--dna", "--mode", "extend", code=2)


def best_extension(a, b, score, first, more):
    """The score of the best alignment of a beginning of a with one of b."""
    none = float("-inf")
    above = [0] + [-first - (j - 1) * more for j in range(1, len(b) + 1)]
    down, best = [none] * (len(b) + 1), 0
    for i in range(1, len(a) + 1):
        row, right = [-first - (i - 1) * more], none
        for j in range(1, len(b) + 1):
            down[j] = max(down[j] - more, above[j] - first)
            right = max(right - more, row[j - 1] - first)
            row.append(max(above[j - 1] + score(a[i - 1], b[j - 1]), down[j], right))
        best = max(best, *row)
        above = row
    return best


def check_extensions(queries, targets, own):
    wanted = [best_extension(a, b, dna_score, 5, 2) for (_, a), (_, b) in zip(queries, targets)]
    for drop in ((), ("--x-drop", 10000)):
        rows = align("q.fa", "t.fa", "--mode", "extend", *drop, *own)
        expect([int(row["score"]) for row in rows] == [score for score in wanted if score > 0], f"extensions: {rows}, {wanted}")
        expect(all(row["qstart"] == row["tstart"] == "1" for row in rows), f"{rows}")
    near = align("q.fa", "t.fa", "--mode", "extend", "--x-drop", 3, *own)
    expect(sum(int(row["score"]) for row in near) < sum(wanted), f"{near}")
    tail = "ACGTTGCAAC" * 4
    put("e.fa", fasta([("q", tail + "A" * 40)]))
    put("f.fa", fasta([("t", tail + "C" * 40)]))
    lines = json.loads(davit("align", "e.fa", "f.fa", "--pairs", "--dna", "--mode", "extend", "--x-drop", 20, "--format", "json").out)
    expect(lines[0]["dropped"] is True and lines[0]["score"] == 80 and lines[0]["qend"] == 40, f"{lines}")
    result = run_json("align", "e.fa", "f.fa", "--pairs", "--dna", "--mode", "extend", "--x-drop", 500)
    expect(result["x_drop"] == 500 and result["dropped"] == 0 and result["mode"] == "extend", f"{result}")
    expect(run_json("align", "e.fa", "f.fa", "--pairs", "--dna", "--mode", "extend", "--x-drop", 20)["dropped"] == 1, "dropped")


def reverse_complement(letters):
    return letters[::-1].translate(str.maketrans("ACGT", "TGCA"))


def dna_score(a, b):
    return 2 if a == b else -3


def test_letters_decide():
    put("q.fa", ">q\nACGTTGCAGTAN\n")
    put("u.fa", ">t\nggACGUUGCAGuccc\n")
    put("p.fa", ">p\nACGTEUGCAOT\n")
    result = davit("align", "q.fa", "u.fa", "--cigar")
    expect(result.err.startswith("davit align: ") and result.err.count("\n") == 1 and "--protein" in result.err, result.err)
    rows = rows_of(result.out)
    expect([(row["score"], row["cigar"]) for row in rows] == [("20", "10=")], f"{rows}")
    explicit = ("--match", 2, "--mismatch", -3, "--gap-open", 7, "--gap-extend", 2)
    for options in (("--dna",), explicit, ("--dna", *explicit)):
        result = davit("align", "q.fa", "u.fa", "--cigar", *options)
        expect(rows_of(result.out) == rows and not result.err, f"{options}: {result}")
    expect(not davit("align", "q.fa", "u.fa", "--quiet").err, "--quiet")
    protein = davit("align", "q.fa", "p.fa", "--cigar")
    expect("amino acids" in protein.err and "--dna" in protein.err and rows_of(protein.out) == align("q.fa", "p.fa", "--protein", "--cigar"), "one letter of amino acids")
    put("x.fa", ">p\nACGTEXGCAXT\n")
    expect(rows_of(protein.out) == align("q.fa", "x.fa", "--cigar", "--matrix", "blosum62"), "U and O count as X")
    expect(run_json("align", "q.fa", "u.fa", "--quiet")["matrix"] == "dna", "the matrix's name")
    refuse(("align", "q.fa", "p.fa", "--dna"), "'E'", "ACGTN")


def test_strands():
    rng = random.Random(6)
    queries = [(f"q{k}", "".join(rng.choices("ACGT", k=40))) for k in range(3)]
    turned = [(f"{name}-", reverse_complement(letters)) for name, letters in queries]
    targets = [(f"t{k}", relative(rng, (queries + turned)[k % 6][1], "ACGT")) for k in range(9)]
    put("q.fa", fasta(queries))
    put("r.fa", fasta(turned))
    put("t.fa", fasta(targets, 9))
    for place in PLACES:
        options = ("--dna", "--cigar", "--devices", place, "--check", "--top", 5)
        plus, minus, both = (align("q.fa", "t.fa", "--strand", strand, *options) for strand in ("plus", "minus", "both"))
        wanted = []
        for own in align("r.fa", "t.fa", *options):
            begin, end = 41 - int(own["qend"]), 41 - int(own["qstart"])
            wanted.append(dict(own, query=own["query"][:-1], qstart=str(begin), qend=str(end), strand="-"))
        expect(minus == wanted, f"{minus}, expected {wanted}")
        order = [name for name, _ in targets]
        merged = sorted(plus + minus, key=lambda row: (row["query"], -int(row["score"]), order.index(row["target"]), row["strand"]))
        wanted = [row for name, _ in queries for row in [row for row in merged if row["query"] == name][:5]]
        expect(both == wanted, f"{both}, expected {wanted}")
    put("p.fa", ">p\nWWWW\n")
    refuse(("align", "p.fa", "p.fa", "--strand", "both"), "--dna", code=2)


def test_expected_by_chance():
    rng = random.Random(7)
    queries = [(f"q{k}", "".join(rng.choices("ACGT", k=60))) for k in range(2)]
    targets = [(f"t{k}", relative(rng, queries[k % 2][1], "ACGT")) for k in range(12)]
    put("q.fa", fasta(queries))
    put("t.fa", fasta(targets))
    all_rows = align("q.fa", "t.fa", "--dna", "--top", 12)
    symbols = sum(len(letters) for _, letters in targets)
    expects = []
    for row in all_rows:
        even = int(row["score"]) // 2 * 2
        expects.append(0.41 * 60 * symbols * math.exp(-0.625 * even))  # blastn's of 2, -3, gaps 5 and 2
        expect(row["evalue"] == f"{expects[-1]:.3g}", f"{row}, expected {expects[-1]}")
        expect(row["bits"] == f"{(0.625 * even - math.log(0.41)) / math.log(2):.1f}", f"{row}")
    for limit in (1e-9, 1e-3, 10):
        wanted = [row for row, e in zip(all_rows, expects) if e <= limit]
        expect(align("q.fa", "t.fa", "--dna", "--top", 12, "--evalue", limit, "--check") == wanted, f"--evalue {limit}")
    limit = int(all_rows[0]["score"])
    wanted = [row for row in all_rows if int(row["score"]) >= limit]
    expect(0 < len(wanted) < len(all_rows), f"{len(wanted)} of {len(all_rows)}")
    expect(align("q.fa", "t.fa", "--dna", "--top", 12, "--min-score", limit, "--check") == wanted, "--min-score")
    put("p.fa", ">p\nWARNDCQEW\n")
    row, = align("p.fa", "p.fa", "--gap-open", 12)
    wanted = 0.041 * 81 * math.exp(-0.267 * int(row["score"]))
    expect(row["evalue"] == f"{wanted:.3g}", f"{row}, expected {wanted}")
    expect([row["evalue"] for row in align("p.fa", "p.fa", "--gap-open", 30)] == ["*"], "no figures are published")
    refuse(("align", "p.fa", "p.fa", "--gap-open", 30, "--evalue", 1), "--evalue", "--min-score", code=2)
    # BLAST's figures are those of its BLOSUM80, in half bits; davit's is in thirds, and its scores are half as high again.
    row, = align("p.fa", "p.fa", "--matrix", "blosum80", "--gap-open", 12)
    expect(row["score"] == "97" and row["evalue"] == row["bits"] == "*", f"statistics of another matrix: {row}")


# BLAST's own defaults for a matrix (existence, extension, lambda, K), and the last line of its table.
PUBLISHED = {"BLOSUM45": ((14, 2, 0.195, 0.032), (16, 1, 0.176, 0.016)), "BLOSUM50": ((13, 2, 0.193, 0.035), (15, 1, 0.171, 0.015)),
             "BLOSUM62": ((11, 1, 0.267, 0.041), (9, 1, 0.206, 0.010)), "BLOSUM90": ((10, 1, 0.290, 0.075), (9, 1, 0.265, 0.044)),
             "PAM30": ((9, 1, 0.294, 0.11), (8, 1, 0.270, 0.072)), "PAM70": ((10, 1, 0.291, 0.091), (9, 1, 0.270, 0.060)),
             "PAM250": ((14, 2, 0.182, 0.024), (17, 1, 0.171, 0.014))}


def test_statistics_of_matrices():
    rng = random.Random(9)
    query = "".join(rng.choices("ARNDCQEGHILKMFPSTWYV", k=30))
    put("q.fa", fasta([("q", query)]))
    put("t.fa", fasta([("t", "MKV" + query[:14] + "W" + query[16:] + "GG")]))
    symbols = 30 * (3 + 14 + 1 + 14 + 2)
    for name, lines in PUBLISHED.items():
        for existence, extension, rate, k in lines:
            row, = align("q.fa", "t.fa", "--matrix", name, "--gap-open", existence + extension, "--gap-extend", extension)
            score = int(row["score"])
            expect(score > 40 and row["evalue"] == f"{k * symbols * math.exp(-rate * score):.3g}", f"{name} {existence}/{extension}: {row}")
            expect(row["bits"] == f"{(rate * score - math.log(k)) / math.log(2):.1f}", f"{name} {existence}/{extension}: {row}")
    for options, words in ((("--matrix", "pam70", "--gap-open", 30), "with --gap-open 30 and --gap-extend 1, only with 10/2 9/2 8/2 12/1 11/1 10/1"),
                           (("--dna", "--match", 9, "--mismatch", -9), "with --gap-open 7 and --gap-extend 2\n"),
                           (("--matrix", "blosum80"), "in half bits; davit's is in third bits")):
        if "--dna" in options:
            put("q.fa", ">q\nACGTACGT\n")
            put("t.fa", ">t\nACGTACGT\n")
        result = davit("align", "q.fa", "t.fa", *options)
        row, = rows_of(result.out)
        expect(row["evalue"] == row["bits"] == "*", f"{options}: {row}")
        expect(result.err.startswith("davit align: evalue and bits are unknown: ") and result.err.count("\n") == 1 and words in result.err,
               f"{options}: {result.err}")
        expect(davit("align", "q.fa", "t.fa", *options, "--quiet").err == "", "--quiet")
        expect(davit("align", "q.fa", "t.fa", *options, "--format", "paf").err == "", "PAF has no such columns")
        refuse(("align", "q.fa", "t.fa", *options, "--evalue", 1), "--evalue: ", words.rstrip(), "; --min-score works instead", code=2)


def counts_of(cigar):
    runs = [(int(count), kind) for count, kind in re.findall(r"(\d+)(.)", cigar)]
    return {kind: sum(count for count, k in runs if k == kind) for kind in "=XID"}, sum(kind in "ID" for _, kind in runs)


def test_formats_of_lines():
    rng = random.Random(8)
    queries = [(f"q{k}", "".join(rng.choices("ACGT", k=50))) for k in range(3)] + [("none", "TTTTT")]
    targets = [(f"t{k}", "AC" + relative(rng, queries[k % 3][1], "ACGT") + "GA") for k in range(6)]
    targets = [(name, reverse_complement(letters) if k % 2 else letters) for k, (name, letters) in enumerate(targets)]
    put("q.fa", fasta(queries))
    put("t.fa", fasta(targets))
    common = ("align", "q.fa", "t.fa", "--dna", "--strand", "both", "--top", 3, "--min-score", 20)
    rows = rows_of(davit(*common, "--cigar").out)
    lengths = {name: len(letters) for name, letters in queries + targets}
    lines = {kind: [line.split("\t") for line in davit(*common, "--format", kind).out.decode().splitlines()] for kind in ("paf", "blast6", "sam")}
    expect({row["strand"] for row in rows} == {"+", "-"}, "hits on both strands")
    expect(len(lines["paf"]) == len(lines["blast6"]) == len(rows), f"{lines}")
    for row, paf, blast in zip(rows, lines["paf"], lines["blast6"]):
        runs, gaps = counts_of(row["cigar"])
        total, q0, q1, t0, t1 = sum(runs.values()), int(row["qstart"]) - 1, int(row["qend"]), int(row["tstart"]) - 1, int(row["tend"])
        names = row["query"], row["target"]
        identity = 100 * runs["="] / total
        expect(row["identity"] == f"{identity:.2f}" and row["coverage"] == f"{100 * (q1 - q0) / lengths[names[0]]:.2f}", f"{row}")
        wanted = [names[0], lengths[names[0]], q0, q1, row["strand"], names[1], lengths[names[1]], t0, t1, runs["="], total, 255,
                  f"AS:i:{row['score']}", f"NM:i:{total - runs['=']}", f"cg:Z:{row['cigar']}"]
        expect(paf == [str(word) for word in wanted], f"{paf}, expected {wanted}")
        ends = (t1, t0 + 1) if row["strand"] == "-" else (t0 + 1, t1)
        wanted = [*names, f"{identity:.3f}", total, runs["X"], gaps, q0 + 1, q1, *ends, row["evalue"], row["bits"]]
        expect(blast == [str(word) for word in wanted], f"{blast}, expected {wanted}")
    expect_json(rows, json.loads(davit(*common, "--format", "json").out))
    head = [line for line in lines["sam"] if line[0].startswith("@")]
    expect([line[1:] for line in head if line[0] == "@SQ"] == [[f"SN:{n}", f"LN:{len(s)}"] for n, s in targets], f"{head}")
    check_sam([line for line in lines["sam"] if line not in head], rows, dict(queries))
    davit(*common, "--format", "sam", "-o", "o.sam")
    if shutil.which("samtools"):
        read = subprocess.run(["samtools", "view", "o.sam"], capture_output=True, text=True, timeout=LIMIT_S)
        expect(read.returncode == 0 and not read.stderr, f"samtools: {read.stderr}")
        expect([line.split("\t") for line in read.stdout.splitlines()] == lines["sam"][len(head):], "as samtools reads it")
        flags = subprocess.run(["samtools", "flagstat", "o.sam"], capture_output=True, text=True, timeout=LIMIT_S).stdout
        expect("4 + 0 primary\n" in flags and "3 + 0 primary mapped" in flags, flags)
    put("p.fa", ">p\nWWWW\n")
    blast = davit("align", "p.fa", "p.fa", "--gap-open", 40, "--format", "blast6").out.decode().split()
    expect(blast[-2:] == ["nan", "nan"], "unknown statistics")
    row, = json.loads(davit("align", "p.fa", "p.fa", "--gap-open", 40, "--format", "json").out)
    expect(row["evalue"] is None and row["bits"] is None, "unknown statistics are null")
    expect(json.loads(davit("align", "p.fa", "p.fa", "--min-score", 1000, "--format", "json").out) == [], "no rows")
    davit("align", "p.fa", "p.fa", "--format", "json", "--json", "-o", "rows.json")
    expect(len(json.load(open("rows.json"))) == 1, "rows in a file beside the report")


def expect_json(rows, found):
    """The values of TSV, as numbers."""
    def short(key, value):
        return (f"{value:.2f}" if key in ("identity", "coverage") else f"{value:.3g}" if key == "evalue" else
                f"{value:.1f}" if key == "bits" else str(value))
    texts = [{key: short(key, value) for key, value in row.items()} for row in found]
    expect(texts == rows, f"{texts}, expected {rows}")


def check_sam(lines, rows, queries):
    """SAM's lines against those of TSV; a query without an alignment has a line too."""
    mapped = [line for line in lines if line[1] != "4"]
    expect([line[0] for line in lines if line[1] == "4"] == ["none"], f"{lines}")
    expect(len(mapped) == len(rows), f"{mapped}")
    seen = set()
    for row, line in zip(rows, mapped):
        letters = queries[row["query"]]
        minus, primary = row["strand"] == "-", row["query"] not in seen
        seen.add(row["query"])
        clips = int(row["qstart"]) - 1, len(letters) - int(row["qend"])
        before, after = reversed(clips) if minus else clips
        cigar = (f"{before}S" if before else "") + row["cigar"] + (f"{after}S" if after else "")
        runs, _ = counts_of(row["cigar"])
        wanted = [row["query"], str(16 * minus + 256 * (not primary)), row["target"], row["tstart"], "255", cigar, "*", "0", "0",
                  "*" if not primary else reverse_complement(letters) if minus else letters, "*", f"AS:i:{row['score']}",
                  f"NM:i:{runs['X'] + runs['I'] + runs['D']}"]
        expect(line == wanted, f"{line}, expected {wanted}")


def test_matrix_file():
    letters = "ABC*"
    scores = {"AA": 5, "BB": 4, "CC": 6, "**": 1, "AB": -2, "BA": 1, "AC": -4, "CA": -3}
    rows = ["# a comment", "", "   C  A B *"]
    for q in "BAC*":
        rows.append(f"{q.lower()} " + " ".join(str(scores.get(q + t, -5)) for t in "CAB*"))
    put("m.txt", "\n".join(rows) + "\n")
    rng = random.Random(2)
    queries = [("q", "".join(rng.choices(letters, k=50)))]
    targets = [(f"t{k}", relative(rng, queries[0][1], letters)) for k in range(4)]
    put("q.fa", fasta(queries))
    put("t.fa", fasta(targets).replace("A", "a"))
    put("t.fa", fasta(targets))
    put("m.gz", gzip.compress("\r\n".join(rows).encode()))
    for name in ("m.txt", "m.gz"):
        rows = align("q.fa", "t.fa", "--matrix", name, "--gap-open", 7, "--cigar", "--check")
        expect_rows(rows, queries, targets, lambda a, b: scores.get(a + b, -5), 7, 1, 10)


def test_protein():
    put("q.fa", ">q\nHEAGAWGHEE\n")
    put("t.fa", ">t\npawheae\n>none\nG\n>u\nHEAGAWGHEE\n")
    rows = align("q.fa", "t.fa", "--cigar")
    expect([row["target"] for row in rows] == ["u", "t", "none"], f"{rows}")
    expect(rows[0]["cigar"] == "10=" and rows[0]["score"] == "62", f"{rows[0]}")
    expect([rows[1][key] for key in COLUMNS[2:8]] == ["17", "5", "9", "2", "5", "2=1I2="], f"{rows[1]}")
    expect(align("q.fa", "t.fa") == [dict(row, cigar="*", identity="*") for row in rows], "without --cigar both columns are *")
    expect(align("q.fa", "t.fa", "--matrix", "BLOSUM62", "--gap-open", 11, "--gap-extend=1", "--cigar") == rows, "defaults")
    put("none.fa", ">p\nPPPP\n")
    put("g.fa", ">g\nGGG\n")
    expect(align("none.fa", "g.fa") == [], "pairs that score 0 are left out")
    put("n.fa", ">n\nACGTNU\n")
    rows = align("n.fa", "n.fa", "--match", 1, "--mismatch", -1, "--gap-open", 3, "--cigar")
    expect([row["cigar"] for row in rows] == ["4="], f"N matches nothing: {rows}")
    put("iupac.fa", "".join(f">{k}\nACGT{k}U\n" for k in "RYSWKMBDHVrysn"))
    rows = align("n.fa", "iupac.fa", "--match", 1, "--mismatch", -1, "--gap-open", 3, "--cigar", "--top", 20)
    expect([row["cigar"] for row in rows] == ["4="] * 14, f"ambiguous bases are N: {rows}")
    rows = align("iupac.fa", "iupac.fa", "--match", 2, "--mismatch", 0, "--gap-open", 3, "--cigar", "--top", 20)
    expect([row["score"] for row in rows] == ["10"] * 14 * 14, "ambiguous bases do not match themselves")


def test_formats():
    rng = random.Random(3)
    records = [(f"r{k}", "".join(rng.choices(AMINO, k=k * 7 + 1))) for k in range(9)]
    plain = put("p.fa", fasta(records))
    wanted = align(plain, plain, "--cigar")
    text = fasta(records).encode()
    put("lower.fa", text.replace(b" about", b"\t\xff").lower())
    put("crlf.fa", text.replace(b"\n", b"\r\n"))
    put("mark.fa", b"\xef\xbb\xbf" + text)
    put("loose.fa", b"\n\n" + text.replace(b">", b"\n \n>").strip())
    put("one.fa.gz", gzip.compress(text))
    put("two.fa.gz", gzip.compress(text[:300]) + gzip.compress(text[300:]))
    put("block.fa.gz", b"".join(bgzip(text)))
    put("p.fq", fastq(records))
    put("p.fq.gz", gzip.compress(fastq(records).encode()))
    name, letters = records[5]
    put("wrapped.fq", fastq(records).replace(f"{letters}\n+\n{'@' * len(letters)}",
                                             f"{letters[:9]}\n{letters[9:]}\n+{name}\n{'+' * 20}\n{'~' * (len(letters) - 20)}"))
    for name in listing():
        if name != plain:
            expect(align(plain, name, "--cigar") == wanted, f"{name} is {plain}")
    for data in (text, gzip.compress(text)):
        expect(align(plain, "-", "--cigar", data=data) == wanted, "standard input")
        expect(align("-", plain, "--cigar", data=data) == wanted, "standard input as query")


def test_report():
    put("q.fa", ">a\nWWWWW\n>b\nAAAA\n")
    put("t.fa", ">t\nWWAWW\n>u\nAAAA\n>v\nAAAA\n")
    report = run_json("align", "q.fa", "t.fa", "--check", "--repeat", 3, "--warmup", 1, "-o", "o.tsv")
    expect_keys(report, "gcups", "seconds_transfer_included", "matrix", "gap_open", "gap_extend", "queries", "targets", "cells",
                "alignments", "check", "error", "bound")
    expect(report["cells"] == 9 * 13 and report["queries"] == 2 and report["targets"] == 3 and report["error"] == 0, f"{report}")
    rows = rows_of(open("o.tsv").read())
    expect(report["alignments"] == len(rows) == 4, f"{report} {rows}")
    expect([row["target"] for row in rows] == ["t", "u", "v", "t"], f"ties in the order of the targets: {rows}")
    for place in PLACES:
        expect(run_json("align", "q.fa", "t.fa", "--devices", place, "--check")["alignments"] == 4, place)
    result = davit("align", "q.fa", "t.fa", "--top", 1, "-v")
    expect(len(rows_of(result.out)) == 2 and "gcups: " in result.err, f"figures beside the lines: {result.err}")
    result = davit("align", "q.fa", "t.fa", "--quiet", "-o", "o.tsv")
    expect(not result.out and not result.err, f"nothing but the file: {result}")


def test_progress():
    rng = random.Random(5)
    put("q.fa", fasta([(f"q{k}", "".join(rng.choices(AMINO, k=3000))) for k in range(40)]))
    put("t.fa", fasta([(f"t{k}", "".join(rng.choices(AMINO, k=3000))) for k in range(2000)]))
    watch(r"align: [1-9]\d* of 40 sequences, \d+ s, about \d+ s left", "align", "q.fa", "t.fa", "--repeat", 100)


def bad(name, content, *words, options=()):
    """Bad as query and as target, with an output that was there, and with standard output."""
    if content is not None:
        put(name, content)
    put("good.fa", ">g\nACGT\n")
    put("o.tsv", "old")
    for operands in ((name, "good.fa"), ("good.fa", name)):
        refuse(("align", *operands, *options, "-o", "o.tsv"), name, *words)
        refuse(("align", *operands, *options))
    expect(open("o.tsv").read() == "old", "an older file stays")


def test_bad_fasta():
    bad("b.fa", ">a\nACGT\n>b x\nAC\nG?T\n", "line 5", "'b'", "letter 4", "'?'", "ARNDCQEGHILKMFPSTWYVBZX*")
    bad("b.fa", ">a\nACET\n", "line 2", "'a'", "letter 3", "'E'", "ACGTN", options=("--match", 1, "--mismatch", -1))
    bad("b.fa", ">a\nAC1T\n", "line 2", "letter 3", "'1'")
    bad("b.fa", b">a\nAC\xe4T\n", "line 2", "letter 3", "byte 228")
    bad("b.fa", b">a\nAC\0T\n", "line 2", "letter 3", "byte 0")
    bad("b.fa", ">a\n>b\nACGT\n", "line 1", "'a'", "letters")
    bad("b.fa", ">a\nACGT\n>b\n", "line 3", "'b'", "letters")
    bad("b.fa", ">a\n\n \n", "line 1", "'a'", "letters")
    bad("b.fa", ">\nACGT\n", "line 1", "record 1", "name")
    bad("b.fa", ">a\nACGT\n> b\nACGT\n", "line 3", "record 2", "name")
    bad("b.fa", "", "b.fa: expected '>'", "end of the file")
    bad("b.fa", b"\xef\xbb\xbfACGT\n", "line 1", "'>'")
    bad("b.fa", ">a\rACGT\r>b\rACGT\r", "line 1", "record 1", "line feed", "carriage return")
    bad("b.fa", ">a\nACGT\n>b\rACGT\r", "line 3", "record 2", "line feed", "carriage return")
    bad("b.fa", "\n\n", "end of the file")
    bad("b.fa", "ACGT\n", "line 1", "'>'")
    bad("b.fa", "\n;a\nACGT\n", "line 2", "'>'")
    bad("b.fa", ">a\nACGT\n@b\nAC\n", "line 3", "'@'")
    bad("missing.fa", None, "readable")
    os.mkdir("folder")
    bad("folder", None, "readable", "directory")


def test_bad_fastq():
    bad("b.fq", "@a\nACGT\n+\n!!!\n", "'a'", "4 quality", "found 3")
    bad("b.fq", "@a\nACGT\n+\n!!!!!\n", "line 4", "'a'", "4 quality", "found 5")
    bad("b.fq", "@a\nACGT\n+\n!!!\n@b\nAC\n+\n!!\n", "line 5", "'a'", "4 quality", "found 5")
    bad("b.fq", "@a\nACGT\n+\n!!!!\n@b\nAC\n", "'b'", "'+'", "end of the file")
    bad("b.fq", "@a\nACGT\n+\n!!!!\n@b\nAC\n+\n", "'b'", "2 quality", "found 0")
    bad("b.fq", "@a\nACGT\n+\n!!!!\n@b\n+\n\n", "line 5", "'b'", "letters")
    bad("b.fq", "@a\nACGT\n+\n!! !\n", "line 4", "quality 3", "byte 32")
    bad("b.fq", "@a\nACGT\n+\n!!!!\n>b\nAC\n", "line 5", "record 2", "'@'")
    bad("b.fq", "@a\nAC.T\n+\n!!!!\n", "line 2", "letter 3")


def test_distinct_names():
    """Reads of a pair share a name, so queries may; a target's name says where."""
    put("t.fa", ">t\nACGTACGTAC\n>u\nGGGGCCCCGG\n")
    reads = "@r 1:N\nACGTACG\n+\nIIIIIII\n@r 2:N\nGGGGCC\n+\nIIIIII\n"
    for name in (put("pairs.fq", reads), put("pairs.fa", ">r/0\nTTTT\n>r\nACGTACG\n>r\nGGGGCC\n")):
        rows = align(name, "t.fa", "--top", 1, "--check", "--min-score", 5)
        expect([(row["query"], row["target"]) for row in rows] == [("r", "t"), ("r", "u")], f"{rows}")
        refuse(("align", "t.fa", name, "-o", "o.tsv"), f"{name}: line 5: ", "'r'", "line 1" if name[-1] == "q" else "line 3")
        sam = davit("align", name, "t.fa", "--top", 1, "--format", "sam").out
        expect([line.split(b"\t")[2] for line in sam.splitlines() if line.startswith(b"r\t")] == [b"t", b"u"], f"{sam}")
    put("b.fa", ">a\nACGT\n>b\nAC\n>b\nGG\n>a\nA\n")
    refuse(("align", "t.fa", "b.fa"), "b.fa: line 5: ", "'b'", "line 3")


SAM_QUERY = re.compile(r"(?!\*$)[!-?A-~]{1,254}")
SAM_TARGET = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")


def as_samtools_reads(path):
    """Names of queries and targets."""
    def tool(*arguments):
        done = subprocess.run(["samtools", *arguments], capture_output=True, text=True, timeout=LIMIT_S)
        expect(done.returncode == 0 and not done.stderr, f"samtools {arguments}: {done.stderr}")
        return done.stdout.splitlines()
    tool("quickcheck", "-v", "-u", path)
    tool("view", "-b", "-o", "o.bam", path)
    lines = [line.split("\t") for line in tool("view", path)]
    head = tool("view", "-H", "o.bam")
    expect([line.split("\t") for line in tool("view", "o.bam")] == lines, "the same in BAM")
    return [line[0] for line in lines], [line.split("\t")[1][3:] for line in head if line.startswith("@SQ")]


def test_names_of_sam():
    """What SAM cannot hold is refused with file, line and name; what is written, samtools reads."""
    rng = random.Random(10)
    signs = [chr(c) for c in range(33, 127)]
    names = ["@q", "*", "=x", "q@", "a" * 254, "a" * 255, "**", "*a", "a*", "x=1", ">", "(x)", "a,b", "a\\b", '"a"', "a[1]", "{a}", "<a>", "a'b", "`",
             *signs, *("".join(rng.choices(signs, k=rng.randint(1, 30))) for _ in range(40)), "é", "\x7f"]
    put("good.fa", ">g\nACGTACGT\n")
    for kind, right in ((0, SAM_QUERY), (1, SAM_TARGET)):
        files = ["good.fa", "good.fa"]
        files[kind] = "names.fa"
        held = [name for name in names if right.fullmatch(name)]
        for name in [name for name in names if not right.fullmatch(name)][::EACH]:
            put("names.fa", f">fine\nACGT\n>{name} x\nACGT\n")
            refuse(("align", *files, "--format", "sam", "-o", "o.sam"), "names.fa: line 3: expected a name that SAM allows", "found '")
        put("names.fa", "".join(f">{name}\nACGTACGT\n" for name in dict.fromkeys(held)))
        davit("align", *files, "--format", "sam", "--top", 1000, "-o", "o.sam")
        if shutil.which("samtools"):
            expect(as_samtools_reads("o.sam")[kind] == list(dict.fromkeys(held)), f"names of {kind} that samtools reads")
    refuse(("align", put("q.fa", ">@q\nACGT\n"), "good.fa", "--format", "sam"), "q.fa: line 1: ", "'@q'")


def test_names_of_other_formats():
    """Control characters are refused everywhere, other bytes than UTF-8 in JSON; the rest comes back as it was."""
    put("good.fa", b">g\nACGTACGT\n")
    formats, side = ("tsv", "paf", "blast6", "json"), 0
    for name, refused in ((b"a\x1b[31m", ("tsv", "paf", "blast6")), (b"\x01", ("tsv", "paf", "blast6")), (b"a\x7f", ("tsv", "paf", "blast6")),
                          (b"a\xc2\x9b", ("tsv", "paf", "blast6")), (b"\x9bm", formats), (b"n\xe9e", ("json",)), (b"\xc3\xa9", ()),
                          (b"\xed\xa0\x80", ("tsv", "paf", "blast6", "json")), (b"\xf4\x90\x80\x80", ("tsv", "paf", "blast6", "json")),
                          (b"\xc0\xaf", ("json",)), (b'"\\@*=', ())):
        put("names.fa", b">" + name + b" x\nACGTACGT\n")
        for kind in formats:
            side = side ^ 1
            common = ("align", *(("names.fa", "good.fa") if side else ("good.fa", "names.fa")), "--format", kind, "--devices", "cpu")
            if kind in refused:
                refuse((*common, "-o", "o"), "names.fa: line 1: expected a name ", "UTF-8" if kind == "json" else "control")
                continue
            out = davit(*common).out
            expect(name in out or (kind == "json" and json.loads(out)[0]["query" if side else "target"] == name.decode()), f"{name} in {kind}: {out}")
        side = side ^ 1


def test_names_on_a_terminal():
    for name in (b"\x1b]0;x\x07", b"\x9b31m", b"\xc2\x9b31m", b"\xe9", b"\x7f"):
        put("b.fa", b">" + name + b"\nAC?T\n")
        put("d.fa", (b">" + name + b"\nACGT\n") * 2)
        put(b"f" + name + b".fa", b"no sequence")
        put("good.fa", b">g\nACGTACGT\n")
        for arguments in (("b.fa", "good.fa"), ("good.fa", "d.fa"), (os.fsdecode(b"f" + name + b".fa"), "good.fa"), ("d.fa", "good.fa", "--format", "json")):
            _, shown = on_terminal("align", *arguments, stdout=True)
            expect(b"\x1b" not in shown and b"\x7f" not in shown and b"\x07" not in shown, f"{arguments}: {shown}")
            text = shown.decode(errors="replace")
            expect("\ufffd" not in text and not any("\x80" <= c < "\xa0" for c in text), f"{arguments}: {shown}")


def test_dna_by_letters():
    """At least 90 % from ACGTUN and the rest IUPAC is DNA; what decided is said."""
    def choice(query, target, *options):
        put("q.fa", query)
        put("t.fa", target)
        report = json.loads((result := davit("align", "q.fa", "t.fa", "--json", "-o", "o.tsv", "--devices", "cpu", *options)).out)
        return report["matrix"], result.err
    for letter in "RyswkMbDHv"[:: min(EACH, 3)]:
        matrix, err = choice(f">q\nACGTAC\nGTA{letter}\n", ">t\nACGTACGTAC\n")
        expect(matrix == "dna" and "95 % of the letters" in err and f"'{letter.upper()}' (q.fa, line 3)" in err and err.count("\n") == 1, err)
    matrix, err = choice(">q\nACGTN\nu\n", ">t\nACGT\n")
    expect(matrix == "dna" and "all letters are from ACGTUN" in err, err)
    for k, letter in enumerate("EFILPQZJOX*"[:: min(EACH, 3)]):
        bases, more = ">q\nACGTACGT\n", f">t\nACGT\n>u\nAC{letter}\n"
        matrix, err = choice(*((bases, more) if k % 2 else (more, bases)))
        expect(matrix == "blosum62" and f"amino acids: '{letter}' ({'t' if k % 2 else 'q'}.fa, line 4)" in err and err.count("\n") == 1, err)
    matrix, err = choice(">q\nACGTR\n", ">t\nACGTE\n>u\nF\n")
    expect("amino acids: 'E' (t.fa, line 2)" in err, err)  # not the ambiguous base before it
    matrix, err = choice(">q\nACGTACGTAC\n", ">t\nACGTACGTRY\n")
    expect(matrix == "dna" and " 90 %" in err and "'R' (t.fa, line 2)" in err, err)
    matrix, err = choice(">q\nACGTACGTAC\n", ">t\nACGTACGYRY\n")
    expect(matrix == "blosum62" and "only 85 %" in err and "'Y' (t.fa, line 2)" in err, err)
    matrix, err = choice(">q\nGTGYCAGCMGCCGCGGTAR\n", ">t\n" + "ACGT" * 50 + "\n")
    expect(matrix == "dna", f"a primer with three ambiguous bases: {err}")
    for options, wanted in ((("--protein",), "blosum62"), (("--dna",), "dna")):
        matrix, err = choice(">q\nACGTACGTAR\n", ">t\nACGTACGTAC\n", *options)
        expect(matrix == wanted and err == "", f"{options}: {err}")
    expect(choice(">q\nWWWE\n", ">t\nWWWE\n", "--quiet")[1] == "", "--quiet")
    genome = "".join(random.Random(12).choices("ACGT", k=3000))
    put("t.fa", f">t\n{genome[:500]}R{genome[501:]}\n")
    put("q.fa", f">q\n{genome[2000:2060]}\n")
    row, = align("q.fa", "t.fa", "--top", 1)
    expect((row["tstart"], row["tend"], row["score"]) == ("2001", "2060", "120"), f"one ambiguous base in a genome: {row}")


def test_letters_of_sam():
    """SAM has the letters of the file, and is not said to have amino acids unless that is certain."""
    put("t.fa", ">t\n" + "ACGTTGCA" * 5 + "\n")
    read = "ACGTTGCAACGTTGRAACGTTGCAUCGY"
    put("q.fa", f">q\n{read.lower()}\n")
    for strand, wanted in (("plus", read.replace("U", "T")), ("minus", "RCGATGCAACGTTYCAACGTTGCAACGT")):
        line = davit("align", "q.fa", "t.fa", "--strand", strand, "--format", "sam", "--top", 1, "-o", "o.sam")
        line = [line.rstrip("\n").split("\t") for line in open("o.sam") if line[0] == "q"][0]
        expect(line[9] == wanted and line[1] == ("16" if strand == "minus" else "0"), f"{strand}: {line}")
        if shutil.which("samtools"):
            read_back = subprocess.run(["samtools", "view", "o.sam"], capture_output=True, text=True, timeout=LIMIT_S).stdout
            expect(read_back.split("\t")[9] == wanted, f"as samtools reads it: {read_back}")
    put("p.fa", ">p\nWWWW\n>e\nAE\n")
    for what in (("--format", "sam"), ("--strand", "both")):
        name = "SAM is only for DNA" if what[0] == "--format" else "only DNA and RNA have a minus strand"
        refuse(("align", "q.fa", "p.fa", *what), name, "'E' (p.fa, line 4) is not a base", "--dna", code=2)
        refuse(("align", "q.fa", "t.fa", "--protein", *what), name, "--protein says that the letters are amino acids", code=2)
        refuse(("align", "q.fa", "t.fa", "--matrix", "pam30", *what), name, "--dna says that the letters of --matrix pam30 are bases", code=2)
    put("a.fa", ">a\nAAAAAAAARR\n>b\nRRRR\n")
    refuse(("align", "a.fa", "a.fa", "--format", "sam"), "only 57.14 % of the letters are from ACGTUN", "'R' (a.fa, line 2)", code=2)
    put("m.mat", "A C *\nA 1 -1 -1\nC -1 1 -1\n* -1 -1 1\n")
    put("s.fa", ">a\nACAC\n>s\nAC*\n")
    refuse(("align", "s.fa", "s.fa", "--dna", "--matrix", "m.mat", "--format", "sam"), "s.fa: line 4: expected letters that SAM allows, found '*'")


def test_without_ends_of_lines():
    """Streams without an end, and files of which most is a hole, are refused at their first zero byte."""
    put("t.fa", ">t\nACGT\n")
    for arguments, *words in ((("/dev/zero", "t.fa"), "'>' (FASTA)"), (("t.fa", "/dev/zero"), "'>' (FASTA)"),
                              (("t.fa", "t.fa", "--matrix", "/dev/zero"), "/dev/zero: line 1: expected text, found a zero byte")):
        refuse(("align", *arguments), "/dev/zero: line 1: ", *words)
    for name, begin, *words in (("hole", "", "line 1: expected '>'"), ("name", ">a", "line 1: expected text, found a zero byte"),
                                ("letters", ">a\nAC", "line 2: record 'a', letter 3: ", "byte 0"), ("next", ">a\nAC\n", "line 3: record 'a', letter 3", "byte 0"),
                                ("plus", "@a\nAC\n+", "line 3: expected text, found a zero byte"), ("quality", "@a\nAC\n+\nI", "line 4", "quality 2", "byte 0")):
        put(name, begin)
        os.truncate(name, 20 << 30)
        refuse(("align", name, "t.fa"), f"{name}: ", *words)
    put("zero.fa", b">a\0b\nACGT\n")
    refuse(("align", "zero.fa", "t.fa"), "zero.fa: line 1: expected text, found a zero byte")
    refuse(("align", "-", "t.fa"), "standard input: line 1: expected at most 1048576 bytes in a line", data=b"A" * (3 << 20))
    refuse(("align", "t.fa", "t.fa", "--matrix", "-"), "standard input: line 2: expected at most 65536 bytes in a line", data=b"A C\n" + b" " * (1 << 20))
    put("long.fa", f">{'n' * 70_000} x\n{'ACGT' * 100_000}\n")
    row, = align("t.fa", "long.fa", "--devices", "cpu")
    expect(row["target"] == "n" * 70_000 and row["coverage"] == "100.00", f"long lines are read: {str(row)[-200:]}")


def test_bad_gzip():
    rng = random.Random(4)
    text = fasta([(f"r{k}", "".join(rng.choices(AMINO, k=500))) for k in range(300)]).encode()
    packed = gzip.compress(text)
    for length in (len(packed) // 3, len(packed) - 9, len(packed) - 4):
        bad("b.gz", packed[:length], "truncated")
    bad("b.gz", packed[:20], "")
    blocks = bgzip(text[:60000])
    bad("b.gz", b"".join(blocks[:2]), "truncated")
    bad("b.gz", blocks[0] + blocks[1][:-30], "truncated")
    damaged = bytearray(packed)
    damaged[len(damaged) // 2] ^= 0xff
    put("d.gz", bytes(damaged))
    davit("align", "d.gz", "d.gz", code=3)


def test_damaged_bgzip():
    """A flipped bit or a cut is refused, or changes nothing, in a file and in a pipe."""
    put("q.fa", ">q\nPAWHEAE\n")
    whole = b"".join(bgzip(b">t\nPAWHEAE\n>u\nHEAGAWGHEE\n>v\nAWGHEE\n"))

    def run(data, piped):
        path = "-" if piped else put("d.gz", data)
        process = subprocess.run([DAVIT, "align", "q.fa", path, "--devices", "cpu"], timeout=LIMIT_S,
                                 input=data if piped else b"", capture_output=True)
        return process.returncode, process.stdout

    intact = run(whole, False)
    expect(intact[0] == 0 and run(whole, True) == intact, f"intact: {intact}")
    cases = [(whole[:cut], f"cut at {cut}") for cut in range(0, len(whole), 3)]
    for bit in range(0, 8 * len(whole), 11):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        cases.append((bytes(flipped), f"bit {bit}"))
    other_system = whole[:-19] + b"\3" + whole[-18:]  # in the last block
    for data, what in [(other_system, "another last block"), *cases[::EACH]]:
        code, out = run(data, False)
        expect(code == 3 or (code, out) == intact, f"{what}: exit {code}, {out[:80]}")
        expect(run(data, True) == (code, out), f"{what}: the same from a pipe")


def test_bad_matrix():
    put("q.fa", ">q\nAB\n")

    def bad_matrix(content, *words):
        refuse(("align", "q.fa", "q.fa", "--matrix", put("bad.mat", content)), "bad.mat", *words)

    bad_matrix("# only\n", "end of the file")
    bad_matrix("A B\nA 1 2\n", "after 1")
    bad_matrix("A B\nA 1 2\nB 1\n", "line 3", "2 scores", "found 1")
    bad_matrix("A B\nA 1 2 3\nB 1 2\n", "line 2", "more")
    bad_matrix("A B\nA 1 2\nA 1 2\n", "line 3", "'A' again")
    bad_matrix("A B\nA 1 2\nC 1 2\n", "line 3", "'C'")
    bad_matrix("A B\nA 1 2\nB 1 128\n", "line 3", "'128'")
    bad_matrix("A B\nA 1 2\nB 1 -129\n", "line 3", "'-129'")
    bad_matrix("A B\nA 1 2\nB 1 1.5\n", "line 3", "'1.5'")
    bad_matrix("A B\nA 1 2\nB x 1\n", "line 3", "'x'")
    bad_matrix("A BC\nA 1 2\n", "line 1", "'BC'")
    bad_matrix("A a\nA 1 2\n", "line 1", "'A' again")
    bad_matrix("A B\nA 1 2\nB 1 2\nC 1 2\n", "line 4", "end of the file")
    bad_matrix("#\nA B\n\n1 2\n3 4\n", "line 4", "'1'")
    bad_matrix(" ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567") + "\n", "line 1", "32")
    bad_matrix(b"A B\nA 1\x00 2\n", "line 2", "zero byte")
    davit("align", "q.fa", "q.fa", "--matrix", "missing.mat", code=3)
    put("ab.mat", "A B\nA 1 -2\nB -2 1\n")
    put("c.fa", ">q\nABC\n")
    expect("'C'" in davit("align", "c.fa", "q.fa", "--matrix", "ab.mat", code=3).err, "a letter that the matrix lacks")


def test_nothing_half_written():
    rng = random.Random(5)
    put("t.fa", fasta([(f"r{k}", "".join(rng.choices(AMINO, k=100))) for k in range(60)]))
    with open("/dev/full", "wb") as full:
        process = subprocess.run([DAVIT, "align", "t.fa", "t.fa", "--top", "60"], stdout=full, stderr=subprocess.PIPE,
                                 timeout=LIMIT_S)
    expect(process.returncode == 1, "a full standard output is exit 1")
    davit("align", "t.fa", "t.fa", "--top", 2, "-o", "o.tsv")
    expect(len(rows_of(open("o.tsv").read())) == 120 and listing() == ["o.tsv", "t.fa"], f"{listing()}")


if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of davit align --pssm against a plain Gotoh in Python, and of files that are no PSSM.

usage: test_cli_pssm.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import gzip
import math
import random
import re
import sys

sys.dont_write_bytecode = True
from support import davit, expect, main, put, refuse, run_json
from test_cli_align import AMINO, PLACES, align, fasta, relative

LETTERS = AMINO + "BZX*"
STATISTICS = {"Standard Ungapped": (0.1383, 0.3205), "Standard Gapped": (0.0410, 0.2670), "PSI Ungapped": (0.1743, 0.3201),
              "PSI Gapped": (0.0533, 0.2670)}


def random_rows(rng, query):
    return [{letter: 7 if letter == own else rng.randint(-6, 3) for letter in AMINO} for own in query]


def pssm_text(query, rows, order=AMINO, percentages=True, statistics=None):
    """As psiblast writes it; with `percentages` in its newer width."""
    width = 4 if percentages else 3
    lines = ["", "Last position-specific scoring matrix computed" + ", weighted observed percentages" * percentages,
             "         " + "".join(f"{letter:>{width}}" for letter in order) +
             "".join(f"{letter:>4}" for letter in order) * percentages]
    for number, (own, row) in enumerate(zip(query, rows), 1):
        lines.append(f"{number:5d} {own}   " + "".join(f"{row[letter]:{width}d}" for letter in order) +
                     "".join(f"{5:4d}" for letter in order) * percentages + "  0.45 inf" * percentages)
    lines += ["", "                      K         Lambda"]
    lines += [f"{title:<20} {k:.4f}     {l:.4f}" for title, (k, l) in (statistics or STATISTICS).items()]
    return "\n".join(lines) + "\n"


def entry(row, letter):
    """Letters that the file has no scores of, as docs/align.md says."""
    if letter in "BZ":
        return sum(row[other] for other in {"B": "ND", "Z": "QE"}[letter]) // 2
    return row.get(letter, -4 if letter == "*" else -1)


def best_score(rows, target, gap_open, gap_extend):
    h, e, best = [0] * (len(rows) + 1), [-10 ** 9] * (len(rows) + 1), 0
    for letter in target:
        diagonal, f = 0, -10 ** 9
        for i, row in enumerate(rows, 1):
            e[i] = max(h[i] - gap_open, e[i] - gap_extend)
            f = max(h[i - 1] - gap_open, f - gap_extend)
            diagonal, h[i] = h[i], max(0, diagonal + entry(row, letter), e[i], f)
            best = max(best, h[i])
    return best


def columns_score(found, query, rows, target, gap_open, gap_extend):
    i, j, total = int(found["qstart"]) - 1, int(found["tstart"]) - 1, 0
    for count, kind in re.findall(r"(\d+)(.)", found["cigar"]):
        for _ in range(int(count) if kind in "=X" else 0):
            expect((query[i] == target[j]) == (kind == "="), f"{kind} of {query[i]} and {target[j]}")
            total += entry(rows[i], target[j])
            i, j = i + 1, j + 1
        if kind in "ID":
            total -= gap_open + (int(count) - 1) * gap_extend
            i, j = i + int(count) * (kind == "I"), j + int(count) * (kind == "D")
    expect((i, j) == (int(found["qend"]), int(found["tend"])), f"ends of {found}")
    return total


def family(rng, length, count=20):
    query = "".join(rng.choices(AMINO, k=length))
    targets = [(f"t{k}", relative(rng, query, LETTERS) + rng.choice(LETTERS)) for k in range(count)]
    return query, random_rows(rng, query), targets


def test_search():
    rng = random.Random(1)
    for length in (1, 31, 33, 120):
        query, rows, targets = family(rng, length)
        shuffled = "".join(rng.sample(AMINO, 20))
        put("family.v2.pssm", pssm_text(query, rows, shuffled, percentages=length != 31))
        put("t.fa", fasta(targets))
        for place in PLACES:
            found = align("--pssm", "family.v2.pssm", "t.fa", "--top", 5, "--cigar", "--devices", place, "--check")
            scores = [(-best_score(rows, letters, 12, 1), k) for k, (_, letters) in enumerate(targets)]
            wanted = [(targets[k][0], -s) for s, k in sorted(scores)[:5] if s < 0]
            expect([(row["target"], int(row["score"])) for row in found] == wanted, f"{found}, not {wanted}")
            for row in found:
                expect(row["query"] == "family.v2", f"the name of {row}")
                own = columns_score(row, query, rows, dict(targets)[row["target"]], 12, 1)
                expect(own == int(row["score"]), f"columns of {row} score {own}")
    put("m.pssm.gz", gzip.compress(pssm_text(query, rows).encode()))
    expect(align("--pssm", "m.pssm.gz", "t.fa", "--top", 1)[0]["score"] == found[0]["score"], "compressed")
    row, = align("--pssm", "-", "t.fa", "--top", 1, data=pssm_text(query, rows).encode())
    expect(row["query"] == "query" and row["score"] == found[0]["score"], "from a pipe")
    for mode in ("global", "semi"):
        align("--pssm", "family.v2.pssm", "t.fa", "--mode", mode, "--check", "--cigar")
    expect(run_json("align", "--pssm", "family.v2.pssm", "t.fa")["matrix"] == "pssm", "the report")


def test_statistics():
    rng = random.Random(2)
    query, rows, targets = family(rng, 60)
    put("m.pssm", pssm_text(query, rows))
    put("t.fa", fasta(targets))
    letters = sum(len(target) for _, target in targets)
    row = align("--pssm", "m.pssm", "t.fa", "--top", 1)[0]
    expect(math.isclose(float(row["evalue"]), 0.0533 * 60 * letters * math.exp(-0.267 * int(row["score"])), rel_tol=0.01),
           f"evalue of {row}")
    expect(math.isclose(float(row["bits"]), (0.267 * int(row["score"]) - math.log(0.0533)) / math.log(2), abs_tol=0.06),
           f"bits of {row}")
    other = davit("align", "--pssm", "m.pssm", "t.fa", "--top", 1, "--gap-open", 11)
    expect("\t*\t*\n" in other.out.decode() and "no statistics for --gap-open 11" in other.err, f"other gaps: {other}")
    for standard in ((0.0410, 0.3), (0.05, 0.2670)):
        put("m.pssm", pssm_text(query, rows, statistics={**STATISTICS, "Standard Gapped": standard}))
        expect(align("--pssm", "m.pssm", "t.fa", "--top", 1)[0]["evalue"] == "*", "statistics of other gaps or another matrix")
    put("m.pssm", pssm_text(query, rows, statistics={**STATISTICS, "PSI Gapped": (-1, -1)}))
    expect(align("--pssm", "m.pssm", "t.fa", "--top", 1)[0]["evalue"] == "*", "statistics that psiblast has not found")


def test_bad_files():
    rng = random.Random(3)
    query, rows, targets = family(rng, 5)
    good = pssm_text(query, rows)
    put("t.fa", fasta(targets))

    def bad(content, *words):
        refuse(("align", "--pssm", put("bad.pssm", content), "t.fa"), "bad.pssm", *words)

    bad("", "psiblast -out_ascii_pssm", "end of the file")
    bad(">q\nACGT\n", "line 1", "'>q'")
    bad(good.replace("   A   R", "   A   A"), "line 3", "letters of 20 amino acids")
    bad(good.replace("   A   R", "   R   A", 1), "line 3", "letters of 20 amino acids")
    bad(good.replace("   A   R", "   A   J"), "line 3", "letters of 20 amino acids")
    bad(good.replace("    2 ", "    3 "), "line 5", "expected position 2, found '3'")
    bad(good.replace(f"    2 {query[1]}", "    2 7"), "line 5", "found '7'")
    bad(good.replace(f"    2 {query[1]} ", f"    2 {query[1]}  128 "), "line 5", "'128'")
    bad(good.replace(f"    2 {query[1]} ", f"    2 {query[1]}  1.5 "), "line 5", "'1.5'")
    bad(good.replace("  0.45 inf", "  0.45 inf 1", 1), "line 4", "the end of the line")
    bad(good.replace("  0.45 inf", "  0.45 x", 1), "line 4", "expected a number, found 'x'")
    bad(re.sub(r"(   5)+  0.45 inf", "   5" * 19, good, count=1), "line 4", "expected 20 percentages, found 19")
    bad("\n".join(line[:40] for line in good.split("\n")), "line 3")
    bad(good.replace("\n    1 ", "\n\n    1 "), "line 4", "expected position 1, found an empty line")
    bad(good[:good.index("PSI Gapped")], "expected K and lambda after 'PSI Gapped', found the end of the file")
    bad(good.replace("PSI Gapped", "PSI gapped"), "'PSI Gapped'")
    bad(good + "rest\n", "line 15", "'rest'")
    bad(good.replace("0.0533 ", ""), "line 14")
    bad(good.encode()[:150] + b"\0" + good.encode()[150:], "zero byte")
    for cut in range(0, len(good) - 1, 37):
        put("bad.pssm", good[:cut])
        davit("align", "--pssm", "bad.pssm", "t.fa", code=3)
    davit("align", "--pssm", "missing.pssm", "t.fa", code=3)


def test_excluded():
    rng = random.Random(4)
    query, rows, targets = family(rng, 5)
    put("m.pssm", pssm_text(query, rows))
    put("t.fa", fasta(targets))
    for option in (("--matrix", "blosum62"), ("--match", "2", "--mismatch", "-3"), ("--dna",), ("--pairs",),
                   ("--strand", "both"), ("--format", "sam")):
        expect("pssm" in davit("align", "--pssm", "m.pssm", "t.fa", *option, code=2).err, f"{option}")


if __name__ == "__main__":
    sys.exit(main(globals()))

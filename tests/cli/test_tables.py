#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tables in text (CSV) as operands and results of davit's commands, of files that other programs write, and of
what is read wrongly if it is not refused.

usage: test_tables.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import gzip
import os
import struct
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import davit, expect, header_of, listing, main, noise, npy_bytes, npy_raw, put, refuse, run_json, save

CPU = ("--devices", "cpu")


def value(*arguments, **options):
    return run_json(*arguments, *CPU, **options)["result"]


def pair(*arguments, **options):
    report = run_json("closest", *arguments, *CPU, **options)
    return report.get("i"), report.get("j"), report.get("distance")


# ---- which columns are read ----


def test_row_names():
    """R's write.table and pandas' to_csv: a name less than fields, or an empty first name."""
    near = (0, 1, 1.6 - 1.5)
    for text in ('"x","y"\n"1",1.5,2\n"2",1.6,2\n"3",9,9\n', '"x" "y"\n"1" 1.5 2\n"2" 1.6 2\n"3" 9 9\n',
                 "x\ty\na\t1.5\t2\nb\t1.6\t2\nc\t9\t9\n", ",x,y\n0,1.5,2\n1,1.6,2\n2,9,9\n", "p;q\n1;1.5;2\n2;1.6;2\n3;9;9\n"):
        expect(pair(put("r.csv", text)) == near, f"the closest pair of {text!r}: {pair('r.csv')}")
        expect(value("reduce", "r.csv") == 25.1, f"the sum of {text!r}: {value('reduce', 'r.csv')}")
        expect("r.csv: the first column, which names the rows, is left out" in davit("reduce", "r.csv").err, text)
    expect(pair("r.csv", "--columns", "q,p") == near, "columns by name, behind names of rows")
    expect(pair("r.csv", "--columns", "1,2") == near, "numbers count the fields")
    refuse(("closest", put("r.csv", '"x"\n"1",1.5\n"2",2\n')), "r.csv: line 2", "2 or 3 numbers")
    for command in ("closest", "reduce"):
        refuse((command, put("h.csv", "x,y,z\n1,2\n3,4\n")), "h.csv: line 2: expected 3 fields as in the line of names, found 2")
        refuse((command, put("h.csv", "x,y\n1,2,3,4\n")), "h.csv: line 2: expected 2 fields as in the line of names, found 4")


def test_names_say_what_is_taken():
    for header, taken in (("lat,lon,pop", "'lat' and 'lon'"), ("Longitude,Latitude,h", "'Longitude' and 'Latitude'")):
        result = davit("closest", put("l.csv", header + "\n1,2,300\n3,4,100\n"))
        expect(f"columns {taken}; --columns chooses others; distances are in the plane, with --sphere they are on the sphere" in result.err, result.err)
        expect(pair("l.csv") == (0, 1, 8**0.5), f"{header} are two coordinates")
    result = davit("closest", put("l.csv", "a,b,pop\n1,2,300\n3,4,100\n"))
    expect("columns 'a', 'b' and 'pop'; --columns chooses others" in result.err, f"three columns are said: {result.err}")
    for header in ("x,y,z", "Z,Y,X"):
        expect(davit("closest", put("l.csv", header + "\n1,2,3\n3,4,1\n")).err == "", f"{header} need no word")


def test_names_that_look_like_numbers():
    for line, said in (("$5,$6", "$5"), ("50%", "50%"), ("x,1_000", "1_000"), ("\u22125,y", "\u22125")):
        text = put("h.csv", f"{line}\n" + ",".join("1" for _ in line.split(",")) + "\n")
        expect(f'h.csv: the first line is taken as names, because "{said}" is not a number' in davit("reduce", text).err, line)
    for line in ("x1,y2", "a,b", ",y", "±,-"):
        expect("is taken as names" not in davit("reduce", put("h.csv", f"{line}\n1,2\n")).err, line)


def test_apostrophes():
    """A quote inside a field, or one that nothing closes, is a character like others."""
    rows = ",0,0\nSmith,0,1\nd'Or,9,9\n"
    for name in ("O'Brien", "5'", '6"', "'t", "'N, S'", '"A, ""B"""'):
        expect(pair(put("a.csv", name + rows), "--columns", "1,2") == (0, 1, 1), f"the line of {name} has a point: {pair('a.csv', '--columns', '1,2')}")
        expect(value("reduce", put("a.csv", "name,x,y\n" + name + rows)) == 19, f"a row called {name}")
    refuse(("reduce", put("a.csv", '"1,2\n3,4\n')), "a.csv: line 1", "column 0 is not a number")


# ---- as operands ----


def test_operands():
    """All commands read tables, with and without names, compressed and from pipes; the values are NumPy's."""
    rng = np.random.default_rng(1)
    a, x = noise(rng, 5, 5), noise(rng, 5)
    save("a.npy", a)
    save("x.npy", x)
    for name, array in (("a", a), ("x", x[:, None])):
        lines = "".join(";".join(map(repr, map(float, row))) + "\n" for row in array)
        put(f"{name}.csv", ";".join(f"column{k}" for k in range(array.shape[1])) + "\n# a remark\n\n" + lines.replace("\n", "\r\n"))
        put(f"{name}.csv.gz", gzip.compress(lines.replace(";", "\t").encode()))
    put("f.csv", "1\n0\n0\n1\n0\n")
    save("f.npy", np.array([1, 0, 0, 1, 0], "u1"))
    for words in (["gemm", "a", "a", "--c0", "a"], ["gemv", "a", "x", "--y0", "x"], ["axpy", "x", "x"], ["scan", "x", "--flags", "f"],
                  ["stencil", "a"], ["atax", "a", "x"], ["covariance", "a"], ["reduce", "a", "--axis", "1"]):
        def run(end, output):
            named = [word + end if word in "axf" and not (word == "f" and end.endswith("gz")) else word for word in words]
            davit(*[word + ".csv" if word == "f" else word for word in named], "-o", output, *CPU)
            return np.load(output)
        wanted = run(".npy", "n.npy")
        for end in (".csv", ".csv.gz"):
            expect(np.array_equal(run(end, "c.npy").squeeze(), wanted.squeeze()), f"{words} of {end}")
    dot = value("dot", "x.npy", "x.npy")
    expect(value("dot", "x.csv", "-", data=open("x.csv.gz", "rb").read()) == dot, "a pipe of gzip")
    expect(value("reduce", put("one.csv", "7"), "--op", "max") == 7, "one number")
    for compressed, wanted in ((npy_bytes(np.arange(4.0)), 6), (b"%%MatrixMarket matrix array real general\n2 1\n1\n2\n", 3)):
        expect(value("reduce", put("other.gz", gzip.compress(compressed))) == wanted, "gzip around other formats")


def test_types():
    """Whole numbers stay whole where all are; one other number decides for all."""
    for text, dtype, total in (("1,2\n3,4\n", "int64", 10), (f"{2**62}\n{2**62 - 1}\n", "int64", 2**63 - 1), ("1\n2.5\n", "float64", 3.5),
                               ("1e3\n2\n", "float64", 1002.0), ("-0\n0\n", "float64", 0.0), (f"{2**63}\n0\n", "float64", 2.0**63),
                               ("1\n2+1j\n3j\n", "complex128", [3.0, 4.0]), (" (1e0+2e0j)\n", "complex128", [1.0, 2.0]),
                               ("inf\n1\n", "float64", None)):
        report = run_json("reduce", put("t.csv", text), *CPU)
        expect((report["type"], report["result"]) == (dtype, total), f"{text!r}: {report['type']} {report['result']}")


def test_round_trip():
    """What is written is read again with the same values, from all formats, and with the same type where the format has it."""
    rng = np.random.default_rng(2)
    special = np.array([0.1, -0.0, 5e-324, 1.7e38, np.inf, -np.inf, np.nan, 2**53 + 2.0, 1e17, 1 / 3])
    arrays = [special, special.astype("f4"), rng.integers(-2**63, 2**63 - 1, 9), rng.integers(-2**31, 2**31, 9, dtype="i4"),
              noise(rng, 1), (noise(rng, 6) + 1j * noise(rng, 6)), (noise(rng, 6) + 1j * noise(rng, 6)).astype("c8")]
    for x in arrays:
        save("x.npy", x)
        for end, again in (("csv", "csv"), ("mtx", "csv"), ("npy", "mtx"), ("CSV", "npy")):
            steps = (("x.npy", "one." + end), ("one." + end, "two." + again), ("two." + again, "three.npy"))
            for source, target in steps:
                if x.dtype.kind == "c":  # a sum with nothing
                    single = x.dtype == "c8" and source in ("x.npy", "one.npy")
                    zeros = save("zeros.npy", np.zeros(len(x), "c8" if single else "c16"))
                    davit("axpy", source, zeros, "-o", target, *CPU)
                else:  # a scan in which each element is a segment
                    davit("scan", source, "--op", "max", "--flags", save("f.npy", np.ones(len(x), "u1")), "-o", target, *CPU)
            found = np.load("three.npy")
            expect(found.dtype.kind == x.dtype.kind and np.array_equal(found.astype(x.dtype), x, equal_nan=True)
                   and np.array_equal(found, x.astype(found.dtype), equal_nan=True)
                   and (np.signbit(found.real) == np.signbit(x.real)).all(), f"{x.dtype} by {end} and {again}: {found}, expected {x}")
    wide = noise(rng, 3, 4000)  # lines of 80,000 characters
    davit("gemm", save("i.npy", np.eye(3)), save("w.npy", wide), "-o", "w.csv", *CPU)
    davit("gemm", "i.npy", "w.csv", "-o", "w2.npy", *CPU)
    expect(np.array_equal(np.load("w2.npy"), wide), "long lines")
    refuse(("scan", save("e.npy", np.zeros(0)), "-o", "e.csv", *CPU), "e.csv: CSV cannot represent a vector of 0", code=1)


def test_decimal():
    for text in ("1,5;2,5\n3,5;4,5\n", "x;y\n1,5;2,5\n3,5;4,5\n", "1,5\t2,5\n3,5\t4,5\n", "1,5 2,5\n3,5 4,5\n"):
        put("d.csv", text)
        for command in ("reduce", "closest"):
            refuse((command, "d.csv"), "d.csv: line ", "; --decimal , reads numbers with a decimal comma")
        expect(value("reduce", "d.csv", "--decimal", ",") == 12, f"the sum of {text!r}")
        expect(pair("d.csv", "--decimal", ",") == (0, 1, 8**0.5), f"the pair of {text!r}")
    expect(value("reduce", put("d.csv", "1,5\n2\n"), "--decimal=,") == 3.5, "one column")
    refuse(("reduce", put("d.csv", "1,5\n1.234,5\n"), "--decimal", ","), "d.csv: line 2: expected numbers", "column 0 is not a number")
    refuse(("reduce", "d.csv", "--decimal", "x"), "--decimal takes . or ,", code=2)


def test_missing():
    for field in ("", "NA", "n/a", "null", "None", "?", "-", "."):
        put("m.csv", f"x,y\n1,2\n3,{field}\n{field or 'NA'},4\n5,6\n")
        for command in ("reduce", "closest"):
            refuse((command, "m.csv"), "m.csv: line 3: expected numbers", "column 1 ('y') is a missing value; --missing skip leaves out")
        result = davit("reduce", "m.csv", "--missing", "skip", *CPU)
        expect(result.out == b"14\n" and "m.csv: 2 lines with missing values left out" in result.err, f"{field!r}: {result} {result.out}")
        expect(davit("reduce", "m.csv", "--missing", "skip", "--quiet", *CPU).err == "", "--quiet")
        expect(pair("m.csv", "--missing", "skip") == (0, 1, 32**0.5), f"the pair without {field!r}")
    put("m.csv", "1,nan\n3,4\n6,8\n")
    expect(value("reduce", "m.csv") is None, "a NaN is a number")
    expect(value("reduce", "m.csv", "--missing", "skip") == 21, "a NaN may be a missing one")
    refuse(("closest", "m.csv"), "m.csv: line 1", "finite")
    expect(pair("m.csv", "--missing", "skip") == (0, 1, 5), "points without NaN")
    expect(pair(put("m.csv", "x,y,note\n1,2,\n4,6,NA\n")) == (0, 1, 5), "what is no coordinate may be missing")
    refuse(("reduce", put("m.csv", "NA,1\n2,NA\n"), "--missing", "skip"), "found the end of the file after lines with missing values")
    refuse(("reduce", put("m.csv", "1,x\n")), "line 1: expected numbers, found '1,x', in which column 1 is not a number")


def test_blank_lines_before_tables():
    """A pipe is looked at as far as a file is: up to the first line that is not blank."""
    for text in ("\n1,2,3\n", "\r\n \n\na,b\n1,5\n", "\n\n\n6\n"):
        for report in run_json("reduce", put("x.csv", text)), run_json("reduce", "-", data=text.encode()):
            expect(report["result"] == 6, f"{text!r}: {report}")


# ---- what is read wrongly ----


def test_dtype_of_files_with_a_type():
    """--dtype is for elements alone: a file that has a type itself would be garbage."""
    a = np.ones((3, 4))
    save("a.npy", a)
    np.savez("a.npz", a=a)
    put("a.mtx", "%%MatrixMarket matrix array real general\n3 4\n" + "1\n" * 12)
    put("a.csv", "1,2\n")
    put("a.npy.gz", gzip.compress(npy_bytes(a)))
    put("a.wav", b"RIFF\x24\0\0\0WAVEfmt ")
    for command in ("reduce", "scan", "stencil", "covariance", "closest"):
        for name, kind in (("a.npy", "a NumPy array"), ("a.npz", "a NumPy array"), ("a.npz:a", "a NumPy array"),
                           ("a.mtx", "a Matrix Market file"), ("a.csv", "a table in text"), ("a.npy.gz", "a NumPy array"),
                           ("a.wav", "a sound (WAV)")):
            shape = ("--shape", "4") if name.endswith("gz") or command == "reduce" else ()
            refuse((command, name, "--dtype", "f4", *shape), "--dtype: " + name, kind, code=2)
    for first, kind in (b"RIFX", "a sound (WAV)"), (b"RF64", "a sound (WAV)"), (b"abcd", "expected numbers, found the end"):
        put("a.wav", first + b"2222WAVEfmt ")
        refuse(("reduce", "a.wav"), kind)
    refuse(("reduce", "-", "--dtype", "f4", "--shape", "4"), "--dtype: standard input", "a NumPy array", code=2, data=npy_bytes(a))
    refuse(("reduce", "a.npy", "--shape", "4"), "--shape needs --dtype", code=2)
    x = np.frombuffer(b"\x1f\x8b\x08\x00" * 3, "u1")
    expect(value("reduce", put("raw.bin", x.tobytes()), "--dtype", "u1") == int(x.sum()), "elements that begin as gzip's files do")
    expect(value("reduce", put("raw.bin.gz", gzip.compress(x.tobytes())), "--dtype", "uint8", "--shape", 12) == int(x.sum()), "gzip")


def test_headers_of_other_writers():
    """Python 2 writes 2L, and some programs the name of the type."""
    data = np.arange(6.0)
    for shape in ("(2L, 3L)", "(6L,)", "(2L,3)"):
        expect(value("reduce", put("x.npy", npy_raw(header_of(shape), data.tobytes()))) == 15, shape)
    for name in ("float16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                 "uint64", "bool"):
        x = data.astype(name)
        put("x.npy", npy_raw(header_of("(6,)", f"'{name}'"), x.tobytes()))
        wanted = value("reduce", save("y.npy", x))
        expect(value("reduce", "x.npy") == wanted, f"'descr': '{name}'")
        expect(value("reduce", put("x.bin", x.tobytes()), "--dtype", name) == wanted, f"--dtype {name}")
    put("x.npy", npy_raw(header_of("(6,)", "'>float64'"), data.astype(">f8").tobytes()))
    expect(value("reduce", "x.npy") == 15, "'>float64'")
    for name, kind in (("<f16", "'<f16' (long double)"), ("float128", "(long double)"), ("<c32", "(complex long double)"),
                       ("complex256", "(complex long double)"), ("fnord", "'fnord'\n"), ("cfloat", "'cfloat'\n"), ("<U5", "(text)"),
                       ("datetime64[D]", "(dates or times)"), ("<m8", "(dates or times)"), ("Unknown", "'Unknown'\n")):
        refuse(("reduce", put("x.npy", npy_raw(header_of("(1,)", f"'{name}'"), bytes(64)))), "expected a dtype among", kind)
    for bad in ("(2LL, 3)", "(L,)", "(2l, 3)"):
        refuse(("reduce", put("x.npy", npy_raw(header_of(bad), data.tobytes()))), "x.npy: offset")


def bgzip(data):
    packed = b""
    for part in (data[:40], data[40:], b""):
        body = gzip.compress(part, mtime=0)[10:]
        packed += bytes([31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 66, 67, 2, 0]) + struct.pack("<H", len(body) + 17) + body
    return packed


def test_padding():
    """Zero bytes behind compressed data, as tapes and archives add them; other bytes there are damage."""
    records, numbers = b">q\nACGTACGTAACCGGTTACGT\n>r\nTTTTTTTTTTTTTTTTTTTT\n", b"1,2\n3,4\n" * 9
    query = put("q.fa", records[:24])
    wanted = davit("align", query, put("t.fa", records), *CPU, "--quiet").out
    for compress in (gzip.compress, bgzip, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])):
        for zeros in (1, 5, 512, 70000):
            packed = compress(records) + bytes(zeros)
            expect(davit("align", query, put("t.fa.gz", packed), *CPU, "--quiet").out == wanted, f"{zeros} zeros behind sequences")
            expect(davit("align", query, "-", *CPU, "--quiet", data=packed).out == wanted, f"{zeros} zeros in a pipe")
            expect(value("reduce", put("n.csv.gz", compress(numbers) + bytes(zeros))) == 90, f"{zeros} zeros behind a table")
            refuse(("align", query, put("t.fa.gz", packed + b"x"), *CPU, "--quiet"), "truncated, damaged or unreadable")
            refuse(("reduce", put("n.csv.gz", compress(numbers) + bytes(zeros) + b"x")), "truncated or damaged")
        for cut in (1, 9):
            refuse(("align", query, put("t.fa.gz", compress(records)[:-cut]), *CPU, "--quiet"), "t.fa.gz: ")
            refuse(("reduce", put("n.csv.gz", compress(numbers)[:-cut])), "truncated or damaged")
    refuse(("reduce", put("n.csv.gz", bgzip(numbers)[:-28])), "truncated or damaged")


def test_endless():
    """Inputs without an end, or longer than memory, are refused with a sentence, soon."""
    for command in ("reduce", "scan", "stencil", "covariance", "closest"):
        davit(command, "/dev/zero", *CPU, code=3)
        davit(command, "-", *CPU, code=3, data=bytes(1 << 20))
    refuse(("reduce", "/dev/zero", "--dtype", "f8"), "--shape is needed", code=2)
    refuse(("reduce", "/dev/zero", "--dtype", "f8", "--shape", 9), "the end of the file after the elements")
    with open("sparse.bin", "wb") as file:
        file.truncate(2 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    refuse(("reduce", "sparse.bin"), "sparse.bin: offset 0: expected a NumPy array")
    refuse(("closest", "sparse.bin"), "sparse.bin: line 1: expected text without zero bytes")
    refuse(("reduce", "sparse.bin", "--dtype", "f8"), "no host memory for", "the process may have", code=4)
    with open("sparse.npy", "wb") as file:
        elements = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
        file.write(npy_raw(header_of(f"({elements},)")))
        file.truncate(file.tell() + 8 * elements)
    refuse(("reduce", "sparse.npy", *CPU), "no host memory for", code=4)


# ---- outputs ----


def test_endings():
    save("a.npy", np.eye(3))
    for name in ("x.txt", "x.xlsx", "x.npz", "x.tsv", "x.json", "folder.npy/x.dat", "x."):
        for command in (["gemm", "a.npy", "a.npy"], ["stencil", "a.npy"], ["points", "-n", "4"], ["reduce", "a.npy", "--axis", "0"]):
            refuse((*command, "-o", name), f"-o {name}: expected a name that ends in .npy, .mtx or .csv", code=2)
    refuse(("covariance", "a.npy", "-o", "s.npy", "--mean", "m.txt"), "--mean m.txt: expected a name", code=2)
    for name in ("plain", "x.NPY", ".hidden"):
        davit("gemm", "a.npy", "a.npy", "-o", name, *CPU)
        expect(np.array_equal(np.load(name), np.eye(3)), f"{name} is a NumPy array")
    davit("gemm", "a.npy", "a.npy", "-o", "x.Csv", *CPU)
    expect(open("x.Csv").read() == "1,0,0\n0,1,0\n0,0,1\n", "CSV, whatever the case")


def test_trace_is_an_output():
    a = save("a.npy", np.eye(3))
    put("c.npy", "old")
    os.symlink("c.npy", "link")
    before = listing()
    for trace in ("c.npy", "./c.npy", os.path.abspath("c.npy"), "link"):
        refuse(("gemm", a, a, "-o", "c.npy", "--trace", trace), f"--trace {trace}: this file is another output of the command", code=2)
    refuse(("covariance", a, "-o", "s.npy", "--mean", "m.npy", "--trace", "m.npy"), "another output", code=2)
    expect(listing() == before and open("c.npy").read() == "old", "nothing is written")
    davit("gemm", a, a, "-o", "c.npy", "--trace", "t.json", *CPU)


if __name__ == "__main__":
    sys.exit(main(globals()))

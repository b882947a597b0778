#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed inputs of the fuzzers: corpus/NAME for fuzz_NAME. Inputs called regression-* are left alone.

    seeds.py [FOLDER]        (the folder of this file, if none is named)

fuzz.h describes the repetitions that make long files of short inputs.
"""
import gzip
import io
import re
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import sounds  # noqa: E402

REPEAT = 0x1E


def literal(data):
    """Bytes that stand for themselves."""
    return data.replace(bytes([REPEAT]), bytes([REPEAT, 0, 0]))


def again(length, times):
    """The last `length` bytes, `times` times more."""
    return bytes([REPEAT, length, times])


def npy(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version)
    return literal(file.getvalue())


def npy_header(descr, shape, order=False):
    text = str({"descr": descr, "fortran_order": order, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npy_seeds():
    numbers = np.arange(1, 7) / 4
    for code in ("f4", "f8", "i4", "i8", "u1", "?"):
        yield f"matrix-{code.replace('?', 'bool')}", npy(numbers.reshape(2, 3).astype(code))
    yield "fortran", npy(np.asfortranarray(numbers.reshape(2, 3)))
    yield "vector", npy(numbers)
    yield "scalar", npy(np.float64(3.5))
    yield "empty", npy(np.zeros((0, 3)))
    yield "empty-huge", npy_header("<f8", (1 << 61, 0))
    yield "version-2", npy(numbers, (2, 0))
    yield "version-3", npy(numbers, (3, 0))
    yield "special", npy([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])
    yield "too-short", npy_header("<f4", (100, 100)) + b"1234"
    yield "too-long", npy(numbers) + b"x"
    yield "overflow", npy_header("<f8", (1 << 40, 1 << 40))
    yield "big-endian", npy(numbers.astype(">f8"))
    for code in ("<f2", ">f4", "<c8", ">c16", "|i1", ">i2", "<u2", ">u4", "<u8"):
        yield f"converted-{code[1:]}", npy(numbers.astype(code))
    yield "python-2", npy_header("<f4", (1, 1)).replace(b"(1, 1)", b"(1L,1)") + b"1234"
    yield "name", npy_header("float32", (1, 1)) + b"1234"
    yield "sign", npy(np.array([1, 2**63], "u8"))
    yield "cube", npy(np.zeros((2, 2, 2)))
    yield "long", npy_header("<f4", (128 * 250,)) + b"\x00\x00\x80\x3f" + again(4, 127) + again(128, 249) + again(
        128, 250) + again(128, 250) + again(128, 250)
    yield "long-u1", npy_header("|u1", (255, 256)) + b"x" + again(1, 255) + again(255, 255)


def mtx_seeds():
    banner = b"%%MatrixMarket matrix array real general\n"
    for form in (b"general", b"symmetric", b"hermitian"):
        yield "complex-" + form.decode(), banner[:28] + b"complex " + form + b"\n2 2\n1 0\n2 -3.5\n4 5\n" + b"6 7\n" * (form == b"general")
    yield "real", banner + b"% a comment\n2 3\n1\n2.5\n-3e-2\n\n4\n5\n6\n"
    yield "integer", b"%%MatrixMarket matrix array integer general\n2 2\n1\n-2\n9223372036854775807\n4\n"
    yield "symmetric", b"%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"
    yield "symmetric-integer", b"%%matrixmarket MATRIX array Integer Symmetric\r\n2 2\r\n1\r\n2\r\n3\r\n"
    yield "special", banner + b"1 5\nnan\ninf\n-inf\n-0\n5e-324\n"
    yield "overflow", banner + b"1 1\n1e999\n"
    yield "empty", banner + b"0 3\n"
    yield "empty-huge", banner + b"0 9223372036854775807\n"
    yield "sparse", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n"
    yield "too-short", banner + b"1000 1000\n1\n"
    yield "too-long", banner + b"1 1\n1\n2\n"
    yield "mark", b"\xef\xbb\xbf" + banner + b"1 1\n1\n"
    yield "long", banner + b"100 200\n7\n" + again(2, 99) + again(200, 199)
    yield "long-line", banner + b"%" + b"x" * 15 + again(16, 254) + b"x" * 15 + b"\n1 1\n1\n"
    yield "long-blank", banner + b"\n" + again(1, 255) + again(255, 20) + b"1 1\n1\n"


def csv_seeds():
    yield "comma", b"0.5,1\n2,-3e-2\n0,1e308\n"
    yield "semicolon", b"x;y;z\n1;2;3\n4;5;6\n"
    yield "blank", b"# points\n1 2 3\r\n\r\n4\t5 6\r\n"
    yield "quoted-names", b"\"x\",\"y\"\n1,2\n3,4\n"
    yield "mark", b"\xef\xbb\xbf1,2\n"
    yield "four", b"1,2,3,4\n"
    yield "mixed", b"1,2\n1,2,3\n"
    yield "infinite", b"1,inf\n"
    yield "hexadecimal", b"0x1p3,0x.8\n"
    yield "no-end", b"1,2\n3,4"
    yield "row-names", b"\"x\",\"y\"\n\"1\",1.5,2\n\"2\",3,4\n"
    yield "commas", b"x;y\n1,5;2,5\n-3,25e1;NA\n"
    yield "missing", b"a\tb\n1\t\n?\t2\n3\t4\n"
    yield "complex", b"1+2j,3j\n(4-5j),6\n"
    yield "whole", b"9223372036854775807,-1\n-0,1\n9223372036854775808,2\n"
    yield "sphere", b"lat,lon,pop\n1,2,3\n4,5,6\n"
    yield "packed", literal(gzip.compress(b"1,2\n3,4\n", mtime=0) + bytes(9))
    yield "utf-16", "1,2\n".encode("utf-16-le")
    yield "long-2", b"1,2\n" + again(4, 200) + again(200, 100)
    yield "long-3", b"1,2,3\n" + again(6, 200) + again(240, 100)
    yield "long-line", b"1" + again(1, 255) + again(255, 14) + b"1" + again(1, 255) + b",2\n"


FASTA = b">first a description\nACGTN\nacgt\n\n>second\nUUGA\n"
FASTQ = b"@first a description\nACGTN\n+\nIIIII\n@second\nAC\nGT\n+second\n@@\n!~\n"
LONG = b">long\n" + b"ACGTTGCA" * 8 + b"\n" + again(65, 200) + again(130, 250) + again(255, 200)


def fasta_seeds():
    for alphabet in (b"\0", b"\1"):
        yield f"fasta-{alphabet[0]}", alphabet + FASTA
        yield f"fastq-{alphabet[0]}", alphabet + FASTQ
    yield "protein", b"\1>p|1 x\r\nMKV LA\r\nX*\r\n"
    yield "mark", b"\0\xef\xbb\xbf\n \n>a\nA"
    yield "foreign", b"\0>a\nAC!T\n"
    yield "same-name", b"\0>a\nA\n>b\nC\n>a\nG\n"
    yield "no-name", b"\0> a\nA\n"
    yield "no-letters", b"\0>a\n>b\nA\n"
    yield "return", b"\0>a\rACGT\r>b\rACGT\r"
    yield "short-qualities", b"\0@a\nACGT\n+\nIII\n"
    yield "no-plus", b"\0@a\nACGT\n"
    yield "long", b"\0" + LONG
    yield "long-fastq", b"\0@long\n" + b"ACGT" * 16 + again(64, 100) + b"\n+\n" + b"IIII" * 16 + again(64, 100)
    yield "long-name", b"\0>" + b"n" * 100 + again(100, 200) + again(200, 200) + b"\nA\n"
    yield "many", b"\0" + b"".join(b">%d\nA\n" % i for i in range(150))


def bgzip(data, block=64):
    """Blocks of gzip with their length in an extra field; the last one is empty."""
    blocks = [data[i:i + block] for i in range(0, len(data), block)] + [b""]
    packed = b""
    for part in blocks:
        body = gzip.compress(part, mtime=0)[10:]
        packed += bytes([31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 66, 67, 2, 0]) + struct.pack("<H", len(body) + 17) + body
    return packed


def compressed_seeds():
    for form, compress in (("gzip", lambda data: gzip.compress(data, mtime=0)), ("bgzip", bgzip)):
        yield f"raw-{form}", b"\0\0\0\0\0\0" + literal(compress(FASTA))
        yield f"raw-{form}-twice", b"\0\0\0\0\0\0" + literal(compress(FASTA[:40]) + compress(FASTA[40:]))
        yield f"raw-{form}-rest", b"\0\0\0\0\0\0" + literal(compress(FASTA) + b"rest")
    yield "raw-both", b"\0\0\0\0\0\0" + literal(bgzip(FASTA[:40])[:-28] + gzip.compress(FASTA[40:], mtime=0))
    for form in (1, 2):
        for damage in range(6):
            for block, text, title in ((0, FASTA, "fasta"), (255, FASTQ, "fastq"), (255, LONG, "long")):
                place = 8 * (17 + 31 * damage) + damage
                yield f"form-{form}-damage-{damage}-{title}", bytes([0, form, block, damage, place >> 8, place & 255]) + text


def matrix_seeds():
    yield "bases", b"# a comment\n   A  C  G  T\nA  5 -4 -4 -4\nC -4  5 -4 -4\nG -4 -4  5 -4\nT -4 -4 -4  5\n"
    yield "one", b"*\n* -128\n"
    yield "lower", b"a c\nc 127 1\na 2 3\n"
    yield "return", b"A C\r\nA 1 2\r\nC 3 4\r\n"
    yield "again", b"A A\n"
    yield "range", b"A\nA 128\n"
    yield "rows", b"A C\nA 1 2\n"
    yield "scores", b"A C\nA 1 2 3\nC 1 2\n"
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*-+./:"
    rows = "".join(letter + " 7" * 32 + "\n" for letter in letters)
    yield "all", (" ".join(letters) + "\n" + rows).encode()
    yield "too-many", (" ".join(letters) + " !\n").encode()
    yield "long", b"#" + b"x" * 63 + again(63, 255) + again(255, 200) + b"\nA\nA" + b" " * 16 + again(16, 255) + b"1\n"


def pssm_text(places, letters="ARNDCQEGHILKMFPSTWYV", percentages=True):
    head = "\nLast position-specific scoring matrix computed\n   " + "  ".join(letters * (2 if percentages else 1))
    rows = "".join(f"\n{k + 1:5d} {'MXB'[k % 3]}" + "".join(f"{(7 * k + t) % 12 - 6:4d}" for t in range(20)) +
                   ("   5" * 20 + "  0.45 inf" if percentages else "") for k in range(places))
    return head + rows + ("\n\n                      K         Lambda\nStandard Ungapped    0.1383     0.3205\n"
                          "Standard Gapped      0.0410     0.2670\nPSI Ungapped         0.1743     0.3201\n"
                          "PSI Gapped           0.0533     0.2670\n")


def pssm_seeds():
    good = pssm_text(3)
    yield "whole", good.encode()
    yield "narrow", pssm_text(2, "VYWTSPFMKLIHGEQCDNRA", percentages=False).encode()
    yield "return", pssm_text(1).replace("\n", "\r\n").encode()
    yield "infinite", good.replace("  -6", "  -I").encode()
    yield "unknown", good.replace("0.0533", "-1.000").encode()
    yield "range", good.replace("   5\n", " 128\n").replace("  -6", " 128").encode()
    yield "place", good.replace("    2 X", "    4 X").encode()
    yield "letters", good.replace("A  R", "A  A").encode()
    yield "percentages", good.replace("   5  0.45 inf", "").encode()
    yield "rest", (good + "rest 1 2\n").encode()
    yield "cut", good[:-40].encode()
    yield "long", good.encode()[:-1] + b" " * 16 + again(16, 255) + b"\n"


def encoded(major, minor, rate, samples):
    """A file as libsndfile writes it, or nothing if it does not."""
    with tempfile.NamedTemporaryFile() as file:
        written = sounds.encode(file.name, major << 16 | minor, rate, samples)
        return Path(file.name).read_bytes() if written else b""


def sound_files():
    wave = np.sin(np.arange(300) * 0.3) * 0.5
    short, stereo = wave[:40], np.stack([wave[:40], -wave[:40] / 2], axis=1)
    for major, name in ((1, "wav"), (2, "aiff"), (3, "au"), (0x19, "rf64"), (0x18, "caf"), (0xB, "w64"), (0x13, "wavex"),
                        (5, "paf"), (6, "svx"), (7, "nist"), (8, "voc"), (0xA, "ircam"), (0xC, "mat4"), (0xD, "mat5"),
                        (0xE, "pvf"), (0xF, "xi"), (0x10, "htk"), (0x11, "sds"), (0x12, "avr"), (0x21, "mpc2k")):
        for minor in (2, 6, 0x51):
            yield f"{name}-{minor:x}", encoded(major, minor, 22050, short)
    yield "wav-stereo", encoded(1, 2, 44100, stereo)
    yield "wav-24", encoded(1, 3, 8000, stereo)
    for minor, name in ((0x10, "ulaw"), (0x11, "alaw"), (0x12, "ima"), (0x13, "ms"), (0x20, "gsm"), (0x30, "g721")):
        yield f"wav-{name}", encoded(1, minor, 8000, wave)
    for minor in range(0x70, 0x74):
        yield f"caf-alac-{minor:x}", encoded(0x18, minor, 22050, wave)
    yield "flac", encoded(0x17, 2, 22050, stereo)
    yield "ogg", encoded(0x20, 0x60, 22050, short)
    yield "opus", encoded(0x20, 0x64, 48000, short)
    yield "mp3", encoded(0x23, 0x82, 22050, wave)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 22050, 44100, 2, 16) + b"data"
    yield "wav-pipe", b"RIFF\xff\xff\xff\xff" + head + b"\xff\xff\xff\xff" + b"ab" * 20
    yield "wav-1-hz", b"RIFF\x4c\x00\x00\x00" + head.replace(struct.pack("<I", 22050), b"\1\0\0\0") + b"\x28\0\0\0" + b"ab" * 20
    yield "wav-cut", b"RIFF\x84\x00\x00\x00" + head + b"\x80\0\0\0" + b"ab" * 20
    yield "wav-nan", encoded(1, 6, 22050, np.array([0.5, np.nan]))


def sound_seeds():
    for name, data in sound_files():
        if data:
            yield name, b"\0\x06" + literal(data)
            if name in ("wav-2", "wav-stereo", "flac", "mp3"):
                for rate in (1, 2, 5, 6):
                    yield f"{name}-rate-{rate}", bytes([rate, 30]) + literal(data)
    wav = dict(sound_files())["wav-2"]
    long = bytearray(wav[:44])
    long[4:8], long[40:44] = struct.pack("<I", 36 + 60000), struct.pack("<I", 60000)
    yield "wav-long", b"\1\x63" + literal(bytes(long)) + b"0123" + again(4, 59) + again(240, 249)


def features_seeds():
    rows = np.arange(12, dtype="f4").reshape(4, 3)
    for code in ("f4", "f8", "i4"):
        yield f"npy-{code}", b"\0\x02" + npy(rows.astype(code))
    yield "npy-fortran", b"\0\x02" + npy(np.asfortranarray(rows))
    yield "npy-fortran-f8", b"\0\x02" + npy(np.asfortranarray(rows.astype("f8")))
    yield "npy-nan", b"\0\x02" + npy(rows / np.float32(0))
    yield "npy-overflow", b"\0\x02" + npy(np.full((2, 2), 1e300))
    yield "npy-vector", b"\0\x02" + npy(rows[0])
    yield "npy-empty", b"\0\x02" + npy(rows[:0])
    yield "npy-rest", b"\0\x02" + npy(rows) + b"rest"
    yield "npy-wide", b"\0\x02" + npy_header("<f4", (1, 1 << 20)) + b"1234"
    yield "npy-huge", b"\0\x02" + npy_header("<f4", (1 << 40, 4)) + b"1234" * 20
    yield "npy-long", b"\0\x05" + npy_header("<f4", (200, 62)) + b"\0\0\0\x3f" + again(4, 61) + again(248, 199)
    for frame in (0, 2, 4, 5, 6):
        for name, data in sound_files():
            if name in ("wav-2", "wav-stereo", "wav-nan", "mp3") and data:
                yield f"{name}-frame-{frame}", bytes([frame, 3]) + literal(data)


def tuning_seeds():
    line = "nvidia NVIDIA H200\taxpy\tchunk\t%d\t%d\n"
    yield "entries", b"\1# a comment\n\n" + (line % (65536, 12345)).encode() + b"cpu x\tscan\tpiece_bytes\t1048576\t0\n"
    yield "other-version", b"\0davit-tuning\t0.0.0\n" + (line % (65536, 1)).encode()
    yield "no-version", b"\0" + (line % (65536, 1)).encode()
    yield "range", b"\1" + (line % (1, 1)).encode() + (line % (1 << 62, 1)).encode()
    yield "large-time", b"\1" + (line % (65536, (1 << 63) - 1)).encode()
    yield "huge-time", b"\1" + (line % (65536, 1 << 63)).encode()
    yield "fields", b"\1a\tb\n\t\t\t\t\na\tscan\tpiece_bytes\t1048576\t0\t\n"
    yield "same", b"\1" + 2 * (line % (65536, 1)).encode()
    yield "zero-byte", b"\1a\0b\n"
    yield "many", b"\1" + b"".join(b"cpu %d\tatax\tteams\t%d\t7\n" % (k, k + 1) for k in range(12))
    yield "long-line", b"\1" + b"x" * 16 + again(16, 40) + b"\tatax\tteams\t1\t7\n"
    yield "long-name", b"\1" + b"x" * 43 + b"\tatax\tteams\t1\t7\n" + b"x" * 44 + b"\tatax\tteams\t1\t7\n"


def command_line_seeds():
    """The examples of all commands, and one line for each option."""
    for source in sorted((HERE.parent.parent / "src" / "cli").glob("*.c")):
        lines = re.findall(rf'"davit ({source.stem} [^"]*)\\n"', source.read_text())
        for number, text in enumerate(lines):
            yield f"{source.stem}-{number}", text.replace(" ", "\n").encode() + b"\n"
        if lines:
            yield f"{source.stem}-more", "\n".join([source.stem, "--repeat=3", "--warmup", "1e1", "--devices", "0,1,-1",
                                                    "--json", "--check", "--quiet", "-v", "--", "-", "x"]).encode()
    yield "help", b"gemm\n--help\n"
    yield "near", b"scan\n--exclusve\n"
    yield "long", b"reduce\n" + b"x" * 16 + again(16, 255) + again(255, 100) + b"\n"
    yield "many", b"detect\n--match\nx\n" + again(2, 200)


SEEDS = {
    "npy": npy_seeds, "mtx": mtx_seeds, "csv": csv_seeds, "fasta": fasta_seeds, "compressed": compressed_seeds,
    "matrix": matrix_seeds, "pssm": pssm_seeds, "sound": sound_seeds, "features": features_seeds, "tuning": tuning_seeds,
    "command_line": command_line_seeds}


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus"
    for name, seeds in SEEDS.items():
        corpus = folder / name
        corpus.mkdir(parents=True, exist_ok=True)
        for old in corpus.iterdir():
            if not old.name.startswith("regression-"):
                old.unlink()
        for title, data in seeds():
            (corpus / title).write_bytes(data)


if __name__ == "__main__":
    main()

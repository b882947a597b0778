#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every message of the tool, shown in a terminal (tmux) and compared in full: what each command says of wrong words, options,
numbers and files, and what it prints beside results.

usage: test_messages.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all

A group is a transcript: `$` and a command, what the terminal shows, and the exit code. <word> is anything without a blank,
<anything> the rest of a line, <lines> any lines. A backslash ends a line that goes on in the next.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import wave

sys.dont_write_bytecode = True
from support import DAVIT, LIMIT_S, expect, main, put, run_json

import numpy as np

COMMANDS = r"""
$ davit
davit: no command given; 'davit help' lists the commands
ended with 2
$ davit gem
davit: unknown command 'gem'; did you mean gemm? 'davit help' lists the commands
ended with 2
$ davit cov
davit: unknown command 'cov'; did you mean covariance? 'davit help' lists the commands
ended with 2
$ davit xyzzy
davit: unknown command 'xyzzy'; 'davit help' lists the commands
ended with 2
$ davit help gem
davit: unknown command 'gem'; did you mean gemm? 'davit help' lists the commands
ended with 2
$ davit help dot gemm
davit: help takes one command
ended with 2
$ davit version
davit <word>
ended with 0
$ davit --version
davit <word>
ended with 0
$ davit --verison
davit: unknown command '--verison'; did you mean --version? 'davit help' lists the commands
ended with 2
$ davit --hepl
davit: unknown command '--hepl'; did you mean --help? 'davit help' lists the commands
ended with 2
$ davit demo x
davit demo: unexpected operand 'x'; see 'davit help demo'
ended with 2
$ davit devices x
davit devices: unexpected operand 'x'; see 'davit help devices'
ended with 2
$ davit devices --json=1
davit devices: --json takes no value
ended with 2
$ davit tune gem
davit tune: 'gem' cannot be tuned; did you mean gemm? the choices are: gemm gemv axpy reduce scan stencil atax \
covariance align detect closest copy
ended with 2
$ davit tune
davit tune: expected either a capability or --show
ended with 2
$ davit tune gemm --show
davit tune: expected either a capability or --show
ended with 2
$ DAVIT_BENCH_DIR=benchmarks davit bench xyz
davit bench: there is no benchmark 'xyz' in '<word>'; there are: <anything>
ended with 2
$ davit bench --lsit
davit bench: unknown option '--lsit'; did you mean --list? 'davit help bench' lists the options
ended with 2
"""

OPTIONS = r"""
$ davit gemm x.npy sq.npy --tranb t
davit gemm: unknown option '--tranb'; did you mean --transb? 'davit help gemm' lists the options
ended with 2
$ davit dot v.npy v.npy --dev cpu
davit dot: unknown option '--dev'; did you mean --devices? 'davit help dot' lists the options
ended with 2
$ davit dot v.npy v.npy -z
davit dot: unknown option '-z'; 'davit help dot' lists the options
ended with 2
$ davit dot v.npy v.npy --seed 1
davit dot: unknown option '--seed'; 'davit help dot' lists the options
ended with 2
$ davit gemm x.npy
davit gemm: operand B is missing; see 'davit help gemm'
ended with 2
$ davit gemm x.npy sq.npy v.npy
davit gemm: unexpected operand 'v.npy'; see 'davit help gemm'
ended with 2
$ davit gemm sq.npy x.npy --tile abc
davit gemm: --tile takes auto or a whole number from 1, not 'abc'
ended with 2
$ davit gemm sq.npy x.npy --alpha
davit gemm: --alpha needs a value
ended with 2
$ davit gemm sq.npy x.npy --alpha one
davit gemm: --alpha takes a number, such as 2 or 1+2j, not 'one'
ended with 2
$ davit gemm sq.npy x.npy --repeat 0
davit gemm: --repeat takes a whole number from 1 to 1000000, not '0'
ended with 2
$ davit gemm sq.npy x.npy --repeat 1.5
davit gemm: --repeat takes a whole number from 1 to 1000000, not '1.5'
ended with 2
$ davit gemm sq.npy x.npy --arithmetic fast
davit gemm: --arithmetic takes native or exact, not 'fast'
ended with 2
$ davit reduce x.npy --op mena
davit reduce: --op takes sum, prod, min, max, mean, var, std, norm, argmin or argmax, not 'mena'; did you mean mean?
ended with 2
$ davit reduce x.npy --ordered=1
davit reduce: --ordered takes no value
ended with 2
$ davit scan v.npy -o s.npy --op mean
davit scan: --op takes sum, prod, min or max, not 'mean'
ended with 2
$ davit stencil x.npy -o b.npy --border wrap
davit stencil: --border takes keep or zero, not 'wrap'
ended with 2
$ davit covariance x.npy -o s.npy --divisor 0
davit covariance: --divisor cannot be 0: 1 / 0 is beyond the range of float64
ended with 2
$ davit closest p.csv --k 0
davit closest: --k takes a whole number from 1 to 1000000000000, not '0'
ended with 2
$ davit closest p.csv --radius -1
davit closest: --radius takes a number from 0, not '-1'
ended with 2
$ davit closest p.csv --algorithm gird
davit closest: --algorithm takes auto, brute, divide or grid, not 'gird'; did you mean grid?
ended with 2
$ davit closest p.csv --columns 1
davit closest: --columns takes 2 or 3 columns, not '1'
ended with 2
$ davit closest p.csv --columns x,z
davit closest: --columns x,z: p.csv has 3 columns, and none is 'z'
ended with 2
$ davit points -n 1e3.5 -o p.npy
davit points: -n takes a whole number from 1, not '1e3.5'
ended with 2
$ davit points -n 1e15 -o p.npy
davit points: float32 has only 2^48 different points
ended with 2
$ davit points -n 10 -o p.npy --kind norm
davit points: --kind takes uniform, signed or normal, not 'norm'; did you mean normal?
ended with 2
$ davit points -n 10 -o p.npy --dim 4
davit points: --dim takes a whole number from 2 to 3, not '4'
ended with 2
$ davit points -n 10 -o p.npy --sigma 0
davit points: --sigma takes a number above 0, at most 10, not '0'
ended with 2
$ davit points -n 10
davit points: -o is missing
ended with 2
$ davit features stream.wav
davit features: -o is missing
ended with 2
$ davit detect stream.wav
davit detect: --effect is missing
ended with 2
$ davit detect stream.wav --effect effect.wav --alpha 2
davit detect: --alpha takes a number from 0 to 1, not '2'
ended with 2
$ davit occupancy --card H1000
davit occupancy: --card: name is 'H1000', not one of: 8800 GTX, <anything>
ended with 2
$ davit occupancy --card H100 --threads 0
davit occupancy: --threads takes a whole number from 1 to 1073741824, not '0'
ended with 2
$ davit dot v.npy v.npy --threads 0
davit dot: --threads takes a whole number from 1 to 1024, not '0'
ended with 2
$ davit dot v.npy v.npy --devices abc
davit dot: --devices takes all, gpu, host, cpu or numbers such as 0,2, not 'abc'
ended with 2
$ davit dot v.npy v.npy --devices 99
davit dot: device 99 does not exist; there are <word>, and DAVIT_HOST (-1)
ended with 2
$ davit dot v.npy v.npy --devices 0,0
davit dot: --devices names device 0 twice
ended with 2
$ DAVIT_BACKEND=nothing davit dot v.npy v.npy
davit dot: DAVIT_BACKEND: no back end is called "nothing"
ended with 2
$ DAVIT_THREADS=many davit dot v.npy v.npy
davit dot: DAVIT_THREADS is "many", not a number from 1 to 1024
ended with 2
"""

ALIGN = r"""
$ davit align q.fa q.fa --devices cpu
davit align: the letters count as DNA or RNA: all letters are from ACGTUN; a match scores 2, a mismatch -3, a gap of k symbols -(7 + 2 (k - 1)); \
--protein scores them as amino acids
query   target  score   qstart  qend    tstart  tend    cigar   strand  identity        coverage        evalue  bits
q       q       20      1       10      1       10      *       +       *       100.00  0.000153        19.3
ended with 0
$ davit align p.fa p.fa --format sam
davit align: SAM is only for DNA and RNA: 'Q' (p.fa, line 2) is not a base; --dna says that the letters are bases
ended with 2
$ davit align p.fa p.fa --format gff
davit align: --format takes tsv, json, sam, paf or blast6, not 'gff'
ended with 2
$ davit align p.fa p.fa --strand both
davit align: only DNA and RNA have a minus strand: 'Q' (p.fa, line 2) is not a base; --dna says that the letters are bases
ended with 2
$ davit align p.fa p.fa --matrix blosum63
davit align: --matrix: name is 'blosum63', not one of: BLOSUM45, BLOSUM50, BLOSUM62, BLOSUM80, BLOSUM90, PAM30, PAM70, \
PAM250, NUC.4.4; and there is no such file
ended with 3
$ davit align p.fa p.fa --matrix blosum80 --devices cpu
davit align: evalue and bits are unknown: the published statistics are for BLAST's BLOSUM80, in half bits; davit's is in third bits
query   target  score   qstart  qend    tstart  tend    cigar   strand  identity        coverage        evalue  bits
p       p       97      1       9       1       9       *       +       *       100.00  *       *
ended with 0
$ davit align p.fa p.fa --gap-open 30 --devices cpu
davit align: the letters count as amino acids: 'Q' (p.fa, line 2) is not a base; BLOSUM62, a gap of k symbols \
scores -(30 + 1 (k - 1)); --dna scores them as bases
davit align: evalue and bits are unknown: there are no statistics for these scores with --gap-open 30 and \
--gap-extend 1, only with 13/2 12/2 11/2 10/2 9/2 8/2 14/1 13/1 12/1 11/1 10/1
query   target  score   qstart  qend    tstart  tend    cigar   strand  identity        coverage        evalue  bits
p       p       62      1       9       1       9       *       +       *       100.00  *       *
ended with 0
$ davit align p.fa p.fa --gap-open 30 --evalue 1
davit align: --evalue: there are no statistics for these scores with --gap-open 30 and --gap-extend 1, only with 13/2 \
12/2 11/2 10/2 9/2 8/2 14/1 13/1 12/1 11/1 10/1; --min-score works instead
ended with 2
$ davit align p.fa p.fa --mode global --evalue 1
davit align: --evalue: there are statistics only for local alignments; --min-score works instead
ended with 2
$ davit align p.fa p.fa --evalue x
davit align: --evalue takes a number above 0, at most 1e+15, not 'x'
ended with 2
$ davit align p.fa p.fa --top 0
davit align: --top takes a whole number from 1, not '0'
ended with 2
$ davit align p.fa p.fa --match 1
davit align: --match needs --mismatch
ended with 2
$ davit align p.fa p.fa --mismatch 1
davit align: --mismatch takes a whole number from -128 to 0, not '1'
ended with 2
$ davit align p.fa p.fa --match 1 --mismatch -1 --matrix pam30
davit align: --match and --matrix exclude each other
ended with 2
$ davit align p.fa p.fa --dna --protein
davit align: --dna and --protein exclude each other
ended with 2
$ davit align p.fa p.fa --check --devices cpu
davit align: the letters count as amino acids: 'Q' (p.fa, line 2) is not a base; BLOSUM62, a gap of k symbols \
scores -(11 + 1 (k - 1)); --dna scores them as bases
query   target  score   qstart  qend    tstart  tend    cigar   strand  identity        coverage        evalue  bits
p       p       62      1       9       1       9       *       +       *       100.00  5.57e-07        27.1
error 0, bound 0: scores, hits and columns that differ
ended with 0
$ davit align bad.fa p.fa
davit align: bad.fa: line 2: record 'p', letter 4: expected one of ARNDCQEGHILKMFPSTWYVBZX*JOU, found '1'
ended with 3
$ davit align none.fa p.fa
davit align: none.fa: line 1: record 'p': expected letters, found none
ended with 3
$ davit align p.fa missing.fa
davit align: missing.fa: expected a readable file: No such file or directory
ended with 3
$ davit align - p.fa
davit align: standard input: expected '>' (FASTA) or '@' (FASTQ), found the end of the file
ended with 3
"""

FILES = r"""
$ davit reduce missing.npy
davit reduce: missing.npy: expected a readable file: No such file or directory
ended with 3
$ davit reduce .
davit reduce: .: expected a readable file: Is a directory
ended with 3
$ davit reduce short.npy
davit reduce: short.npy: offset 128: expected 96 bytes for 3 x 4 of f8, found 22
ended with 3
$ davit reduce not.npy
davit reduce: not.npy: offset 6: expected numbers, found the end of the file
ended with 3
$ davit reduce empty.npy
davit reduce: empty.npy: offset 0: expected a NumPy array (.npy), a Matrix Market file or a table of numbers (CSV), found the end of the file
ended with 3
$ davit reduce text.npy
davit reduce: text.npy: offset 20: expected a dtype among f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 b1, found '<U1' (text)
ended with 3
$ davit reduce z.npz
davit reduce: z.npz: expected one array, or z.npz:NAME with a NAME among a and b
ended with 3
$ davit reduce z.npz:c
davit reduce: z.npz:c: expected a member among a and b
ended with 3
$ davit reduce c.npy --op max
davit reduce: c.npy: expected real numbers, found complex128, which has no minimum or maximum
ended with 3
$ davit reduce p.csv
davit reduce: p.csv: the first column, which names the rows, is left out
25
ended with 0
$ davit reduce m.mtx
davit reduce: m.mtx: line 1: expected 'matrix array' (dense), found '%%MatrixMarket matrix coordinate real ge'
ended with 3
$ davit reduce none.npy --op mean
davit reduce: none.npy: expected at least one element for a minimum, a maximum, a mean or a variance, found a vector of 0
ended with 3
$ davit reduce short.raw --dtype f8
davit reduce: short.raw: offset 0: expected elements of 8 bytes, found 3 bytes
ended with 3
$ davit reduce short.raw --dtype f8 --shape 2
davit reduce: short.raw: offset 0: expected 16 bytes for a vector of 2 of f8, found 3
ended with 3
$ davit reduce short.raw --dtype f3 --shape 2
davit reduce: --dtype takes one of f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 b1, or one of them after < or >, not 'f3'
ended with 2
$ davit reduce -
davit reduce: standard input: offset 0: expected a NumPy array (.npy), a Matrix Market file or a table of numbers (CSV), found the end of the file
ended with 3
$ davit reduce x.npy --axis 2
davit reduce: x.npy: expected a dimension 2 for --axis, found 3 x 4
ended with 3
$ davit gemm x.npy sq.npy
davit gemm: sq.npy: expected 4 rows, the other dimension of the product, found 3 x 3
ended with 3
$ davit gemm v.npy v.npy
davit gemm: v.npy: expected a matrix, found a vector of 4
ended with 3
$ davit gemm f.npy x.npy
davit gemm: x.npy: expected float32 as in the first operand, found float64
ended with 3
$ davit gemm sq.npy sq.npy --c0 x.npy --beta 1
davit gemm: x.npy: expected 3 x 3, found 3 x 4
ended with 3
$ davit gemv x.npy w.npy
davit gemv: w.npy: expected a vector of 4, found a vector of 3
ended with 3
$ davit axpy v.npy w.npy
davit axpy: w.npy: expected a vector of 4, found a vector of 3
ended with 3
$ davit dot v.npy w.npy
davit dot: w.npy: expected a vector of 4, found a vector of 3
ended with 3
$ davit dot v.npy c.npy
davit dot: c.npy: expected float64 as in the first operand, found complex128
ended with 3
$ davit scan v.npy -o s.npy --flags w.npy
davit scan: w.npy: expected uint8, found float64
ended with 3
$ davit stencil w.npy -o b.npy
davit stencil: w.npy: expected a matrix, found a vector of 3
ended with 3
$ davit stencil x.npy -o b.npy --coefficients v.npy
davit stencil: v.npy: expected a matrix of 3 x 3 coefficients, found a vector of 4
ended with 3
$ davit atax x.npy w.npy -o y.npy
davit atax: w.npy: expected a vector of 4, found a vector of 3
ended with 3
$ davit covariance d.npy -o s.npy
davit covariance: d.npy: expected a matrix, found 3 x 2 x 2
ended with 3
$ davit solve sq.npy v.npy -o y.npy
davit solve: v.npy: expected a vector of 3 or a matrix with as many rows, found a vector of 4
ended with 3
$ davit factor x.npy -o l.npy
davit factor: x.npy: expected a square matrix, found 3 x 4
ended with 3
$ davit factor neg.npy -o l.npy
davit factor: the leading minor of order 1 is not positive definite
ended with 1
$ davit closest bad.csv
davit closest: bad.csv: line 3: expected numbers, found '3,four', in which column 1 ('y') is not a number
ended with 3
$ davit closest x.npy
davit closest: x.npy: expected an n x 2 or n x 3 matrix, found 3 x 4
ended with 3
$ davit features x.npy -o f.npy
davit features: x.npy: expected sound, found a .npy file
ended with 3
$ davit features not.npy -o f.npy
davit features: not.npy: expected sound that libsndfile reads: Format not recognised.
ended with 3
$ davit detect stream.wav --effect missing.wav
davit detect: missing.wav: expected a readable file: No such file or directory
ended with 3
$ davit detect stream.wav --effect x.npy
davit detect: searching at 8000 samples a second, the rate of 'stream.wav'; --rate sets another
davit detect: x.npy: expected frames of 62 features as in the stream, found 4
ended with 3
$ davit detect - --effect effect.wav
davit detect: standard input: expected sound, found an empty file
ended with 3
$ davit gemm sq.npy x.npy --devices cpu -o /dev/full
davit gemm: /dev/full: cannot be written: No space left on device
ended with 1
$ davit points -n 10 -o nodir/p.npy
davit points: nodir/p.npy: cannot be written: No such file or directory
ended with 1
$ davit points -n 1e14 -o p.npy
davit points: no host memory for 800000000000000 bytes: the process may have <word>
ended with 4
"""

RESULTS = r"""
$ davit dot v.npy v.npy --devices cpu
30
ended with 0
$ davit dot v.npy v.npy --devices cpu --check
30
error <word>, bound <word>: |r - r_ref| <= 3 eps sqrt(n + 2) ||x||_2 ||y||_2
ended with 0
$ davit dot v.npy v.npy --devices cpu -v
30
cpu: reference on <word> <word>
seconds: <word> s
gflops: <word> GFLOP/s
type: float64
n: 4
ended with 0
$ davit dot v.npy v.npy --devices cpu --repeat 3 -v
30
median <word> <word> (<word> … <word>), <word> GFLOP/s
cpu: reference on <word> <word>
seconds: <word> s
seconds_minimum: <word> s
seconds_maximum: <word> s
seconds_deviation: <word> s
gflops: <word> GFLOP/s
type: float64
n: 4
ended with 0
$ davit dot v.npy v.npy --devices cpu --json
{"command": "dot", "devices": [-1], "seconds": <word>, "gflops": <word>, "type": "float64", "n": 4, "result": 30}
ended with 0
$ davit reduce x.npy --devices cpu
78
ended with 0
$ davit reduce x.npy --axis 1 --devices cpu
10
26
42
ended with 0
$ davit closest p.csv --devices cpu
davit closest: coordinates are the columns 'x' and 'y'; --columns chooses others
i       j       distance
0       1       5
ended with 0
$ davit closest p.csv --k 2 --devices cpu
davit closest: coordinates are the columns 'x' and 'y'; --columns chooses others
i       j       distance
0       1       5
1       2       7.810249675906654
ended with 0
$ davit gemm sq.npy x.npy --devices cpu
davit gemm: the result was not kept; -o C writes it
ended with 0
$ davit gemm sq.npy x.npy --devices cpu --check
error <word>, bound <word>: ||C - C_ref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F)
davit gemm: the result was not kept; -o C writes it
ended with 0
$ davit gemv x.npy v.npy --devices cpu
davit gemv: the result was not kept; -o Y writes it
ended with 0
$ davit scan v.npy --devices cpu
davit scan: the result was not kept; -o Y writes it
ended with 0
$ davit atax x.npy v.npy --devices cpu
davit atax: the result was not kept; -o Y writes it
ended with 0
$ davit covariance x.npy --devices cpu
davit covariance: the result was not kept; -o S writes it
ended with 0
$ davit solve sq.npy w.npy --devices cpu
davit solve: the result was not kept; -o X writes it
ended with 0
$ davit occupancy --card "RTX 4090" --threads 256
RTX 4090, capability 8.9: 1536 threads, 48 warps, 24 blocks, 65536 registers, 102400 bytes of shared memory
256 threads, 0 registers, 0 bytes: 6 blocks, 48 warps, 1536 threads, occupancy 100.00 %
limited by warps
ended with 0
$ davit occupancy --card H100 --threads 5000
H100, capability 9.0: 2048 threads, 64 warps, 32 blocks, 65536 registers, 233472 bytes of shared memory
5000 threads, 0 registers, 0 bytes: 0 blocks, 0 warps, 0 threads, occupancy 0.00 %
limited by warps, block size: a block of 5000 threads is larger than the largest, 1024
ended with 0
$ davit detect stream.wav --effect effect.wav --permutations 9 --rate 22050 --devices cpu 2>&1 >/dev/null
davit detect: effect: --alpha is below 1 / (--permutations + 1): nothing can be detected
ended with 0
$ davit detect effect.wav --effect stream.wav --devices cpu
davit detect: searching at 8000 samples a second, the rate of 'effect.wav'; --rate sets another
davit detect: effect.wav: expected at least one frame of 1024 samples at 8000 a second, found less
ended with 3
$ davit detect effect.wav --effect stream.wav --rate 22050 --devices cpu 2>&1 >/dev/null
davit detect: stream: the stream is shorter than 8 times the effect, too short to compare with; use --null window
ended with 0
"""

BINARY = r"""
$ davit gemm sq.npy x.npy --devices cpu -o -
davit gemm: -o -: the result is binary, and standard output is a terminal; -f writes it there
ended with 2
$ davit scan v.npy --devices cpu -o -
davit scan: -o -: the result is binary, and standard output is a terminal; -f writes it there
ended with 2
$ davit reduce x.npy --axis 1 --devices cpu -o -
davit reduce: -o -: the result is binary, and standard output is a terminal; -f writes it there
ended with 2
$ davit features stream.wav -o -
davit features: -o -: the result is binary, and standard output is a terminal; -f writes it there
ended with 2
$ davit points -n 10 -o -
davit points: -o -: the result is binary, and standard output is a terminal; -f writes it there
ended with 2
"""

NO_GPU = r"""
$ davit dot v.npy v.npy --devices gpu
davit dot: --devices gpu: there is no GPU; 'davit devices' says why
ended with 2
$ davit devices
device  kind          memory free of total  units  capability  name
    -1  cpu  <anything>
<lines>
davit devices: no GPU: <anything>
ended with 0
$ davit occupancy --threads 256
davit occupancy: there is no NVIDIA device; name a card with --card: 8800 GTX, <anything>
ended with 2
"""


def make_files():
    """Those that the transcripts name, right ones and wrong ones."""
    arrays = {"x": np.arange(1.0, 13).reshape(3, 4), "v": np.arange(1.0, 5), "w": np.arange(1.0, 4), "sq": np.eye(3), "d": np.ones((3, 2, 2)),
              "f": np.ones((4, 2), "f4"), "c": np.ones(3) * 1j, "neg": -np.eye(2), "none": np.ones(0), "text": np.array(["a", "b"])}
    for name, array in arrays.items():
        np.save(name, array)
    np.savez("z", a=np.ones(3), b=np.ones(2))
    with open("x.npy", "rb") as file:
        put("short.npy", file.read()[:150])
    put("not.npy", "hello\n")
    put("empty.npy", "")
    put("short.raw", "abc")
    put("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n")
    put("p.csv", "id,x,y\n1,0,0\n2,3,4\n3,9,9\n")
    put("bad.csv", "x,y\n1,2\n3,four\n")
    for name, text in (("q", ">q\nACGTACGTAA\n"), ("p", ">p\nWARNDCQEW\n"), ("bad", ">p\nWAR1NDC\n"), ("none", ">p\n>r\nAC\n")):
        put(f"{name}.fa", text)
    rng = np.random.default_rng(1)
    for name, samples in (("stream", 32000), ("effect", 400)):
        with wave.open(f"{name}.wav", "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes((rng.standard_normal(samples) * 8000).astype("<i2").tobytes())


servers = 0  # each has a socket of its own: a server that ends may still hold the last one's


def tmux(*arguments):
    command = ["tmux", "-L", f"davit-messages-{os.getpid()}-{servers}", "-f", "/dev/null", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S).stdout


def shown_by(commands):
    """What the terminal shows of the commands, from the first line on."""
    global servers
    servers += 1
    put("run.sh", "".join(f"echo {shlex.quote('$ ' + line)}\n{line} {'' if '<' in line else '< /dev/null'}\necho ended with $?\n"
                          for line in commands) + f"echo all done\nsleep {LIMIT_S}\n")
    os.makedirs("bin", exist_ok=True)
    os.makedirs("benchmarks", exist_ok=True)
    put("benchmarks/bench_x", "")
    os.chmod("benchmarks/bench_x", 0o755)
    if not os.path.exists("bin/davit"):
        os.symlink(DAVIT, "bin/davit")
    variables = f"PATH={os.getcwd()}/bin:$PATH HOME={os.getcwd()} KMP_BLOCKTIME=0 DAVIT_TUNING_FILE= LC_ALL=C.UTF-8"
    tmux("start-server", ";", "set-option", "-g", "history-limit", "20000", ";", "new-session", "-d", "-x", "500", "-y", "50",
         f"env {variables} sh run.sh")
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and "all done\n" not in tmux("capture-pane", "-p"):
        time.sleep(0.05)
    shown = tmux("capture-pane", "-p", "-S", "-")
    tmux("kill-server")
    return shown


def pattern_of(text):
    pattern = re.escape(text)
    for word, meaning in (("<word>", r"\S+"), ("<anything>", ".+"), ("<lines>", r"[^$]*?")):
        pattern = pattern.replace(re.escape(word), meaning)
    return pattern


def follow(transcript):
    """Runs its commands in a terminal, and compares what each shows."""
    if not shutil.which("tmux"):
        print("  left out: there is no tmux")
        return
    make_files()
    wanted = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", transcript.replace("\\\n", ""), re.M)
    shown = shown_by([command for command, _ in wanted])
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ |all done).*\n)*)", "".join(line.rstrip() + "\n" for line in shown.split("\n")), re.M)
    expect(len(found) == len(wanted), f"{len(found)} of {len(wanted)} commands were seen")
    for (command, text), (echoed, seen) in zip(wanted, found):
        expect(command == echoed and re.fullmatch(pattern_of(text), seen), f"{command}: {seen!r}, expected {text!r}")


def test_commands():
    follow(COMMANDS)


def test_options():
    follow(OPTIONS)


def test_align():
    follow(ALIGN)


def test_files():
    follow(FILES)


def test_results():
    follow(RESULTS)


def test_binary():
    follow(BINARY)


def test_no_gpu():
    kinds = {device["kind"] for device in run_json("devices")["list"]}
    if kinds <= {"cpu", "host-offload"}:
        follow(NO_GPU)
    else:
        print("  left out: there is a GPU")


if __name__ == "__main__":
    sys.exit(main(globals()))

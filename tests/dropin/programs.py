#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of davit, on the drop-in: NumPy, SciPy with Debian's LAPACK, Octave, C and Fortran.

    programs.py FOLDER PROGRAMS [CASE...]     (ctest runs it as `dropin_NAME`)

FOLDER has libdavit_blas.so and davit/libblas.so.3, PROGRAMS what is built from program.c. Each case is a program in a
process of its own; devices are host-offload devices where there are no GPUs. What a program computed is compared with
something else than BLAS, and the log says where it was computed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from exports import LAPACK

SECONDS = 60
DEVICES = {"DAVIT_BLAS_DEVICES": "0,1", "DAVIT_BLAS_FROM": "32"}
PROLOGUE = """
import numpy as np
generator = np.random.default_rng(7)
def matrix(n, m, dtype="d"):
    x = generator.uniform(-1, 1, (n, m)).astype(dtype)
    return x + 1j * generator.uniform(-1, 1, (n, m)).astype(dtype) if np.dtype(dtype).kind == "c" else x
def product(a, b):
    "without BLAS"
    return np.einsum("ij,jk->ik", a, b)
def close(x, y, scale=1):
    assert np.abs(x - y).max() <= 50 * scale * np.finfo(x.dtype).eps * max(1, np.abs(y).max()), np.abs(x - y).max()
"""


class Failed(Exception):
    pass


class Programs:
    def __init__(self, folder, programs, work):
        self.folder, self.programs, self.work = Path(folder).resolve(), Path(programs).resolve(), Path(work)
        self.preload = {"LD_PRELOAD": str(self.folder / "libdavit_blas.so")}

    def run(self, command, *environments, status=0, text=None):
        """(output, lines of the log); the process's exit status must be `status`."""
        log = self.work / "log"
        log.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("DAVIT_BLAS", "LD_"))}
        environment.update(KMP_BLOCKTIME="0", OPENBLAS_NUM_THREADS="1", DAVIT_BLAS_LOG=str(log))
        for more in environments:
            environment.update(more)
        if "BLIS_IC_NT" not in environment:
            environment.setdefault("BLIS_NUM_THREADS", "1")    # where devices may be used it is the number of cores
        environment = {name: value for name, value in environment.items() if value is not None}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, input=text,
                                  cwd=self.work)
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"did not end within {SECONDS} s: {command}") from expired
        if done.returncode != status:
            raise Failed(f"exit status {done.returncode} in place of {status}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr, log.read_text().splitlines() if log.exists() else []

    def python(self, program, *environments, **more):
        return self.run([sys.executable, "-c", PROLOGUE + textwrap.dedent(program)], *environments, **more)

    @staticmethod
    def expect(lines, pattern, count=1):
        search = re.compile(pattern).search
        found = sum(1 for _ in islice(filter(search, lines), count))    # a log may have 300,000 lines
        if found < count:
            raise Failed(f"{found} lines of the log are /{pattern}/, of {count}:\n" + "\n".join(lines[:40]))

    # ---- NumPy ----

    def numpy(self):
        program = """
            for dtype in "fdFD":
                a, b = matrix(70, 50, dtype), matrix(50, 90, dtype)
                close(a @ b, product(a, b))
                close(a.T @ a, product(a.T, a))                # NumPy uses syrk
                close(np.asfortranarray(a) @ b[:, ::2], product(a, b[:, ::2]))
                close(a @ b[:, 0], product(a, b[:, :1])[:, 0])
                assert abs(np.vdot(a, a) - (abs(a) ** 2).sum()) < 0.01
            """
        _, log = self.python(program, self.preload, {"DAVIT_BLAS_DEVICES": ""})
        self.expect(log, r"libdavit_blas \d+: dgemm NN \d+ \d+ 50: host, DAVIT_BLAS_DEVICES names none")
        self.expect(log, r"zgemv_: host, no form for devices")
        self.expect(log, r"zdotc_: host")
        if any("cblas" in line or "sub_" in line for line in log):
            raise Failed("a call is logged twice:\n" + "\n".join(log))
        _, log = self.python(program, self.preload, DEVICES)
        self.expect(log, r": dgemm NN 90 70 50: devices 0,1, DAVIT_BLAS_FROM; [0-9.e-]+ ms$")
        for line in "sgemm NN 90 70 50", "cgemm NN 90 70 50", "zgemm NN 90 70 50", "dsyrk [UL][NT] 50 70":
            self.expect(log, f": {line}: devices 0,1, DAVIT_BLAS_FROM")

    def small(self):
        """Small calls stay on the host and start nothing; neither do calls of any size without a GPU."""
        program = """
            import ctypes
            none, four = ctypes.byref(ctypes.c_int(0)), ctypes.byref(ctypes.c_int(4))
            room = (ctypes.c_double * 16)()
            ctypes.CDLL(None).dgemm_(b"N", b"t", none, four, four, room, room, four, room, four, room, room, four)
            a = matrix(20, 20)
            close(a @ a, product(a, a))
            print("loaded" if "libdavit.so" in open("/proc/self/maps").read() else "not loaded")
            print("BLIS" if "libblis.so" in open("/proc/self/maps").read() else "no BLIS")
            """
        output, log = self.python(program, self.preload, DEVICES)
        self.expect(log, r"dgemm NN 20 20 20: host, smaller than DAVIT_BLAS_FROM")
        self.expect(log, r"dgemm NT 0 4 4: host, nothing to compute, or a wrong argument")
        if output.split() != ["not", "loaded", "BLIS"]:
            raise Failed(output)
        output, _ = self.run([sys.executable, "-c", "print(open('/proc/self/maps').read())"], self.preload)
        if "libdavit_blas" not in output or "libblis" in output or "libdavit.so" in output:
            raise Failed("a program without BLAS has loaded more than the drop-in")

    def wrong_argument(self):
        """NumPy's modules have an xerbla_ that raises an exception; a BLAS in place of BLIS must not end the interpreter."""
        program = """
            import ctypes
            two, one, found, room = *(ctypes.byref(ctypes.c_int(n)) for n in (2, 1, 0)), (ctypes.c_double * 4)()
            library = ctypes.PyDLL(None)
            for wrong in (lambda: library.dgetrf_(two, two, room, one, room, found),
                          lambda: library.dgemm_(b"N", b"N", two, two, two, room, room, one, room, two, room, room, two)):
                try:
                    wrong()
                except ValueError as error:
                    print(error)
            """
        for devices in ({"DAVIT_BLAS_DEVICES": ""}, DEVICES):
            output, _ = self.python(program, self.preload, devices)
            if output.splitlines() != [f"On entry to {name} parameter number {argument} had an illegal value"
                                       for name, argument in (("DGETRF", 4), ("DGEMM", 8))]:
                raise Failed(output)

    def prediction(self):
        """Devices are started when BLIS has had as much to do as takes it that long; those that are the CPU are not used."""
        program = """
            from scipy.linalg import blas
            a = np.asfortranarray(matrix(700, 700))
            close(blas.dgemm(1, a, a), product(a, a), 10)
            k = 40000    # as much arithmetic as BLIS does in seconds, and alpha = 0, so that it does not
            long, wide = np.zeros((k, 1000), order="F"), np.zeros((1000, k), order="F")
            for _ in range(3):
                assert not blas.dgemm(0, wide, long).any()
            close(blas.dgemm(1, a[:90], a[:, :90]), product(a[:90], a[:, :90]), 10)
            """
        one, cpu = {"BLIS_NUM_THREADS": "1"}, "host, the devices are the CPU itself; [0-9.e+-]+ ms$"
        _, log = self.python(program, self.preload, one, {"DAVIT_BLAS_DEVICES": "0", "CUDA_VISIBLE_DEVICES": ""})
        self.expect(log, "dgemm NN 700 700 700: host, devices are not started for so little; [0-9.e+-]+ ms$")
        self.expect(log, "dgemm NN 1000 1000 40000: " + cpu, 3)
        self.expect(log, "dgemm NN 90 90 700: " + cpu)

    def exact(self):
        """Exact products: where they are faster, or everywhere, then with the same bits on one device and the CPU."""
        program = """
            from hashlib import sha256
            from scipy.linalg import blas
            hash = sha256()
            for dtype in "fdFD":
                a, b = matrix(70, 50, dtype), matrix(50, 90, dtype)
                x = a @ b
                close(x, product(a, b))
                y = a[:9] @ b[:, :7]
                close(y, product(a[:9], b[:, :7]))
                t, p = np.tril(a @ a.T), "cz"["fdFD".index(dtype) - 2] if dtype in "FD" else "sd"["fd".index(dtype)]
                z = getattr(blas, p + ("herk" if dtype in "FD" else "syrk"))(1, a)
                v = getattr(blas, p + ("hemm" if dtype in "FD" else "symm"))(1, np.triu(a[:50]), b)
                close(np.triu(z), np.triu(product(a, a.conj().T)))
                for part in x, y, t, z, v:
                    hash.update(part.tobytes())
            a[3, 4] = np.nan
            assert np.isnan((a @ b)[3]).all() and not np.isnan((a @ b)[:3]).any()
            close(a[9:] @ a[9:].T, product(a[9:], a[9:].T))
            print(hash.hexdigest())
            """
        exact, bits = ({"DAVIT_BLAS_ARITHMETIC": value} for value in ("exact", "exact-bits"))
        native, log = self.python(program, self.preload, DEVICES, {"DAVIT_BLAS_ARITHMETIC": "native"})
        if any("exact" in line for line in log):
            raise Failed("native is the rule")
        _, log = self.python(program, self.preload, DEVICES, exact)
        self.expect(log, r": [sdcz]gemm NN 90 70 50, native as it is not faster here: devices 0,1, DAVIT_BLAS_FROM; [0-9.e-]+ ms$", 6)
        self.expect(log, ": [sdcz]gemm NN 7 9 50: host, smaller than DAVIT_BLAS_FROM", 4)
        found = set()
        for devices, shown in (({"DAVIT_BLAS_DEVICES": "0,1"}, "0,1"), ({"DAVIT_BLAS_DEVICES": "1"}, "1"),
                               ({"DAVIT_BLAS_DEVICES": "", "DAVIT_BLAS_FROM": "32"}, "-1"),
                               ({"DAVIT_BLAS_DEVICES": "0", "DAVIT_BLAS_FROM": "1000"}, "0")):
            output, log = self.python(program, self.preload, devices, bits)
            found.add(output)
            self.expect(log, rf": zgemm NN 90 70 50, native as a number of an operand is not finite: devices {shown}, ")
            for size in "90 70 50", "7 9 50":
                self.expect(log, rf": [sdcz]gemm NN {size}, exact in \d+ moduli: devices {shown}, DAVIT_BLAS_ARITHMETIC; ", 4)
            for routine in "syrk .. 61 50", "syrk .. 70 50", "herk .. 70 50", "symm .. 50 90", "hemm .. 50 90":
                self.expect(log, rf": [sdcz]{routine}, exact in \d+ moduli: devices {shown}, DAVIT_BLAS_ARITHMETIC; ")
        if len(found) != 1 or native in found:
            raise Failed(f"the same bits everywhere, other ones than native products: {found} {native}")
        for first in "", "np.linalg.solve(np.eye(99), np.ones(99))\n":
            quiet, _ = self.python(first + textwrap.dedent(program), self.preload, {"DAVIT_BLAS_DEVICES": "", "DAVIT_BLAS_LOG": ""}, bits)
            if quiet not in found:
                raise Failed("without a log small calls are exact, too")

    def wrong_environment(self):
        program = "a = matrix(40, 40)\nclose(a @ a, product(a, a))"
        for devices, sentence in (("0,77", "names a device that is not there"), ("0;1", "is no list of numbers"),
                                  ("gpu", "is no list of numbers")):
            output, log = self.python(program, self.preload, DEVICES, {"DAVIT_BLAS_DEVICES": devices})
            self.expect(log, r"dgemm NN 40 40 40: host, DAVIT_BLAS_DEVICES " + sentence)
            self.expect(output.splitlines(), r"^libdavit_blas \d+: no devices: DAVIT_BLAS_DEVICES " + sentence)
        output, _ = self.python(program, self.preload, DEVICES, {"DAVIT_BLAS_FROM": "many"})
        self.expect(output.splitlines(), "DAVIT_BLAS_FROM=many is no size; it is ignored")
        output, log = self.python(program + "\na @ a", self.preload, DEVICES, {"DAVIT_BLAS_ARITHMETIC": "precise"})
        self.expect(log, "dgemm NN 40 40 40: devices 0,1, DAVIT_BLAS_FROM", 2)
        if output.count("DAVIT_BLAS_ARITHMETIC=precise is not native, exact or exact-bits; it is ignored\n") != 1:
            raise Failed(output)
        output, _ = self.python(program, self.preload, {"DAVIT_BLAS_LOG": "/nowhere/log"})
        self.expect(output.splitlines(), "DAVIT_BLAS_LOG: cannot write /nowhere/log: No such file")
        output, _ = self.python(program, self.preload, {"DAVIT_BLAS_LOG": "stderr"})
        self.expect(output.splitlines(), "libdavit_blas .*dgemm NN 40 40 40: host")

    def compile(self, *sources):
        """As a libdavit that is found before the real one."""
        compiler, files = shutil.which("cc") or shutil.which("clang-19"), []
        for i, source in enumerate(sources):
            files.append(self.work / f"false{i}.c")
            files[i].write_text(source)
        subprocess.run([compiler, "-w", "-shared", "-fPIC", "-I", Path(__file__).parents[2] / "include", *files, "-o",
                        self.work / "libdavit.so.0"], check=True)

    def false_library(self, source):
        """Whose routines compute nothing and return $STATUS."""
        names = [f"davit_{t}{r}" for t in "sdcz" for r in ("gemm", "symm", "syrk", "syr2k", "trmm", "trsm")
                 if t + r not in ("dgemm", "dsyrk")]
        names += [f"davit_{t}{r}" for t in "cz" for r in ("hemm", "herk", "her2k")]
        names += [f"davit_{name[:-1]}" for name in LAPACK if name != "dpotrf_"]
        routines = "".join(f"int {name}() {{ return atoi(getenv(\"STATUS\")); }}\n" for name in names)
        self.compile(source, "#include <stdlib.h>\n" + routines, """
            #include <davit/level3.h>
            #include <davit/solve.h>
            #include <stdlib.h>
            static davit_status predict(const davit_level3_options *options) {
              options->explanation->seconds = atof(getenv("SECONDS"));
              options->explanation->host = 0.686 / options->predict_threads;
              return options->explanation->seconds < 0 ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_SUCCESS;
            }
            davit_status davit_dsyrk(char uplo, char trans, int64_t n, int64_t k, double alpha, const double *a,
                                     int64_t lda, double beta, double *c, int64_t ldc, const davit_level3_options *options) {
              return options->predict_threads > 0 ? predict(options) : atoi(getenv("STATUS"));
            }
            davit_status davit_dpotrf(char uplo, int64_t n, double *a, int64_t lda, const davit_solve_options *options) {
              const char *written = getenv("WRITTEN"), *failed = getenv("FAILED");
              options->report->written = written && atoi(written);
              options->report->failed = failed ? atoi(failed) : 0;
              return options->device_count == 2 ? atoi(getenv("STATUS")) : DAVIT_INTERNAL_ERROR;
            }
            davit_status davit_dgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                                     int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc,
                                     const davit_level3_options *options) {
              const char *written = getenv("WRITTEN");
              if (options->predict_threads > 0)
                return predict(options);
              options->report->written = written && atoi(written);
              if (options->report->written)
                for (int64_t j = 0; j < n; j++)
                  c[j * ldc] = 77;
              return atoi(getenv("STATUS"));
            }
            davit_status davit_device_count(int *count) { *count = 2; return 0; }
            davit_status davit_device_defaults(int n, int *devices, int *count) { *count = 0; return 0; }
            const char *davit_last_error(void) { return "out of order"; }
            """)

    def predicted(self):
        """Calls go where the library predicts them to be done sooner, once BLIS has had enough to do."""
        self.false_library("""
            #include <davit/level3.h>
            davit_status davit_device_describe(int device, davit_device_info *info) {
              info->kind = device < 0 ? DAVIT_DEVICE_CPU : DAVIT_DEVICE_NVIDIA;
              return 0;
            }
            """)
        program = """
            from scipy.linalg import blas
            a = np.asfortranarray(matrix(700, 700))
            for _ in range(20):
                blas.dgemm(1, a, a)
            blas.dgemm(1, a[:100], a[:, :100])
            """
        here = "dgemm NN 700 700 700: host, "
        there = "dgemm NN 700 700 700: devices 0,1, sooner there; [0-9.e-]+ ms, predicted "
        for threads, calls, seconds, line in (
                ("1", 11, "0.3", there + "300 ms, host 686 ms$"), ("1", 11, "0.7", here + "sooner there; .*, predicted 686 ms, devices 700 ms$"),
                ("1", 11, "-1", here + "out of order; [0-9.e+-]+ ms$"), ("2", 23, "0.3", None)):
            _, log = self.python(program, self.preload, {"DAVIT_BLAS_DEVICES": "0,1", "SECONDS": seconds, "STATUS": "0",
                                                         "BLIS_NUM_THREADS": threads, "LD_LIBRARY_PATH": str(self.work)})
            early = here + "devices are not started for so little; [0-9.e+-]+ ms$"
            self.expect(log, early, min(calls, 20))
            if line:
                self.expect(log, line, 20 - calls)
            self.expect(log, "dgemm NN 100 100 700: host, too short for devices; [0-9.e+-]+ ms$")

    def failures(self):
        """A libdavit that fails, found before the real one: BLIS computes, unless C may be half written."""
        self.false_library("""
            int davit_device_describe(int device, void *info) { return 1; }
            """)
        program = """
            import sys
            from scipy.linalg import blas
            a, b = (np.asfortranarray(matrix(40, 40)) for _ in range(2))
            c, expected = np.asfortranarray(matrix(40, 40)), product(a, b)
            if "reads C" in sys.argv:
                close(blas.dgemm(1, a, b, beta=1, c=c), expected + c)
            else:
                for _ in range(2):
                    close(blas.dgemm(1, a, b), expected)
            print("computed")
            """
        command = [sys.executable, "-c", PROLOGUE + textwrap.dedent(program)]
        library = {"LD_LIBRARY_PATH": str(self.work)}
        invalid, no_memory, lost, internal = "1", "4", "9", "10"    # of davit_status
        for status, written, words in ((invalid, "0", ["reads C"]), (no_memory, "0", ["reads C"]), (lost, "1", []),
                                       (lost, "0", ["reads C"]), (internal, "0", ["reads C"])):
            output, log = self.run([*command, *words], self.preload, DEVICES, library,
                                   {"STATUS": status, "WRITTEN": written})
            self.expect(log, "dgemm NN 40 40 40: host, out of order")
            complaints = [line for line in output.splitlines() if "out of order" in line]
            if len(complaints) != 1 or "computed" not in output:
                raise Failed(output)
        output, _ = self.run([*command, "reads C"], self.preload, DEVICES, library,
                             {"STATUS": lost, "WRITTEN": "1"}, status=-6)
        self.expect(output.splitlines(), "dgemm NN 40 40 40: the result is lost: out of order")
        self.compile("")
        output, log = self.run(command, self.preload, DEVICES, library, {"STATUS": "0"})
        self.expect(log, "dgemm NN 40 40 40: host, libdavit has no davit_device_count", 2)

    # ---- processes and threads ----

    def threads(self):
        _, log = self.python("""
            from concurrent.futures import ThreadPoolExecutor
            def task(seed):
                local = np.random.default_rng(seed)
                a, b = local.uniform(-1, 1, (60, 80)), local.uniform(-1, 1, (80, 64))
                for _ in range(5):
                    close(a @ b, product(a, b))
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(task, range(16)))
            """, self.preload, DEVICES)
        self.expect(log, r"^libdavit_blas \d+: dgemm NN 64 60 80: devices 0,1, DAVIT_BLAS_FROM; \S+ ms$", 80)

    def cores(self):
        """Where devices may be used BLIS gets a thread for each core, unless something says how many; but not two teams."""
        program = """
            import ctypes, sys
            from concurrent.futures import ThreadPoolExecutor
            a = matrix(40, 40)
            close(a @ a, product(a, a))
            blis = ctypes.CDLL("libblis.so.4")
            if "set" in sys.argv:
                blis.bli_thread_set_num_threads(ctypes.c_int64(3))
                close(a @ a, product(a, a))
            print(blis.bli_thread_get_num_threads())
            if "pool" in sys.argv:
                b = matrix(200, 200)
                expected = product(b, b)
                with ThreadPoolExecutor(8) as pool:
                    for x in pool.map(lambda _: b @ b, range(200)):
                        close(x, expected, 10)
            """
        cores = set()
        for cpu in os.sched_getaffinity(0):
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
            cores.add(siblings.read_text() if siblings.exists() else cpu)
        all_cores = str(len(cores)) if len(cores) > 1 else "-1"
        unset, devices = {"BLIS_NUM_THREADS": None, "OMP_NUM_THREADS": None}, {"DAVIT_BLAS_DEVICES": "0"}
        command = [sys.executable, "-c", PROLOGUE + textwrap.dedent(program)]
        for more, words, expected in (({}, [], all_cores), ({"BLIS_NUM_THREADS": "3"}, [], "3"),
                                      ({"OMP_NUM_THREADS": "3"}, [], "3"), ({}, ["set"], "3"), ({}, ["on one"], "-1"),
                                      ({"DAVIT_BLAS_DEVICES": ""}, [], "-1"), ({"OMP_THREAD_LIMIT": "2"}, [], "-1"),
                                      ({"OMP_DYNAMIC": "true"}, [], "-1"), ({"BLIS_IC_NT": "2"}, [], "-1")):
            one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if words == ["on one"] else []
            found, log = self.run([*one, *command, *words], self.preload, unset, devices, more)
            if found.split() != [expected]:
                raise Failed(f"BLIS computes on {found} threads in place of {expected}: {more} {words}")
            given = any("BLIS computes on" in line for line in log)
            if given != (expected == all_cores != "-1" or (words == ["set"] and all_cores != "-1")):
                raise Failed("\n".join(log))
        if all_cores != "-1":
            _, log = self.run([*command, "pool"], self.preload, unset, devices)
            self.expect(log, f"BLIS computes on {all_cores} threads, one for each core$")
            self.expect(log, "dgemm NN 200 200 200: host, another thread computes; ", 150)

    def alone(self):
        """Small calls are computed on one thread, with the bits that BLIS gives on one."""
        program = """
            from hashlib import sha256
            from scipy.linalg import blas
            hash = sha256()
            for dtype in "fdFD":
                for m, n, k in (1, 1, 1), (3, 40, 7), (40, 3, 50), (17, 15, 16):
                    a, b, c = (np.asfortranarray(matrix(*shape, dtype)) for shape in ((m, k), (k, n), (m, n)))
                    square = np.asfortranarray(matrix(m, m, dtype) + m * np.eye(m, dtype=dtype))
                    gemm, symm, syrk, syr2k, trmm, trsm = blas.get_blas_funcs(
                        ("gemm", "symm", "syrk", "syr2k", "trmm", "trsm"), (a, b))
                    nan = np.full_like(c, np.nan)
                    some = [gemm(0.7, a, b, 1.5, c), gemm(0.7, a, b, 0, nan), symm(0.7, square, c, 0, nan),
                            symm(0.7, square, c), syrk(0.7, a, trans=1),
                            syr2k(0.7, a, a, lower=1), trmm(0.7, square, c, lower=1), trsm(0.7, square, c, diag=0)]
                    if np.dtype(dtype).kind == "c":
                        hemm, herk, her2k = blas.get_blas_funcs(("hemm", "herk", "her2k"), (a, b))
                        some += [hemm(0.7j, square, c, lower=1), herk(0.7, a, trans=2), her2k(0.7j, a, a),
                                 herk(0, square, 1, square.copy())]
                    for x in some:
                        hash.update(x.tobytes())
            print(hash.hexdigest())
            """
        one, two, host = {"BLIS_NUM_THREADS": "1"}, {"BLIS_NUM_THREADS": "2"}, {"DAVIT_BLAS_DEVICES": ""}
        expected, log = self.python(program, self.preload, one, host)
        if any("too small" in line for line in log):
            raise Failed("one thread is all there is")
        for devices in host, {"DAVIT_BLAS_DEVICES": "0"}:
            found, log = self.python(program, self.preload, two, devices)
            if found != expected:
                raise Failed("small calls have other bits than BLIS's on one thread")
            for routine in "sgemm", "dsymm", "csyrk", "zsyr2k", "dtrmm", "ztrsm", "chemm", "zherk", "cher2k":
                self.expect(log, rf": {routine} .*: host, too small for more than one thread; [0-9.e+-]+ ms$", 3)
        _, log = self.python(program, self.preload, two, DEVICES)
        self.expect(log, "dsyrk UT 50 40: devices 0,1, DAVIT_BLAS_FROM")
        self.expect(log, "dgemm NN 1 1 1: host, smaller than DAVIT_BLAS_FROM")

    def not_a_number(self):
        """A scalar that is NaN, on the host and on devices; level 1 with NaN and infinities; subnormal diagonals."""
        program = """
            import itertools
            from scipy.linalg import blas
            from ctypes import byref, c_double, c_int, c_void_p, CDLL
            nan, inf = np.nan, np.inf
            def all_nan(x):
                x = np.atleast_1d(x)
                return np.isnan(x.real).all() and (np.isnan(x.imag).all() or not np.iscomplexobj(x))
            for dtype in "fdFD":
                for n, k in (3, 5), (70, 60):
                    a, b, s = (np.asfortranarray(matrix(*shape, dtype)) for shape in ((n, k), (k, n), (n, n)))
                    kinds = [nan] + ([complex(nan, 1), complex(1, nan)] if dtype in "FD" else [])
                    gemm, symm, syrk, syr2k, trmm, trsm = blas.get_blas_funcs(
                        ("gemm", "symm", "syrk", "syr2k", "trmm", "trsm"), (s,))
                    low = np.tril(np.ones((n, n), bool))
                    for x in kinds:
                        for alpha, beta in ((0.7, x), (x, 0.5), (x, 0), (0, x)):
                            assert all_nan(gemm(alpha, a, b, beta, s)), ("gemm", alpha, beta)
                            for lower in 0, 1:
                                mine = low if lower else low.T
                                for c in (syrk(alpha, a, beta, s, lower=lower),
                                          syr2k(alpha, a, a, beta, s, lower=lower)):
                                    assert all_nan(c[mine]) and np.isfinite(c[~mine]).all(), (alpha, beta)
                            assert all_nan(symm(alpha, s, s, beta, s)), ("symm", alpha, beta)
                        assert all_nan(trmm(x, s, s)) and all_nan(trsm(x, s, s))
                    assert not gemm(0, a, b, 0, np.full_like(s, nan)).any()
                    if dtype in "FD":
                        hemm, herk, her2k = blas.get_blas_funcs(("hemm", "herk", "her2k"), (s,))
                        assert all_nan(hemm(0.5, s, s, complex(0, nan), s))
                        for c in herk(0.7, a, nan, s, lower=1), her2k(0.7, a, a, nan, s, lower=1):
                            under = np.tril(np.ones((n, n), bool), -1)
                            assert all_nan(c[under]) and np.isnan(c.diagonal().real).all()
                            assert not c.diagonal().imag.any() and np.isfinite(c[low.T & ~low]).all()
                # level 1
                scal, nrm2 = blas.get_blas_funcs(("scal", "nrm2"), (s,))
                x = np.array([nan, inf, -inf, 2, -3, 0] * 3, dtype)
                y = scal(0, x.copy())
                assert (np.isnan(y.real) == ~np.isfinite(x.real)).all() and not y[3::6].any(), y
                assert scal(2, x.copy())[3] == 4
                for values, norm in (([3, -4], 5), ([inf, -inf, 1], inf), ([-inf, 1, 2], inf), ([inf, nan, 0], nan),
                                     ([-inf, -inf], inf), ([0], 0)):
                    found = nrm2(np.array(values, dtype))
                    assert found == norm or (found != found and norm != norm), (dtype, values, found)
                # a diagonal whose reciprocals overflow: integers times a subnormal number
                small = np.finfo(dtype).tiny / 32
                for n in 4, 60:
                    for lower, trans, side in itertools.product((0, 1), (0, 1, 2), (0, 1)):
                        t = np.round(2 * matrix(n, n, dtype))
                        t[range(n), range(n)] = [64 if i % 3 else 1 for i in range(n)]
                        t = np.tril(t) if lower else np.triu(t)
                        x = np.round(8 * matrix(*((3, n) if side else (n, 3)), dtype))
                        op = (t, t.T, t.T.conj())[trans]
                        right = product(x, op) if side else product(op, x)
                        found = trsm(1, np.asfortranarray(t * small), np.asfortranarray(right * small), side=side,
                                     lower=lower, trans_a=trans)
                        close(found, x, 4)
            # the names that SciPy does not call
            library = CDLL(None)
            library.cblas_dnrm2.restype = c_double
            x = np.array([nan, 1, -inf, inf])
            at = lambda x, i=0: c_void_p(x.ctypes.data + 8 * i)
            assert library.cblas_dnrm2(c_int(3), at(x, 1), c_int(1)) == inf
            norm = np.zeros(1)
            library.dnrm2sub_(byref(c_int(3)), at(x, 1), byref(c_int(1)), at(norm))
            assert norm[0] == inf
            library.cblas_dscal(c_int(2), c_double(0), at(x), c_int(1))
            assert np.isnan(x[0]) and x[1] == 0
            """
        kernels = [{}]    # BLIS's own choice, and those with which a beta that is NaN counts as 0
        if "avx2" in Path("/proc/cpuinfo").read_text():
            kernels.append({"BLIS_ARCH_TYPE": "3"})
        for kernel in kernels:
            for more in ({"DAVIT_BLAS_DEVICES": ""}, {"DAVIT_BLAS_DEVICES": "", "BLIS_NUM_THREADS": "2"},
                         {"DAVIT_BLAS_DEVICES": "", "DAVIT_BLAS_LOG": ""}, DEVICES):
                _, log = self.python(program, self.preload, kernel, more)
        self.expect(log, "dgemm NN 70 70 60: host, a scalar is NaN; [0-9.e+-]+ ms$", 4)
        self.expect(log, "strsm .*: host, a number of the diagonal is subnormal", 4)
        self.expect(log, "dscal_: host, no form for devices", 2)

    def added(self):
        """What BLIS has beside the reference's routines: gemm3m, gemmt and batches, by both kinds of names."""
        program = """
            from ctypes import byref, c_double, c_int, c_void_p, CDLL
            library = CDLL(None)
            at = lambda x: c_void_p(x.ctypes.data)
            ref = lambda i: byref(c_int(i))
            m, n, k = 17, 13, 19
            for dtype, t in ("D", b"z"), ("F", b"c"):
                a, b = np.asfortranarray(matrix(m, k, dtype)), np.asfortranarray(matrix(k, n, dtype))
                c, one, zero = np.zeros((m, n), dtype, order="F"), np.ones(1, dtype), np.zeros(1, dtype)
                getattr(library, f"{t.decode()}gemm3m_")(b"N", b"n", ref(m), ref(n), ref(k), at(one), at(a), ref(m), at(b),
                                                         ref(k), at(zero), at(c), ref(m))
                close(c, product(a, b), 4)
                c[:] = 0
                rows = [np.ascontiguousarray(x) for x in (a, b, c)]
                getattr(library, f"cblas_{t.decode()}gemm3m")(101, 111, 111, m, n, k, at(one), at(rows[0]), k, at(rows[1]), n,
                                                              at(zero), at(rows[2]), n)
                close(rows[2], product(a, b), 4)
            a, b = np.asfortranarray(matrix(m, k)), np.asfortranarray(matrix(k, m))
            right, lower = product(a, b), np.tril(np.ones((m, m), bool))
            for letter, enumerator, mine in (b"L", 122, lower), (b"u", 121, lower.T):
                one, half = np.ones(1), np.full(1, 0.5)
                start = np.asfortranarray(matrix(m, m))
                c = start.copy(order="F")
                library.dgemmt_(letter, b"N", b"N", ref(m), ref(k), at(one), at(a), ref(m), at(b), ref(k), at(half), at(c), ref(m))
                close(c, np.where(mine, right + start / 2, start))
                for layout in 101, 102:
                    x, y, z = (np.require(v, requirements="C" if layout == 101 else "F").copy("K") for v in (a, b, start))
                    library.cblas_dgemmt(layout, enumerator, 111, 111, m, k, c_double(1), at(x), k if layout == 101 else m,
                                         at(y), m if layout == 101 else k, c_double(0.5), at(z), m)
                    close(z, np.where(mine, right + start / 2, start))
                half[0] = np.nan
                library.dgemmt_(letter, b"N", b"N", ref(m), ref(k), at(one), at(a), ref(m), at(b), ref(k), at(half), at(c), ref(m))
                assert np.isnan(c[mine]).all() and np.isfinite(c[~mine]).all()
            # two products of one shape, and one of another, transposed
            integers = lambda *values: np.array(values, np.int32)
            pointers = lambda *arrays: np.array([x.ctypes.data for x in arrays], np.uintp)
            p, q = np.asfortranarray(matrix(8, 6)), np.asfortranarray(matrix(9, 6))    # p q', alpha = -1
            for kind in "fortran", "rows", "columns":
                c = [np.zeros((m, m), order="F"), np.zeros((m, m), order="F"), np.zeros((8, 9), order="F")]
                left, second = [a, a, p], [b, b, q]
                if kind == "rows":
                    c, left, second = ([np.ascontiguousarray(x) for x in xs] for xs in (c, left, second))
                alpha, beta = np.array([1.0, -1.0]), np.zeros(2)
                shapes = integers(m, 8), integers(m, 9), integers(k, 6)
                lds = ((k, 6), (m, 6), (m, 9)) if kind == "rows" else ((m, 8), (k, 9), (m, 8))
                lda, ldb, ldc = (integers(*ld) for ld in lds)
                keep = [integers(111, 111), integers(111, 112), integers(2, 1), *map(lambda x: pointers(*x), (left, second, c))]
                common = [*map(at, shapes), at(alpha), at(keep[3]), at(lda), at(keep[4]), at(ldb), at(beta), at(keep[5]), at(ldc)]
                if kind == "fortran":
                    library.dgemm_batch_(b"NN", b"NT", *common, ref(2), at(keep[2]))
                else:
                    library.cblas_dgemm_batch(101 if kind == "rows" else 102, at(keep[0]), at(keep[1]), *common, 2, at(keep[2]))
                close(c[0], right)
                close(c[1], right)
                close(c[2], -product(p, q.T))
            """
        for more in {"DAVIT_BLAS_DEVICES": ""}, {"DAVIT_BLAS_DEVICES": "", "BLIS_NUM_THREADS": "2"}, DEVICES:
            _, log = self.python(program, self.preload, more)
        self.expect(log, "zgemm3m_: host, no form for devices", 2)
        self.expect(log, "dgemmt_: host, no form for devices", 6)
        self.expect(log, "dgemm NN 17 17 19: ", 6)

    def fork(self):
        """With BLIS on several threads of GCC's OpenMP, which by itself hangs in the child."""
        program = """
            import os, sys
            a = matrix(300, 300)
            expected = product(a, a)
            if "parent first" in sys.argv:
                close(a @ a, expected, 10)
            child = os.fork()
            if child == 0:
                close(a @ a, expected, 10)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            close(a @ a, expected, 10)
            """
        command = [sys.executable, "-c", PROLOGUE + textwrap.dedent(program)]
        two = {"BLIS_NUM_THREADS": "2"}
        for devices in ({"DAVIT_BLAS_DEVICES": ""}, DEVICES):
            _, log = self.run([*command, "parent first"], self.preload, two, devices)
            self.expect(log, "dgemm NN 300 300 300: ", 3)
        self.expect(log, "dgemm NN 300 300 300: host, a child of fork.. has no devices", 1)
        self.expect(log, "dgemm NN 300 300 300: devices 0,1", 2)
        _, log = self.run(command, self.preload, two, DEVICES)
        self.expect(log, "dgemm NN 300 300 300: devices 0,1", 2)
        self.run([*command, "parent first"], self.preload, {"BLIS_IC_NT": "2", "DAVIT_BLAS_DEVICES": ""})

    def processes(self):
        """fork() and exit() while other threads call BLAS; what the library must leave alone."""
        program = self.programs / "dropin_processes"
        two, none, devices = {"BLIS_NUM_THREADS": "2"}, {"DAVIT_BLAS_DEVICES": ""}, {**DEVICES, "DAVIT_BLAS_FROM": "100"}
        loop = {"LOOP_S": str(10 * float(os.environ.get("DAVIT_TEST_SCALE", "1"))), "DAVIT_BLAS_LOG": ""}
        slow, few_log = {"LONGEST_US": "200000"}, self.work / "few"
        with ThreadPoolExecutor(1) as pool:    # it sleeps for 12 s, beside the others
            few = pool.submit(self.run, [program, "few"], devices, {"DAVIT_BLAS_LOG": str(few_log)})
            for more in {}, two:
                self.run([program, "forks", "1000"], none, loop, more)
                self.run([program, "first", "1000"], none, loop, more)
                self.run([program, "first", "1000"], devices, loop, more, slow)
                self.run([program, "end", "1000"], devices, loop, more, slow)
            self.run([program, "leave"], none, loop)
            for value in "1e300", "1e400", "100":
                for trap in [], ["traps"]:
                    self.run([program, "flags", *trap], DEVICES, {"DAVIT_BLAS_FROM": value})
        if "not root" not in few.result()[0]:
            self.expect(few_log.read_text().splitlines(), "dgemm NN 200 200 200: host, no thread can be made")

    def log_files(self):
        """The log is no business of the program's: its descriptors, its limits, and who reads."""
        program, data, log = self.programs / "dropin_processes", self.work / "data", self.work / "log"
        none = {"DAVIT_BLAS_DEVICES": ""}
        for name in "", "stderr":
            more = {"DAVIT_BLAS_LOG": name} if name else {}
            _, lines = self.run([program, "closed", data], none, more)
            if not name:
                self.expect(lines, "dgemm NN 32 32 32: host", 2)
            if data.read_bytes() != b"mine":
                raise Failed(f"the program's file has {data.read_bytes()}")
        self.run([program, "written"], none)
        self.run([program, "written"], none, {"DAVIT_BLAS_LOG": "/dev/full"})
        fifo = self.work / "fifo"
        os.mkfifo(fifo)
        output, _ = self.run([program, "written"], none, {"DAVIT_BLAS_LOG": str(fifo)})
        self.expect(output.splitlines(), f"DAVIT_BLAS_LOG: cannot write {fifo}: nothing reads from it")
        # a reader that goes away, and one that does not read
        for reads in True, False:
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            self.run([program, "many"] if not reads else [program, "reader", str(fifo)], none,
                     {"DAVIT_BLAS_LOG": str(fifo)})
            os.close(reader)

    def at_exit(self):
        _, log = self.python("""
            import atexit, ctypes
            a = matrix(64, 64)
            expected = product(a, a)
            atexit.register(lambda: close(a @ a, expected))    # Python's, before exit() of C
            close(a @ a, expected)
            """, self.preload, DEVICES)
        self.expect(log, "dgemm NN 64 64 64: devices 0,1", 2)

    # ---- C and Fortran ----

    def c(self):
        plain, own = self.programs / "dropin_program", self.programs / "dropin_program_xerbla"
        for devices in ({}, DEVICES):
            self.run([own, "errors"], devices)
            _, log = self.run([plain, "openmp"], devices, {"BLIS_NUM_THREADS": "2"})
            self.expect(log, "dgemm NN 48 48 48: " + ("devices 0,1" if devices else "host"), 16)
            _, log = self.run([plain, "exit"], devices)
            self.expect(log, "dgemm NN 48 48 48", 3)
        self.expect(log, "dgemm NN 48 48 48: devices 0,1", 2)
        self.expect(log, "dgemm NN 48 48 48: host, the process ends", 1)
        output, _ = self.run([plain, "stop"], status=1)
        if output != " ** On entry to DGEMM parameter number 10 had an illegal value\n":
            raise Failed(output)
        # Preloaded before a library that has an xerbla_, as Octave's and LAPACK's do.
        other = self.work / "other.c"
        other.write_text("#include <stdio.h>\n#include <stdlib.h>\n"
                         "void xerbla_(const char *n, const int *i, size_t l) {\n"
                         "  printf(\"%.*s %d\", (int)l, n, *i); exit(3);\n}\n")
        compiler = shutil.which("cc") or shutil.which("clang-19")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.work / "other.so", other], check=True)
        libraries = f"{self.preload['LD_PRELOAD']}:{self.work / 'other.so'}"
        output, _ = self.run([plain, "stop"], {"LD_PRELOAD": libraries}, status=3)
        if output != "DGEMM  10":
            raise Failed(output)

    def gomp(self):
        """The same program with GCC's OpenMP, whose threads BLIS uses as well."""
        gcc = shutil.which("gcc")
        if not gcc:
            print("no gcc")
            return
        program, source = self.work / "gomp", Path(__file__).with_name("program.c")
        subprocess.run([gcc, "-O2", "-fopenmp", source, "-o", program, self.folder / "libdavit_blas.so"], check=True)
        libraries = {"LD_LIBRARY_PATH": str(self.folder), "BLIS_NUM_THREADS": "2"}
        for devices in ({}, DEVICES):
            _, log = self.run([program, "openmp"], libraries, devices)
            self.expect(log, "dgemm NN 48 48 48: " + ("devices 0,1" if devices else "host"), 16)

    def fortran(self):
        """gfortran's calling convention: complex results, hidden lengths, an XERBLA of the program's own."""
        compiler = shutil.which("gfortran")
        if not compiler:
            print("no gfortran")
            return
        source, program = Path(__file__).with_name("program.f90"), self.work / "fortran"
        subprocess.run([compiler, "-O1", source, "-o", program, self.folder / "davit" / "libblas.so.3"], check=True)
        for devices in ({}, DEVICES):
            output, _ = self.run([program], {"LD_LIBRARY_PATH": str(self.folder / "davit")}, devices)
            if output.split() != ["right"]:
                raise Failed(output)

    def ilp64(self):
        if not list(Path("/usr/lib").glob("*/blis64-*/libblis64.so.4")):
            output, _ = self.run([self.programs / "dropin_program64", "ilp64"], status=-6)
            self.expect(output.splitlines(), "^libdavit_blas64: cannot load BLIS: libblis64.so.4")
            return
        for more in {}, {"BLIS_NUM_THREADS": "2"}, DEVICES:
            _, log = self.run([self.programs / "dropin_program64", "ilp64"], more)
        self.expect(log, r"^libdavit_blas64 \d+: dgemm NN 48 48 48: devices 0,1", 2)

    # ---- LAPACK, Octave ----

    @staticmethod
    def reference():
        "Debian's reference LAPACK; None: it is not installed"
        return next(iter(sorted(Path("/usr/lib").glob("*/lapack/liblapack.so.3"))), None)

    def lapack(self):
        """Debian's reference LAPACK on the drop-in as libblas.so.3: residuals of its factorisations."""
        reference = self.reference()
        if reference is None:
            print("no reference LAPACK (liblapack3)")
            return
        libraries = {"LD_LIBRARY_PATH": f"{self.folder / 'davit'}:{reference.parent}"}
        _, log = self.python("""
            from scipy.linalg import lapack
            n = 300
            maps = open("/proc/self/maps").read()
            assert "davit/libblas.so.3" in maps and "/lapack/liblapack.so.3" in maps and "openblas" not in maps
            norm, eps = np.linalg.norm, np.finfo(float).eps
            def residual(error, *parts):
                ratio = norm(error) / (n * eps * np.prod([norm(part) for part in parts]))
                assert ratio < 1, ratio
            a = matrix(n, n)
            lu, pivots, info = lapack.dgetrf(a)
            assert info == 0
            rows = np.arange(n)
            for i, p in enumerate(pivots):
                rows[[i, p]] = rows[[p, i]]
            residual(product(np.tril(lu, -1) + np.eye(n), np.triu(lu)) - a[rows], a)
            s = product(a, a.T) + n * np.eye(n)
            for lower in 0, 1:
                factor, info = lapack.dpotrf(s, lower=lower, clean=1)
                assert info == 0
                residual(product(factor, factor.T) - s if lower else product(factor.T, factor) - s, s)
            w, v, info = lapack.dsyevd(s)
            assert info == 0
            residual(product(s, v) - v * w, s)
            assert norm(product(v.T, v) - np.eye(n)) < n * eps * 10
            h = matrix(n, n, "D")
            h = h + h.conj().T
            w, v, info = lapack.zheevd(h)
            assert info == 0
            residual(product(h, v) - v * w, h)
            """, libraries, DEVICES)
        self.expect(log, "dgemm N[NT] .*: devices 0,1", 4)
        self.expect(log, "dtrsm .*: devices 0,1", 4)
        self.expect(log, "dsyrk .*: devices 0,1", 2)
        self.expect(log, "dsyr2k .*: devices 0,1", 1)
        self.expect(log, "zher2k .*: devices 0,1", 1)

    def octave(self):
        octave = shutil.which("octave-cli")
        if not octave:
            print("octave is not installed")
            sys.exit(77)
        program = """
            a = reshape(mod((1:4800) * 17, 23), 60, 80) - 11; b = reshape(mod((1:4000) * 29, 19), 80, 50) - 9;
            c = a * b; expected = zeros(60, 50);
            for i = 1:80 expected += bsxfun(@times, a(:, i), b(i, :)); end
            assert(isequal(c, expected));                          # integers: no rounding
            assert(isequal(a' * a, (a' * a)')); x = a' * a + eye(80);
            assert(norm(x \\ (x * ones(80, 1)) - 1) < 1e-6);
            z = (a + 2i * a) * (b + 1i * b); assert(isequal(z, (-1 + 3i) * expected));
            try, chol([1 2; 2 1]); error('not refused'); catch e, assert(strfind(e.message, 'positive definite')); end
            disp('done');
            """
        command = [octave, "--no-init-file", "--no-history", "--no-gui", "--eval", textwrap.dedent(program)]
        output, log = self.run(command, self.preload, DEVICES, text="")
        if "done" not in output:
            raise Failed(output)
        self.expect(log, "dgemm NN 60 50 80: devices 0,1")
        self.expect(log, "zgemm NN 60 50 80: devices 0,1")
        self.expect(log, "dpotrf [LU] 80: devices 0,1")


CASES = ["numpy", "small", "wrong_argument", "exact", "prediction", "wrong_environment", "predicted", "failures", "threads",
         "cores", "alone", "not_a_number", "added", "fork", "processes", "log_files", "at_exit", "c", "gomp", "fortran", "ilp64", "lapack"]


def main(kind, cases):
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        programs = kind(sys.argv[1], sys.argv[2], work)
        for case in sys.argv[3:] or cases:
            try:
                getattr(programs, case)()
                print(f"{case}: right")
            except Failed as failure:
                failures += 1
                print(f"{case}: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Programs, CASES))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LAPACK's names that the drop-in exports, under programs that know nothing of davit.

    lapack.py FOLDER PROGRAMS [CASE...]     (ctest runs it as `dropin_lapack`)

As programs.py, whose cases are those of BLAS.
"""
import shutil
import subprocess
import sys
from pathlib import Path

from programs import DEVICES, Failed, Programs, main


class Systems(Programs):
    def systems(self):
        """LAPACK's names that the drop-in exports: C programs, which find LAPACK by it, and with 64-bit integers."""
        plain, own = self.programs / "dropin_program", self.programs / "dropin_program_xerbla"
        program64, none = self.programs / "dropin_program64", {"DAVIT_BLAS_DEVICES": ""}
        devices = {**DEVICES, "DAVIT_BLAS_FROM": "12"}    # 48 * 48 * 1 is more
        if self.reference():
            library = {"LD_LIBRARY_PATH": str(self.reference().parent)}
            for program in plain, own:
                for more, where in ((none, "host, DAVIT_BLAS_DEVICES names none; "),
                                    (devices, "devices 0,1, DAVIT_BLAS_FROM; ")):
                    _, log = self.run([program, "lapack"], library, more)
                    for count, call in (9, "dpotrf [LU] 48"), (8, "dpotrs [LU] 48 1"), (13, "dposv [LU] 48 1"):
                        self.expect(log, f": {call}: {where}", count)
            for call in "dpotrf . 48", "dpotrf L 48", "dpotrs U 48 48", "dposv U 48 -1":
                self.expect(log, f": {call}: host, nothing to compute, or a wrong argument$")
        blis64 = list(Path("/usr/lib").glob("*/blis64-*/libblis64.so.4"))
        if blis64:
            _, log = self.run([program64, "lapack"], devices)
            self.expect(log, r"^libdavit_blas64 \d+: dposv [LU] 48 1: devices 0,1", 10)
        if blis64 and not list(Path("/usr/lib").glob("*/liblapack64.so.3")):
            output, _ = self.run([program64, "lapack"], none, status=-6)
            self.expect(output.splitlines(), "^libdavit_blas64: no library of the process has dpotrf_, nor has liblapack64.so.3")

    def next_lapack(self):
        """The host's LAPACK is the one that the program would have called: behind the drop-in, or a module's."""
        compiler, build = shutil.which("cc") or shutil.which("clang-19"), ["-shared", "-fPIC", "-w", "-o"]
        (self.work / "module.c").write_text("""
            extern void dpotrf_(char *, int *, double *, int *, int *, long);
            int call(void) {
              int n = 1, info = 0;
              double a = 4;
              dpotrf_("L", &n, &a, &n, &info, 1);
              return info;
            }
            """)
        for number in "77", "78", "79":
            (self.work / "other.c").write_text(
                f"void dpotrf_(char *u, int *n, double *a, int *l, int *info) {{ *info = {number}; }}")
            library = self.work / f"liblapack{number}.so"
            subprocess.run([compiler, *build, library, self.work / "other.c"], check=True)
            subprocess.run([compiler, *build, self.work / f"module{number}.so", self.work / "module.c", library,
                            f"-Wl,-rpath,{self.work}"], check=True)
        program = f"""
            import ctypes
            first, second = (ctypes.CDLL("{self.work}/module%d.so" % number) for number in (77, 79))
            print(second.call())
            """
        for devices in {"DAVIT_BLAS_DEVICES": ""}, DEVICES:
            for preload, expected in ([], "79"), ([self.work / "liblapack78.so"], "78"):
                libraries = {"LD_PRELOAD": ":".join(map(str, [self.preload["LD_PRELOAD"], *preload]))}
                output, log = self.python(program, libraries, devices)
                if output.split() != [expected]:
                    raise Failed(output)
                self.expect(log, "dpotrf L 1: host, ")

    def wheels(self):
        """The names of the OpenBLAS in wheels: a library with prefix and suffix, needed by a module, as theirs is."""
        (self.work / "openblas.c").write_text("""
            void NAME(dgemm_)(char *ta, char *tb, INT *m, INT *n, INT *k, double *alpha, double *a, INT *lda, double *b,
                              INT *ldb, double *beta, double *c, INT *ldc) {
              for (INT j = 0; j < *n; j++)
                for (INT i = 0; i < *m; i++) {
                  c[i + j * *ldc] = 0;
                  for (INT l = 0; l < *k; l++)
                    c[i + j * *ldc] += a[i + l * *lda] * b[l + j * *ldb];
                }
            }
            void NAME(cblas_dgemm)(int layout, int ta, int tb, INT m, INT n, INT k, double alpha, double *a, INT lda,
                                   double *b, INT ldb, double beta, double *c, INT ldc) { c[0] = -77; }
            void NAME(dpotrf_)(char *uplo, INT *n, double *a, INT *lda, INT *info) { *info = 77; }
            """)
        (self.work / "module.c").write_text("""
            #include <string.h>
            extern void NAME(dgemm_)(char *, char *, INT *, INT *, INT *, double *, double *, INT *, double *, INT *,
                                     double *, double *, INT *, long, long);
            extern void NAME(cblas_dgemm)(int, int, int, INT, INT, INT, double, double *, INT, double *, INT, double,
                                          double *, INT);
            extern void NAME(dpotrf_)(char *, INT *, double *, INT *, INT *, long);
            static double a[60 * 60], b[60 * 60], c[60 * 60], d[60 * 60];
            int products(void) {
              INT n = 60;
              double one = 1, zero = 0;
              for (int i = 0; i < 3600; i++) {
                a[i] = i * 7 % 11;
                b[i] = i * 5 % 13;
              }
              NAME(dgemm_)("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
              NAME(cblas_dgemm)(101, 111, 111, n, n, n, 1, b, n, a, n, 0, d, n);
              double sum = 0;
              for (int l = 0; l < 60; l++)
                sum += a[3 + 60 * l] * b[l + 60 * 5];
              return c[3 + 60 * 5] == sum && memcmp(c, d, sizeof c) == 0;
            }
            int unknown_layout(void) {
              NAME(cblas_dgemm)(7, 111, 111, 60, 60, 60, 1, a, 60, b, 60, 0, c, 60);
              return (int)c[0];
            }
            int factor(void) {
              INT n = 60, info[2] = {-1, 5};
              memset(a, 0, sizeof a);
              for (int i = 0; i < 3600; i += 61)
                a[i] = i < 50 * 61 ? 4 : -1;
              NAME(dpotrf_)("L", &n, a, &n, info, 1);
              return info[1] == 5 ? (int)info[0] : -2;
            }
            """)
        compiler, build = shutil.which("cc") or shutil.which("clang-19"), ["-shared", "-fPIC", "-w"]
        for integers, suffix in ("int", ""), ("long", "64_"):
            names = [f"-DINT={integers}", f"-DNAME(name)=scipy_##name{suffix and '##' + suffix}"]
            library, module = (self.work / f"{name}{suffix}.so" for name in ("openblas", "module"))
            subprocess.run([compiler, *build, *names, "-o", library, self.work / "openblas.c"], check=True)
            subprocess.run([compiler, *build, *names, "-o", module, self.work / "module.c", library,
                            f"-Wl,-rpath,{self.work}"], check=True)
            program = f"""
                import ctypes
                module = ctypes.CDLL("{module}")
                print(module.products(), module.unknown_layout(), module.factor())
                """
            for devices, factor in ({"DAVIT_BLAS_DEVICES": ""}, "77"), (DEVICES, "51"):
                output, log = self.python(program, self.preload, devices)
                if output.split() != ["1", "-77", factor]:
                    raise Failed(output)
                where = "devices 0,1" if devices == DEVICES else "host, DAVIT_BLAS_DEVICES names none; "
                self.expect(log, f": dgemm NN 60 60 60: {where}", 2)
                self.expect(log, f": dpotrf L 60: {where}")

    def lapacke(self):
        """LAPACKE, in both layouts, calls the Fortran names."""
        output, log = self.python("""
            import ctypes, sys
            try:
                lapacke = ctypes.CDLL("liblapacke.so.3")
            except OSError:
                print("no liblapacke.so.3")
                sys.exit(0)
            s = matrix(50, 50, "D")
            s = product(s, s.conj().T) + 50 * np.eye(50)
            for layout, order in (101, "C"), (102, "F"):
                half = s.copy(order)
                pointer = ctypes.c_void_p(half.ctypes.data)
                assert lapacke.LAPACKE_zpotrf(layout, ctypes.c_char(b"L"), 50, pointer, 50) == 0
                half = np.tril(half)
                close(product(half, half.conj().T), s)
            """, self.preload, DEVICES)
        if "no liblapacke" not in output:
            self.expect(log, "zpotrf L 50: devices 0,1", 2)

    def linalg(self):
        """NumPy's and SciPy's linalg, whose LAPACK is loaded by their modules."""
        program = """
            from scipy import linalg
            for dtype in "fdFD":
                for n in 20, 130:
                    x, b = matrix(n, n, dtype), matrix(n, 50, dtype)
                    s = product(x, x.conj().T) + n * np.eye(n, dtype=dtype)
                    s = ((s + s.conj().T) / 2).astype(dtype)
                    for lower in False, True:
                        factor, _ = linalg.cho_factor(s, lower)
                        half = np.tril(factor) if lower else np.triu(factor).conj().T
                        close(product(half, half.conj().T), s, 4)
                        close(np.where(half != 0, 0, np.tril(factor if lower else factor.T)), 0 * s)
                        close(product(s, linalg.cho_solve((factor, lower), b)), b, 40)
                        close(product(s, linalg.solve(s, b, lower=lower, assume_a="pos")), b, 40)
                    half = np.linalg.cholesky(s)
                    close(product(half, half.conj().T), s, 4)
                    for value in -1, np.nan:
                        wrong = s.copy()
                        wrong[11, 11] = value
                        potrf, posv = linalg.get_lapack_funcs(("potrf", "posv"), (s,))
                        for lower in 0, 1:
                            assert potrf(wrong, lower=lower)[1] == 12
                            _, x, info = posv(wrong, b, lower=lower)
                            assert info == 12 and (x == b).all()
                        try:
                            np.linalg.cholesky(wrong)
                            assert False
                        except np.linalg.LinAlgError:
                            pass
            """
        for devices in {"DAVIT_BLAS_DEVICES": ""}, DEVICES:
            _, log = self.python(program, self.preload, devices)
            where = "devices 0,1, DAVIT_BLAS_FROM" if devices == DEVICES else "host, DAVIT_BLAS_DEVICES names none"
            for call in "potrf [UL] 130", "potrs [UL] 130 50", "posv [UL] 130 50":
                for t in "sdcz":
                    self.expect(log, f": {t}{call}: {where}; ", 2)
        self.expect(log, ": dpotrf [UL] 20: host, smaller than DAVIT_BLAS_FROM; ", 2)
        _, log = self.python("""
            import os
            from concurrent.futures import ThreadPoolExecutor
            s = matrix(60, 60)
            s = product(s, s.T) + 60 * np.eye(60)
            def task(_):
                half = np.linalg.cholesky(s)
                close(product(half, half.T), s)
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(task, range(32)))
            child = os.fork()
            task(None)
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            """, self.preload, DEVICES)
        self.expect(log, "dpotrf L 60: devices 0,1", 33)
        self.expect(log, "dpotrf L 60: host, a child of fork.. has no devices", 1)

    def predicted(self):
        """A factorisation goes by the prediction of an update with as much arithmetic."""
        self.false_library("""
            #include <davit/level3.h>
            davit_status davit_device_describe(int device, davit_device_info *info) {
              info->kind = DAVIT_DEVICE_NVIDIA;
              return 0;
            }
            """)
        program = """
            from scipy.linalg import lapack
            s = np.asfortranarray(np.full((1000, 1000), 0.25) + 300 * np.eye(1000))
            print([lapack.dpotrf(s, lower=1)[1] for _ in range(30)])
            """
        name, start = "dpotrf L 1000: ", {"DAVIT_BLAS_DEVICES": "0,1", "LD_LIBRARY_PATH": str(self.work)}
        here, started = name + "host, ", 24    # calls of 21 ms in half a second
        for seconds, more, line in (
                ("0.3", {}, name + "devices 0,1, sooner there; [0-9.e-]+ ms, predicted 300 ms, host 686 ms$"),
                ("0.3", {"STATUS": "15", "FAILED": "7", "WRITTEN": "1"}, name + "devices 0,1, sooner there; "),
                ("0.3", {"BLIS_NUM_THREADS": "2"}, name + "devices 0,1, sooner there; .*, host 686 ms$"),
                ("0.3", {"STATUS": "9"}, here + "out of order; "),
                ("0.7", {}, here + "sooner there; .*, predicted 686 ms, devices 700 ms$"),
                ("-1", {}, here + "out of order; [0-9.e+-]+ ms$")):
            output, log = self.python(program, self.preload, start, {"SECONDS": seconds, "STATUS": "0", **more})
            self.expect(log, here + "devices are not started for so little; [0-9.e+-]+ ms$", started - 1)
            self.expect(log, line, 30 - started)
            if (", 7]" in output) != ("FAILED" in more):
                raise Failed(output)
        output, _ = self.python(program, self.preload, start, {**DEVICES, "STATUS": "9", "WRITTEN": "1"}, status=-6)
        self.expect(output.splitlines(), name + "the result is lost: out of order")


CASES = ["systems", "next_lapack", "wheels", "lapacke", "linalg", "predicted"]

if __name__ == "__main__":
    sys.exit(main(Systems, CASES))

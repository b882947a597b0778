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
                    for count, call in ((9, "dpotrf [LU] 48"), (8, "dpotrs [LU] 48 1"), (13, "dposv [LU] 48 1"),
                                        (1, "dgetrf 48 48"), (2, "dgetrs [NT] 48 1"), (2, "dgesv 48 1"), (1, "dgels N 48 48 1"),
                                        (1, "dgeqrf 48 48"), (1, "dormqr LT 48 1 48"), (1, "dorgqr 48 48 48")):
                        self.expect(log, f": {call}: {where}", count)
            for call in ("dpotrf . 48", "dpotrf L 48", "dpotrs U 48 48", "dposv U 48 -1", "dgetrf -1 48", "dgetrs . 48 48",
                         "dgesv 48 48", "dgeqrf 48 48", "dormqr LC 48 48 48", "dormqr RN 48 48 49", "dorgqr 48 49 48",
                         "dgels N 48 48 48"):
                self.expect(log, f": {call}: host, nothing to compute, or a wrong argument$")
        blis64 = list(Path("/usr/lib").glob("*/blis64-*/libblis64.so.4"))
        if blis64:
            _, log = self.run([program64, "lapack"], devices)
            self.expect(log, r"^libdavit_blas64 \d+: dposv [LU] 48 1: devices 0,1", 10)
            for call in "dgetrf 48 48", "dgetrs [NT] 48 1", "dgesv 48 1", "dgels N 48 48 1", "dormqr LT 48 1 48", "dorgqr 48 48 48":
                self.expect(log, rf"^libdavit_blas64 \d+: {call}: devices 0,1")
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
            void NAME(dgetrf_)(INT *m, INT *n, double *a, INT *lda, INT *ipiv, INT *info) { *info = 77; }
            """)
        (self.work / "module.c").write_text("""
            #include <string.h>
            extern void NAME(dgemm_)(char *, char *, INT *, INT *, INT *, double *, double *, INT *, double *, INT *,
                                     double *, double *, INT *, long, long);
            extern void NAME(cblas_dgemm)(int, int, int, INT, INT, INT, double, double *, INT, double *, INT, double,
                                          double *, INT);
            extern void NAME(dpotrf_)(char *, INT *, double *, INT *, INT *, long);
            extern void NAME(dgetrf_)(INT *, INT *, double *, INT *, INT *, INT *);
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
            int exchange(void) {
              INT n = 60, info = -1, ipiv[61], wrong = 0;
              memset(a, 0, sizeof a);
              for (int j = 0; j < 60; j++)
                a[(j + 59) % 60 + 60 * j] = 4;
              ipiv[60] = -7;
              NAME(dgetrf_)(&n, &n, a, &n, ipiv, &info);
              for (int j = 0; j < 60; j++)
                wrong += ipiv[j] != 60;
              return wrong || ipiv[60] != -7 ? 77 : (int)info;
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
                print(module.products(), module.unknown_layout(), module.factor(), module.exchange())
                """
            for devices, *factors in ({"DAVIT_BLAS_DEVICES": ""}, "77", "77"), (DEVICES, "51", "0"):
                output, log = self.python(program, self.preload, devices)
                if output.split() != ["1", "-77", *factors]:
                    raise Failed(output)
                where = "devices 0,1" if devices == DEVICES else "host, DAVIT_BLAS_DEVICES names none; "
                self.expect(log, f": dgemm NN 60 60 60: {where}", 2)
                self.expect(log, f": dpotrf L 60: {where}")
                self.expect(log, f": dgetrf 60 60: {where}")

    def factors(self):
        """The results of LU, QR and least squares are those of liblapack: factors, pivots, info, what is not to be written."""
        _, log = self.python("""
            import ctypes
            ours, theirs = ctypes.CDLL(None), ctypes.CDLL("liblapack.so.3")
            def call(library, name, *arguments):
                "info, and the arrays afterwards"
                info, passed, arrays = ctypes.c_int(-77), [], []
                for x in arguments:
                    if isinstance(x, np.ndarray):
                        arrays.append(x.copy("F"))
                        passed.append(ctypes.c_void_p(arrays[-1].ctypes.data))
                    else:
                        passed.append(ctypes.byref(ctypes.c_int(x)) if isinstance(x, int) else x)
                lengths = [ctypes.c_size_t(1) for x in arguments if isinstance(x, bytes)]
                getattr(library, name + "_")(*passed, ctypes.byref(info), *lengths)
                return info.value, arrays
            def both(name, *arguments, info=0, compared=None, on_host=False):
                "arrays of ours, of which the first are like theirs; in last place the room for work, if the call has one"
                (our_info, a), (their_info, b) = (call(x, name, *arguments) for x in (ours, theirs))
                assert our_info == their_info == info, (name, our_info, their_info)
                for x, y in zip(a[:compared], b[:compared]):
                    if x.dtype == np.int32:
                        assert (x == y).all(), (name, x, y)
                    elif len(x) != LWORK:
                        close(x, y, 40)
                if len(a[-1]) == LWORK and isinstance(arguments[-1], int):
                    assert a[-1][0] == (b[-1][0] if on_host else arguments[-1]), a[-1][0]
                return a
            LWORK = 64 * 93
            for dtype, t in zip("fdFD", "sdcz"):
                q, adjoint = (("or", b"T") if t in "sd" else ("un", b"C"))
                work = np.zeros(LWORK, dtype)
                for m, n in (70, 70), (90, 40), (40, 90):
                    k, ld = min(m, n), m + 3
                    a, b, c = matrix(ld, n, dtype), matrix(93, 30, dtype), matrix(ld, n, dtype)
                    ipiv, tau = np.full(k + 1, 5, "i"), np.full(k + 1, 5, dtype)
                    lu, pivots = both(t + "getrf", m, n, a, ld, ipiv)
                    wrong = a.copy()
                    wrong[:, 11] = 0
                    both(t + "getrf", m, n, wrong, ld, ipiv, info=12)
                    if m == n:
                        for trans in b"N", b"t", b"C":
                            both(t + "getrs", trans, n, 30, lu, ld, pivots, b, 93)
                        both(t + "gesv", n, 30, a, ld, ipiv, b, 93)
                        both(t + "gesv", n, 30, wrong, ld, ipiv, b, 93, info=12)
                    qr, tau, _ = both(t + "geqrf", m, n, a, ld, tau, work, LWORK)
                    both(t + q + "gqr", m, k, k, qr, ld, tau, work, LWORK)
                    for trans in b"N", adjoint:
                        both(t + q + "mqr", b"L", trans, m, 30, k, qr, ld, tau, b, 93, work, LWORK)
                        both(t + q + "mqr", b"r", trans, 30, m, k, qr, ld, tau, matrix(33, m, dtype), 33, work, LWORK)
                        # a matrix whose condition is small: the identity, and something beside it
                        good = np.eye(ld, n, dtype=dtype) + a / 20
                        both(t + "gels", trans, m, n, 30, good, ld, b, 93, work, LWORK)
                        wrong = good.copy()
                        wrong[(slice(None), 11) if m >= n else 11] = 0
                        both(t + "gels", trans, m, n, 30, wrong, ld, b, 93, work, LWORK, info=12, compared=1)
                        both(t + "gels", trans, m, n, 30, 0 * good, ld, b, 93, work, LWORK, on_host=True)
                    (info, ours_now), (_, theirs_now) = (call(x, t + "geqrf", m, n, a, ld, tau, work, -1) for x in (ours, theirs))
                    assert info == 0 and (ours_now[0] == a).all() and ours_now[2][0] == theirs_now[2][0] > n
            """, self.preload, {**DEVICES, "DAVIT_BLAS_FROM": "30"})
        for t, q in ("s", "or"), ("d", "or"), ("c", "un"), ("z", "un"):
            for call, count in (("getrf 90 40", 2), ("getrs [NTC] 70 30", 3), ("gesv 70 30", 2), ("geqrf 40 90", 1),
                                (f"{q}gqr 90 40 40", 1), (f"{q}mqr L[NTC] 90 30 40", 2), (f"{q}mqr R[NTC] 30 90 40", 2),
                                ("gels [NTC] 90 40 30", 4), ("gels [NTC] 40 90 30", 4)):
                self.expect(log, f": {t}{call}: devices 0,1, DAVIT_BLAS_FROM", count)
            self.expect(log, f": {t}geqrf 70 70: host, nothing to compute, or a wrong argument")
            self.expect(log, f": {t}gels . 70 70 30: host, nothing to compute, or a wrong argument", 2)

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
                    a = 2 * np.eye(n, dtype=dtype) + x / 10
                    for solution in (np.linalg.solve(a, b), np.linalg.lstsq(a, b, rcond=None)[0], linalg.solve(a, b),
                                     linalg.lu_solve(linalg.lu_factor(a), b), linalg.lstsq(a, b)[0],
                                     linalg.get_lapack_funcs("gels", (a,))(a, b)[1],
                                     linalg.lu_solve(linalg.lu_factor(a.T), b, 1)):
                        close(product(a, solution), b, 40)
                    close(product(np.linalg.inv(a), a), np.eye(n, dtype=dtype), 40)
                    (sign, log), values = np.linalg.slogdet(a), np.linalg.eigvals(a)
                    close(np.array(log), np.log(np.abs(values)).sum(), 40)
                    close(np.array(sign), np.prod(values / np.abs(values)), 40)
                    for q, r in np.linalg.qr(a[:, :17]), linalg.qr(a[:, :17], mode="economic"), linalg.qr(a[:17].T):
                        close(product(q, r), a[:, :17] if len(r) < n else a[:17].T, 4)
                        close(product(q.conj().T, q), np.eye(q.shape[1], dtype=dtype), 4)
                    close(linalg.qr_multiply(a, b.T[:, :n], "right")[0], product(b.T[:, :n], linalg.qr(a)[0]), 40)
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
            for t, q in ("s", "or"), ("d", "or"), ("c", "un"), ("z", "un"):
                for call, count in (("potrf [UL] 130", 2), ("potrs [UL] 130 50", 2), ("posv [UL] 130 50", 2),
                                    ("getrf 130 130", 3), ("getrs N 130 50", 1), ("getrs T 130 50", 1), ("geqrf 130 17", 1),
                                    ("geqrf 130 130", 1), ("gels N 130 130 50", 1), (f"{q}gqr 130 17 17", 1),
                                    (f"{q}gqr 130 130 17", 1), (f"{q}mqr R. 50 130 130", 1)):
                    self.expect(log, f": {t}{call}: {where}; ", count)
            for call in "dgesv 130 50", "dgesv 130 130", "zgesv 130 50":
                self.expect(log, f": {call}: {where}; ")
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
                ("0.3", {"STATUS": "9"}, here + "out of order; "),
                ("0.7", {}, here + "sooner there; .*, predicted 686 ms, devices 700 ms$"),
                ("-1", {}, here + "out of order; [0-9.e+-]+ ms$")):
            output, log = self.python(program, self.preload, start, {"SECONDS": seconds, "STATUS": "0", **more})
            self.expect(log, here + "devices are not started for so little; [0-9.e+-]+ ms$", started - 1)
            self.expect(log, line, 30 - started)
            if (", 7]" in output) != ("FAILED" in more):
                raise Failed(output)
        # On two threads, which wait for each other by spinning. The products count 0.46 s, and with alpha = 0 take none.
        _, log = self.python("""
            from scipy.linalg import blas, lapack
            wide, long = np.zeros((1000, 3700), order="F"), np.zeros((3700, 1000), order="F")
            blas.dgemm(0, wide, long)
            blas.dgemm(0, wide, long)
            s = np.asfortranarray(300 * np.eye(1000))
            for _ in range(3):
                lapack.dpotrf(s, lower=1)
            """, self.preload, start, {"SECONDS": "0.3", "STATUS": "0", "BLIS_NUM_THREADS": "2"})
        self.expect(log, here + "devices are not started for so little; [0-9.e+-]+ ms$")
        self.expect(log, name + "devices 0,1, sooner there; .*, host 686 ms$")
        output, _ = self.python(program, self.preload, start, {**DEVICES, "STATUS": "9", "WRITTEN": "1"}, status=-6)
        self.expect(output.splitlines(), name + "the result is lost: out of order")
        # Calls that take half a second at 16 GFLOP/s, by what each has to do: 2/3 to 13/3 n³ flops.
        for call, line, early in (("dgetrf(s)", "dgetrf 1000 1000", 12), ("dgesv(s, b)", "dgesv 1000 1000", 3),
                                  ("dgeqrf(s)", "dgeqrf 1000 1000", 6), ("dorgqr(s, s[0])", "dorgqr 1000 1000 1000", 6),
                                  ("dormqr('L', 'T', s, s[0], b, 64000)", "dormqr LT 1000 1000 1000", 3),
                                  ("dgels(s, b)", "dgels N 1000 1000 1000", 1)):
            _, log = self.python(f"""
                from scipy.linalg import lapack
                s, b = np.asfortranarray(np.eye(1000)), np.ones((1000, 1000), order="F")
                for _ in range({early} + 1):
                    lapack.{call}
                """, self.preload, start, {"SECONDS": "0.3", "STATUS": "0", "BLIS_NUM_THREADS": "1"})
            self.expect(log, f": {line}: host, devices are not started for so little; ", early)
            self.expect(log, f": {line}: devices 0,1, sooner there; ")


CASES = ["systems", "next_lapack", "wheels", "factors", "lapacke", "linalg", "predicted"]

if __name__ == "__main__":
    sys.exit(main(Systems, CASES))

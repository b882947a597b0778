#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drop-in exports what Debian's BLAS libraries export, some routines of LAPACK, and nothing else.

    exports.py NM FOLDER [DEBIAN_LIBRARY...]     (ctest runs it as `dropin_exports`)

FOLDER has libdavit_blas.so and the others. Without libraries, those of Debian that are installed are compared: the
reference library, and BLIS's. Data must be data there and here, functions functions; no name has a version.
"""
import glob
import re
import subprocess
import sys

OURS = ["libdavit_blas.so", "davit/libblas.so.3", "libdavit_blas64.so", "davit/libblas64.so.3"]
LAPACK = {f"{t}{routine}_" for t in "sdcz"
          for routine in ("potrf", "potrs", "posv", "getrf", "getrs", "gesv", "geqrf", "gels")}
LAPACK |= {f"{t}{group}{routine}_" for t, group in (("s", "or"), ("d", "or"), ("c", "un"), ("z", "un")) for routine in ("mqr", "gqr")}
LEVEL_3 = {f"{t}{routine}" for t in "sdcz" for routine in ("gemm", "symm", "syrk", "syr2k", "trmm", "trsm")}
LEVEL_3 |= {f"{t}{routine}" for t in "cz" for routine in ("hemm", "herk", "her2k")}
WHEELS = {f"scipy_{name}{suffix}" for suffix in ("", "64_")
          for name in LAPACK | {f"{name}_" for name in LEVEL_3} | {f"cblas_{name}" for name in LEVEL_3}}
SONAMES = ["libdavit_blas.so.0", "libblas.so.3", "libdavit_blas64.so.0", "libblas64.so.3"]


def names(nm, library):
    """{name: whether it is data}"""
    output = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    rows = [line.split()[-2:] for line in output.splitlines()]
    return {name: kind in "BDGRS" for kind, name in rows}


def main():
    nm, folder, theirs = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not theirs:
        theirs = [path for pattern in ("blas", "blis*") for path in glob.glob(f"/usr/lib/*/{pattern}/libblas*.so.3")]
    if not theirs:
        print("no BLAS of Debian is installed")
        return 77
    wanted = {}
    for library in theirs:
        wanted.update(names(nm, library))
        print(f"{library}: {len(names(nm, library))} names")
    wanted.update(dict.fromkeys(LAPACK, False))
    wrong = []
    for file, soname in zip(OURS, SONAMES):
        library = f"{folder}/{file}"
        ours = names(nm, library)
        for name in set() if "64" in file else WHEELS:
            if ours.pop(name, True):
                wrong.append(f"{file} has no function {name}")
        wrong += [f"{file} lacks {name}" for name in sorted(wanted.keys() - ours.keys())]
        wrong += [f"{file} exports {name}" for name in sorted(ours.keys() - wanted.keys()) if len(theirs) > 1]
        wrong += [f"{file} has another kind of {name}" for name in ours.keys() & wanted.keys()
                  if ours[name] != wanted[name]]
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        if not re.search(rf"SONAME.*\[{re.escape(soname)}\]", dynamic):
            wrong.append(f"{file} is not called {soname}")
        needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
        if needed != ["libc.so.6"]:
            wrong.append(f"{file} needs {needed}: programs that call no BLAS would load that")
    print("\n".join(wrong) or "the same names")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

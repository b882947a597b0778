#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the examples of README.md and docs/*.md against the shared library.

    examples.py SOURCE_DIR BUILD_DIR LIBRARY_DIR CLANG OFFLOAD_CFLAGS OFFLOAD_LDFLAGS

Every ```c block is an example. One that has a main is a program and must exit with 0. Any other is the body of a main,
and no davit call of it may fail. A comment before it holds what the reader need not see, a comment after it what must
be true then:

    <!-- setup: C code; if it has a main, the block continues that one -->
    <!-- check: C code, mostly assert(...); -->

A block after <!-- not compiled --> is left out. Blocks with target regions, or with an operator of their own, are
compiled by CLANG with the offload flags, all others by the system's C compiler. Whole programs in C++, Fortran and
Python (those that import davit) are examples as well, where there is something to run them; they use the modules of
docs/fortran and docs/python.
"""
import concurrent.futures
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:<!-- setup:((?:(?!-->).)*)-->\n+|(<!-- not compiled -->\n+))?"
                   r"^```(c|cpp|fortran|python)\n(.*?)^```$(?:\n+<!-- check:((?:(?!-->).)*)-->)?", re.S | re.M)
WHOLE = {"c": r"\bmain\(", "cpp": r"\bmain\(", "fortran": r"(?m)^program", "python": "import davit"}
HEADERS = "".join(f"#include <{name}.h>\n" for name in
                  ("assert", "davit/davit", "inttypes", "math", "stdio", "stdlib", "string"))
END = "  return *davit_last_error() ? puts(davit_last_error()), 1 : 0;\n}\n"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def program(place, setup, block, check):
    """The block as a whole program; the compiler reports lines of the document."""
    if "main(" not in setup:
        setup = "int main(void) {\n" + setup
    document, line = place.split(":")
    return f'{HEADERS}{setup}\n#line {line} "{document}"\n{block}{check}\n{END}'


def examples(source):
    """(place, language, whether it is whole, text) of each example."""
    for path in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        text = path.read_text()
        for match in BLOCK.finditer(text):
            setup, left_out, language, block, check = match.groups(default="")
            place = f"{path.relative_to(source)}:{text.count(chr(10), 0, match.start(4)) + 1}"
            whole = bool(re.search(WHOLE[language], block))
            if not left_out and (whole or language == "c"):
                yield place, language, whole, block if whole else program(place, setup, block, check)


@functools.cache
def runnable(language):
    if language == "python":
        return subprocess.run([sys.executable, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0
    return bool(shutil.which({"c": "cc", "cpp": "c++", "fortran": "gfortran"}[language]))


class Build:
    def __init__(self, source, build, library, clang, cflags, ldflags):
        include = [f"-I{source}/include", f"-I{build}/include"]
        self.link = [f"-L{library}", "-ldavit", "-lm", f"-Wl,-rpath,{library}"]
        self.library, self.modules = library, f"{source}/docs/python"
        self.compilers = {"c": ["cc", "-std=c17", *include], "cpp": ["c++", "-std=c++17", *include],
                          "fortran": ["gfortran", f"{source}/docs/fortran/davit.f90", "-J"],
                          "offload": [clang, "-std=c17", *include, *cflags.split(), "-fopenmp-cuda-mode"]}
        self.offload_link = ldflags.split()

    def command(self, file, language, whole, text):
        folder = [file.parent] if language == "fortran" else []  # for the module's .mod
        offload = language == "c" and re.search(r"#pragma omp|define_monoid\.h", text)
        return [*self.compilers["offload" if offload else language], *folder, *WARNINGS, *([] if whole else ["-Wno-unused"]),
                file, "-o", file.with_suffix(""), *self.link, *(self.offload_link if offload else [])]

    def attempt(self, folder, place, language, whole, text):
        """What went wrong, or ""."""
        suffix = {"c": ".c", "cpp": ".cpp", "fortran": ".f90", "python": ".py"}[language]
        file = folder / (re.sub("[/:.]", "-", place) + suffix)
        file.write_text(text)
        words = [sys.executable, file] if language == "python" else [file.with_suffix("")]
        status, output = 0, ""
        if language != "python":
            status, output = run(self.command(file, language, whole, text))
        if status == 0:
            status, output = run(["env", f"LD_LIBRARY_PATH={self.library}", f"PYTHONPATH={self.modules}", *words], cwd=folder, timeout=120)
        return f"{place}: exit status {status}\n{output}\n" if status else ""


def run(words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return done.returncode, done.stdout


def main():
    build, found = Build(*sys.argv[1:]), list(examples(pathlib.Path(sys.argv[1])))
    left_out = [place for place, language, *_ in found if not runnable(language)]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = list(filter(None, pool.map(lambda example: build.attempt(pathlib.Path(name), *example),
                                              [example for example in found if example[0] not in left_out])))
    for place in left_out:
        print(f"{place}: left out, nothing here runs it")
    print("".join(failures), f"{len(found)} examples, {len(failures)} failed", sep="")
    return 1 if failures or not found else 0


if __name__ == "__main__":
    sys.exit(main())

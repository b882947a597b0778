#!/usr/bin/env python3
"""Checks that the pages are complete: docs/README.md names every page, docs/errors.md every status, docs/interface.md
every function and no other, and README.md has the figures of the newest results.

    tests/docs/pages.py      (ctest runs it as `pages`)
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
problems = []


def expect(ok, problem):
    if not ok:
        problems.append(problem)


def check_index():
    index = (ROOT / "docs/README.md").read_text()
    for page in sorted((ROOT / "docs").glob("*.md")):
        expect(page.name == "README.md" or f"({page.name}" in index, f"docs/README.md does not name {page.name}")


def check_statuses():
    header, page = (ROOT / "include/davit/status.h").read_text(), (ROOT / "docs/errors.md").read_text()
    statuses = re.search(r"enum davit_status \{(.*?)\}", header, re.S)[1]
    for status in re.findall(r"^  (DAVIT_\w+)", statuses, re.M):
        expect(status == "DAVIT_STATUS_COUNT" or f"| `{status}` |" in page, f"docs/errors.md does not explain {status}")


def listed_name(function):
    """The name under which docs/interface.md lists a function: without `queue`, and with P for BLAS' letter."""
    plain = function.replace("davit_queue_", "davit_")
    return re.sub(r"^davit_[ds](gemm|gemv|axpy|dot)$", r"davit_P\1", plain)


def check_interface():
    lines = (ROOT / "docs/interface.md").read_text().splitlines()
    page = "\n".join(line for line in lines if line.startswith("|"))
    listed = set(re.findall(r"davit_\w+", page))
    headers = " ".join(path.read_text() for path in sorted((ROOT / "include/davit").glob("*.h")))
    declared = set(re.findall(r"DAVIT_API [^;(]*?\b(davit_\w+)\(", headers))
    declared |= set(re.findall(r"static inline [^;(]*?\b(davit_\w+)\(", headers))
    shortened = set(re.findall(r"`(_\w+)`", page))
    for function in sorted(declared):
        known = function in listed or listed_name(function) in listed
        known = known or any(function.endswith(ending) for ending in shortened)
        expect(known, f"docs/interface.md does not list {function}")
    for function in sorted(set(re.findall(r"(davit_\w+)\(", page))):
        known = {listed_name(name) for name in declared} | declared
        expect(function in known, f"docs/interface.md lists {function}, which no header declares")


def check_figures():
    plot = subprocess.run([sys.executable, "-B", ROOT / "bench/plot.py", "readme", "--check"],
                          capture_output=True, text=True)
    expect(plot.returncode == 0, (plot.stdout + plot.stderr).strip())


check_index()
check_statuses()
check_interface()
check_figures()
print("\n".join(problems) or "all pages hold")
sys.exit(1 if problems else 0)

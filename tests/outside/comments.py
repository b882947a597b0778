#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the comments of C sources: none names a function, a type or a file that there is not, no line stands twice in
a row, and no comment ends on a line of its own.

    tests/outside/comments.py ROOT      (ctest runs it as `comments`)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ["include", "src", "offload", "ref", "tests", "bench"]
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')

files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".c", ".h", ".inc")]
texts = {path: path.read_text() for path in files}
code = " ".join(COMMENT.sub(" ", text) for text in texts.values())
words = set(re.findall(r"\w+", code)) | set(re.findall(r"\w+", " ".join(STRING.findall(code))))
pasted = {m for m in re.findall(r"\b\w*##\w+##\w*|\b\w+##\w+|\w+##", code)}
# Names that macros paste together, as far as what they all share says something.
patterns = [re.compile(re.sub(r"\w*##(?:\w+##)?", lambda m: m[0].split("##")[0] + r"\w*", p) + "$") for p in pasted
            if len(re.sub(r"##(?:\w+##)?", "", p)) > 8]
paths = [str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
# Headers of other projects.
FOREIGN = {"blast_stat.c", "cblas.h", "cublas_v2.h", "cuda_occupancy.h", "elf.h", "hip_runtime_api.h", "hipblas.h",
           "sched.h", "string.h"}
problems = []


def exists(name):
    return name in words or any(p.match(name) for p in patterns)


for path, text in texts.items():
    place = path.relative_to(ROOT)
    for comment in COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        body = comment[0]
        for name in re.findall(r"\b((?:dvt|davit|DVT|DAVIT)_(?![A-Z]+_TYPE)\w*[a-zA-Z0-9])\b(?![*_…])", body):
            if not exists(name) and not any(word.startswith(name + "_") for word in words):
                problems.append(f"{place}:{line}: {name} does not exist")
        for name in re.findall(r"(?<![\w/.<-])([a-z][\w/]*\.(?:c|h|inc|py))\b", body):
            if name not in FOREIGN and not any(f"/{there}".endswith(f"/{name}") for there in paths):
                problems.append(f"{place}:{line}: there is no file {name}")
        if re.search(r"\n\s*(?:\*\s*)?\*/$", body) and "\n" in body:
            problems.append(f"{place}:{line}: the comment ends on a line of its own")
    lines = text.split("\n")
    for at in range(1, len(lines)):
        if lines[at] == lines[at - 1] and re.match(r"\s*(/\*|\*)\s*\w.*", lines[at]):
            problems.append(f"{place}:{at + 1}: the line stands twice")
print("\n".join(problems) if problems else "all comments hold")
sys.exit(1 if problems else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/interface.md lists every public function with the arguments of its header, and nothing else.

    interface.py SOURCE_DIR

`davit_x(a, b)` in the page is a function with these arguments; `davit_queue_x` alone has those of `davit_x` after the
queue, unless the page lists them; P stands for d, s, z and c, R for d and s, Z for z and c. Checks rule 1 as well:
options come last, and options structs end in reserved words. And tests/interface_calls.c has every function of libdavit.
"""
import re
import sys
from pathlib import Path



def declared(root):
    functions, structs = {}, {}
    for path in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for name, arguments in re.findall(r"(davit_\w+)\(([^()]*)\)\s*(?:__attribute__.*?)?[;{]", text):
            if f" {name}(" in text or f"*{name}(" in text:
                names = [re.sub(r"\[.*\]", "", a.strip()).split()[-1].lstrip("*") for a in arguments.split(",")]
                functions[name] = [n for n in names if n not in ("void", "...")]
        for body, name in re.findall(r"typedef struct \w+ \{([^}]*(?:\{[^}]*\}[^}]*)*)\} (davit_\w+);", text):
            structs[name] = body
    return functions, structs


def listed(page):
    functions = {}
    for code in re.findall(r"`([^`\n]+)`", page):
        call = re.fullmatch(r"(davit_\w+)\(([^)]*)\)", code)
        if call:
            names = [re.sub(r"…", "", a).strip() for a in call.group(2).split(",")]
            if any(names) or call.group(1) not in functions:  # `davit_x()` in a sentence says nothing
                functions[call.group(1)] = [n for n in names if n]
    for code in re.findall(r"`(davit_queue_\w+)`", page):
        plain = functions.get(code.replace("queue_", "", 1))
        if plain is not None and code not in functions:
            functions[code] = ["queue"] + plain
    for name in [n for n in functions if re.match("davit_(mpi_|queue_)?[PRZ]", n)]:
        arguments = functions.pop(name)
        prefix, kind, stem = re.match("(davit_(?:mpi_|queue_)?)(.)(.*)", name).groups()
        for letter in {"P": "dszc", "R": "ds", "Z": "zc"}[kind]:
            functions[prefix + letter + stem] = arguments
            if prefix == "davit_":
                functions.setdefault("davit_queue_" + letter + stem, ["queue"] + arguments)
    return functions


def tried(root):
    """The functions that tests/interface_calls.c has, for tests of their rules."""
    text = (root / "tests/interface_calls.c").read_text()
    names = set(re.findall(r"^(?:ROW|CALL|TEXT)\((davit_\w+)", text, flags=re.M))
    for create, destroy in re.findall(r"^MADE\(\w+, (\w+), (\w+)", text, flags=re.M):
        names |= {create, destroy}
    for stem in re.findall(r"^BOTH\((\w+)", text, flags=re.M):
        names |= {f"davit_{stem}", f"davit_queue_{stem}"}
    for macro, body in re.findall(r"^#define (\w+)\(p, .*?\)((?:.*\\\n)*.*)", text, flags=re.M):
        for letter in re.findall(rf"^{macro}\((\w),", text, flags=re.M):
            for stem in re.findall(r"BOTH\(p##(\w+)", body):
                names |= {f"davit_{letter}{stem}", f"davit_queue_{letter}{stem}"}
            for queue, stem in re.findall(r"CALL\(davit_(queue_)?##p##(\w+)", body):
                names.add(f"davit_{queue}{letter}{stem}")
    return names


def main():
    root = Path(sys.argv[1])
    functions, structs = declared(root)
    page = listed((root / "docs/interface.md").read_text())
    wrong = [f"docs/interface.md does not list {name}" for name in sorted(functions.keys() - page.keys())]
    wrong += [f"docs/interface.md lists {name}, which no header declares" for name in
              sorted(page.keys() - functions.keys())]
    wrong += [f"{name}: the header has ({', '.join(functions[name])}), the page ({', '.join(page[name])})"
              for name in sorted(functions.keys() & page.keys()) if functions[name] != page[name]]
    wrong += [f"{name}: options are not the last argument" for name, arguments in functions.items()
              if "options" in arguments[:-1]]
    wrong += [f"tests/interface_calls.c does not try {name}" for name in sorted(functions.keys() - tried(root))
              if not name.startswith("davit_mpi_")]  # tests/mpi does
    for name, body in structs.items():
        members = [line for line in body.split(";") if line.strip()]
        if re.search(r"_(options|report|info)$", name) and "reserved" not in members[-1]:
            wrong.append(f"{name} does not end in reserved words")
    print("\n".join(wrong) if wrong else f"{len(functions)} functions, as the page says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell examples of docs/start/*.md and docs/csv.md, each page in an empty folder.

    shell.py SOURCE_DIR BUILD_DIR LIBRARY_DIR BIN_DIR

The ```sh blocks of a page run one after another and must succeed. A ```text block right behind one is what it prints,
in which … stands for any text in a line, and a line … for any lines. A comment before a block says what else is needed:

    <!-- setup: shell commands, which the reader does not see -->
    <!-- file: NAME -->      the block, in any language, is the file NAME
    <!-- not run -->         the block is left out

davit and pkg-config are those of the build, python3 is the one that runs this.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:<!-- setup:(?P<setup>(?:(?!-->).)*)-->\n+)?(?:<!-- file: (?P<file>\S+) -->\n+|(?P<left><!-- not run -->\n+))?"
                   r"^```(?P<language>\w+)\n(?P<text>.*?)^```$(?:\n+^```text\n(?P<printed>.*?)^```$)?", re.S | re.M)
LIMIT_S = 120


def is_printed(wanted, found):
    """Whether the output is the one on the page."""
    lines = [".*" if line == "…" else re.escape(line).replace("…", "[^\n]*") for line in wanted.splitlines()]
    return re.fullmatch("\n".join(lines) + "\n?", found, re.S)


def problems(page, folder, environment):
    """What is wrong with the examples of a page, and how many there are."""
    text, count = page.read_text(), 0
    for match in BLOCK.finditer(text):
        place = f"{page}:{text.count(chr(10), 0, match.start('text'))}"
        if match["file"]:
            (folder / match["file"]).write_text(match["text"])
        is_example = match["language"] == "sh" and not match["left"]
        count += is_example
        for commands in filter(None, (match["setup"], match["text"] if is_example else None)):
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", commands], cwd=folder, env=environment, text=True,
                                  timeout=LIMIT_S, capture_output=True)
            if done.returncode:
                yield f"{place}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        if is_example and match["printed"] and not is_printed(match["printed"], done.stdout):
            yield f"{place}: prints\n{done.stdout}"
    if not count:
        yield f"{page}: no example"


def environment_of(tools, source, build, library, programs):
    """Of a user for whom davit is installed."""
    (tools / "python3").symlink_to(sys.executable)
    (tools / "davit.pc").write_text(f"Name: davit\nDescription: the build\nVersion: 0\n"
                                    f"Cflags: -I{source}/include -I{build}/include\n"
                                    f"Libs: -L{library} -ldavit -Wl,-rpath,{library}\n")
    return {**os.environ, "PATH": f"{tools}:{programs}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(tools),
            "LD_LIBRARY_PATH": library, "PYTHONPATH": f"{source}/docs/python", "DAVIT_TUNING_FILE": ""}


def main():
    source, build, library, programs = sys.argv[1:]
    docs, found = pathlib.Path(source) / "docs", []
    for page in [*sorted((docs / "start").glob("*.md")), docs / "csv.md"]:
        with tempfile.TemporaryDirectory() as tools, tempfile.TemporaryDirectory() as folder:
            found += problems(page, pathlib.Path(folder), environment_of(pathlib.Path(tools), source, build, library, programs))
    print("\n".join(found) or "all shell examples run")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

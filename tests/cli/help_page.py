#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The help of the commands in docs/cli/NAME.md, and their index in docs/cli.md.

usage: help_page.py DAVIT      writes them; test_help.py tests that they are there

Of a command's page the text in its first fence is written, of docs/cli.md the section "Commands". The rest of both is
written by hand.
"""
import pathlib
import re
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
FENCE = re.compile(r"^```text\n.*?^```\n", re.S | re.M)
INDEX = re.compile(r"^## Commands\n.*?(?=^## |\Z)", re.S | re.M)


def output(davit, *arguments):
    return subprocess.run([davit, *arguments], check=True, capture_output=True, text=True).stdout


def summaries(davit):
    """What the overview says of each command."""
    text = re.search(r"\n\n((?:  .*\n)+)", output(davit, "help"))[1]
    rows = dict(re.findall(r"^  (\S+) +(.*(?:\n   .*)*)", text, re.M))
    return {name: " ".join(summary.split()) for name, summary in rows.items() if name != "help"}


def commands(davit):
    return list(summaries(davit))


def written(davit):
    """The pages as this davit has them: path and text."""
    rows = [f"| [`{name}`](cli/{name}.md) | {summary} |\n" for name, summary in summaries(davit).items()]
    index = "## Commands\n\n| command | |\n| --- | --- |\n" + "".join(rows) + "\n"
    pages = {DOCS / "cli.md": INDEX.sub(lambda m: index, (DOCS / "cli.md").read_text())}
    for name in commands(davit):
        path = DOCS / "cli" / f"{name}.md"
        page = path.read_text() if path.exists() else f"# davit {name}\n\n```text\n```\n"
        pages[path] = FENCE.sub(lambda m: f"```text\n{output(davit, 'help', name)}```\n", page, count=1)
    return pages


if __name__ == "__main__":
    for path, text in written(sys.argv[1]).items():
        path.write_text(text)

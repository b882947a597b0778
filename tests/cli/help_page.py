#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The help of all commands in docs/cli.md.

usage: help_page.py DAVIT      writes it into docs/cli.md; test_help.py tests that it is there
"""
import os
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/cli.md")
HEADING = "## Commands\n"


def read():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def output(davit, *arguments):
    return subprocess.run([davit, *arguments], check=True, capture_output=True, text=True).stdout


def commands(davit):
    lines = output(davit, "help").splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] != "help"]


def written(page, davit):
    """The page with the help as this davit prints it after the heading, to the end."""
    parts = [f"\n### `davit {name}`\n\n```text\n{output(davit, 'help', name)}```\n" for name in commands(davit)]
    return page[:page.index(HEADING)] + HEADING + "".join(parts)


if __name__ == "__main__":
    text = written(read(), sys.argv[1])
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user sees in a terminal: tmux is one, which shows its screen and its colours.

usage: test_terminal.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all
"""
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from support import DAVIT, LIMIT_S, expect, main, run_json

import numpy as np

servers = 0  # each has a socket of its own: a server that ends may still hold the last one's


def tmux(*arguments):
    command = ["tmux", "-L", f"davit-test-{os.getpid()}-{servers}", "-f", "/dev/null", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S).stdout


def screens(command, environment=""):
    """What the terminal shows while a shell runs `command` and when it has ended, with the escapes of colours."""
    global servers
    servers += 1
    shown = []
    tmux("new-session", "-d", "-x", "200", "-y", "50", f"{environment} {command}; echo ended with $?; sleep {LIMIT_S}")
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and not (shown and "ended with " in shown[-1]):
        shown.append(tmux("capture-pane", "-p", "-e"))
        time.sleep(0.1)
    tmux("kill-server")
    return shown


def test_screen():
    if not shutil.which("tmux"):
        print("  left out: there is no tmux")
        return
    np.save("x.npy", np.ones(100_000))
    seconds = run_json("dot", "x.npy", "x.npy", "--devices", "cpu", "--repeat", 100)["seconds"]
    long = f"{DAVIT} dot x.npy x.npy --devices cpu --repeat {min(1_000_000, int(6 / seconds))}"
    for environment in ("", "NO_COLOR=1"):
        shown = screens(long, environment)
        expect(any(re.search(r"dot: [1-9]\d* of [1-9]\d* runs, \d+ s, about \d+ s left", screen) for screen in shown),
               f"progress, {environment or 'plain'}: {shown[-3:]}")
        expect(re.match(r"100000\nmedian .* GFLOP/s\nended with 0\n", shown[-1]), f"the value and its time stay: {shown[-1]!r}")
        expect(not any("\x1b[" in screen for screen in shown), f"no colours: {shown[-1]!r}")
    shown = screens(f"{DAVIT} dot x.npy x.npy --devices cpu --repeat 100 --check")
    expect(re.match(r"100000\nmedian .* GFLOP/s\nerror \S+, bound \S+: .*\nended with 0\n", shown[-1]), f"the value and the check: {shown[-1]!r}")


def test_binary():
    if not shutil.which("tmux"):
        return
    np.save("x.npy", np.ones(3))
    for options, code in (("", 2), ("-f", 0)):
        shown = screens(f"{DAVIT} scan x.npy -o - {options}")
        refused = "the result is binary, and standard output is a terminal; -f writes it there" in shown[-1]
        expect(refused == (code == 2) and f"ended with {code}" in shown[-1], f"{options}: {shown[-1]!r}")
        expect(("NUMPY" in shown[-1]) == (code == 0), f"{options}: {shown[-1]!r}")


if __name__ == "__main__":
    sys.exit(main(globals()))

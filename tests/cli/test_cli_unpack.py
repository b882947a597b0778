#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tool where the OpenMP runtime cannot unpack the code of host devices in /tmp.

usage: test_cli_unpack.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all

Calls of the C library fail by shim.c. Where the machine allows name spaces, /tmp itself is another one as well.
"""
import os
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
from support import DAVIT, LIMIT_S, expect, failing, main, run_json, save

WORDS = "unpacks code for host devices in /tmp, where a file of"


def run(arguments, prefix=(), environment=None):
    return subprocess.run([*prefix, DAVIT, *arguments], env={**os.environ, **(environment or {})}, capture_output=True,
                          text=True, timeout=LIMIT_S)


def expect_left_out(reason, **how):
    """No host-offload device, one line that says why, and work on the CPU."""
    gpus = sum(device["kind"] not in ("cpu", "host-offload") for device in run_json("devices")["list"])
    listed = run(["devices"], **how)
    expect(listed.returncode == 0 and "host-offload" not in listed.stdout, f"no host-offload device: {listed}")
    expect(WORDS in listed.stderr and reason in listed.stderr and listed.stderr.count("\n") == 1, f"{reason}: {listed}")
    named = run(["reduce", "x.npy", "--devices", str(gpus)], **how)
    expect(named.returncode == 1 and WORDS in named.stderr, f"a device that is left out is refused: {named}")
    for command in (["gemm", "a.npy", "a.npy"], ["scan", "x.npy"]):
        done = run([*command, "--check", "--devices", "host"], **how)
        expect(done.returncode == 0, f"{command} on the CPU: {done}")


def make_operands():
    save("x.npy", np.arange(1000.0))
    save("a.npy", np.eye(40))


def test_calls_that_fail():
    make_operands()
    for call, reason in (("create", "cannot be created: Read-only file system"),
                         ("fill", "cannot be filled: No space left on device"),
                         ("execute", "cannot be mapped executable: Operation not permitted")):
        expect_left_out(reason, environment=failing(call))


def test_other_tmp():
    """A /tmp that does not allow it. The current folder stays what it is."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode or DAVIT.startswith("/tmp/"):
        print("  left out: no name spaces here, or the tool lies in /tmp")
        return
    make_operands()
    for options, reason in (("noexec", "mapped executable"), ("ro", "created"), ("size=64k", "filled")):
        script = f'mount -t tmpfs -o {options} davit /tmp && exec "$@"'
        expect_left_out(reason, prefix=["unshare", "-rm", "sh", "-c", script, "sh"])


if __name__ == "__main__":
    sys.exit(main(globals()))

# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command-line tool share: running it, counting checks, making files.

A test program is called with DAVIT [NAME ...] and runs the groups (functions test_*) whose name contains one of NAME,
or all, each in a folder of its own. It prints one line a group; exits 1 when any check failed.
"""
import io
import itertools
import json
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

DAVIT = os.path.abspath(sys.argv[1])
LIMIT_S = 120
# Under AddressSanitizer, memory that is not there is to be an error of the tool, not of the sanitizer.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
# Tests under a sanitizer take many times as long (tests/CMakeLists.txt sets this for them).
SCALE = float(os.environ.get("DAVIT_TEST_SCALE", 1))
EACH = 1 if SCALE >= 1 else 31
chance = random.Random(1)
# What ends before any work needs no device, and no more does the CPU: there the fallback takes the place of LLVM's offload
# runtime, where the build has one, because loading that takes most of a short run's time.
FALLBACK = os.path.normpath(os.path.join(os.path.dirname(DAVIT), os.pardir, "lib", "davit", "fallback"))
NO_DEVICES = {"LD_LIBRARY_PATH": FALLBACK} if os.path.isdir(FALLBACK) else {}
# Under a sanitizer, the search for leaks is half of a short run's time: one run in four has it.
searches_for_leaks = itertools.cycle((True, False, False, False))
PLACES = ("all", "cpu")  # of --devices
CHECKED = ("check", "error", "bound")  # keys that --check adds to a report
checks = 0
failures = []


def failing(call):
    """An environment in which a call of the C library fails (shim.c). The sanitizer's search for leaks starts a program, which
    would load the shim as well."""
    return {"LD_PRELOAD": os.path.normpath(os.path.join(os.path.dirname(DAVIT), os.pardir, "lib", "libdavit_test_shim.so")),
            "DAVIT_SHIM": call, "ASAN_OPTIONS": os.environ["ASAN_OPTIONS"] + ":verify_asan_link_order=0:detect_leaks=0"}


def expect(condition, what):
    global checks
    checks += 1
    if not condition:
        failures.append(what)
        print(f"  FAILED: {what}", flush=True)


class Result:
    def __init__(self, arguments, process):
        self.arguments = " ".join(map(str, arguments))
        self.code = process.returncode
        self.out = process.stdout
        # A build under AddressSanitizer adds its own lines, which begin so.
        lines = process.stderr.decode(errors="replace").splitlines(keepends=True)
        self.err = "".join(line for line in lines if not line.startswith("=="))

    def __str__(self):
        return f"davit {self.arguments} -> {self.code}: {self.err.strip()[:300]}"


def davit(*arguments, code=0, data=None):
    """Runs the tool, expects `code`, and of a failure exactly one line on standard error."""
    words = [str(word) for word in arguments]
    if any(word.startswith("--devices") for word in words):
        needs_none = SCALE < 1 and ("--devices", "cpu") in itertools.pairwise(words)
    else:
        needs_none = code in (2, 3) or words[0] == "help" or words[-1] == "--help"
    environment = {**os.environ, **(NO_DEVICES if needs_none else {})}
    if SCALE < 0.1 and not next(searches_for_leaks):
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"
    process = subprocess.run([DAVIT, *words], input=data, capture_output=True, timeout=LIMIT_S,
                             env=environment, stdin=subprocess.DEVNULL if data is None else None)
    result = Result(arguments, process)
    expect(result.code == code, f"exit {code} expected: {result}")
    if code:
        expect(result.err.count("\n") == 1 and result.err.startswith("davit"), f"one line expected: {result}")
    return result


def refuse(arguments, *words, code=3, data=None):
    """Runs the tool, expects failure with these words in its line, nothing on standard output, and no new file. Under a
    sanitizer, of wrong options, which end before any work, about every third."""
    if SCALE < 0.1 and code == 2 and chance.random() > 0.35:
        return
    before = listing()
    result = davit(*arguments, code=code, data=data)
    for word in words:
        expect(word in result.err, f"'{word}' expected: {result}")
    expect(result.out == b"", f"nothing on standard output: {result.out[:100]}")
    expect(listing() == before, f"nothing half-written: {set(listing()) ^ set(before)}")


def on_terminal(*arguments, stdout=False):
    """Exit code and what the tool wrote to a terminal, which is its standard error, and its standard output as well if `stdout`."""
    ours, terminal = pty.openpty()
    process = subprocess.run([DAVIT, *map(str, arguments)], stdout=terminal if stdout else subprocess.DEVNULL, stderr=terminal,
                             timeout=LIMIT_S)
    os.write(terminal, b"end")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 4096)
    os.close(terminal)
    os.close(ours)
    return process.returncode, shown[:-3]


def shows(pattern, *arguments):
    """Whether the tool shows `pattern` on a terminal, and what it has shown when it does or ends; then it is ended."""
    ours, terminal = pty.openpty()
    process = subprocess.Popen([DAVIT, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    shown = ""
    try:
        while not re.search(pattern, shown):
            shown += os.read(ours, 4096).decode()
    except OSError:  # the tool has ended
        pass
    process.terminate()
    process.wait(LIMIT_S)
    os.close(ours)
    return bool(re.search(pattern, shown)), shown


def watch(pattern, *arguments):
    """Expects that the tool shows `pattern` on a terminal."""
    right, shown = shows(pattern, *arguments)
    expect(right, f"{pattern} expected in {shown!r}")


def peak_bytes(*arguments):
    """The most memory that the tool had at a time."""
    process = subprocess.Popen([DAVIT, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    expect(process.returncode == 0, f"davit {arguments} -> {process.returncode}")
    return usage.ru_maxrss * 1024


def run_json(*arguments, **options):
    result = davit(*arguments, "--json", **options)
    try:
        return json.loads(result.out, parse_constant=lambda name: expect(False, f"{name} is no JSON: {result}"))
    except ValueError:
        expect(False, f"valid JSON expected: {result}")
        return {}


def expect_keys(report, *keys):
    for key in ("command", "devices", "seconds", *keys):
        expect(key in report, f"key {key} expected in {sorted(report)}")


def cases(*lists):
    """The product of the lists. Of a long one every seventh, and under a sanitizer every 31st, so that all values still come by."""
    product = list(itertools.product(*lists))
    return product[:: max(EACH, 7 if len(product) > 60 else 1)]


def sampled(items):
    """All of them; of a test that is to be short the first and some others."""
    items = list(items)
    return items[:1] + [item for item in items[1:] if chance.random() < max(SCALE, 0.1)]


def noise(rng, *shape, dtype="f8"):
    return rng.standard_normal(shape).astype(dtype)


def save(name, array, order="C"):
    np.save(name, np.asarray(array, order=order))
    return name


def npy_bytes(array, version=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), version)
    return stream.getvalue()


def npy_raw(header, data=b"", version=b"\x01\x00", magic=b"\x93NUMPY", length=None):
    text = header if isinstance(header, bytes) else header.encode()
    width = 2 if version[0] == 1 else 4
    return magic + version + (len(text) if length is None else length).to_bytes(width, "little") + text + data


def header_of(shape, descr="'<f8'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def put(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name


def listing():
    return sorted(os.listdir("."))


def main(names):
    """Runs the test_* functions of the dictionary `names`."""
    wanted = sys.argv[2:]
    groups = [(name[5:], group) for name, group in names.items() if name.startswith("test_")]
    for name, group in groups:
        if wanted and not any(part in name for part in wanted):
            continue
        start, failed, done = time.monotonic(), len(failures), checks
        with tempfile.TemporaryDirectory(prefix="davit-cli-") as folder:
            os.chdir(folder)
            try:
                group()
            except Exception as error:  # a group that breaks off must not hide the others
                expect(False, f"{name}: {type(error).__name__}: {error}")
            os.chdir("/")
        verdict = "ok" if len(failures) == failed else "FAILED"
        print(f"{name:16} {verdict:6} {checks - done:4} checks, {time.monotonic() - start:.1f} s", flush=True)
    print(f"{checks} checks, {len(failures)} failed")
    return 1 if failures else 0


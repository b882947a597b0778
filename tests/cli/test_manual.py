#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of manual pages and of completion, which the tool writes from the rows of its commands.

usage: test_manual.py DAVIT [NAME ...]      runs the groups whose name contains one of NAME, or all

The pages are read by groff, the completion is used by bash and zsh, where there are such.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import help_page
from support import DAVIT, LIMIT_S, davit, expect, main, put

COMMANDS = help_page.commands(DAVIT)


def words_of(text):
    """The words of a text, without what is typographic about them."""
    return re.sub(r"[\u2010\u2212]", "-", text).split()


def rendered(page):
    process = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], input=page, capture_output=True, timeout=60)
    expect(process.returncode == 0 and not process.stderr, f"groff says {process.stderr.decode()}")
    return process.stdout.decode()


def test_pages():
    """The page of a command says what its help says, word by word."""
    if not shutil.which("groff"):
        print("  left out: there is no groff")
        return
    # One run of groff for all pages; each begins with its name.
    everything = rendered(b"".join(davit("--man", *name).out for name in ([], *([name] for name in COMMANDS))))
    parts = re.split(r"^(DAVIT\S*)\(1\) .*\(1\)$", everything, flags=re.M)
    pages = dict(zip(parts[1::2], parts[2::2]))
    overview = " ".join(words_of(pages["DAVIT"]))
    for name in COMMANDS:
        expect(f" {name} " in overview and f"davit-{name}(1)" in overview, f"{name} in davit(1)")
        page, text = words_of(pages[f"DAVIT-{name.upper()}"]), davit("help", name).out.decode()
        body = text[text.index("\n\n"):].replace("print this text", "print these rows")
        body = re.sub(r"\n(operands|options|examples):\n", lambda section: section[0].upper().replace(":", ""), body)
        at = 0
        for word in words_of(body):
            if word not in page[at:]:
                expect(False, f"{name}: '{word}' of the help follows {' '.join(page[max(0, at - 5):at])}")
                break
            at = page.index(word, at) + 1
        expect(f"davit-{name} - " in " ".join(page), f"{name} has a name for whatis(1)")


def bash(lines):
    """What bash offers for each line, of which the last word is being completed."""
    put("davit.bash", davit("--completion", "bash").out.decode())
    script = ". ./davit.bash; complete -p davit; offer() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _davit; " \
             "printf '%s\\n' \"${COMPREPLY[*]}\"; }; set -f\n"
    script += "".join("offer " + " ".join(f"'{word}'" for word in line) + "\n" for line in lines)
    process = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60)
    expect(process.returncode == 0 and not process.stderr, f"bash says {process.stderr}")
    first, *offers = process.stdout.split("\n")[:-1]
    expect(first == "complete -F _davit davit", f"complete -p says {first}")
    return [set(offer.split()) for offer in offers]


def options_of(name):
    text = re.search(r"\noptions:\n(.*?)\n\n", davit("help", name).out.decode(), re.S)[1]
    rows = re.split(r"\n  (?=-)", "\n" + text)[1:]
    return {name for row in rows for name in re.match(r"([^ ,\n]+)(?:, (\S+))?", row).groups() if name} - {"-h"}


def test_bash():
    put("A.npy", "")
    put("points.csv", "")
    files = {"A.npy", "points.csv", "davit.bash"}
    cases = [(["davit", ""], set(COMMANDS) | {"help", "--version"}), (["davit", "ge"], {"gemm", "gemv"}),
             (["davit", "help", "clo"], {"closest"}), (["davit", "scan", "--op", ""], {"sum", "prod", "min", "max"}),
             (["davit", "scan", "--op", "=", "m"], {"min", "max"}), (["davit", "scan", "--op", "="], {"sum", "prod", "min", "max"}),
             (["davit", "gemm", ""], files), (["davit", "gemm", "A"], {"A.npy"}), (["davit", "gemm", "A.npy", "--c0", "po"], {"points.csv"}),
             (["davit", "gemm", "--alpha", ""], set()), (["davit", "gemm", "--tile", ""], {"auto"}),
             (["davit", "gemm", "--devices", ""], {"all", "gpu", "host", "cpu"}), (["davit", "tune", "st"], {"stencil"}),
             (["davit", "devices", ""], set()), (["davit", "gemm", "--transa", "A"], {"A.npy"})]
    cases += [(["davit", name, "-"], options_of(name)) for name in COMMANDS]
    for (line, wanted), offered in zip(cases, bash([line for line, _ in cases])):
        expect(offered == wanted, f"{line}: {sorted(offered)}, expected {sorted(wanted)}")


class Zsh:
    """An interactive zsh without the user's files, in a terminal of its own."""

    def __init__(self):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ.update(TERM="dumb", PS1="READY>")
            os.execvp("zsh", ["zsh", "-f", "-i"])

    def type(self, text, wanted):
        """What the terminal shows after the text was typed, until it has all words; or None after a while."""
        shown, end = "", time.monotonic() + LIMIT_S
        os.write(self.terminal, text.encode())
        while not all(word in shown for word in wanted):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            shown += os.read(self.terminal, 65536).decode(errors="replace")
        return shown

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def test_zsh():
    if not shutil.which("zsh"):
        print("  left out: there is no zsh")
        return
    put("_davit", davit("--completion", "zsh").out.decode())
    put("some.npy", "")
    zsh = Zsh()
    zsh.type("fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; stty cols 150; echo be''gin\n", ["begin"])
    for line, wanted in (("davit ge", ["gemm", "gemv", "matrix-vector"]), ("davit reduce --op ", ["sum", "prod", "min", "max"]),
                         ("davit gemm s", ["some.npy"]), ("davit gemm --ti", ["--tile", "auto"]), ("davit tune st", ["stencil"])):
        shown = zsh.type(line + "\t\t", wanted)
        expect(shown is not None, f"'{line}' is completed by {wanted}")
        zsh.type("\x15echo e''nd\n", ["end"])
    zsh.close()


def test_refused():
    davit("--man", "gem", code=2)
    davit("--man", "gemm", "gemv", code=2)
    for arguments in ((), ("fish",), ("bash", "zsh")):
        davit("--completion", *arguments, code=2)


if __name__ == "__main__":
    sys.exit(main(globals()))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the compiler made of the kernels for NVIDIA's GPUs, as nothing else says when it goes wrong.

  ptx.py BUILD      (ctest runs it as `ptx`)

Compiles the sources below to PTX for the newest architecture of the build, with the flags of its
compile_commands.json. Every kernel works in registers and team memory alone: no stack, no global variable, no call,
and a body, from all of which it can return. Those of the table use team memory, and load or store 16 bytes at once,
as it says."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../offload")

# file, regular expression of its kernels, what they need
TABLE = """
scan dvt_[a-z0-9]*_[a-z]*_scan_region shared load store
scan dvt_[a-z0-9]*_[a-z]*_segmented_region shared load store
scan dvt_[a-z0-9]*_[a-z]*_(segmented_)?sums_region shared load
scan dvt_[a-z0-9]*_[a-z]*_carry_region shared
reduce dvt_[a-z0-9]*_[a-z]*_reduce_region(_few|_many|_shares|_sections|_one)? shared load
cholesky_qr cholesky_qr_[a-z_]*_(distance|eliminate)_region shared
cholesky_qr (cholesky_qr_[a-z_]*_(upper|correct|finish)|dvt_judge)_region
triangle double_solve_region shared
triangle double_product_region shared
stencil (float|double)_stencil_wide_[0-9]* store
stencil (float|double)_stencil_narrow_[0-9]*
atax (float|double)_atax_pass_[0-9]* shared load store
atax (float|double)_atax_panels shared load
atax (float|double)_atax_sums shared
covariance (float|double)_centre_columns_region shared
covariance (float|double)_transpose_region shared
closest_pair closest_[a-z]*[23]_box shared
closest_pair closest_[a-z]*[23]_brute shared
closest_pair closest_[a-z]*[23]_select shared store
closest_pair closest_[a-z]*[23]_count(_slab)? shared
closest_pair closest_[a-z]*[23]_place(_slab)? store
closest_pair closest_float[23]_part_points shared store
closest_pair closest_float[23]_part_members shared load store
closest_pair closest_float[23]_part_records shared load store
closest_pair closest_float[23]_settle shared load store
closest_pair closest_[a-z]*[23]_plan_[a-z]*
closest_pair closest_[a-z]*[23]_search_[a-z]* shared load
closest_pair closest_[a-z]*[23]_collect shared load
closest_pair closest_[a-z]*[23]_(gather|insert|equal)
exact exact_(float|double)_measure_(real|complex)_region shared load store
exact exact_(float|double)_cut_(real|complex)_[23]_region shared load store
exact exact_(float|double)_join_(real|complex)_[234]_region shared load
exact (exact_(float|double)_mirror|dvt_exact_growth)_region
parts parts_[a-z_]*_(gather|scatter|exchange|unit|find_nan)_region
neighbors neighbors_(count|move)_digits shared
neighbors neighbors_[a-z]*[23]_pooled shared
neighbors neighbors_[a-z]*[23]_(keys|leaves|level|list_[0-9]*|heap|count|rows|check)
detect_stream detect_profiles_region
detect_stream detect_region_[a-z]*_[0-9]* shared load
align_pairs_stream pairs_(local|edge)_(scores|ends|begins)_(one|two) shared load
align_pairs_stream pairs_columns_(one|two) shared load store
align_pairs_stream pairs_drop_ends shared
align_pairs_stream pairs_drop_columns shared load
align_pairs_stream pairs_move_strings
align_stream search_region_[a-z]*_[0-9]* shared load
align_stream strip_region_[a-z]*_[0-9]* shared load
align_wavefront wavefront_region_[0-9]* shared load store
"""

# The text is all that is wanted; what the assembler makes of it the build has shown.
NO_ASSEMBLER = """#!/bin/sh
while [ $# -gt 1 ]; do
  [ "$1" != --output-file ] || : >"$2"
  shift
done
"""

HAS = {
    "stack": re.compile(r"\.local"),
    "call": re.compile(r"\scall[ .]"),
    "shared": re.compile(r"\s(ld|st|atom|cp\.async)[a-z0-9.]*\.shared"),
    "load": re.compile(r"\sld[a-z.]*\.global[a-z.]*\.(v4\.[bfu]32|v2\.[bfu]64)|\scp\.async\.cg\.shared\.global"),
    "store": re.compile(r"\sst[a-z.]*\.global[a-z.]*\.(v4\.[bfu]32|v2\.[bfu]64)"),
}
FAULTS = {
    "stack": "spills or has an array on a stack",
    "call": "calls a function",
    "empty": "has no body",
    "endless": "cannot return from all of its code",
    "strange": "has a branch that this script does not know",
}

# Loops, and what is wrong with them.
LOOPS = {"$A:\n\tbra.uni \t$A;\n$B:\n\tret;": {"endless"}, "$A:\n\t@%p1 bra \t$A;\n\tret;": set()}


def compile_to_ptx(file, command, work):
    """The PTX of offload/FILE.c by the build's command. On its way to an object: with -S alone the OpenMP runtime's own
    code is left out, and what it does to a kernel."""
    words, flags, architecture = iter(shlex.split(command)), [], ""
    for word in words:
        if word == "-o":
            next(words)
        elif word.startswith("--offload-arch="):
            architecture = re.split("[=,]", word)[-1]
            flags.append("--offload-arch=" + architecture)
        elif word.startswith("-fopenmp-targets="):
            flags.append("-fopenmp-targets=nvptx64-nvidia-cuda")
        elif word != "-c":
            flags.append(word)
    folder = os.path.join(work, file)
    os.makedirs(folder)
    flags += ["-g0", "--offload-device-only", "--ptxas-path=" + os.path.join(work, "ptxas"), "-save-temps=cwd", "-c"]
    subprocess.run(flags + ["-o", file + ".o"], cwd=folder, check=True)
    with open(os.path.join(folder, f"{file}-openmp-nvptx64-nvidia-cuda-{architecture}.s")) as text:
        ptx = text.read()
    shutil.rmtree(folder)
    return ptx


def blocks_of(body):
    """The basic blocks: label, label that the last instruction goes to, whether it returns, whether the next block may
    follow."""
    blocks, label = [], ""
    for line in body:
        name = re.match(r"\s*(\$?\w+):(?!:)", line)
        step = re.match(r"\s*(@!?%\w+\s+)?(bra(?:\.uni)?|brx[.\w]*|ret|exit)\b\s*(\$?\w+)?", line)
        if name:
            blocks.append((label, None, False, True))
            label = name[1]
        elif step:
            returns = step[2] in ("ret", "exit")
            blocks.append((label, None if returns else step[3], returns, bool(step[1])))
            label = ""
    return blocks


def flow_of(body):
    """What is wrong with the way through a kernel: a block that can be reached, but no return from there."""
    blocks = blocks_of(body)
    number = {block[0]: k for k, block in enumerate(blocks) if block[0]}
    goes, comes = [set() for _ in blocks], [set() for _ in blocks]
    for k, (_, to, _, falls) in enumerate(blocks):
        if to and to not in number:
            return {"strange"}
        if to:
            goes[k].add(number[to])
        if falls and k + 1 < len(blocks):
            goes[k].add(k + 1)
        for other in goes[k]:
            comes[other].add(k)
    ends = {k for k, block in enumerate(blocks) if block[2]}
    return {"endless"} if reached({0}, goes) - reached(ends, comes) else set()


def reached(first, goes):
    seen, left = set(first), list(first)
    while left:
        for to in goes[left.pop()] - seen:
            seen.add(to)
            left.append(to)
    return seen


def kernels_of(ptx):
    """Of each kernel its name and what it has."""
    for entry in re.finditer(r"\.entry\s+(\w+)\(.*?\)[^{]*?\n\{\n(.*?)\n\}", ptx, re.S):
        name = re.sub(r"_l\d+$", "", re.sub(r"^__omp_offloading_[0-9a-f]+_[0-9a-f]+_", "", entry[1]))
        body = entry[2].split("\n")
        has = {word for word, form in HAS.items() if any(form.search(line) for line in body)}
        if sum(";" in line for line in body) <= 8:
            has.add("empty")
        yield name, has | flow_of(body)


def faults_of(file, ptx, kernels):
    # The OpenMP runtime has a few words of its own, which no bare kernel reads.
    words = [x for x in re.findall(r"^[^/\n]*\.global +\..*", ptx, re.M) if "__omp_rtl_" not in x]
    if words:
        yield f"offload/{file}.c has global variables: {words}"
    if len(kernels) != len(re.findall(r"\.entry\s", ptx)):
        yield f"offload/{file}.c has kernels that this script does not see"
    for name, has in kernels:
        yield from (f"{name} {fault}" for word, fault in FAULTS.items() if word in has)


def main(build):
    rows = [line.split() for line in TABLE.strip().split("\n")]
    files = list(dict.fromkeys(row[0] for row in rows))
    with open(os.path.join(build, "compile_commands.json")) as text:
        commands = {os.path.realpath(entry["file"]): entry["command"] for entry in json.load(text)}
    work = os.path.join(os.path.realpath(build), "ptx")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    with open(os.path.join(work, "ptxas"), "w") as script:
        script.write(NO_ASSEMBLER)
    os.chmod(script.name, 0o755)

    bad, kernels = [], {}
    for body, wrong in LOOPS.items():
        assert flow_of(body.split("\n")) == wrong
    for file in files:
        source = os.path.realpath(os.path.join(SOURCES, file + ".c"))
        if source not in commands:
            sys.exit(f"{build}/compile_commands.json does not say how offload/{file}.c is compiled")
        ptx = compile_to_ptx(file, commands[source], work)
        kernels[file] = list(kernels_of(ptx))
        bad += faults_of(file, ptx, kernels[file])
    for file, pattern, *needs in rows:
        found = [(name, has) for name, has in kernels[file] if re.fullmatch(pattern, name)]
        print(f"{len(found)} kernels {pattern}: {' '.join(needs) or 'nothing special'}")
        bad += [f"{name}: no {need}" for name, has in found for need in needs if need not in has]
        if not found:
            bad.append(f"no kernel {pattern} in offload/{file}.c")
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

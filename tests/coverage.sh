#!/usr/bin/env bash
# The share of the lines of src/ and ref/ that the tests of a build with DAVIT_COVERAGE have run.
#
#   coverage.sh BUILD [MINIMUM]      the share of each room and of the worst files; exits 1 below MINIMUM per cent
#
# BUILD/coverage has what the tests counted, since it was last removed. Lines that several programs contain count as
# run if one of them ran them. What no program in BUILD/bin contains is not counted: src/dropin and src/cli/mpi, which are
# shared libraries alone, and src/mpi in a build with sanitizers, which has no MPI.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
build=$(realpath "$1") minimum=${2:-0}
cd "$(dirname "$(realpath "$0")")/.."

llvm=$(sed -n 's|^CMAKE_C_COMPILER:[A-Z]*=||p' "$build/CMakeCache.txt")
llvm=$(dirname "$(realpath "$(command -v "$llvm")")")
profile=$build/coverage/all.profdata
# A process that was killed while it wrote leaves a file behind that cannot be read.
"$llvm/llvm-profdata" merge --failure-mode=all --sparse "$build"/coverage/*.profraw -o "$profile"
objects=()
for program in "$build"/bin/*; do
  [ -d "$program" ] || [ ! -x "$program" ] || objects+=(--object "$program")
done
"$llvm/llvm-cov" export --summary-only --instr-profile "$profile" "${objects[@]:1}" --ignore-filename-regex '/(tests|bench|offload|build[^/]*)/' \
  2>"$build/coverage/notes" >"$build/coverage/summary.json"
python3 - "$build/coverage/summary.json" "$minimum" <<'PYTHON'
import collections, json, pathlib, sys

root, rooms, files = pathlib.Path.cwd(), collections.defaultdict(lambda: [0, 0]), []
with open(sys.argv[1]) as file:
    data = json.load(file)["data"][0]["files"]
for row in data:
    path = pathlib.Path(row["filename"])
    if not path.is_relative_to(root):
        continue
    name, lines = path.relative_to(root), row["summary"]["lines"]
    if name.parts[0] not in ("src", "ref") or not lines["count"]:
        continue
    files.append((lines["covered"], lines["count"], str(name)))
    for room in {name.parts[0], str(name.parent)}:
        rooms[room][0] += lines["covered"]
        rooms[room][1] += lines["count"]
for covered, count, name in sorted(files, key=lambda file: file[0] - file[1])[:25]:
    print(f"{name:44} {100 * covered / count:6.1f} %  {count - covered:5} lines are never run")
print()
for room, (covered, count) in sorted(rooms.items()):
    print(f"{room:44} {100 * covered / count:6.1f} %  of {count}")
covered, count = (sum(part) for part in zip(*(rooms[room] for room in ("src", "ref"))))
share = 100 * covered / count
print(f"\n{share:.1f} % of {count} lines of src/ and ref/ are run by the tests")
sys.exit(share < float(sys.argv[2]))
PYTHON

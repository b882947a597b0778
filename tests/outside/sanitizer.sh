#!/usr/bin/env bash
# compute-sanitizer over the tool's commands on the first NVIDIA device: memcheck, and racecheck for what teams share.
#
#   sanitizer.sh DAVIT LEVEL3 [PYTHON]   DAVIT and LEVEL3 are linked with the static library (static_tool.c,
#                                        static_level3.c); PYTHON has NumPy (python3)
#
# ctest runs it as `sanitizer`. Where there is no compute-sanitizer, or no NVIDIA device, it says so and exits with 77.
#
# Racecheck knows barriers only, and names what the first team of a scan passes from warp to warp by a fence and a flag
# (docs/scan.md); hazards of scans are left out of account, all others are not.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
davit=$(realpath "$1") level3=$(realpath "$2") python=${3:-python3}

command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer"; exit 77; }
device=$("$davit" devices --json | "$python" -c 'import json, sys
gpus = [d["device"] for d in json.load(sys.stdin)["list"] if d["kind"] == "nvidia"]
print(gpus[0] if gpus else "")')
[ -n "$device" ] || { echo "no NVIDIA device"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$python" - <<'PYTHON'
import numpy as np

random = np.random.default_rng(1)
for name, shape in (("vector", 3000000), ("points", (300000, 2)), ("space", (100000, 3)), ("few", (3001, 3)), ("matrix", (701, 503))):
    np.save(name + ".npy", random.random(shape))
np.save("row.npy", random.random(503))
np.save("many.npy", random.random((3500000, 2), dtype="f4")) # which GPUs place in steps
np.save("flags.npy", (random.random(3000000) < 0.01).astype("u1"))
stream = random.random((4100, 62), dtype="f4")
for name, frames in (("stream", stream), ("long", stream[333:441]), ("short", stream[1333:1350])):
    np.save(name + ".npy", frames)
for name, count, least, most in (("query", 3, 300, 1500), ("targets", 300, 1, 700)):
    with open(name + ".fa", "w", encoding="ascii") as file:
        for i in range(count):
            letters = random.choice(list("ARNDCQEGHILKMFPSTWYV"), random.integers(least, most + 1))
            file.write(f">{name}{i}\n{''.join(letters)}\n")
PYTHON

failed=0
watch() { # what of racecheck's errors is left out of account; a name; then the command
  local expected=$1 name=$2 tool log
  shift 2
  for tool in memcheck racecheck; do
    log=$tool.log
    if ! compute-sanitizer --tool $tool --report-api-errors no "$@" >$log 2>&1; then
      echo "$tool: $name failed:" && tail -5 $log && failed=1
    elif grep -E '^=+ +(Error|Invalid|Uninitialized|Leaked)' $log | grep -v -E "$expected" >found.log; then
      echo "$tool: $name:" && head -5 found.log && failed=1
    else
      echo "$tool: $name: clean"
    fi
  done
}
check() {
  local expected=$1
  shift
  watch "$expected" "davit $*" "$davit" "$@" --devices "$device"
}
none='^$' scans='_(scan|segmented)_region'
check "$none" reduce vector.npy
check "$scans" scan vector.npy -o out.npy
check "$scans" scan vector.npy --flags flags.npy -o out.npy
check "$none" stencil matrix.npy -o out.npy
check "$none" atax matrix.npy row.npy -o out.npy
check "$none" covariance matrix.npy -o out.npy
check "$scans" closest points.npy --algorithm grid
check "$scans" closest space.npy --algorithm grid
check "$scans" closest many.npy --algorithm grid
check "$none" closest few.npy --algorithm brute
check "$none" align query.fa targets.fa -o out.tsv
check "$none" detect stream.npy --effect long.npy short.npy --permutations 20 -o out.tsv
check "$none" detect stream.npy --effect long.npy short.npy --permutations 20 --round -o out.tsv
check "$none" gemm matrix.npy matrix.npy --transa T --tile 256 -o out.npy
watch "$none" "level 3" "$level3" "$device"
exit $failed

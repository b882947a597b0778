#!/usr/bin/env bash
# davit as a guest in programs of other make: without OpenMP and loaded by dlopen(), without and with the offload runtime
# of their own, and with GCC's OpenMP.
#
#   guests.sh BUILD      (ctest runs it as `guests`)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
library=$1/lib/libdavit.so
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=$(command -v gcc || command -v cc)

run() { # WHAT COMMAND...
  echo "== $1"
  timeout 60 "${@:2}"
}

"$cc" -I"$source/../../include" "$source/load.c" -o "$work/load" -ldl
run "loaded and unloaded" "$work/load" "$library"
runtime=$(ldd "$library" | awk '/libomptarget/ {print $3}')
"$cc" -I"$source/../../include" "$source/lazy.c" -o "$work/lazy" "$library" -ldl "-Wl,-rpath,$1/lib"
"$cc" -I"$source/../../include" "$source/lazy.c" -o "$work/eager" "$library" -ldl -Wl,--no-as-needed "$runtime" "-Wl,-rpath,$1/lib"
run "devices are registered when asked for" "$work/lazy" when-asked
run "devices are registered at load" "$work/eager" at-load
if [[ $("$cc" --version) == *clang* ]]; then
  echo "there is no GCC: left out is its OpenMP runtime beside LLVM's"
else
  "$cc" -fopenmp -I"$source/../../include" "$source/gomp.c" -o "$work/gomp" "$library" "-Wl,-rpath,$1/lib"
  ldd "$work/gomp" >"$work/libraries"
  grep -q libgomp "$work/libraries"
  grep -q libomp "$work/libraries"
  run "with GCC's OpenMP" "$work/gomp"
  run "with GCC's OpenMP, back end threads" env DAVIT_BACKEND=threads "$work/gomp"
fi

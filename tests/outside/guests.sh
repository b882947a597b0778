#!/usr/bin/env bash
# davit as a guest in programs of other make: without OpenMP and loaded by dlopen(), without and with the offload runtime
# of their own, with GCC's OpenMP, and in programs that fork, beside GCC's OpenMP, LLVM's, or davit's alone.
#
#   guests.sh BUILD [CLANG FOLDER_OF_LIBOMP]      (ctest runs it as `guests`)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
folder=$(cd "$1/lib" && pwd)
library=$folder/libdavit.so
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=$(command -v gcc || command -v cc)

run() { # WHAT COMMAND...
  echo "== $1"
  timeout 120 "${@:2}"
}

"$cc" -I"$source/../../include" "$source/load.c" -o "$work/load" -ldl
run "loaded and unloaded" "$work/load" "$library"
runtime=$(ldd "$library" | awk '/libomptarget/ {print $3}')
if [ -e "$folder/libdavit.a" ]; then
  mapfile -t needed < <(ldd "$library" | awk '/libomptarget|libomp\.so|libblis/ {print $3}')
  folders=("${needed[@]%/*}")
  cudart=$(sed -n 's|^CUDA_cudart_static_LIBRARY:[A-Z]*=\(/.*\)|\1|p' "$1/CMakeCache.txt")
  "$cc" -shared -o "$work/plugin.so" -Wl,--whole-archive "$folder/libdavit.a" -Wl,--no-whole-archive ${cudart:+"$cudart"} "${needed[@]}" \
    "${folders[@]/#/-Wl,-rpath,}" -ldl -lpthread -lrt -lm
  run "a plugin that contains it, loaded and unloaded" "$work/load" "$work/plugin.so"
fi
"$cc" -I"$source/../../include" "$source/lazy.c" -o "$work/lazy" "$library" -ldl "-Wl,-rpath,$1/lib"
"$cc" -I"$source/../../include" "$source/lazy.c" -o "$work/eager" "$library" -ldl -Wl,--no-as-needed "$runtime" "-Wl,-rpath,$1/lib"
run "devices are registered when asked for" "$work/lazy" when-asked
run "devices are registered at load" "$work/eager" at-load

forks() { # FLAGS BACK_END HOW...; in the environment $compiler
  read -ra flags <<<"$1"
  "${compiler:-$cc}" "${flags[@]}" -pthread -I"$source/../../include" "$source/gomp_fork.c" -o "$work/forks" "$library" \
    "-Wl,-rpath,$folder" -ldl
  run "forks; built with '$1', back end $2: ${*:3}" env DAVIT_BACKEND="$2" "$work/forks" "${@:3}"
}
# Many turns where the environment asks for no short test, of what is known to go wrong.
turns=$(awk -v scale="${DAVIT_TEST_SCALE:-1}" 'BEGIN { n = int(60 * scale); print (n > 3 ? n : 3) }')
forks "" openmp davit 3
if [[ $("$cc" --version) == *clang* ]]; then
  echo "there is no GCC: left out is its OpenMP runtime beside LLVM's"
else
  "$cc" -fopenmp -I"$source/../../include" "$source/gomp.c" -o "$work/gomp" "$library" "-Wl,-rpath,$folder"
  ldd "$work/gomp" >"$work/libraries"
  grep -q libgomp "$work/libraries"
  grep -q libomp "$work/libraries"
  run "with GCC's OpenMP" "$work/gomp"
  run "with GCC's OpenMP, back end threads" env DAVIT_BACKEND=threads "$work/gomp"
  forks -fopenmp openmp both "$turns"
  forks -fopenmp threads both 3
  forks -fopenmp openmp davit 3
  forks -fopenmp openmp region 3
  forks -fopenmp openmp thread both 3
  "$cc" -fopenmp -pthread -DLATE="\"$library\"" -I"$source/../../include" "$source/gomp_fork.c" -o "$work/late" -ldl
  run "forks; the child loads davit" "$work/late" region 3
fi
if [ $# -gt 1 ]; then
  compiler=$2
  forks "-fopenmp -L$3 -Wl,-rpath,$3" openmp both 3
  forks "-fopenmp -L$3 -Wl,-rpath,$3" threads both 3
  forks "-fopenmp -L$3 -Wl,-rpath,$3 -Wl,--no-as-needed -l:libgomp.so.1" openmp both 3
fi

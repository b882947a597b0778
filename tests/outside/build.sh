#!/usr/bin/env bash
# Builds davit as a part of another project, with Makefiles, and runs a program of that project: with the Clang that
# built davit it works; with GCC the configuration ends with one sentence that says what is missing.
#
#   build.sh CMAKE BUILD CLANG      (ctest runs it as `build`)
#
# Without CUDA and without optimisation, because what is tried is that everything is built, and in the right order. The
# compiler cache is not used. Where there is no make the test is skipped.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
cmake=$1 work=$2/outside_build clang=$3
source=$(cd "$(dirname "$0")" && pwd)
unset CC CFLAGS LDFLAGS MAKEFLAGS MAKELEVEL
export CCACHE_DISABLE=1
command -v make >/dev/null || { echo "skipped: make is missing (Debian: make)"; exit 77; }
rm -rf "$work"
mkdir -p "$work"

configure() { # FOLDER COMPILER
  "$cmake" -G "Unix Makefiles" -S "$source" -B "$work/$1" -DDAVIT_SOURCE="$source/../.." -DCMAKE_C_COMPILER="$2" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DDAVIT_CUDA=OFF \
    -DDAVIT_MPI=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >"$work/$1.log" 2>&1
}

echo "== part of a project of $clang"
if ! configure clang "$clang" || ! "$cmake" --build "$work/clang" --target shared -j 2 >>"$work/clang.log" 2>&1; then
  tail -n 50 "$work/clang.log"
  exit 1
fi
"$work/clang/shared"
# What is missing is said behind everything else of davit's, and kept for ./run.
missing="libdavit_mpi and the tool under mpirun: there is no MPI (Debian: libopenmpi-dev)"
[ "$(grep '^-- davit' "$work/clang.log" | tail -1)" = "-- davit: left out: $missing" ] || { head -50 "$work/clang.log"; exit 1; }
grep -qxF "DAVIT_LEFT_OUT:INTERNAL=$missing" "$work/clang/CMakeCache.txt"

gcc=$(command -v gcc) || { echo "== no gcc is there to be refused"; exit 0; }
echo "== part of a project of $gcc"
if configure gcc "$gcc"; then
  echo "is configured"
  exit 1
fi
# One error, whose sentence names a Clang and the other way.
[ "$(grep -c '^CMake Error' "$work/gcc.log")" -eq 1 ] || { cat "$work/gcc.log"; exit 1; }
sentence="davit cannot be built with GNU: configure the whole project with Clang (-DCMAKE_C_COMPILER=clang-19), or \
install davit and use find_package(davit) in place of add_subdirectory()."
tr -s '\n ' ' ' <"$work/gcc.log" | grep -F -- "$sentence" >/dev/null || { cat "$work/gcc.log"; exit 1; }
echo "refused: $sentence"

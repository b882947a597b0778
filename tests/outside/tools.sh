#!/usr/bin/env bash
# A user's program under ThreadSanitizer, AddressSanitizer, Valgrind and GDB, with the suppressions that davit installs.
#
#   tools.sh CLANG BUILD SUPPRESSIONS LIBRARY...      (ctest runs it as `tools`)
#
# The program (tools.c) is linked with the static and the shared library, by Clang and by GCC. Without defects nothing is
# reported; defects of its own are. A tool that this machine lacks is left out. LIBRARY... are those that davit needs.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
[ $# -ge 4 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
clang=$1 build=$2 share=$3
shift 3
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LSAN_OPTIONS=suppressions=$share/lsan.supp:print_suppressions=0
export TSAN_OPTIONS=suppressions=$share/tsan.supp:ignore_noninstrumented_modules=1
failed=0

link() { # OUTPUT KIND COMPILER OPTION...
  local output=$1 kind=$2 compiler=$3 paths=()
  shift 3
  local libraries=("$build/lib/libdavit.a" "${needed[@]}")
  [ "$kind" = shared ] && libraries=("$build/lib/libdavit.so")
  for library in "$build/lib/libdavit.so" "${needed[@]}"; do
    case $library in /*) paths+=("-Wl,-rpath,$(dirname "$library")") ;; esac
  done
  "$compiler" -O1 -g -fno-omit-frame-pointer "$@" -I"$source/../../include" "$source/tools.c" -o "$output" \
    "${libraries[@]}" "${paths[@]}" -lpthread 2>link.log
}

expect() { # WHAT STATUS PATTERN COMMAND...: exits with 0 or not 0, and prints the pattern
  local what=$1 status=$2 pattern=$3 got=0
  shift 3
  timeout 250 "$@" >log 2>&1 || got=1
  if [ "$got" -ne "$status" ] || ! grep -q -e "$pattern" log; then
    echo "$what: expected status $status and '$pattern':" && head -60 log && failed=1
  else
    echo "$what: as expected"
  fi
}

needed=("$@")
for kind in static shared; do
  for compiler in "$clang" gcc; do
    command -v "$compiler" >/dev/null || continue
    case ${DAVIT_TEST_SCALE:-1},$kind,$compiler in # a short test has each compiler and each library, but not all pairs
    0*,static,gcc | 0*,shared,"$clang") continue ;;
    esac
    name="$kind, $(basename "$compiler")"
    # Clang's own runtime of AddressSanitizer cannot see through C++'s `new`, in which libomptarget allocates.
    shared_runtime=()
    [ "$compiler" = "$clang" ] && shared_runtime=(-shared-libasan
      "-Wl,-rpath,$(dirname "$("$clang" -print-file-name=libclang_rt.asan-x86_64.so)")")
    if link address $kind "$compiler" -fsanitize=address "${shared_runtime[@]}"; then
      expect "$name, AddressSanitizer" 0 'done' ./address
      expect "$name, AddressSanitizer, defects" 1 '100 byte(s) leaked' ./address defects
    else
      echo "$name: no AddressSanitizer: $(head -1 link.log)"
    fi
    if link thread $kind "$compiler" -fsanitize=thread; then
      expect "$name, ThreadSanitizer" 0 'done' ./thread
      expect "$name, ThreadSanitizer, defects" 1 'data race .* in race' ./thread defects
    else
      echo "$name: no ThreadSanitizer: $(head -1 link.log)"
    fi
  done
  link plain $kind "$clang" || { cat link.log; exit 1; }
  valgrind=(valgrind --suppressions="$share/valgrind.supp" --leak-check=full --error-exitcode=9)
  if command -v valgrind >/dev/null; then
    expect "$kind, Valgrind" 0 'ERROR SUMMARY: 0 errors' "${valgrind[@]}" ./plain
    expect "$kind, Valgrind, defects" 1 '100 bytes in 1 blocks are definitely lost' "${valgrind[@]}" ./plain defects
  fi
  if command -v gdb >/dev/null; then
    expect "$kind, GDB" 0 'exited normally' gdb -batch -nx -ex 'set confirm off' -ex run ./plain
  fi
done
exit $failed

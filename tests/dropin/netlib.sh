#!/usr/bin/env bash
# Runs netlib's testers of BLAS and CBLAS (Debian's package libblas-test) on the drop-in: levels 1 to 3, four types,
# error exits included.
#
#   netlib.sh FOLDER [VARIABLE=VALUE...]      (ctest runs it as `dropin_netlib`, `…_devices` and `…_alone`)
#
# FOLDER has the drop-in as libblas.so.3. The variables are set for the testers. With DAVIT_BLAS_FROM or
# BLIS_NUM_THREADS only level 3 is tested, which is what can go to devices or, of small calls, is computed on one
# thread, and the log has to show that it did. Exits 77 if the package is not installed.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,9p' "$0" >&2; exit 2; }
library=$1
shift
testers=$(ls -d /usr/lib/*/blas/xblat1d 2>/dev/null | head -1)
[ -n "$testers" ] || { echo "libblas-test is not installed"; exit 77; }
testers=$(dirname "$testers")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

tester() { # NAME [INPUT]
  env "${@:3}" LD_LIBRARY_PATH="$library" DAVIT_BLAS_LOG="$log" "$testers/$1" <"${2:-/dev/null}" >"$1.log" 2>&1 ||
    { echo "$1 failed"; tail -20 "$1.log"; exit 1; }
}

log='' variables=("$@") levels='1 2 3' expected=582 # as many as the reference library passes
case " $* " in
  *DAVIT_BLAS_FROM*) where='devices 0,1' ;;
  *BLIS_NUM_THREADS*) where='host, too small for more than one thread' ;;
  *) where='' ;;
esac
[ -z "$where" ] || levels=3 expected=158 log=$work/calls
for type in s d c z; do
  for level in $levels; do
    input=
    [ $level = 1 ] || input=$testers/${type}blat$level.in
    tester "xblat$level$type" "$input" "${variables[@]}"
    [ $level = 1 ] || input=$testers/${type}in$level
    tester "x${type}cblat$level" "$input" "${variables[@]}"
  done
done

# Those of level 2 and 3 leave their reports in files of the names *blat*.out.
if grep -iE 'fail|\*\*\*|suspect' ./*.log ./*.out; then
  exit 1
fi
passed=$(cat ./*.log ./*.out | grep -c PASS)
[ "$passed" -eq $expected ] || { echo "$passed tests passed, of $expected"; exit 1; }

if [ "$levels" = 3 ]; then
  for routine in {s,d,c,z}{gemm,symm,syrk,syr2k,trmm,trsm} {c,z}{hemm,herk,her2k}; do
    count=$(grep -c " $routine .*: $where" "$log" || true)
    [ "$count" -ge 50 ] || { echo "$count calls of $routine: $where"; exit 1; }
  done
  echo "$(grep -c ": $where" "$log") calls: $where, of $(wc -l < "$log")"
fi
echo "$passed tests passed"

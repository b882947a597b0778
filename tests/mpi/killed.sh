#!/usr/bin/env bash
# A rank that is killed inside a call of libdavit_mpi ends the job: no rank is left, and the launcher names the one.
#
#   killed.sh MPIRUN PROGRAM      (ctest runs it as `mpi_killed`; PROGRAM is killed.c)
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
[ $# -eq 2 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
mpirun=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain() { # SENTENCE
  echo "$what: $1:"
  cat "$work/err"
  failed=1
}

cases=("reduce 3 2" "gemm 2 1" "scan 3 0" "reduce 2 0" "gemm 3 2")
[[ ${DAVIT_TEST_SCALE:-1} != 0* ]] || cases=("${cases[@]:0:2}")
for case in "${cases[@]}"; do
  read -r call ranks victim <<<"$case"
  what="$call on $ranks ranks, rank $victim is killed"
  timeout --kill-after 5 45 "$mpirun" --oversubscribe --bind-to none -n "$ranks" "$program" "$call" "$victim" \
    >"$work/out" 2>"$work/err"
  code=$?
  [ $code -eq 137 ] || complain "the job has exit status $code, not that of a process that was killed"
  named=$(grep "rank [0-9]" "$work/err")
  [[ $named != *$'\n'* && $named = *"rank $victim "*"exited on signal 9"* ]] ||
    complain "expected one line that names a rank, the killed one, and the signal"
  [ "$(wc -l <"$work/out")" -eq "$ranks" ] || complain "expected $ranks process numbers"
  for ((tries = 0; tries < 100; tries++)); do # the launcher may end before its ranks
    left=0
    while read -r pid; do
      ! kill -0 "$pid" 2>/dev/null || left=$pid
    done <"$work/out"
    [ "$left" -ne 0 ] || break
    sleep 0.1
  done
  [ "$left" -eq 0 ] || complain "process $left is left"
  [ $failed -eq 0 ] || break
  echo "$what: as expected"
done
exit $failed

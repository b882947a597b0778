#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests/outside/helpers.c with the compiler $1, in a folder of its own, in the modes that follow; by
# default in those that fail often. Fails if `safe` fails; says how the others end.
set -u
compiler=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$compiler" -O1 -fopenmp "$here/helpers.c" -o "$work/helpers" || exit 1
cd "$work" || exit 1
ulimit -c 0
KMP_VERSION=1 ./helpers safe 1 2>&1 | sed -n '/build compiler\|API version/p' # of the runtime
[ $# -gt 0 ] || set -- safe ends teams starts generators
tries=3
for mode in "$@"; do
  good=0
  for _ in $(seq $tries); do
    "$work/helpers" "$mode" 5000 >"$work/log" 2>&1 && good=$((good + 1))
  done
  echo "$mode: right in $good of $tries runs; the last: $(tail -n 1 "$work/log" | cut -c1-100)"
  [ "$mode" = safe ] && [ "$good" -lt $tries ] && failed=1
done
exit "${failed:-0}"

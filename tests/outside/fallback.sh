#!/usr/bin/env bash
# davit on a machine without the offload runtime: everything is computed on the CPU, and what names a device gets a sentence.
#
#   fallback.sh NM BUILD      (ctest runs it as `fallback`)
#
# LD_LIBRARY_PATH comes before the run path, so the stand-in (offload/fallback) is found before the real runtime.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
nm=$1 build=$2
davit=$build/bin/davit library=$build/lib/libdavit.so
export LD_LIBRARY_PATH=$build/lib/davit/fallback

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "$*"
  exit 1
}

names() { # NM's options, LIBRARY
  "$nm" -D "$@" | awk '{print $NF}' | sed -n 's/@\{1,2\}VERS1\.0$//p' | LC_ALL=C sort -u
}

echo "== it has all that libdavit needs of the runtime"
stand_in=("$LD_LIBRARY_PATH"/libomptarget.so.*)
missing=$(LC_ALL=C comm -23 <(names -u "$library") <(names --defined-only "${stand_in[0]}"))
[ -z "$missing" ] || fail "${stand_in[0]} lacks" $missing
[ -n "$(names -u "$library")" ] || fail "$library needs nothing of the runtime"

echo "== it is what is loaded, and davit says so"
"$davit" version -v | grep -q "offload_runtime: ${stand_in[0]}"
"$davit" devices >devices 2>said
[ "$(wc -l <said)" -eq 1 ] && grep -q 'the OpenMP offload runtime libomptarget.so.* is not installed' said
[ "$(grep -c ' cpu ' devices)" -eq 1 ]
if "$davit" points -n 10 -o - | "$davit" closest - --devices 0 2>said; then
  fail "a device was found"
fi
[ "$(wc -l <said)" -eq 1 ] && grep -q 'device 0 is left out: the OpenMP offload runtime' said

echo "== the CPU computes"
matrix() { # ROWS COLS
  echo "%%MatrixMarket matrix array real general"
  echo "$1 $2"
  for ((i = 0; i < $1 * $2; i++)); do echo $((i * 7919 % 1013 - 500)); done
}
matrix 37 29 >a.mtx
matrix 29 41 >b.mtx
matrix 29 1 >x.mtx
printf '>q\nHEAGAWGHEE\n' >q.fa
printf '>t\nPAWHEAE\n>u\nHEAGAWGHEE\n' >t.fa
for blas in '' target; do
  export DAVIT_BLAS=$blas
  "$davit" gemm a.mtx b.mtx -o "c$blas.npy" --check
  "$davit" gemv a.mtx x.mtx -o y.npy --check
  "$davit" dot x.mtx x.mtx --check
done
unset DAVIT_BLAS
"$davit" reduce a.mtx --check
"$davit" scan x.mtx -o s.npy --check
"$davit" stencil a.mtx -o s.npy --check
"$davit" covariance a.mtx -o s.npy --check
"$davit" align q.fa t.fa --check | grep -q '^q	u	'
"$davit" points -n 2000 -o - | "$davit" closest - --check

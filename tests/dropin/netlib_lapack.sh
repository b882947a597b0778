#!/usr/bin/env bash
# Runs netlib's testers of LAPACK's linear equations and least squares (Debian's package liblapack-test) on the drop-in,
# with devices: the routines that may go there, four types, error exits included.
#
#   netlib_lapack.sh DROPIN [TESTERS]      (ctest runs it as `dropin_netlib_lapack`)
#
# DROPIN is libdavit_blas.so, TESTERS the folder of xlintstd. Exits 77 if the package is not installed.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
library=$1 kinds=(GE PO QR LS)
# Of each kind: types of matrices, and what the tester says that they have passed.
declare -A types=([GE]=11 [PO]=9 [QR]=8 [LS]=6) passes=([GE]=4 [PO]=4 [QR]=2 [LS]=2)
testers=${2:-$(dirname "$(ls /usr/lib/*/lapack/xlintstd 2>/dev/null | head -1)")}
[ -x "$testers/xlintstd" ] || { echo "liblapack-test is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Fewer sizes than in the package's input, which takes fifteen times as long.
input() { # TYPE
  echo "LAPACK's linear equations and least squares"
  # m, n, nrhs, nb, nx, rank, bound, routines, drivers, error exits
  printf '%s\n' 5 '0 1 3 33 50' 5 '0 1 3 33 50' 2 '1 15' 1 20 1 1 90 30.0 T T T
  for kind in "${kinds[@]}"; do
    echo "${1^^}$kind ${types[$kind]}"
  done
}

for type in s d c z; do
  input $type >input
  env LD_PRELOAD="$library" DAVIT_BLAS_DEVICES=0,1 DAVIT_BLAS_FROM=3 BLIS_NUM_THREADS=1 KMP_BLOCKTIME=0 \
    DAVIT_BLAS_LOG="$work/calls" "$testers/xlintst$type" <input >"$type.log" 2>&1 ||
    { echo "xlintst$type failed"; tail -20 "$type.log"; exit 1; }
  if grep -iE 'fail|\*\*\*|did not|suspect' "$type.log"; then
    exit 1
  fi
  for kind in "${kinds[@]}"; do
    [ "$(grep -cE " ${type^^}$kind (routines|drivers) +passed the (tests of the error exits|threshold)" "$type.log")" -eq \
      "${passes[$kind]}" ] || { echo "${type^^}$kind: not all tests passed"; exit 1; }
  done
done
for routine in {s,d,c,z}{potrf,potrs,posv,getrf,getrs,gesv,geqrf,gels} {s,d}or{m,g}qr {c,z}un{m,g}qr; do
  count=$(grep -c ": $routine .*: devices 0,1" calls || true)
  [ "$count" -ge 30 ] || { echo "$count calls of $routine on devices"; exit 1; }
done
echo "$(grep -cE ': .(potr[fs]|posv|getr[fs]|gesv|geqrf|gels|(or|un)[mg]qr) .*: devices 0,1' calls) calls on devices"

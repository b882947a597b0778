#!/usr/bin/env bash
# A matrix product from the shell, checked against NumPy.
#
#   docs/demo/demo.sh build/davit
#
# Makes two matrices with NumPy (one in C order, one in Fortran order), multiplies them with davit on all
# devices, compares the result with NumPy's own product and prints what ran where and how fast. Exits
# non-zero when they differ. Needs python3 with NumPy (PYTHON names another interpreter).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

davit=$(realpath -- "${1:?usage: demo.sh DAVIT}")
demo=$(dirname -- "$(realpath -- "$0")")
# Debian's NumPy belongs to /usr/bin/python3, whatever python3 comes first in PATH.
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy' 2>/dev/null || python=python3

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"

echo "== devices"
"$davit" devices
"$davit" devices --json >devices.json

echo "== matrices"
"$python" "$demo/demo.py" make devices.json

echo "== davit gemm A.npy B.npy -o C.npy --warmup 1 --repeat 3 --json"
"$davit" gemm A.npy B.npy -o C.npy --warmup 1 --repeat 3 --json | tee report.json

echo "== check"
"$python" "$demo/demo.py" check devices.json report.json

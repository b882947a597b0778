#!/usr/bin/env bash
# docs/fortran/davit.f90, compiled without a warning and used by fortran.f90.
#
#   fortran.sh GFORTRAN SOURCE LIBRARY_DIR      (ctest runs it as `fortran_module`)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$1" -std=f2018 -Wall -Wextra -Werror -c "$2/docs/fortran/davit.f90"
"$1" -std=f2018 davit.o "$2/tests/outside/fortran.f90" -o fortran -L"$3" -ldavit -Wl,-rpath,"$3"
./fortran

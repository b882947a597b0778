#!/usr/bin/env bash
# The shared library exports what the headers declare, all of them and nothing else, under the version of cmake/davit.map;
# and it needs no library that only some programs have a use for.
#
#   exports.sh NM LIBRARY HEADERS      (ctest runs it as `exports`)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
nm=$1 library=$2 headers=$3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$nm" -D --defined-only "$library" | awk '{print $NF}' | grep -vx 'DAVIT_[A-Z_]*[0-9.]*' | LC_ALL=C sort -u >"$folder/versioned"
sed 's/@@DAVIT_[A-Z_]*[0-9.]*$//' "$folder/versioned" | LC_ALL=C sort -u >"$folder/exported"
# A declaration begins with DAVIT_API; its name is the first that an opening parenthesis, or a bracket, follows.
cat "$headers"/*.h | tr '\n' ' ' | grep -oE 'DAVIT_API [^([;]*[([]' | grep -oE '\bdavit_[a-z0-9_]+[([]$' | tr -d '([' |
  LC_ALL=C sort -u >"$folder/declared"

bad=0
complain() { # WHAT NAMES
  [ -z "$2" ] || { printf '%s:\n%s\n' "$1" "$2"; bad=1; }
}
complain "exported but declared nowhere" "$(LC_ALL=C comm -23 "$folder/exported" "$folder/declared")"
complain "declared but not exported" "$(LC_ALL=C comm -13 "$folder/exported" "$folder/declared")"
complain "exported without a version" "$(grep -v '@@DAVIT_' "$folder/versioned")"
complain "needed by every program" "$(LC_ALL=C readelf -d "$library" | grep NEEDED | grep -E 'fftw|sndfile|soxr|libhts|libzip')"
echo "$(wc -l <"$folder/exported") names exported, $(wc -l <"$folder/declared") declared"
[ -s "$folder/declared" ] || { echo "no declarations found in $headers"; bad=1; }
exit $bad

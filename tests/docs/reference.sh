#!/usr/bin/env bash
# Doxygen reads the public headers without a warning, and finds every function of the interface.
#
#   reference.sh DOXYGEN SOURCE      (ctest runs it as `reference`)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{ cat docs/doxygen/Doxyfile; echo "OUTPUT_DIRECTORY = $work"; } | "$1" -
cat include/davit/*.h | tr '\n' ' ' | grep -oE 'DAVIT_API [^([;]*[([]' | grep -oE '\bdavit_[a-z0-9_]+[([]$' | tr -d '([' |
  LC_ALL=C sort -u >"$work/declared"
cat "$work"/html/*_8h.html | grep -oE '">davit_[a-z0-9_]+</a>' | grep -oE 'davit_[a-z0-9_]+' | LC_ALL=C sort -u >"$work/described"
missing=$(LC_ALL=C comm -23 "$work/declared" "$work/described")
[ -s "$work/declared" ] && [ -z "$missing" ] || { echo "not described: $missing"; exit 1; }
grep -q 'device numbers, DAVIT_HOST allowed' "$work/html/structdavit__scan__options.html" || { echo "comments are lost"; exit 1; }
echo "$(wc -l <"$work/declared") functions"

#!/usr/bin/env bash
# The programs of the README and of the documents that have whole ones, compiled by the plain C compiler against the shared
# library, and run.
#   examples.sh SOURCE_DIR LIBRARY_DIR
set -euo pipefail
source=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for document in README.md docs/align.md docs/detect.md docs/features.md; do
  awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$source/$document" > "$work/example.c"
  grep -q 'int main' "$work/example.c"
  cc -std=c17 -Wall -Wextra -Werror -I"$source/include" "$work/example.c" -L"$library" -ldavit -lm \
    -Wl,-rpath,"$library" -o "$work/example"
  "$work/example"
done

#!/usr/bin/env bash
# Every source file names its licence by an SPDX line: C in its first line, others in their first comment.
#
#   licence.sh [--fix]      (ctest runs it as `licence`; --fix adds the line where it is missing)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
line='SPDX-License-Identifier: Apache-2.0'

sources() {
  find . \( -path './build*' -o -path './.?*' ! -path './.ci*' \) -prune -o -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' \
    -o -name '*.cu' -o -name '*.py' -o -name '*.sh' -o -name '*.cmake' -o -name '*.cmake.in' -o -name CMakeLists.txt \
    -o -path ./run -o -path ./.ci/run \) -print | LC_ALL=C sort
}

c_names='[.](c|h|inc|cu)$'

is_c() {
  [[ $1 =~ $c_names ]]
}

# Those of the files of standard input that lack it: in C the first line, else one of the comment at the top.
lacking() {
  xargs -d '\n' awk -v line="$line" -v c_names="$c_names" '
    function report() { if (name != "" && !found) print name }
    FNR == 1 { report(); name = FILENAME; found = 0; top = 1; c = name ~ c_names }
    c && FNR == 1 && $0 == "/* " line " */" { found = 1 }
    !/^#/ { top = 0 }
    !c && top && $0 == "# " line { found = 1 }
    c || !top { nextfile }
    END { report() }'
}

# The number of lines at the top of FILE that begin with '#'.
comment_length() { # FILE
  awk '!/^#/ { exit } { n++ } END { print n + 0 }' "$1"
}

# In a script after its first comment, so that what prints a part of that comment as help goes on doing so.
add_line() { # FILE
  if is_c "$1"; then
    sed -i "1i /* $line */" "$1"
  elif head -1 "$1" | grep -q '^#!'; then
    sed -i "$(comment_length "$1")a # $line" "$1"
  else
    sed -i "1i # $line" "$1"
  fi
}

list=$(sources | lacking)
missing=0
while read -r file; do
  if [ "${1-}" = --fix ]; then
    add_line "$file"
  else
    echo "$file: the line '$line' is missing"
    missing=1
  fi
done < <(printf '%s' "${list:+$list
}")
exit $missing

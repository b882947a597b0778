#!/usr/bin/env bash
# The whole programs of README.md and docs/*.md, compiled against the shared library and run.
#
#   examples.sh SOURCE_DIR LIBRARY_DIR [PYTHON]      (ctest runs it as `examples`)
#
# A program is a fenced block `c` or `cpp` with a main(), `fortran` with a `program`, or `python` that loads libdavit.
# Blocks of a language whose compiler is not there, or of Python where it has no NumPy, are left out with a message.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
source=$1 library=$2 python=${3:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Writes each program of a page to PAGE.NUMBER.LANGUAGE.
split_page() { # PAGE
  awk -v page="$(basename "$1" .md)" '
    /^```(c|cpp|fortran|python)$/ { language = substr($0, 4); text = ""; next }
    /^```$/ && language {
      whole = language ~ /^c/ ? text ~ /int main\(/ : language == "fortran" ? text ~ /^program|\nprogram/ : text ~ /libdavit/
      if (whole)
        printf "%s", text > (page "." ++count "." language)
      language = ""
    }
    language { text = text $0 "\n" }' "$1"
}

link=(-L"$library" -ldavit -lm -Wl,-rpath,"$library")
compile_c() { cc -std=c17 -Wall -Wextra -Werror -I"$source/include" -x c "$1" -x none "${link[@]}" -o "$1.out"; }
compile_cpp() { c++ -std=c++17 -Wall -Wextra -Werror -I"$source/include" -x c++ "$1" -x none "${link[@]}" -o "$1.out"; }
compile_fortran() { gfortran -Wall -Wextra -Werror -ffree-form -x f95 "$1" -x none "${link[@]}" -o "$1.out"; }

can() { # LANGUAGE
  case $1 in
  c) command -v cc ;;
  cpp) command -v c++ ;;
  fortran) command -v gfortran ;;
  python) "$python" -c 'import numpy' ;;
  esac >/dev/null 2>&1
}

for page in "$source"/README.md "$source"/docs/*.md; do
  split_page "$page"
done
for program in *; do
  language=${program##*.}
  if ! can "$language"; then
    echo "$program: left out, nothing here runs $language"
    continue
  fi
  echo "== $program"
  if [ "$language" = python ]; then
    LD_LIBRARY_PATH=$library "$python" "$program"
  else
    "compile_$language" "$program"
    "./$program.out"
  fi
done

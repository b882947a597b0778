#!/usr/bin/env bash
# Runs a fuzzer on its inputs in corpus/ and on new ones, which are kept beside the program.
#
#   fuzz.sh PROGRAM [LIBFUZZER OPTION...]      e.g. fuzz.sh build-asan/bin/fuzz_npy -runs=1000000
#
# An input that fails is kept there too, as PROGRAM.crash-… or PROGRAM.timeout-…, and printed in base64; PROGRAM FILE runs
# it again.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(dirname "$(realpath "$0")")
program=$1
shift
name=${program##*/fuzz_}
found=$program.corpus
mkdir -p "$found"
options=(-verbosity=0 -max_len=2048 -entropic_scale_per_exec_time=1 -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1
  "-artifact_prefix=$program.")
[ ! -e "$here/dictionary/$name" ] || options+=("-dict=$here/dictionary/$name")
export KMP_BLOCKTIME=0
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=1:allocator_may_return_null=1}
export LSAN_OPTIONS=suppressions=$here/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
touch "$found.begun"
"$program" "${options[@]}" "$@" "$found" "$here/corpus/$name" && exit
code=$?
find "${program%/*}" -maxdepth 1 -name "${program##*/}.*-*" -newer "$found.begun" -exec sh -c 'echo "$1"; base64 "$1"' - {} \;
exit "$code"

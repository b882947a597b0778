#!/usr/bin/env bash
# What the compiler made of the kernels for NVIDIA's GPUs, as nothing else says when it goes wrong.
#
#   ptx.sh BUILD      (ctest runs it as `ptx`)
#
# Compiles the sources below to PTX for the newest architecture of the build, with the flags of its
# compile_commands.json. Every kernel works in registers and team memory alone: no stack, no global variable, no call,
# and a body. Those of the table use team memory, and load or store 16 bytes at once, as it says.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
build=$1

# file, regular expression of its kernels, what they need
table='scan dvt_[a-z0-9]*_[a-z]*_scan_region shared load store
scan dvt_[a-z0-9]*_[a-z]*_segmented_region shared load store
scan dvt_[a-z0-9]*_[a-z]*_(segmented_)?sums_region shared load
scan dvt_[a-z0-9]*_[a-z]*_carry_region shared
reduce dvt_[a-z0-9]*_[a-z]*_reduce_region(_few|_many|_shares|_sections|_one)? shared load
cholesky_qr cholesky_qr_[a-z_]*_(distance|eliminate)_region shared
cholesky_qr (cholesky_qr_[a-z_]*_(upper|correct|finish)|dvt_judge)_region
triangle double_solve_region shared
triangle double_product_region shared
stencil (float|double)_stencil_wide_[0-9]* store
stencil (float|double)_stencil_narrow_[0-9]*
atax (float|double)_atax_pass_[0-9]* shared load store
atax (float|double)_atax_panels shared load
atax (float|double)_atax_sums shared
covariance (float|double)_centre_columns_region shared
covariance (float|double)_transpose_region shared
closest_pair closest_[a-z]*[23]_box shared
closest_pair closest_[a-z]*[23]_brute shared
closest_pair closest_[a-z]*[23]_select shared store
closest_pair closest_[a-z]*[23]_count(_slab)? shared
closest_pair closest_[a-z]*[23]_place(_slab)? store
closest_pair closest_float[23]_part_points shared store
closest_pair closest_float[23]_part_members shared load store
closest_pair closest_float[23]_part_records shared load store
closest_pair closest_float[23]_settle shared load store
closest_pair closest_[a-z]*[23]_plan_[a-z]*
closest_pair closest_[a-z]*[23]_search_[a-z]* shared load
closest_pair closest_[a-z]*[23]_collect shared load
closest_pair closest_[a-z]*[23]_(gather|insert|equal)
neighbors neighbors_(count|move)_digits shared
neighbors neighbors_[a-z]*[23]_pooled shared
neighbors neighbors_[a-z]*[23]_(keys|leaves|level|list_[0-9]*|heap|count|rows|check)
detect_stream detect_profiles_region
detect_stream detect_region_[a-z]*_[0-9]* shared load
align_pairs_stream pairs_(local|edge)_(scores|ends|begins)_(one|two) shared load
align_pairs_stream pairs_columns_(one|two) shared load store
align_pairs_stream pairs_move_strings
align_stream search_region_[a-z]*_[0-9]* shared load
align_stream strip_region_[a-z]*_[0-9]* shared load
align_wavefront wavefront_region_[0-9]* shared load store'

work=$build/ptx
rm -rf "$work"
mkdir -p "$work"
# The text is all that is wanted; what the assembler makes of it the build has shown.
cat >"$work/ptxas" <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do
  [ "$1" != --output-file ] || : >"$2"
  shift
done
END
chmod +x "$work/ptxas"

# The words of the command that compiled offload/FILE.c, in the array `words`.
command_of() {
  local line
  line=$(sed -n "s|^ *\"command\": \"\(.*/offload/$1\.c\)\",\{0,1\}\$|\1|p" "$build/compile_commands.json" | head -1)
  [ -n "$line" ] || { echo "$build/compile_commands.json does not say how offload/$1.c is compiled"; return 1; }
  line=$(printf '%s' "$line" | sed 's|\\\(["\\]\)|\1|g')
  eval "words=($line)"
}

compile() { # FILE
  local words flags=() architecture='' i
  command_of "$1"
  for ((i = 0; i < ${#words[@]}; i++)); do
    case ${words[i]} in
    -o) i=$((i + 1)) ;;
    -c) ;;
    --offload-arch=*) architecture=${words[i]##*[=,]}; flags+=("--offload-arch=$architecture") ;;
    -fopenmp-targets=*) flags+=(-fopenmp-targets=nvptx64-nvidia-cuda) ;;
    *) flags+=("${words[i]}") ;;
    esac
  done
  # The text on its way to the object: with -S alone the OpenMP runtime's own code is left out, and what it does to a kernel.
  (cd "$work" && "${flags[@]}" -g0 --offload-device-only --ptxas-path="$work/ptxas" -save-temps=cwd -c -o "$1.o")
  mv "$work/$1-openmp-nvptx64-nvidia-cuda-$architecture.s" "$work/$1.ptx"
  rm -f "$work/$1"-* "$work/$1".{bc,i,s,o}
  echo "offload/$1.c for $architecture"
}

# A line for each kernel: its name, then what it has.
kernels_of() { # FILE
  awk '
    /\.entry/ { name = $0; sub(/.*\.entry +/, "", name); sub(/\(.*/, "", name); sub(/^__omp_offloading_[0-9a-f]+_[0-9a-f]+_/, "", name)
                sub(/_l[0-9]+$/, "", name); kernel = 1 }
    /^\{/ && kernel { inside = 1; has = ""; steps = 0 }
    /^\}/ && inside { print name, has, (steps > 8 ? "body" : "empty"); inside = kernel = 0 }
    !inside { next }
    /;/ { steps++ }
    /\.local/ { has = has " stack" }
    /[ \t]call[ .]/ { has = has " call" }
    /[ \t](ld|st|atom|cp\.async)[a-z0-9.]*\.shared/ { has = has " shared" }
    /[ \t]ld[a-z.]*\.global[a-z.]*\.(v4\.[bfu]32|v2\.[bfu]64)|[ \t]cp\.async\.cg\.shared\.global/ { has = has " load" }
    /[ \t]st[a-z.]*\.global[a-z.]*\.(v4\.[bfu]32|v2\.[bfu]64)/ { has = has " store" }
  ' "$work/$1.ptx" >"$work/$1.kernels"
}

bad=0
complain() {
  echo "$*"
  bad=1
}

for file in $(cut -d' ' -f1 <<<"$table" | uniq); do
  compile "$file"
  kernels_of "$file"
  # The OpenMP runtime has a few words of its own, which no bare kernel reads.
  globals=$(grep -E '^[^/]*\.global +\.' "$work/$file.ptx" | grep -v __omp_rtl_ || true)
  [ -z "$globals" ] || complain "offload/$file.c has global variables: $globals"
  while read -r name has; do
    case " $has " in
    *' stack '*) complain "$name spills or has an array on a stack" ;;
    *' call '*) complain "$name calls a function" ;;
    *' empty '*) complain "$name has no body" ;;
    esac
  done <"$work/$file.kernels"
done

while read -r file pattern needs; do
  count=0
  while read -r name has; do
    [[ $name =~ ^$pattern$ ]] || continue
    count=$((count + 1))
    for need in $needs; do
      case " $has " in
      *" $need "*) ;;
      *) complain "$name: no $need" ;;
      esac
    done
  done <"$work/$file.kernels"
  echo "$count kernels $pattern: ${needs:-nothing special}"
  [ $count -gt 0 ] || complain "no kernel $pattern in offload/$file.c"
done <<<"$table"
exit $bad

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what a machine with several GPUs has to measure: every table of docs/gemm.md, docs/blas.md, docs/dropin.md
# and bench/study/docs/queue-study.md that compares numbers of GPUs, and ranks with a GPU each (docs/scaling.md). Writes
# DATE-NAME-MACHINE.json for each into FOLDER, as bench/results has them. mpi-RANKS runs under mpirun on so many ranks,
# with a GPU each, and writes DATE-mpi-MACHINE-RANKS.json. gemm-timeline has CUPTI trace the GPUs (bench/timeline.py);
# gemm-timeline-first takes the first call apart.
#
#   bench/several_gpus.sh PROGRAMS FOLDER MACHINE [NAME...]     all, or those of the NAMEs: gemm gemm-32768 …
#   bench/several_gpus.sh --list                                the names and their commands
#
# PROGRAMS is where bench_gemm and the others lie (build/bin), MACHINE for example 4xh200. It needs host memory for the
# largest matrices, 77 GB, and more than an hour; the names come in the order of their use.
set -euo pipefail

commands=(
  "gemm             bench_gemm --sizes 1000,2000,4000,8192,12000,16384 --devices 1,2,4 --repeats 5"
  "gemm-thin        bench_gemm --thin 1 --devices 1,2,4 --repeats 5"
  "gemm-device      bench_gemm --sizes 512,2048,8192,16384 --place device --devices 1,2,4 --repeats 5"
  "gemm-pageable    bench_gemm --sizes 8192,16384 --place pageable --devices 1,2,4 --repeats 5"
  "gemm-first       bench_gemm --sizes 8192 --place pageable --devices 4 --repeats 5 --alone 1"
  "exact            bench_exact --sizes 4096,8192,16384 --types d,s,z --place pinned --devices 1,2,4 --repeats 5"
  "gemm-timeline    bench_gemm --alone 1 --sizes 16384 --devices 4 --repeats 5"
  "gemm-timeline-first bench_gemm --alone 1 --sizes 8192 --place pageable --devices 4 --repeats 1"
  "gemm-32768       bench_gemm --sizes 32768 --devices 1,2,4 --repeats 3"
  "level3           bench_level3 --devices 1,2,4 --repeats 3"
  "solve            bench_solve --devices 1,2,4"
  "dropin           bench_dropin --devices 1,2,4 --repeats 5"
  "dropin-started   bench_dropin --devices 1,2,4 --sizes 16384,8192,4096,2000,1000,500 --blis-most 2000 --repeats 5"
  "dropin-potrf     bench_dropin --devices 1,4 --routines dpotrf --sizes 20000 --blis-most 20000 --repeats 1"
  "gemm-shapes      bench_gemm --shapes 60 --seed 1 --gigabytes 24 --devices 1,2,4 --repeats 5"
  "gemm-sweep       bench_gemm --shapes 60 --seed 1 --gigabytes 24 --devices 4 --repeats 3 --alone 1 --tiles 0,1024,2048,3072,4096,8192"
  "queue-study      bench_queue_study --devices 4 --cell-seconds 0.5 --patience 1"
  "mpi-1            bench_mpi --n 16384 --n1 8192 --peers 0 --repeats 5"
  "mpi-2            bench_mpi --n 16384 --n1 8192 --peers 0 --repeats 5"
  "mpi-4            bench_mpi --n 16384 --n1 8192 --peers 0 --repeats 5"
)

if [ "${1-}" = --list ]; then
  printf '%s\n' "${commands[@]}"
  exit
fi
[ $# -ge 3 ] || { sed -n '3,14s/^# \?//p' "$0" >&2; exit 2; }
programs=$(realpath "$1") folder=$2 machine=$3
shift 3
names=("$@")
for name in "${names[@]}"; do
  printf '%s\n' "${commands[@]}" | grep -q "^$name " || { echo "several_gpus.sh: there is no $name" >&2; exit 2; }
done
mkdir -p "$folder"

on_ranks() { # RANKS COMMAND...: the ranks divide the GPUs that they see
  local ranks=$1 gpus
  shift
  gpus=$(cut -d, -f"1-$ranks" <<<"${CUDA_VISIBLE_DEVICES:-0,1,2,3}")
  CUDA_VISIBLE_DEVICES=$gpus OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun --oversubscribe --bind-to none -n "$ranks" "$@"
}

of_trace() { # NAME COMMAND...: what timeline.py makes of the command's trace
  local first=() of
  [[ $1 != *-first ]] || first=(--first)
  shift
  of=$(mktemp -d)
  CUDA_INJECTION64_PATH=$programs/libdavit_cupti.so DAVIT_CUPTI=$of/trace.json "$@" >"$of/result.json" &&
    "$(dirname "$0")/timeline.py" "${first[@]}" "$of/trace.json" "$of/result.json"
  local status=$?
  rm -r "$of"
  return $status
}

for line in "${commands[@]}"; do
  read -r name program options <<<"$line"
  [[ ${#names[@]} -eq 0 || " ${names[*]} " = *" $name "* ]] || continue
  file=$folder/$(date -u +%F)-$name-$machine.json launch=()
  if [[ $name = mpi-* ]]; then
    file=$folder/$(date -u +%F)-mpi-$machine-${name#mpi-}.json launch=(on_ranks "${name#mpi-}")
  elif [[ $name = gemm-timeline* ]]; then
    launch=(of_trace "$name")
  fi
  echo "== $file" >&2
  # shellcheck disable=SC2086
  if DAVIT_TUNING_FILE='' "${launch[@]}" "$programs/$program" $options >"$file.part"; then
    mv "$file.part" "$file"
  else
    echo "$name failed: $file.part" >&2
  fi
done

#!/usr/bin/env bash
# Installs davit into a folder inside the build tree and uses it from there as other projects would.
#
#   install.sh CMAKE BUILD LIBDIR CLANG      (ctest runs it as `install`)
#
# By find_package() with the system's compiler and with the Clang that built davit, and by pkg-config; shared and
# static; without and with target regions, or an operator, of the program's own; by a C++ program, where there is a
# compiler; libdavit_mpi by a program on one rank and on two, where the build has it. Each program is run. Then what
# cannot work has to be refused with a sentence: davit::offload without Clang or with another one than built davit, and
# <davit/define_monoid.h> without Clang. Outside projects are built with the generator that built davit.
# shellcheck disable=SC2046 # pkg-config prints words
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 4 ] || { sed -n '2,10p' "$0" >&2; exit 2; }
cmake=$1 build=$2 libdir=$3 clang=$4
source=$(cd "$(dirname "$0")" && pwd)
unset CC CFLAGS LDFLAGS LIBRARY_PATH LD_LIBRARY_PATH C_INCLUDE_PATH CPATH # what is installed has to suffice
cc=$(command -v cc || command -v gcc || echo "$clang")

work=$build/outside
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work"

from_cache() { # NAME
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
generator=(-G "$(from_cache CMAKE_GENERATOR)" -DCMAKE_MAKE_PROGRAM="$(from_cache CMAKE_MAKE_PROGRAM)")

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"

run() {
  echo "== $1"
  "$2"
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run_ranks() {
  echo "== $1: two ranks"
  "$mpi" --oversubscribe --bind-to none -n 2 "$2" | grep '^ranks: 2, sum: 2.001e+06$'
}

configure() { # FOLDER COMPILER OPTION...
  local folder=$work/$1 compiler=$2
  shift 2
  "$cmake" "${generator[@]}" -S "$source" -B "$folder" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" "$@" \
    >"$folder.log" 2>&1
}

options=()
by_find_package() { # FOLDER COMPILER PROGRAM...
  local folder=$work/$1 compiler=$2
  configure "$1" "$compiler" "${options[@]}" || { cat "$folder.log"; return 1; }
  shift 2
  "$cmake" --build "$folder" >>"$folder.log" 2>&1 || { cat "$folder.log"; return 1; }
  for program; do
    run "find_package, $compiler: $program" "$folder/$program"
  done
}

# COMMAND fails, and SENTENCE, wherever its lines are broken, is in LOG.
refused() { # LOG SENTENCE COMMAND...
  local log=$work/$1 sentence=$2
  shift 2
  echo "== refused: $sentence"
  if "$@" || ! tr -s '\n ' ' ' <"$log" | grep -qF -- "$sentence"; then
    echo "expected another result of $*:"
    cat "$log"
    return 1
  fi
}

by_find_package cc "$cc" shared static
by_find_package clang "$clang" shared static own_regions own_monoid
mpi=
if [ -e "$build/lib/libdavit_mpi.so" ]; then
  mpi=$(from_cache DAVIT_MPIRUN)
  mpi=${mpi:-$(from_cache MPIEXEC_EXECUTABLE)} # of a build without tests
  options=(-DDAVIT_COMPONENTS=mpi)
  by_find_package mpi "$cc" ranks
  run_ranks "find_package, $cc" "$work/mpi/ranks"
fi
# Without davit's MPI part, and with it where there is no MPI: MPI is what the sentence is about, with any compiler.
config=$(dirname "$(find "$prefix" -name davitConfig.cmake)")
if [ -n "$mpi" ]; then
  refused no_mpi.log "davit::mpi needs an MPI (Debian: libopenmpi-dev)" \
    configure no_mpi "$cc" -DDAVIT_COMPONENTS=mpi -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
  mv "$config/davitMpiTargets.cmake" "$work"
fi
refused without_mpi.log "davit::mpi is not installed beside this davit: on Debian the package libdavit-mpi-dev has it" \
  configure without_mpi "$cc" -DDAVIT_COMPONENTS=mpi
if grep -q "need Clang" <(sed -n '/CMake Error/,$p' "$work/without_mpi.log"); then
  echo "another component is blamed:"
  cat "$work/without_mpi.log"
  exit 1
fi
[ -z "$mpi" ] || mv "$work/davitMpiTargets.cmake" "$config"
refused unknown.log "davit has no component banana, only mpi and offload" configure unknown "$clang" -DDAVIT_COMPONENTS=banana
configure required "$clang" -DDAVIT_COMPONENTS=offload || { cat "$work/required.log"; exit 1; }
# A Clang that says it is an older one.
version=$("$clang" -dumpversion | cut -d. -f1)
printf '#!/bin/sh\nexec "%s" -Wno-builtin-macro-redefined -D__clang_major__=%d "$@"\n' "$(command -v "$clang")" \
  $((version - 1)) >"$work/other-clang"
chmod +x "$work/other-clang"
refused other.log "davit::offload and davit::monoid need Clang $version, which built davit" \
  configure other "$work/other-clang" -DDAVIT_COMPONENTS=offload
compile() { # LOG COMPILER OPTION...
  local log=$work/$1
  shift
  "$@" -I"$prefix/include" -fsyntax-only "$source/monoid.c" >"$log" 2>&1
}
refused plain.log "needs Clang and its OpenMP target regions" compile plain.log "$clang"
if ! "$cc" --version | grep -q clang; then
  refused gcc.log "needs Clang and its OpenMP target regions" compile gcc.log "$cc" -fopenmp
  refused offload.log "davit::offload and davit::monoid need Clang" configure offload "$cc" -DDAVIT_COMPONENTS=offload
fi

command -v pkg-config >/dev/null || { echo "pkg-config is missing (Debian: pkg-config)" >&2; exit 1; }
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
cd "$work"
"$cc" "$source/main.c" -o pc_shared $(pkg-config --cflags --libs davit) -Wl,-rpath,"$prefix/$libdir"
run "pkg-config, $cc: shared" ./pc_shared
"$cc" "$source/main.c" -o pc_static $(pkg-config --cflags davit) $(pkg-config --variable=static_libs davit)
run "pkg-config, $cc: static" ./pc_static
if cxx=$(command -v c++ || command -v g++); then
  "$cxx" -Wall -Wextra -Werror "$source/complex.cc" -o pc_complex $(pkg-config --cflags --libs davit) \
    -Wl,-rpath,"$prefix/$libdir"
  run "pkg-config, $cxx: C++ and its complex numbers" ./pc_complex
fi
"$clang" "$source/main.c" -o pc_own_regions $(pkg-config --cflags davit) \
  $(pkg-config --variable=offload_cflags davit) $(pkg-config --variable=static_libs davit) \
  $(pkg-config --variable=offload_libs davit)
run "pkg-config, $clang: static, own target regions" ./pc_own_regions
"$clang" -O2 -Wall -Wextra -Werror "$source/monoid.c" -o pc_own_monoid $(pkg-config --cflags davit) \
  $(pkg-config --variable=monoid_cflags davit) $(pkg-config --variable=static_libs davit) \
  $(pkg-config --variable=offload_libs davit)
run "pkg-config, $clang: static, own operator" ./pc_own_monoid
if [ -n "$mpi" ]; then
  # Debian's mpicc calls the system's compiler.
  mpicc "$source/ranks.c" -o pc_ranks $(pkg-config --cflags --libs davit_mpi) -Wl,-rpath,"$prefix/$libdir"
  run "pkg-config, mpicc: ranks" ./pc_ranks
  run_ranks "pkg-config, mpicc" ./pc_ranks
fi

if [ -e "$prefix/$libdir/libdavit_blas.so" ]; then
  # Devices are computed on only if the drop-in finds the libdavit that is installed with it.
  "$cc" "$source/../dropin/program.c" -o pc_blas $(pkg-config --libs davit_blas)
  for folder in "$prefix/$libdir" "$prefix/$libdir/davit"; do
    echo "== drop-in in $folder"
    rm -f calls
    LD_LIBRARY_PATH=$prefix/$libdir LD_PRELOAD=$(echo "$folder"/lib*blas.so.[03]) DAVIT_BLAS_LOG=calls \
      DAVIT_BLAS_DEVICES=0,1 DAVIT_BLAS_FROM=32 ./pc_blas exit
    grep -q 'devices 0,1' calls
  done
fi

if [ -x "$prefix/bin/davit" ]; then
  echo "== the installed tool, and the documentation; no benchmark"
  "$prefix/bin/davit" --version
  readelf -d "$prefix/bin/davit" | grep -q 'NEEDED.*libdavit'
  for page in README CHANGELOG CONTRIBUTING SECURITY docs/README docs/install; do
    [ -f "$prefix/share/doc/davit/$page.md" ]
  done
  [ -f "$prefix/share/davit/valgrind.supp" ]
  [ -z "$(find "$prefix" -name 'bench_*')" ]
  echo '{"benchmark": "b", "rows": [{"n": 8, "us": 1}]}' | "$prefix/bin/davit" bench --from - --report page.html
  grep -q '8<' page.html
fi

echo "== uninstalled"
"$cmake" --build "$build" --target uninstall >"$work/uninstall.log" 2>&1 || { cat "$work/uninstall.log"; exit 1; }
[ ! -e "$prefix" ] || { find "$prefix"; exit 1; }

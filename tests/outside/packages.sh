#!/usr/bin/env bash
# The Debian packages of a build: lintian finds no error, and they install, work and go again without a trace.
#
#   packages.sh CPACK BUILD [CLEAN]      (ctest runs it as `packages`)
#
# Without CLEAN the root to install into is this machine's under an overlay, which needs root, or user namespaces; it has
# the libraries that davit depends on. CLEAN is a folder with a fresh Debian (mmdebstrap), where apt fetches them.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 2 ] || [ $# -eq 3 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
cpack=$1 build=$2 clean=${3-}
here=$(dirname "$(realpath "$0")")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$build"
"$cpack" -G DEB -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE="${COMPRESSION:-gzip}" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
rm -rf "$work/_CPack_Packages"
names=(libdavit0 libdavit-dev davit davit-doc libdavit-blas0 libdavit-blas64-0)
[ ! -e lib/libdavit_mpi.so ] || names+=(libdavit-mpi0 libdavit-mpi-dev)
for name in "${names[@]}"; do
  ls "$work/${name}"_*.deb
done
# Each has a synopsis of its own, as lists of packages show nothing else.
for file in "$work"/*.deb; do
  dpkg-deb -f "$file" Description | sed -n 1p
done | sort >"$work/synopses"
if uniq -d "$work/synopses" | grep .; then exit 1; fi
if grep -q '^DAVIT_DOXYGEN:.*/doxygen$' CMakeCache.txt; then
  dpkg-deb --contents "$work"/davit-doc_*.deb | grep 'davit/reference/html/index.html$'
fi

if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error --tag-display-limit 0 "$work"/*.deb
else
  echo "left out: there is no lintian"
fi

export WORK=$work CLEAN=$clean
how=(--mount)
[ "$(id -u)" -eq 0 ] || how=(--mount --map-root-user)
if ! unshare "${how[@]}" true 2>/dev/null; then
  echo "left out: no namespace to install in"
  exit 0
fi
unshare "${how[@]}" bash "$here/packages_root.sh"

#!/usr/bin/env bash
# The part of packages.sh in a mount namespace of its own, as root there: installs $WORK/*.deb into a root and uses them.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$CLEAN
if [ -z "$root" ]; then
  root=$WORK/root
  mkdir "$WORK/memory" "$root"
  mount -t tmpfs davit "$WORK/memory"
  mkdir "$WORK/memory/upper" "$WORK/memory/work"
  if ! mount -t overlay davit -o "lowerdir=/,upperdir=$WORK/memory/upper,workdir=$WORK/memory/work" "$root" 2>/dev/null; then
    echo "left out: no overlay to install in"
    exit 0
  fi
fi
mkdir -p "$root/debs"
cp "$WORK"/*.deb "$root/debs"
for folder in proc dev; do
  mount --rbind "/$folder" "$root/$folder"
done
mount -t tmpfs davit "$root/tmp"

inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp DEBIAN_FRONTEND=noninteractive KMP_BLOCKTIME=0 bash -euc "cd /tmp; $1"
}

fails_with() { # SENTENCE COMMAND
  inside "$2" >"$WORK/said" 2>&1 && { echo "expected a failure of $2"; exit 1; }
  if [ "$(wc -l <"$WORK/said")" -ne 1 ] || ! grep -q "$1" "$WORK/said"; then
    cat "$WORK/said"
    exit 1
  fi
}

echo "== install"
inside 'dpkg-query -W -f "\${Package}\n" | sort >/debs/before'
# As docs/install.md says, the library and the tool first.
[ -z "$CLEAN" ] || inside 'apt-get -qq update' >"$WORK/apt" 2>&1 || { tail -30 "$WORK/apt"; exit 1; }
inside 'cd /debs; apt-get -qq -y --no-install-recommends install ./libdavit0_*.deb ./davit_*.deb; davit demo' >"$WORK/apt" 2>&1 ||
  { tail -30 "$WORK/apt"; exit 1; }
# An alternative that needs another BLIS comes with the package that depends on it. Nothing is selected; what selects it is said.
inside 'cd /debs; apt-get -qq -y --no-install-recommends install ./libdavit-blas0_*.deb' >"$WORK/apt" 2>&1 || { tail -30 "$WORK/apt"; exit 1; }
tr -d '\r' <"$WORK/apt" >"$WORK/said" # dpkg writes to a terminal of apt's
selects=$(sed -n 's/^  \(update-alternatives --set libblas\.so\.3-[^ ]* [^ ]*\/davit\/libblas\.so\.3\)$/\1/p' "$WORK/said")
[ -n "$selects" ] || { cat "$WORK/apt"; exit 1; }
inside 'if grep -r davit/libblas64 /var/lib/dpkg/alternatives; then exit 1; fi'
inside 'apt-get -qq -y --no-install-recommends install /debs/*.deb' >"$WORK/apt" 2>&1 || { tail -30 "$WORK/apt"; exit 1; }
grep -q '^  update-alternatives --set libblas64\.so\.3-' "$WORK/apt" || { cat "$WORK/apt"; exit 1; }
inside 'grep -q davit/libblas64 /var/lib/dpkg/alternatives/libblas64.so.3-*
  if update-alternatives --get-selections | grep "^libblas.*/davit/"; then exit 1; fi'

echo "== use"
inside 'davit version
  davit demo
  [ -e /usr/share/doc/davit/docs/gemm.md ] || [ -n "'"$CLEAN"'" ] # a minimal Debian leaves documentation out
  [ -e /usr/share/bash-completion/completions/davit ]'

echo "== as the BLAS of Debian's programs"
[ -z "$CLEAN" ] || inside 'apt-get -qq -y --no-install-recommends install python3-numpy' >"$WORK/apt" 2>&1 || { tail -30 "$WORK/apt"; exit 1; }
inside "$selects"
# Not a NumPy that brings its own BLAS.
if inside '/usr/bin/python3 -c "import numpy; assert numpy.__file__.startswith(\"/usr/lib/python3\")"' 2>/dev/null; then
  inside 'DAVIT_BLAS_LOG=/tmp/calls /usr/bin/python3 -c "import numpy; a = numpy.full((70, 70), 2.0); assert (a @ a.T.copy() == 280).all()"
    grep "^libdavit_blas.*: dgemm" /tmp/calls'
else
  echo "left out: there is no NumPy of Debian's"
fi

echo "== as a library"
printf '#include <davit/davit.h>\nint main(void) { double a = 2, c = 0; return davit_dgemm(78, 78, 1, 1, 1, 1, &a, 1, &a, 1, 0, &c, 1, 0) || c != 4; }\n' \
  >"$root/tmp/product.c"
if inside 'command -v cc pkg-config >/dev/null'; then
  inside 'cc product.c -o product $(pkg-config --cflags --libs davit); ./product
    if ldd product | grep -E "fftw|sndfile|soxr|libhts|libzip"; then exit 1; fi'
fi
if [ -e "$root/usr/include/davit_mpi.h" ] && inside 'command -v mpirun >/dev/null'; then
  inside 'davit points -n 1000 -o p.npy
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    [ "$(mpirun --oversubscribe -n 3 davit reduce p.npy)" = "$(davit reduce p.npy)" ]'
fi

echo "== without the offload runtime"
inside 'rm -f /usr/lib/llvm-*/lib/libomptarget.so* /usr/lib/*/libomptarget.so*
  davit demo | grep "device -1: cpu"
  [ ! -e product ] || ./product'
fails_with 'the OpenMP offload runtime libomptarget.so.* is not installed' 'davit points -n 10 -o p.npy; davit closest p.npy --devices 0'

echo "== without FFTW"
inside 'rm -f /usr/lib/*/libfftw3f.so*; [ ! -e product ] || ./product
  { printf "RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x80\x3e\0\0"; head -c 16000 /dev/zero; } >s.wav'
fails_with 'features need FFTW in single precision' 'davit features s.wav --rate 8000 -o f.npy'

echo "== remove"
inside 'dpkg --purge davit davit-doc libdavit-mpi-dev libdavit-mpi0 libdavit-dev libdavit-blas0 libdavit-blas64-0 libdavit0' >"$WORK/apt" 2>&1 || { cat "$WORK/apt"; exit 1; }
inside 'rm -f product*; if find /usr /etc /var -xdev \( -name "*libdavit*" -o -path "*/davit/*" \) | grep .; then exit 1; fi
  if grep -r davit /var/lib/dpkg/alternatives; then exit 1; fi'

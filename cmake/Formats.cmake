# SPDX-License-Identifier: Apache-2.0
# Libraries found by pkg-config: FFTW for libdavit; libsndfile, soxr, libzip and zlib for the tool, which reads
# sounds, sequences and archives with them.
find_package(PkgConfig REQUIRED)
set(wanted fftw3f:libfftw3-dev)
if(DAVIT_TOOL OR DAVIT_TESTS OR DAVIT_BENCH)
  list(APPEND wanted sndfile:libsndfile1-dev soxr:libsoxr-dev libzip:libzip-dev zlib:zlib1g-dev)
endif()
set(missing "")
foreach(pair ${wanted})
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 module)
  list(GET pair 1 package)
  pkg_check_modules(DAVIT_${module} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT DAVIT_${module}_FOUND)
    list(APPEND missing ${package})
  endif()
endforeach()
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "davit needs FFTW (single precision), and its tool libsndfile, soxr, libzip and zlib, found by pkg-config.\n"
    "Not found; on Debian: apt-get install ${missing}")
endif()

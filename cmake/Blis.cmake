# SPDX-License-Identifier: Apache-2.0
# Finds BLIS. BLIS_INCLUDE_DIR is the folder of blis.h, BLIS_LIBRARY the library. Debian installs blis.h in
# include/, BLIS's own `make install` in include/blis/.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_BLIS QUIET blis) # Debian installs no blis.pc, BLIS's own `make install` does
endif()
find_path(BLIS_INCLUDE_DIR blis.h HINTS ${PC_BLIS_INCLUDE_DIRS} PATH_SUFFIXES blis)
find_library(BLIS_LIBRARY blis HINTS ${PC_BLIS_LIBRARY_DIRS})
mark_as_advanced(BLIS_INCLUDE_DIR BLIS_LIBRARY)
set(blis_works FALSE)
set(DAVIT_TRY_OUTPUT "  blis.h: ${BLIS_INCLUDE_DIR}, library: ${BLIS_LIBRARY}")
if(BLIS_INCLUDE_DIR AND BLIS_LIBRARY)
  cmake_path(GET BLIS_LIBRARY PARENT_PATH blis_dir)
  davit_try(blis_works blis.c RUN "${CMAKE_C_COMPILER}" "-I${BLIS_INCLUDE_DIR}" "${BLIS_LIBRARY}"
            "-Wl,-rpath,${blis_dir}" -lm -lpthread)
endif()
if(NOT blis_works)
  message(FATAL_ERROR "davit needs BLIS.\nOn Debian: apt-get install libblis-dev\n"
    "Elsewhere name its parts by -DBLIS_INCLUDE_DIR=... -DBLIS_LIBRARY=...\n${DAVIT_TRY_OUTPUT}")
endif()

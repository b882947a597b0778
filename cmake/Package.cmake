# SPDX-License-Identifier: Apache-2.0
# Debian packages by CPack: `cpack -B FOLDER` in a build directory that was configured with -DCMAKE_INSTALL_PREFIX=/usr
# (preset `package`).
#
# Each component of cmake/Install.cmake is a package:
#   runtime         libdavit0         both shared libraries, and the stand-in for a missing offload runtime
#   development     libdavit-dev      headers, static library, files of CMake and pkg-config
#   tool            davit             the tool, manual pages, completion
#   documentation   davit-doc
#   blas            libdavit-blas0    the drop-in as an alternative for libblas.so.3
#   blas64          libdavit-blas64-0 the same for libblas64.so.3, which needs another BLIS
#   mpi             libdavit-mpi0     the library for several processes, and what the tool needs of it
#   mpi_development libdavit-mpi-dev
find_program(dpkg_query dpkg-query NO_CACHE)
find_program(gzip gzip NO_CACHE)
if(NOT dpkg_query OR NOT gzip)
  return()
endif()
execute_process(COMMAND ${dpkg_query} -W -f "\${Version}" libc6 OUTPUT_VARIABLE libc ERROR_QUIET)

# The packages that the files are from, separated by commas.
function(davit_packages_of result)
  set(names "")
  foreach(file IN LISTS ARGN)
    file(REAL_PATH ${file} file)
    execute_process(COMMAND ${dpkg_query} -S ${file} OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES "^([^:,]+)[:,]")
      string(REGEX REPLACE "-(openmp|pthread|serial)$" "" owner "${CMAKE_MATCH_1}") # one of several that may serve
      list(APPEND names ${owner})
    endif()
  endforeach()
  list(JOIN names ", " names)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

set(DAVIT_PACKAGE_CONTACT "davit developers <davit@davit.invalid>" CACHE STRING
    "Who maintains the packages that cpack makes: NAME <ADDRESS>")
mark_as_advanced(DAVIT_PACKAGE_CONTACT)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME davit)
set(CPACK_PACKAGE_CONTACT "${DAVIT_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # it would be the synopsis of every package
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(DAVIT_DEBIAN_VERSION ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# davit_package(COMPONENT NAME SECTION DESCRIPTION): the first line of the description is the synopsis. Files that Debian
# wants of every package are installed with their component alone, so `cmake --install` leaves them out.
set(debian_files ${PROJECT_BINARY_DIR}/debian)
string(TIMESTAMP DAVIT_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(cmake/debian/changelog.in ${debian_files}/changelog @ONLY)
execute_process(COMMAND ${gzip} -9nc ${debian_files}/changelog OUTPUT_FILE ${debian_files}/changelog.Debian.gz)
macro(davit_package component name section description)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${COMPONENT}_DESCRIPTION "${description}")
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  install(FILES cmake/debian/copyright ${debian_files}/changelog.Debian.gz COMPONENT ${component} EXCLUDE_FROM_ALL
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name})
endmacro()
# Lintian's complaints about a package that have a reason.
function(davit_overrides component DAVIT_DEBIAN_PACKAGE)
  configure_file(cmake/debian/overrides.in ${debian_files}/overrides/${DAVIT_DEBIAN_PACKAGE} @ONLY)
  install(FILES ${debian_files}/overrides/${DAVIT_DEBIAN_PACKAGE} COMPONENT ${component} EXCLUDE_FROM_ALL
          DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides)
endfunction()

set(own "(= ${DAVIT_DEBIAN_VERSION})")
set(about "davit offers matrix products over all accelerators of a machine,
reductions, scans, stencils, sequence alignment, detection of sounds, closest
pairs, and the command queues and events under them. Everything also runs on
the CPU, through the same calls.")
set(CPACK_COMPONENTS_ALL "")
davit_package(runtime libdavit0 libs "queues, BLAS and parallel algorithms on several accelerators
${about}
.
This package has the shared library. Without liboffload-22 it computes on the
CPU alone.")
davit_overrides(runtime libdavit0)
# dpkg-shlibdeps would say that the offload runtime is needed.
davit_packages_of(needed ${BLIS_LIBRARY} ${DAVIT_OMP})
davit_packages_of(offload ${DAVIT_OMPTARGET})
string(REGEX MATCH "^[0-9]+\\.[0-9]+" libc "${libc}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= ${libc}), ${needed}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "${offload}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libfftw3-single3, libdavit-blas0, libblis64-4")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/shlibs;${PROJECT_SOURCE_DIR}/cmake/debian/triggers")

davit_package(development libdavit-dev libdevel "queues, BLAS and parallel algorithms on accelerators - headers
${about}
.
This package has the headers, the static library, and what CMake and
pkg-config need.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libdavit0 ${own}, libc6-dev | libc-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "liboffload-22-dev, libomp-19-dev, libblis-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "clang-19, davit-doc")

davit_package(documentation davit-doc doc "queues, BLAS and parallel algorithms on accelerators - documentation
${about}
.
This package has the documentation.")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
if(DAVIT_DOXYGEN) # the reference of the interface, before the files are collected
  set(CPACK_INSTALL_COMMANDS "${CMAKE_COMMAND} -E chdir ${PROJECT_SOURCE_DIR} ${DAVIT_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile")
endif()

if(DAVIT_TOOL)
  davit_package(tool davit science "matrix products, reductions and alignment on several accelerators
${about}
.
This package has the command-line tool, which reads arrays of NumPy, Matrix
Market files, sequences and sounds.")
  davit_overrides(tool davit)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}) # libdavit
  set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "libdavit0 ${own}, libfftw3-single3")
  set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "python3") # davit bench --report
  set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "davit-doc, libdavit-mpi0")
endif()

if(TARGET davit_blas)
  # Each library is an alternative of its own package, which depends on the BLIS that it forwards to.
  function(davit_alternative component DAVIT_DEBIAN_PACKAGE DAVIT_ALTERNATIVE)
    davit_overrides(${component} ${DAVIT_DEBIAN_PACKAGE})
    foreach(script postinst prerm)
      configure_file(cmake/debian/${script}.in ${debian_files}/${component}/${script} @ONLY)
    endforeach()
  endfunction()
  macro(davit_blas_package component name alternative blis integers)
    davit_package(${component} ${name} libs "BLAS that sends large products to accelerators${integers}
${about}
.
This package has davit as a BLAS for programs that know nothing of it. It is an
alternative for ${alternative}.so.3 with a lower priority than BLIS, so programs
keep the BLAS that they have until it is selected with update-alternatives.")
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_DEPENDS "libdavit0 ${own}, ${blis}")
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_PROVIDES "${alternative}.so.3")
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_CONTROL_EXTRA "${debian_files}/${component}/postinst;${debian_files}/${component}/prerm")
    davit_alternative(${component} ${name} ${alternative})
  endmacro()
  davit_blas_package(blas libdavit-blas0 libblas libblis4 "")
  davit_blas_package(blas64 libdavit-blas64-0 libblas64 libblis64-4 ", 64-bit integers")
endif()

if(TARGET davit_mpi)
  davit_package(mpi libdavit-mpi0 libs "reductions and matrix products over processes with accelerators
${about}
.
This package has the library that joins the devices of several processes, and
lets the tool run on several.")
  davit_overrides(mpi libdavit-mpi0)
  set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libdavit0 ${own}")
  set(CPACK_DEBIAN_MPI_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/mpi/shlibs;${PROJECT_SOURCE_DIR}/cmake/debian/triggers")
  davit_package(mpi_development libdavit-mpi-dev libdevel "reductions and matrix products over processes with accelerators - headers
${about}
.
This package has the header of the library for several processes, and what
CMake and pkg-config need.")
  set(CPACK_DEBIAN_MPI_DEVELOPMENT_PACKAGE_DEPENDS "libdavit-mpi0 ${own}, libdavit-dev ${own}, libopenmpi-dev")
endif()
include(CPack)
set(DAVIT_PACKAGES ON) # there is a test of them

# SPDX-License-Identifier: Apache-2.0
# libdavit_mpi: davit over several processes (docs/mpi.md), where there is an MPI. libdavit does not know of it.
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  set(DAVIT_LEFT_OUT "libdavit_mpi and the tool under mpirun: there is no MPI (Debian: libopenmpi-dev)")
  return()
endif()
file(GLOB mpi_sources CONFIGURE_DEPENDS src/mpi/*.c)
add_library(davit_mpi SHARED ${mpi_sources} src/base/check.c src/base/environment.c src/base/error.c)
target_compile_definitions(davit_mpi PRIVATE DAVIT_BUILDING)
target_link_libraries(davit_mpi PRIVATE davit_compile PUBLIC davit_shared MPI::MPI_C)
target_link_options(davit_mpi PRIVATE LINKER:-z,defs LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/davit_mpi.map)
get_target_property(soversion davit_shared SOVERSION)
set_target_properties(davit_mpi PROPERTIES EXPORT_NAME mpi VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/davit_mpi.map INSTALL_RPATH "$ORIGIN")
add_library(davit::mpi ALIAS davit_mpi)

# What the tool loads where a launcher started several of it (src/cli/ranks.h).
if(DAVIT_TOOL)
  add_library(davit_ranks MODULE src/cli/mpi/ranks.c)
  target_link_libraries(davit_ranks PRIVATE davit_compile davit_mpi)
  target_link_options(davit_ranks PRIVATE LINKER:-z,defs LINKER:-soname,libdavit_ranks.so)
  set_target_properties(davit_ranks PROPERTIES C_VISIBILITY_PRESET hidden INSTALL_RPATH "$ORIGIN")
endif()

# SPDX-License-Identifier: Apache-2.0
# libdavit_blas (LP64) and libdavit_blas64 (ILP64): BLAS and CBLAS for programs that know nothing of davit
# (docs/dropin.md). From the same objects davit/libblas.so.3 and davit/libblas64.so.3, whose SONAMEs are those of
# Debian's alternatives. They load BLIS and libdavit themselves, when they need them.
file(GLOB dropin_sources CONFIGURE_DEPENDS src/dropin/*.c)
get_target_property(soversion davit_shared SOVERSION)

# The name by which the dynamic linker knows the BLIS that davit is built with.
execute_process(COMMAND ${CMAKE_READELF} -d ${BLIS_LIBRARY} OUTPUT_VARIABLE dynamic ERROR_QUIET)
string(REGEX MATCH "SONAME[^[]*\\[([^]]+)\\]" found "${dynamic}")
if(NOT found)
  cmake_path(GET BLIS_LIBRARY FILENAME blis_soname)
else()
  set(blis_soname ${CMAKE_MATCH_1})
endif()
string(REPLACE libblis libblis64 blis64_soname ${blis_soname})
cmake_path(GET BLIS_LIBRARY PARENT_PATH blis_dir)

# The names of the OpenBLAS in wheels of NumPy and SciPy, with 32 and 64 bits.
foreach(suffix "" 64_)
  add_library(davit_blas_wheel${suffix} OBJECT src/dropin/fortran.c src/dropin/cblas.c src/dropin/lapack.c)
  target_link_libraries(davit_blas_wheel${suffix} PRIVATE davit_compile)
  target_compile_definitions(davit_blas_wheel${suffix} PRIVATE DVT_DROPIN_WHEEL=${suffix}
                             $<$<STREQUAL:${suffix},64_>:DVT_DROPIN_ILP64>)
endforeach()

add_custom_target(dropin)
foreach(bits "" 64)
  set(name davit_blas${bits})
  add_library(${name}_objects OBJECT ${dropin_sources} src/base/cgroup.c src/base/cores.c src/base/environment.c
              src/base/own_file.c)
  target_link_libraries(${name}_objects PRIVATE davit_compile)
  target_include_directories(${name}_objects SYSTEM PRIVATE ${BLIS_INCLUDE_DIR})
  target_compile_definitions(${name}_objects PRIVATE DVT_DROPIN_BLIS="${blis${bits}_soname}"
                             DVT_DROPIN_DAVIT="libdavit.so.${soversion}"
                             DVT_DROPIN_LAPACK="liblapack${bits}.so.3" $<$<STREQUAL:${bits},64>:DVT_DROPIN_ILP64>)
  # One library by its own name, and one by the name of Debian's alternative.
  foreach(kind ${name} ${name}_alternative)
    add_library(${kind} SHARED $<TARGET_OBJECTS:${name}_objects>)
    if(NOT bits)
      target_sources(${kind} PRIVATE $<TARGET_OBJECTS:davit_blas_wheel> $<TARGET_OBJECTS:davit_blas_wheel64_>)
    endif()
    # The handlers of fork() and of the process's end stay in its code.
    target_link_options(${kind} PRIVATE LINKER:-z,nodelete LINKER:-z,defs LINKER:-z,now)
    target_link_libraries(${kind} PRIVATE -lpthread -ldl)
    set_target_properties(${kind} PROPERTIES LINKER_LANGUAGE C INSTALL_RPATH "$ORIGIN;$ORIGIN/..;${blis_dir}"
                          INSTALL_RPATH_USE_LINK_PATH OFF)
  endforeach()
  set_target_properties(${name} PROPERTIES EXPORT_NAME blas${bits} VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
  set_target_properties(${name}_alternative PROPERTIES OUTPUT_NAME blas${bits} SOVERSION 3
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/davit)
  add_dependencies(dropin ${name} ${name}_alternative)
  add_library(davit::blas${bits} ALIAS ${name})
endforeach()

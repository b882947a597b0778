# SPDX-License-Identifier: Apache-2.0
# The tool `davit`. It links the shared library, and has the references that --check compares with (ref/) and
# what it shares with the library below its interface in itself, because the library does not export them.
file(GLOB tool_sources CONFIGURE_DEPENDS src/cli/*.c src/cli/formats/*.c src/cli/frame/*.c)
list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/src/cli/main.c)
add_library(davit_cli OBJECT ${tool_sources})
target_link_libraries(davit_cli PUBLIC davit_compile PkgConfig::DAVIT_sndfile PkgConfig::DAVIT_soxr
                      PkgConfig::DAVIT_libzip PkgConfig::DAVIT_zlib)
add_executable(davit_tool src/cli/main.c src/base/allocate.c src/base/cgroup.c src/base/cpu.c src/base/environment.c
               src/base/fork.c src/base/inject.c src/base/limit.c src/base/replace.c src/base/team.c src/base/thread.c
               $<TARGET_OBJECTS:davit_ref>)
target_link_libraries(davit_tool PRIVATE davit_cli davit_shared ${DAVIT_OMP} ${BLIS_LIBRARY} -lm ${CMAKE_DL_LIBS})
# An installed tool finds the library of its own prefix, wherever that lies.
file(RELATIVE_PATH to_library /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
set_target_properties(davit_tool PROPERTIES OUTPUT_NAME davit BUILD_WITH_INSTALL_RPATH OFF
                      INSTALL_RPATH "$ORIGIN/${to_library};${CMAKE_INSTALL_RPATH}")
# For `davit version`, and for `davit devices`, which says why there is no GPU.
set_source_files_properties(src/cli/version.c PROPERTIES INCLUDE_DIRECTORIES ${BLIS_INCLUDE_DIR})
set_source_files_properties(src/cli/version.c src/cli/devices.c PROPERTIES
  COMPILE_DEFINITIONS "DAVIT_BUILT_FOR=\"${DAVIT_TARGETS}\";DAVIT_BUILT_WITH_CUDA=\"${DAVIT_CUDA_VERSION}\"")

# What reads results of benchmarks is beside the build tree's tool as it is beside an installed one.
set(DAVIT_REPORT_SOURCES report.py rows.py report.css)
list(TRANSFORM DAVIT_REPORT_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/bench/)
file(RELATIVE_PATH to_data /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_DATADIR}/davit)
foreach(source IN LISTS DAVIT_REPORT_SOURCES)
  cmake_path(GET source FILENAME name)
  configure_file(${source} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${to_data}/${name} COPYONLY)
endforeach()
set_source_files_properties(src/cli/bench.c PROPERTIES COMPILE_DEFINITIONS "DAVIT_REPORT=\"${to_data}/report.py\"")

# Manual pages and completion are written by the tool itself, from the rows of its commands.
set(DAVIT_SHARE ${PROJECT_BINARY_DIR}/share)
if(NOT DAVIT_SANITIZE)
  add_custom_command(TARGET davit_tool POST_BUILD COMMENT "Writing manual pages and completion" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DDAVIT=$<TARGET_FILE:davit_tool> -DFOLDER=${DAVIT_SHARE} -P ${PROJECT_SOURCE_DIR}/cmake/Manual.cmake)
endif()

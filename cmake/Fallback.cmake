# SPDX-License-Identifier: Apache-2.0
# A libomptarget without devices (offload/fallback), for machines that lack the one davit was linked with. It has that
# one's name and lies in a folder that libdavit.so searches last, so davit computes on the CPU there and says so.
#
# Sets DAVIT_FALLBACK_FOLDER, relative to the folder of libdavit.so; empty if there is no fallback.
set(DAVIT_FALLBACK_FOLDER "")
execute_process(COMMAND ${CMAKE_READELF} -d ${DAVIT_OMPTARGET} OUTPUT_VARIABLE dynamic ERROR_QUIET)
if(NOT dynamic MATCHES "soname: \\[libomptarget\\.so\\.([0-9.]+)\\]")
  return()
endif()
set(DAVIT_FALLBACK_FOLDER davit/fallback)
set(fallback_map ${PROJECT_SOURCE_DIR}/offload/fallback/omptarget.map)
add_library(davit_fallback SHARED offload/fallback/omptarget.c)
target_link_libraries(davit_fallback PRIVATE davit_compile)
target_link_options(davit_fallback PRIVATE LINKER:--version-script=${fallback_map})
if(NOT DAVIT_SANITIZE) # whose functions the program has
  target_link_options(davit_fallback PRIVATE LINKER:-z,defs)
endif()
set_source_files_properties(offload/fallback/omptarget.c PROPERTIES
  COMPILE_DEFINITIONS "DAVIT_OMPTARGET_NAME=\"libomptarget.so.${CMAKE_MATCH_1}\"")
set_target_properties(davit_fallback PROPERTIES OUTPUT_NAME omptarget SOVERSION ${CMAKE_MATCH_1}
  LINK_DEPENDS ${fallback_map} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${DAVIT_FALLBACK_FOLDER})

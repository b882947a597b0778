# SPDX-License-Identifier: Apache-2.0
# Finds the Clang to compile with and the libomptarget to link with, by running a target region.
#
# Included before project(), so that plain `cmake -B build` works where cc is GCC. It sets
#   CMAKE_C_COMPILER            unless the user named one (CC, -DCMAKE_C_COMPILER)
#   DAVIT_HOST_TRIPLE           the host as an offload target
#   DAVIT_LLVM_LIBRARY_DIR      the compiler's own libraries: libomp, device runtime
#   DAVIT_OFFLOAD_LIBRARY_DIRS  where libomptarget and libomp are, in the order of search
include(cmake/Try.cmake)

set(DAVIT_OMPTARGET_DIR "" CACHE PATH "Directory of the libomptarget to use (empty: the newest that works)")

set(DAVIT_PACKAGES "clang-19 clang-tools-19 lld-19 llvm-19 libomp-19-dev liboffload-22-dev")

# Debian's libomptarget of LLVM 19 reports no GPU; the one of LLVM 22 (liboffload-22-dev) drives NVIDIA, AMD and
# host devices and runs what Clang 19 compiles. So with Debian's Clang every packaged version is tried, the newest
# first; a Clang from elsewhere is used with the runtime beside it.
function(davit_omptarget_dirs own_dir result)
  set(dirs "${own_dir}")
  if(DAVIT_OMPTARGET_DIR)
    set(dirs "${DAVIT_OMPTARGET_DIR}")
  elseif(own_dir MATCHES "^/usr/lib/llvm-[0-9]+/lib$")
    file(GLOB found /usr/lib/llvm-*/lib/libomptarget.so)
    list(TRANSFORM found REPLACE "/libomptarget.so$" "")
    list(SORT found COMPARE NATURAL ORDER DESCENDING)
    list(PREPEND dirs ${found})
    list(REMOVE_DUPLICATES dirs)
  endif()
  set(${result} ${dirs} PARENT_SCOPE)
endfunction()

function(davit_try_compiler compiler result)
  set(${result} FALSE PARENT_SCOPE)
  execute_process(COMMAND "${compiler}" -dumpmachine OUTPUT_VARIABLE triple ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND "${compiler}" -print-file-name=libomp.so OUTPUT_VARIABLE libomp ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${libomp}")
    set(DAVIT_TRY_OUTPUT "  ${compiler} has no libomp.so" PARENT_SCOPE)
    return()
  endif()
  cmake_path(GET libomp PARENT_PATH own_dir)
  cmake_path(NORMAL_PATH own_dir) # Clang says …/lib/clang/19/../..
  string(REGEX REPLACE "/$" "" own_dir "${own_dir}")
  davit_omptarget_dirs("${own_dir}" dirs)
  foreach(dir IN LISTS dirs)
    set(search "${dir}" "${own_dir}")
    list(REMOVE_DUPLICATES search)
    set(link "")
    foreach(place IN LISTS search)
      list(APPEND link -L${place} -Wl,-rpath,${place})
    endforeach()
    davit_try(works offload.c RUN "${compiler}" -fopenmp -fopenmp-targets=${triple} ${link})
    if(works)
      set(${result} TRUE PARENT_SCOPE)
      # Clang's linker wrapper puts images in descending order of their triples, and devices are numbered in the
      # order of the images. By its other name x86-64 comes after nvptx64, so GPUs get the first numbers; and
      # LLVM 22's interop works on devices whose number is their plugin's own.
      string(REGEX REPLACE "^x86_64-" "amd64-" host "${triple}")
      set(DAVIT_HOST_TRIPLE "${host}" PARENT_SCOPE)
      set(DAVIT_LLVM_LIBRARY_DIR "${own_dir}" PARENT_SCOPE)
      set(DAVIT_OFFLOAD_LIBRARY_DIRS ${search} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(DAVIT_TRY_OUTPUT "${DAVIT_TRY_OUTPUT}" PARENT_SCOPE)
endfunction()

if(CMAKE_C_COMPILER_ID AND NOT CMAKE_C_COMPILER_ID STREQUAL "Clang") # that of a project which davit is a part of
  message(FATAL_ERROR "davit cannot be built with ${CMAKE_C_COMPILER_ID}: configure the whole project with Clang "
    "(-DCMAKE_C_COMPILER=clang-19), or install davit and use find_package(davit) in place of add_subdirectory().")
elseif(CMAKE_C_COMPILER)
  set(DAVIT_COMPILERS "${CMAKE_C_COMPILER}")
elseif(DEFINED ENV{CC})
  set(DAVIT_COMPILERS "$ENV{CC}")
else()
  set(DAVIT_COMPILERS clang-19 clang clang-20 clang-21 clang-22 clang-18)
endif()
set(DAVIT_COMPILER_WORKS FALSE)
set(DAVIT_COMPILER_TRIALS "")
foreach(name IN LISTS DAVIT_COMPILERS)
  find_program(DAVIT_COMPILER_PATH "${name}" NO_CACHE)
  if(DAVIT_COMPILER_PATH)
    davit_try_compiler("${DAVIT_COMPILER_PATH}" DAVIT_COMPILER_WORKS)
    if(DAVIT_COMPILER_WORKS)
      if(NOT CMAKE_C_COMPILER)
        set(CMAKE_C_COMPILER "${DAVIT_COMPILER_PATH}" CACHE FILEPATH "C compiler")
      endif()
      break()
    endif()
    string(APPEND DAVIT_COMPILER_TRIALS "\n${DAVIT_TRY_OUTPUT}")
  else()
    string(APPEND DAVIT_COMPILER_TRIALS "\n  ${name}: not found")
  endif()
  unset(DAVIT_COMPILER_PATH)
endforeach()
if(NOT DAVIT_COMPILER_WORKS)
  list(JOIN DAVIT_COMPILERS ", " DAVIT_COMPILERS)
  string(REPLACE "\n" "\n  " DAVIT_COMPILER_TRIALS "  ${DAVIT_COMPILER_TRIALS}") # indented text is kept as it is
  message(FATAL_ERROR
    "davit needs a Clang that compiles and runs OpenMP target regions; tried ${DAVIT_COMPILERS}.\n"
    "On Debian: apt-get install ${DAVIT_PACKAGES}\n"
    "-DCMAKE_C_COMPILER=... (or CC) names another compiler, -DDAVIT_OMPTARGET_DIR=... another libomptarget; "
    "then configure in a fresh build directory. What was tried:"
    "${DAVIT_COMPILER_TRIALS}")
endif()

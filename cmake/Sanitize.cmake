# SPDX-License-Identifier: Apache-2.0
# -DDAVIT_SANITIZE=address,undefined or thread: sanitizers for the host code; address also for the target
# regions that run on the host. Sets DAVIT_SANITIZE_RUNTIME and adds the flags to all targets that are defined
# later.
#
# The code of a host device is a shared object, into which the linker wrapper copies all archives of the link.
# A shared object cannot contain the static runtime of a sanitizer. Therefore the shared runtime is linked by
# its name, before everything else, and the linker does not get -fsanitize.
#
# Sets DAVIT_KERNEL_SANITIZE, further options for sources with the text of kernels: Clang needs as long for the checks of
# pointers' overflow as for all else there, and AddressSanitizer finds what they are about. Sets DAVIT_KERNEL_LEVEL, how
# those with many instances are optimised, of scans and in tests: not at all, because at -O1 the checks in scan.c alone
# take three minutes, and the tests, with few elements, are seconds slower.
set(DAVIT_KERNEL_SANITIZE "")
set(DAVIT_KERNEL_LEVEL "")
set(DAVIT_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread (empty: none)")
if(NOT DAVIT_SANITIZE)
  return()
endif()
if(DAVIT_WITH_CUDA OR DAVIT_AMDGPU)
  message(FATAL_ERROR "DAVIT_SANITIZE=${DAVIT_SANITIZE} needs -DDAVIT_CUDA=OFF and no DAVIT_AMDGPU")
endif()
string(REGEX REPLACE "^(.).*$" "\\1san" runtime "${DAVIT_SANITIZE}") # asan, tsan
set(DAVIT_KERNEL_LEVEL -O0)
set(DAVIT_SANITIZE_RUNTIME "")
foreach(name libclang_rt.${runtime}-${CMAKE_SYSTEM_PROCESSOR}.so libclang_rt.${runtime}.so)
  execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-file-name=${name} OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${path}" AND NOT DAVIT_SANITIZE_RUNTIME)
    set(DAVIT_SANITIZE_RUNTIME "${path}")
  endif()
endforeach()
if(NOT DAVIT_SANITIZE_RUNTIME)
  message(FATAL_ERROR "DAVIT_SANITIZE=${DAVIT_SANITIZE}: no shared ${runtime} runtime.\n"
    "On Debian: apt-get install libclang-rt-19-dev")
endif()
if(DAVIT_SANITIZE MATCHES undefined)
  set(DAVIT_KERNEL_SANITIZE -fno-sanitize=pointer-overflow)
endif()
cmake_path(GET DAVIT_SANITIZE_RUNTIME PARENT_PATH sanitize_dir)
# At -O1 loops that the product unrolls stay loops, which is no reason for a warning.
add_compile_options(-fsanitize=${DAVIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-pass-failed)
add_link_options("LINKER:--no-as-needed" "${DAVIT_SANITIZE_RUNTIME}" "LINKER:-rpath,${sanitize_dir}")
if(DAVIT_SANITIZE STREQUAL "thread")
  # The teams of a host device synchronise inside libomp, which is not instrumented.
  target_compile_options(davit_offload INTERFACE "SHELL:-Xarch_device -fno-sanitize=all")
endif()

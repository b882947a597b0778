# SPDX-License-Identifier: Apache-2.0
# The offload targets of this build: always the host; NVIDIA and AMD GPUs if they are asked for. Each target
# is tried before it is used.
#
# Sets DAVIT_WITH_CUDA, DAVIT_TARGETS (the targets as a text), DAVIT_CUDA_VERSION ("-" without CUDA), and
#   DAVIT_OFFLOAD_COMPILE, DAVIT_OFFLOAD_LINK   flags for compiling and for linking target regions
#   davit_offload                               a CMake target with these flags
#   davit_cuda                                  a CMake target with CUDA's headers and library folder; empty
#                                               without CUDA
set(DAVIT_CUDA AUTO CACHE STRING "NVIDIA GPUs: AUTO (where the CUDA toolkit is found), ON or OFF")
set_property(CACHE DAVIT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(DAVIT_CUDA_ARCHITECTURES "" CACHE STRING
    "NVIDIA architectures, e.g. sm_80;sm_90 (empty: this machine's cards, or sm_80;sm_90 where there are none)")
set(DAVIT_AMDGPU "" CACHE STRING "AMD architectures, e.g. gfx90a (empty: none)")
set(DAVIT_ROCM_BITCODE_DIR "" CACHE PATH "Directory of the ROCm device libraries, ockl.bc (empty: search)")

set(offload_search ${DAVIT_OFFLOAD_LIBRARY_DIRS})
list(TRANSFORM offload_search PREPEND -L)

# Compiles and links a program for the target and the host. Does not run it: the GPU may be in another
# machine.
macro(davit_try_target result triple)
  davit_try(${result} offload.c "${CMAKE_C_COMPILER}" -O2 -fopenmp -fopenmp-targets=${triple},${DAVIT_HOST_TRIPLE}
            ${ARGN} ${offload_search})
endmacro()

# The architectures of this machine's GPUs for which the compiler has a device runtime; sm_80 and sm_90 if
# there are none.
function(davit_detect_cuda_architectures runtimes result)
  set(architectures "")
  find_program(smi nvidia-smi NO_CACHE)
  if(smi)
    execute_process(COMMAND "${smi}" --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE output
                    ERROR_QUIET TIMEOUT 60)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${output}")
    list(REMOVE_DUPLICATES found)
    foreach(capability IN LISTS found)
      string(REPLACE "." "" capability "${capability}")
      if(runtimes AND NOT "libomptarget-nvptx-sm_${capability}.bc" IN_LIST runtimes)
        message(WARNING "This Clang has no OpenMP device runtime for sm_${capability}: such cards stay unused.")
      else()
        list(APPEND architectures sm_${capability})
      endif()
    endforeach()
  endif()
  if(NOT architectures)
    set(architectures sm_80 sm_90)
  endif()
  set(${result} ${architectures} PARENT_SCOPE)
endfunction()

# Finds CUDA. `problem` becomes empty if target regions build, else a sentence; `compile` and `link` become
# the flags.
function(davit_find_cuda problem compile link)
  set(${problem} "" PARENT_SCOPE)
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static)
    set(${problem} "no CUDA toolkit (name one by -DCUDAToolkit_ROOT=...)" PARENT_SCOPE)
    return()
  endif()
  if(CUDAToolkit_VERSION VERSION_LESS 12.8)
    set(${problem} "CUDA ${CUDAToolkit_VERSION} is older than 12.8" PARENT_SCOPE)
    return()
  endif()
  file(GLOB runtimes RELATIVE "${DAVIT_LLVM_LIBRARY_DIR}" "${DAVIT_LLVM_LIBRARY_DIR}/libomptarget-nvptx-sm_*.bc")
  set(architectures ${DAVIT_CUDA_ARCHITECTURES})
  if(NOT architectures)
    davit_detect_cuda_architectures("${runtimes}" architectures)
  endif()
  list(TRANSFORM architectures PREPEND sm_ REGEX "^[0-9]")
  list(JOIN architectures "," architectures)

  # Clang needs the folder that holds bin/ptxas and nvvm/libdevice. For Debian's own toolkit /usr/lib/cuda has
  # links to both.
  cmake_path(GET CUDAToolkit_BIN_DIR PARENT_PATH root)
  if(NOT EXISTS "${root}/nvvm/libdevice" AND EXISTS /usr/lib/cuda/nvvm/libdevice)
    set(root /usr/lib/cuda)
  endif()
  set(link_flags --cuda-path=${root} -Wno-unknown-cuda-version)
  set(compile_flags -Xopenmp-target=nvptx64-nvidia-cuda --offload-arch=${architectures} ${link_flags})
  if(runtimes) # Debian's Clang does not search the folder where Debian installs them
    list(APPEND compile_flags --libomptarget-nvptx-bc-path=${DAVIT_LLVM_LIBRARY_DIR})
  endif()
  davit_try_target(works nvptx64-nvidia-cuda ${compile_flags})
  if(NOT works)
    set(${problem} "target regions for ${architectures} do not build:\n${DAVIT_TRY_OUTPUT}" PARENT_SCOPE)
    return()
  endif()
  set(${compile} ${compile_flags} PARENT_SCOPE)
  set(${link} ${link_flags} PARENT_SCOPE)
  set(libraries "${CUDAToolkit_LIBRARY_DIR}")
  if(IS_DIRECTORY "${root}/lib64")
    set(libraries "${root}/lib64")
  endif()
  target_include_directories(davit_cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(davit_cuda INTERFACE "DAVIT_CUDA_LIBRARY_DIR=\"${libraries}\"")
  set(DAVIT_CUDART "${CUDA_cudart_static_LIBRARY}" PARENT_SCOPE)
  set(DAVIT_TARGETS ${DAVIT_TARGETS} "NVIDIA ${architectures}" PARENT_SCOPE)
  set(DAVIT_CUDA_VERSION ${CUDAToolkit_VERSION} PARENT_SCOPE)
endfunction()

function(davit_find_amdgpu compile)
  set(bitcode "${DAVIT_ROCM_BITCODE_DIR}")
  if(NOT bitcode)
    file(GLOB found /usr/lib/*/amdgcn/bitcode/ockl.bc /opt/rocm*/amdgcn/bitcode/ockl.bc)
    if(NOT found)
      message(FATAL_ERROR "DAVIT_AMDGPU=${DAVIT_AMDGPU} needs the ROCm device libraries.\n"
        "On Debian: apt-get install rocm-device-libs\n"
        "Elsewhere name the directory of ockl.bc by -DDAVIT_ROCM_BITCODE_DIR=...")
    endif()
    list(GET found 0 bitcode)
    cmake_path(GET bitcode PARENT_PATH bitcode)
  endif()
  list(JOIN DAVIT_AMDGPU "," architectures)
  set(compile_flags -Xopenmp-target=amdgcn-amd-amdhsa --offload-arch=${architectures}
      --rocm-device-lib-path=${bitcode})
  davit_try_target(works amdgcn-amd-amdhsa ${compile_flags})
  if(NOT works)
    message(FATAL_ERROR "DAVIT_AMDGPU=${DAVIT_AMDGPU}: target regions do not build:\n${DAVIT_TRY_OUTPUT}")
  endif()
  set(${compile} ${compile_flags} PARENT_SCOPE)
  set(DAVIT_TARGETS ${DAVIT_TARGETS} "AMD ${architectures}" PARENT_SCOPE)
endfunction()

add_library(davit_cuda INTERFACE)
set(DAVIT_TARGETS "host ${DAVIT_HOST_TRIPLE}")
set(DAVIT_CUDA_VERSION "-")
set(DAVIT_WITH_CUDA OFF)
set(triples "")
if(DAVIT_CUDA)
  davit_find_cuda(problem cuda_compile cuda_link)
  if(NOT problem)
    set(DAVIT_WITH_CUDA ON)
    list(APPEND triples nvptx64-nvidia-cuda)
    if("${DAVIT_OFFLOAD_LIBRARY_DIRS}" MATCHES "^/usr/lib/llvm-19/lib")
      message(WARNING "Debian's libomptarget of LLVM 19 finds no GPU. Install liboffload-22-dev, then configure again.")
    endif()
  elseif(NOT DAVIT_CUDA STREQUAL "AUTO" OR DAVIT_CUDA_ARCHITECTURES)
    message(FATAL_ERROR "DAVIT_CUDA=${DAVIT_CUDA}: ${problem}")
  elseif(CUDAToolkit_FOUND)
    message(WARNING "davit is built without CUDA: ${problem}")
  else()
    message(STATUS "davit is built without CUDA: ${problem}")
  endif()
endif()
if(DAVIT_AMDGPU)
  davit_find_amdgpu(amdgpu_compile)
  list(APPEND triples amdgcn-amd-amdhsa)
endif()
list(APPEND triples ${DAVIT_HOST_TRIPLE})
list(JOIN triples "," triples)
list(JOIN DAVIT_TARGETS ", " DAVIT_TARGETS)

set(DAVIT_OFFLOAD_COMPILE -fopenmp -fopenmp-targets=${triples} ${cuda_compile} ${amdgpu_compile})
set(DAVIT_OFFLOAD_LINK -fopenmp -fopenmp-targets=${triples} ${cuda_link} ${offload_search})

# The flags are one SHELL: group, because CMake removes repeated words such as -Xopenmp-target=....
list(JOIN DAVIT_OFFLOAD_COMPILE " " DAVIT_OFFLOAD_CFLAGS)
list(JOIN DAVIT_OFFLOAD_LINK " " DAVIT_OFFLOAD_LDFLAGS)
add_library(davit_offload INTERFACE)
target_compile_options(davit_offload INTERFACE "SHELL:${DAVIT_OFFLOAD_CFLAGS}")
target_link_options(davit_offload INTERFACE "SHELL:${DAVIT_OFFLOAD_LDFLAGS}")
set_target_properties(davit_offload PROPERTIES EXPORT_NAME offload)

# Adds the flags for target regions to PROGRAM if SOURCE has any. Other sources do without: device code takes
# long to compile and to link.
function(davit_use_offload program source)
  file(STRINGS ${source} regions LIMIT_COUNT 1 REGEX "^ *#pragma omp target|define_monoid\\.h")
  if(regions)
    target_link_libraries(${program} PRIVATE davit_offload)
  endif()
endfunction()

# SPDX-License-Identifier: Apache-2.0
# libdavit, static (davit_static) and shared (davit_shared), from one set of objects:
#   davit_ref       the references on the CPU (ref/)
#   davit_host      everything else without target regions
#   davit_regions   sources with target regions; their device code is linked by davit_link_regions()
file(GLOB ref_sources CONFIGURE_DEPENDS ref/*.c)
file(GLOB host_sources CONFIGURE_DEPENDS src/*.c src/base/*.c src/runtime/*.c src/level3/*.c src/factor/*.c src/exact/*.c)
file(GLOB region_sources CONFIGURE_DEPENDS offload/*.c offload/runtime/*.c)
# Sources in offload/ without target regions need not be compiled for devices.
set(plain_sources offload/align.c offload/align_pairs.c offload/align_pairs_extend.c offload/align_pairs_scores.c
    offload/align_pairs_single.c offload/align_sweep.c offload/detect.c offload/occupancy.c
    offload/exact_stream.c offload/runtime/cublas.c offload/runtime/cublaslt.c offload/runtime/cusolver.c offload/runtime/image.c offload/runtime/launch.c offload/runtime/profile.c
    offload/runtime/region.c offload/blas_stream.c offload/cholesky_qr_stream.c offload/inverse_stream.c offload/solve_stream.c
    offload/factored_stream.c offload/refine_stream.c offload/runtime/stream.c)
list(TRANSFORM plain_sources PREPEND ${PROJECT_SOURCE_DIR}/)
list(REMOVE_ITEM region_sources ${plain_sources})
# Those that take the longest begin first, so that nothing waits for the last of them.
set(long_sources offload/scan.c offload/reduce.c offload/stencil.c offload/closest_pair.c offload/neighbors.c)
list(TRANSFORM long_sources PREPEND ${PROJECT_SOURCE_DIR}/)
list(REMOVE_ITEM region_sources ${long_sources})
list(PREPEND region_sources ${long_sources})

add_library(davit_ref OBJECT ${ref_sources})
add_library(davit_host OBJECT ${host_sources} ${plain_sources})
add_library(davit_regions OBJECT ${region_sources})
target_link_libraries(davit_regions PRIVATE davit_offload)
set_target_properties(davit_regions PROPERTIES DAVIT_UNCOUNTED ON)
foreach(objects davit_ref davit_host davit_regions)
  target_link_libraries(${objects} PRIVATE davit_compile davit_cuda PkgConfig::DAVIT_fftw3f)
  target_compile_definitions(${objects} PRIVATE DAVIT_BUILDING)
  target_include_directories(${objects} SYSTEM PRIVATE ${BLIS_INCLUDE_DIR})
endforeach()
# FFTW is loaded when features are first computed, from where the dynamic linker searches or from where this build found it.
list(GET DAVIT_fftw3f_LINK_LIBRARIES 0 fftw_library)
set_source_files_properties(src/fftw.c PROPERTIES COMPILE_DEFINITIONS "DAVIT_FFTW_LIBRARY=\"${fftw_library}\"")

# For sources with ompx_bare regions. Without this option Clang 19 puts local arrays into memory that the device
# runtime manages. A bare region does not start that part of the runtime, so the optimiser concludes that the region
# is never entered, and removes its body without a warning.
set(DAVIT_BARE_COMPILE -fopenmp-cuda-mode)
list(APPEND DAVIT_BARE_COMPILE ${DAVIT_KERNEL_SANITIZE})
foreach(name align_pairs_stream align_stream align_wavefront atax cholesky_qr closest_pair covariance detect_stream exact neighbors parts reduce scan stencil triangle)
  set_source_files_properties(offload/${name}.c PROPERTIES COMPILE_OPTIONS "${DAVIT_BARE_COMPILE}")
endforeach()
set_property(SOURCE offload/scan.c APPEND PROPERTY COMPILE_OPTIONS ${DAVIT_KERNEL_LEVEL})
# Alignment's kernels keep a row of columns in registers. With at most 128 registers a thread, each of a
# multiprocessor's schedulers has room for four warps. By itself ptxas takes a few more, and there is room for three. With more, a team of atax's
# 512 threads would not run at all.
if(DAVIT_WITH_CUDA)
  foreach(name align_wavefront atax detect_stream)
    set_property(SOURCE offload/${name}.c APPEND PROPERTY COMPILE_OPTIONS -Xcuda-ptxas -maxrregcount=128)
  endforeach()
  # Three warps are enough for the kernels that align pairs, so lanes may have up to 48 columns. Of the limits that leave room for
  # three, 162 spreads operands best over the banks of registers (docs/notes/align.md).
  set_property(SOURCE offload/align_stream.c APPEND PROPERTY COMPILE_OPTIONS -Xcuda-ptxas -maxrregcount=162)
endif()
# Those of many pairs keep more in registers; team memory leaves room for as many warps as fit then.
if(DAVIT_WITH_CUDA)
  set_property(SOURCE offload/align_pairs_stream.c APPEND PROPERTY COMPILE_OPTIONS -Xcuda-ptxas -maxrregcount=168)
endif()
# A user's source that includes <davit/define_monoid.h> needs DAVIT_BARE_COMPILE as well.
add_library(davit_monoid INTERFACE)
# Clang 19 makes 16-byte accesses of vectors of bytes for NVIDIA whatever their alignment. The vectoriser of straight
# code forms such vectors of the members of large elements.
set(DAVIT_MONOID_COMPILE ${DAVIT_BARE_COMPILE})
if(DAVIT_WITH_CUDA)
  list(APPEND DAVIT_MONOID_COMPILE -Xopenmp-target=nvptx64-nvidia-cuda -fno-slp-vectorize)
endif()
list(JOIN DAVIT_MONOID_COMPILE " " DAVIT_MONOID_CFLAGS)
target_compile_options(davit_monoid INTERFACE "SHELL:${DAVIT_MONOID_CFLAGS}")
target_link_libraries(davit_monoid INTERFACE davit_offload)
set_target_properties(davit_monoid PROPERTIES EXPORT_NAME monoid)

# davit_link_regions(OBJECTS RESULT [IMAGES]): links the device code of the object library OBJECTS. RESULT is set to the
# one object that holds OBJECTS and the finished device images. IMAGES, if given, is a symbol for their descriptor, and
# OBJECTS register it themselves: the constructor of the linker wrapper (101 is its priority) is taken out.
#
# If a static library held the objects themselves, LLVM 19's linker wrapper would find their device code only in links
# of programs that have device code for the same targets; all others would crash in the first target region. With
# this object a program that links libdavit.a needs no offload flags and no Clang.
set(prelink -r -nostdlib -O2 ${DAVIT_OFFLOAD_LINK} $<$<BOOL:${DAVIT_LLD}>:-fuse-ld=lld>)
list(APPEND prelink -Xoffload-linker-${DAVIT_HOST_TRIPLE} -lomp -Xoffload-linker-${DAVIT_HOST_TRIPLE} -lm)
if(DAVIT_SANITIZE)
  list(APPEND prelink -Xoffload-linker-${DAVIT_HOST_TRIPLE} ${DAVIT_SANITIZE_RUNTIME})
endif()
if(EXISTS ${DAVIT_LLVM_LIBRARY_DIR}/libomptarget.devicertl.a)
  list(APPEND prelink -lomptarget.devicertl)
endif()
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-prog-name=llvm-objcopy OUTPUT_VARIABLE objcopy
                OUTPUT_STRIP_TRAILING_WHITESPACE)
function(davit_link_regions objects result)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${objects}.o)
  set(name_images "")
  if(ARGN)
    set(name_images COMMAND ${objcopy} --redefine-sym .omp_offloading.descriptor=${ARGN} ${object}
        COMMAND ${objcopy} --globalize-symbol=${ARGN} --remove-section=.init_array.101
        --remove-section=.rela.init_array.101 ${object})
  endif()
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_C_COMPILER} ${prelink} "$<TARGET_OBJECTS:${objects}>" -o ${object}
    # With the section's usual type a later link would take the finished images for unlinked ones.
    COMMAND ${objcopy} --set-section-type .llvm.offloading.relocatable=1 ${object}
    ${name_images}
    DEPENDS $<TARGET_OBJECTS:${objects}>
    COMMENT "Linking device code of ${objects}" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${objects}_linked DEPENDS ${object})
  add_dependencies(${objects}_linked ${objects}) # for Makefiles, which do not get it from DEPENDS
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${result} ${object} PARENT_SCOPE)
endfunction()
davit_link_regions(davit_regions region_object dvt_device_images) # offload/runtime/image.h declares that

find_library(DAVIT_OMPTARGET omptarget PATHS ${DAVIT_OFFLOAD_LIBRARY_DIRS} NO_DEFAULT_PATH NO_CACHE REQUIRED)
find_library(DAVIT_OMP omp PATHS ${DAVIT_OFFLOAD_LIBRARY_DIRS} NO_DEFAULT_PATH NO_CACHE REQUIRED)
set(DAVIT_LIBRARIES ${DAVIT_OMPTARGET} ${DAVIT_OMP} ${BLIS_LIBRARY})
if(DAVIT_WITH_CUDA)
  list(APPEND DAVIT_LIBRARIES ${DAVIT_CUDART})
endif()
list(APPEND DAVIT_LIBRARIES -lpthread -ldl -lrt -lm)

include(cmake/Fallback.cmake)

foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} name)
  add_library(davit_${name} ${kind} ${region_object} $<TARGET_OBJECTS:davit_host> $<TARGET_OBJECTS:davit_ref>)
  add_dependencies(davit_${name} davit_regions_linked)
  target_include_directories(davit_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(davit_${name} PRIVATE ${DAVIT_LIBRARIES})
  set_target_properties(davit_${name} PROPERTIES OUTPUT_NAME davit LINKER_LANGUAGE C)
endforeach()
set_target_properties(davit_static PROPERTIES EXPORT_NAME static)
set_target_properties(davit_shared PROPERTIES EXPORT_NAME davit VERSION ${PROJECT_VERSION} SOVERSION 0)
if(DAVIT_FALLBACK_FOLDER)
  add_dependencies(davit_shared davit_fallback)
  set_target_properties(davit_shared PROPERTIES INSTALL_RPATH "${CMAKE_INSTALL_RPATH};$ORIGIN/${DAVIT_FALLBACK_FOLDER}")
endif()
# For projects that take davit in by add_subdirectory(): the names that find_package() gives.
add_library(davit::davit ALIAS davit_shared)
add_library(davit::static ALIAS davit_static)
add_library(davit::offload ALIAS davit_offload)
add_library(davit::monoid ALIAS davit_monoid)

# The shared library exports the public names alone, whatever its objects and static libraries hold.
set(map ${PROJECT_SOURCE_DIR}/cmake/davit.map)
target_link_options(davit_shared PRIVATE LINKER:--version-script=${map})
# Threads of the library and of OpenMP run its code to the end of the process: dlclose() must not unmap it.
target_link_options(davit_shared PRIVATE LINKER:-z,nodelete)
set_property(TARGET davit_shared PROPERTY LINK_DEPENDS ${map})
if(NOT DAVIT_SANITIZE)
  target_link_options(davit_shared PRIVATE LINKER:-z,defs)
endif()

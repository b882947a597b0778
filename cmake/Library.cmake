# libdavit, static (davit_static) and shared (davit_shared), from one set of objects.
file(GLOB host_sources CONFIGURE_DEPENDS src/*.c src/base/*.c src/runtime/*.c src/gemm/*.c ref/*.c)
file(GLOB offload_sources CONFIGURE_DEPENDS offload/*.c offload/runtime/*.c)
# launch.c has no target region; it refers to a symbol that is given to the finished device images below.
set(launch_source ${PROJECT_SOURCE_DIR}/offload/runtime/launch.c)
list(REMOVE_ITEM offload_sources ${launch_source})

add_library(davit_host_objects OBJECT ${host_sources})
target_link_libraries(davit_host_objects PRIVATE davit_compile PkgConfig::DAVIT_fftw3f)
target_compile_definitions(davit_host_objects PRIVATE DAVIT_BUILDING)
target_include_directories(davit_host_objects SYSTEM PRIVATE ${BLIS_INCLUDE_DIR})

add_library(davit_offload_objects OBJECT ${offload_sources})
target_link_libraries(davit_offload_objects PRIVATE davit_compile davit_offload davit_cuda)
target_compile_definitions(davit_offload_objects PRIVATE DAVIT_BUILDING)

# In sources with ompx_bare regions. Without this option Clang 19 puts local arrays into memory that the device runtime manages;
# in a bare region that part of the runtime was never started, whence the optimiser concludes that the region is
# never entered, and removes its body without a word.
set(DAVIT_BARE_COMPILE -fopenmp-cuda-mode)
foreach(name align_stream atax closest_pair covariance detect_stream reduce scan stencil)
  set_source_files_properties(offload/${name}.c PROPERTIES COMPILE_OPTIONS ${DAVIT_BARE_COMPILE})
endforeach()
# Alignment's kernels keep a row of columns in registers. With at most 128 of these a thread, four warps have room on each of a
# multiprocessor's schedulers; left alone, ptxas takes a few more, and there are three.
if(DAVIT_WITH_CUDA)
  foreach(name align_stream detect_stream)
    set_property(SOURCE offload/${name}.c APPEND PROPERTY COMPILE_OPTIONS -Xcuda-ptxas -maxrregcount=128)
  endforeach()
endif()
# DAVIT_BARE_COMPILE is for a user's source that includes <davit/define_monoid.h> as well.
add_library(davit_monoid INTERFACE)
target_compile_options(davit_monoid INTERFACE ${DAVIT_BARE_COMPILE})
target_link_libraries(davit_monoid INTERFACE davit_offload)
set_target_properties(davit_monoid PROPERTIES EXPORT_NAME monoid)

add_library(davit_launch_objects OBJECT ${launch_source})
target_link_libraries(davit_launch_objects PRIVATE davit_compile davit_cuda)
target_compile_definitions(davit_launch_objects PRIVATE DAVIT_BUILDING)

# The device code is linked here, once, and all objects become one that holds the finished device images. In an
# archive of plain objects LLVM 19's linker wrapper finds device code only if the program that is linked
# has device code for the same targets itself; else the program crashes in its first target region. With this
# object a static davit needs no offload flags, no Clang, and no device link for each program.
set(object ${PROJECT_BINARY_DIR}/davit.o)
set(prelink -r -nostdlib -O2 ${DAVIT_OFFLOAD_LINK})
list(APPEND prelink -Xoffload-linker-${DAVIT_HOST_TRIPLE} -lomp -Xoffload-linker-${DAVIT_HOST_TRIPLE} -lm)
if(DAVIT_SANITIZE)
  list(APPEND prelink -Xoffload-linker-${DAVIT_HOST_TRIPLE} ${DAVIT_SANITIZE_RUNTIME})
endif()
if(EXISTS ${DAVIT_LLVM_LIBRARY_DIR}/libomptarget.devicertl.a)
  list(APPEND prelink -lomptarget.devicertl)
endif()
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-prog-name=llvm-objcopy OUTPUT_VARIABLE objcopy
                OUTPUT_STRIP_TRAILING_WHITESPACE)
add_custom_command(
  OUTPUT ${object}
  COMMAND ${CMAKE_C_COMPILER} ${prelink} "$<TARGET_OBJECTS:davit_host_objects>"
          "$<TARGET_OBJECTS:davit_offload_objects>" -o ${object}
  # So that no later link takes the finished images for unlinked ones and links them again.
  COMMAND ${objcopy} --set-section-type .llvm.offloading.relocatable=1 ${object}
  # The images by name, for offload/runtime/launch.c.
  COMMAND ${objcopy} --redefine-sym .omp_offloading.descriptor=dvt_device_images ${object}
  COMMAND ${objcopy} --globalize-symbol=dvt_device_images ${object}
  DEPENDS $<TARGET_OBJECTS:davit_host_objects> $<TARGET_OBJECTS:davit_offload_objects>
  COMMENT "Linking device code" COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(davit_object DEPENDS ${object})
set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

find_library(DAVIT_OMPTARGET omptarget PATHS ${DAVIT_OFFLOAD_LIBRARY_DIRS} NO_DEFAULT_PATH NO_CACHE REQUIRED)
find_library(DAVIT_OMP omp PATHS ${DAVIT_OFFLOAD_LIBRARY_DIRS} NO_DEFAULT_PATH NO_CACHE REQUIRED)
set(DAVIT_LIBRARIES ${DAVIT_OMPTARGET} ${DAVIT_OMP} ${BLIS_LIBRARY})
if(DAVIT_WITH_CUDA)
  list(APPEND DAVIT_LIBRARIES ${DAVIT_CUDART})
endif()
list(APPEND DAVIT_LIBRARIES ${DAVIT_fftw3f_LINK_LIBRARIES} -lpthread -ldl -lrt -lm)

foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} name)
  add_library(davit_${name} ${kind} ${object} $<TARGET_OBJECTS:davit_launch_objects>)
  add_dependencies(davit_${name} davit_object)
  target_include_directories(davit_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(davit_${name} PRIVATE ${DAVIT_LIBRARIES})
  set_target_properties(davit_${name} PROPERTIES OUTPUT_NAME davit LINKER_LANGUAGE C)
endforeach()
set_target_properties(davit_static PROPERTIES EXPORT_NAME static)
set_target_properties(davit_shared PROPERTIES EXPORT_NAME davit VERSION ${PROJECT_VERSION} SOVERSION 0)

# Only the public names leave the shared library, whatever the objects and static libraries in it hold.
set(map ${PROJECT_SOURCE_DIR}/cmake/davit.map)
target_link_options(davit_shared PRIVATE LINKER:--version-script=${map})
set_property(TARGET davit_shared PROPERTY LINK_DEPENDS ${map})
if(NOT DAVIT_SANITIZE)
  target_link_options(davit_shared PRIVATE LINKER:-z,defs)
endif()

# SPDX-License-Identifier: Apache-2.0
# Counts which lines of the host's code run. tests/coverage.sh reports them, tests/CMakeLists.txt says where the counts go.
option(DAVIT_COVERAGE "Count the lines that tests run (without CUDA)" OFF)
if(NOT DAVIT_COVERAGE)
  return()
endif()
if(DAVIT_WITH_CUDA OR DAVIT_AMDGPU)
  message(FATAL_ERROR "DAVIT_COVERAGE needs -DDAVIT_CUDA=OFF and no DAVIT_AMDGPU")
endif()
# Images of devices have no counters: they cannot contain the runtime that writes them. Nor have targets with the property
# DAVIT_UNCOUNTED, of which the report has nothing: with counters kernels take a third longer to compile.
set(counted "$<NOT:$<BOOL:$<TARGET_PROPERTY:DAVIT_UNCOUNTED>>>")
add_compile_options("$<${counted}:SHELL:-Xarch_host -fprofile-instr-generate>"
                    "$<${counted}:SHELL:-Xarch_host -fcoverage-mapping>")
add_link_options(-fprofile-instr-generate)

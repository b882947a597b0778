# SPDX-License-Identifier: Apache-2.0
# davit_try(RESULT SOURCE [RUN] COMMAND...) sets RESULT to whether the compiler command builds
# cmake/try/SOURCE and, with RUN, whether the program exits with 0. After a failure DAVIT_TRY_OUTPUT holds the
# command and its output. Its lines are indented, because message() breaks other lines.
#
# CMake's try_run() cannot be used: it needs project(), and these trials choose the compiler for project().
function(davit_try result source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "RUN" "" "")
  set(command ${arg_UNPARSED_ARGUMENTS})
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/davit-try")
  file(MAKE_DIRECTORY "${folder}")
  string(SHA1 key "${source};${arg_RUN};${command}")
  set(${result} TRUE PARENT_SCOPE)
  if(DEFINED CACHE{DAVIT_TRIED_${key}}) # only successes are cached: a missing package may be installed later
    return()
  endif()

  list(POP_FRONT command compiler)
  set(program "${folder}/${key}")
  set(command "${compiler}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/try/${source}" ${command} -o "${program}")
  execute_process(COMMAND ${command} WORKING_DIRECTORY "${folder}" RESULT_VARIABLE code
                  OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 120)
  if(code EQUAL 0 AND arg_RUN)
    execute_process(COMMAND "${program}" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 60)
    string(PREPEND output "built, but running it gave: ${code}\n")
  endif()
  file(REMOVE "${program}")
  if(code EQUAL 0)
    set(DAVIT_TRIED_${key} TRUE CACHE INTERNAL "")
  else()
    list(JOIN command " " command)
    string(REPLACE "\n" "\n  " output "  ${command}\n${output}")
    set(${result} FALSE PARENT_SCOPE)
    set(DAVIT_TRY_OUTPUT "${output}" PARENT_SCOPE)
  endif()
endfunction()

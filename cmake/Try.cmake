# SPDX-License-Identifier: Apache-2.0
# davit_try(RESULT SOURCE [RUN] COMMAND...): whether the compiler command makes a program of cmake/try/SOURCE, and
# with RUN whether that program exits 0. On failure DAVIT_TRY_OUTPUT holds the command and what it said, indented, as
# message() leaves only indented lines as they are.
#
# try_run() is no help here: it needs project(), and which compiler project() gets is found by trying.
function(davit_try result source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "RUN" "" "")
  set(command ${arg_UNPARSED_ARGUMENTS})
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/davit-try")
  file(MAKE_DIRECTORY "${folder}")
  string(SHA1 key "${source};${arg_RUN};${command}")
  set(${result} TRUE PARENT_SCOPE)
  if(DEFINED CACHE{DAVIT_TRIED_${key}}) # only successes are remembered: a missing package may come
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

# SPDX-License-Identifier: Apache-2.0
# Writes into FOLDER what the tool DAVIT says of itself: man1/davit.1 and man1/davit-COMMAND.1 (compressed where
# there is gzip), davit.bash, _davit.
#
#   cmake -DDAVIT=... -DFOLDER=... -P Manual.cmake
find_program(gzip gzip NO_CACHE)

function(davit_says result)
  execute_process(COMMAND "${DAVIT}" ${ARGN} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

function(davit_write_page name)
  set(page "${FOLDER}/man1/${name}.1")
  execute_process(COMMAND "${DAVIT}" --man ${ARGN} OUTPUT_FILE "${page}" COMMAND_ERROR_IS_FATAL ANY)
  if(gzip)
    execute_process(COMMAND ${gzip} -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}/man1")
file(MAKE_DIRECTORY "${FOLDER}/man1")
davit_write_page(davit)
davit_says(overview help)
string(REGEX MATCHALL "\n  [a-z_]+ " lines "${overview}")
foreach(line IN LISTS lines)
  string(STRIP "${line}" command)
  if(NOT command STREQUAL "help")
    davit_write_page(davit-${command} ${command})
  endif()
endforeach()
execute_process(COMMAND "${DAVIT}" --completion bash OUTPUT_FILE "${FOLDER}/davit.bash" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${DAVIT}" --completion zsh OUTPUT_FILE "${FOLDER}/_davit" COMMAND_ERROR_IS_FATAL ANY)

# Arguments: PROGRAM, GZIP, OUTPUT; see manual.cmake. The same program gives the same bytes.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT}/man1 ${OUTPUT}/completions)
unset(ENV{SHARDSIM_DATA})
execute_process(COMMAND ${PROGRAM} help --man-pages ${OUTPUT}/man1 COMMAND_ERROR_IS_FATAL ANY)
file(GLOB pages ${OUTPUT}/man1/*.1)
execute_process(COMMAND ${GZIP} -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
foreach(shell bash zsh fish)
  execute_process(COMMAND ${PROGRAM} completion ${shell}
    OUTPUT_FILE ${OUTPUT}/completions/${shell} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(TOUCH ${OUTPUT}/complete)

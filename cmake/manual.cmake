# Pages of the manual and completions for shells, written by the program from the declarations of
# its command line: manual/ of the build tree. Part of a whole build, not of the target `shardsim`.
set(SHARDSIM_MANUAL ${PROJECT_BINARY_DIR}/manual)
find_program(GZIP_PROGRAM gzip REQUIRED)

# Names of shipped files are words of the completions.
file(GLOB manual_names CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scenarios/*.yaml
  ${PROJECT_SOURCE_DIR}/scenarios/*/*.yaml ${PROJECT_SOURCE_DIR}/topologies/*.yaml
  ${PROJECT_SOURCE_DIR}/quiz/bank/*.yaml ${PROJECT_SOURCE_DIR}/validation/examples/*.csv)
add_custom_command(OUTPUT ${SHARDSIM_MANUAL}/complete
  COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:shardsim> -D GZIP=${GZIP_PROGRAM}
    -D OUTPUT=${SHARDSIM_MANUAL} -P ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
  DEPENDS shardsim ${manual_names} ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
  COMMENT "Writing pages of the manual and completions" VERBATIM)
add_custom_target(manual ALL DEPENDS ${SHARDSIM_MANUAL}/complete)

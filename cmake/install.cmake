# `cmake --install` gives PREFIX/bin/shardsim, its data in PREFIX/share/shardsim, pages of the manual
# and completions, the rooms as static libraries with their headers, and a package for
# find_package(shardsim). The result may be moved: nothing in it holds an absolute path.
#
# Two components, which are two Debian packages (package.cmake): `program` and `development`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/shardsim)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

install(TARGETS shardsim RUNTIME DESTINATION bin COMPONENT program)
install(DIRECTORY topologies scenarios validation schemas DESTINATION share/shardsim
  COMPONENT program)
install(DIRECTORY quiz/bank/ DESTINATION share/shardsim/quiz COMPONENT program
  FILES_MATCHING PATTERN "*.yaml")
install(FILES LICENSE README.md DESTINATION share/doc/shardsim COMPONENT program)
install(DIRECTORY docs DESTINATION share/doc/shardsim COMPONENT program)
install(DIRECTORY ${SHARDSIM_MANUAL}/man1 DESTINATION share/man COMPONENT program)
install(FILES ${SHARDSIM_MANUAL}/completions/bash
  DESTINATION share/bash-completion/completions RENAME shardsim COMPONENT program)
install(FILES ${SHARDSIM_MANUAL}/completions/zsh
  DESTINATION share/zsh/vendor-completions RENAME _shardsim COMPONENT program)
install(FILES ${SHARDSIM_MANUAL}/completions/fish
  DESTINATION share/fish/vendor_completions.d RENAME shardsim.fish COMPONENT program)

set(SHARDSIM_LIBRARIES shardsim_simcore shardsim_network shardsim_gpu shardsim_cuda shardsim_nccl
  shardsim_training shardsim_scenario shardsim_report shardsim_quiz)
install(TARGETS shardsim_flags ${SHARDSIM_LIBRARIES}
  EXPORT shardsim_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  FILE_SET HEADERS DESTINATION include/shardsim COMPONENT development)
install(EXPORT shardsim_targets
  FILE shardsim-targets.cmake NAMESPACE shardsim:: DESTINATION ${package_folder}
  COMPONENT development)

set(shardsim_data_folder share/shardsim)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/shardsim-config.cmake.in
  ${PROJECT_BINARY_DIR}/shardsim-config.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS shardsim_data_folder)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/shardsim-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/shardsim-config.cmake
  ${PROJECT_BINARY_DIR}/shardsim-config-version.cmake
  DESTINATION ${package_folder} COMPONENT development)

# `cmake --install` gives PREFIX/bin/shardsim, its data in PREFIX/share/shardsim, the rooms as
# static libraries with their headers, and a package for find_package(shardsim). The result may be
# moved: nothing in it holds an absolute path.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/shardsim)

install(TARGETS shardsim RUNTIME DESTINATION bin)
install(DIRECTORY topologies scenarios validation DESTINATION share/shardsim)
install(DIRECTORY quiz/bank/ DESTINATION share/shardsim/quiz FILES_MATCHING PATTERN "*.yaml")
install(FILES LICENSE DESTINATION share/doc/shardsim)

install(TARGETS shardsim_flags shardsim_simcore shardsim_network shardsim_gpu shardsim_cuda
                shardsim_nccl shardsim_training shardsim_scenario shardsim_report shardsim_quiz
  EXPORT shardsim_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION include/shardsim)
install(EXPORT shardsim_targets
  FILE shardsim-targets.cmake NAMESPACE shardsim:: DESTINATION ${package_folder})

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
  DESTINATION ${package_folder})

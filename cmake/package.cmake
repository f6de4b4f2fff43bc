# Debian packages by CPack: shardsim, the program with all it needs, and libshardsim-dev, what
# find_package(shardsim) wants. `tools/package` makes them.
set(SHARDSIM_MAINTAINER "shardsim maintainers <maintainers@shardsim.example>"
  CACHE STRING "Whom the packages name as their maintainer: Name <address>")

# What every Debian package brings under share/doc.
set(debian_files ${PROJECT_BINARY_DIR}/debian)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, if it is set
foreach(name shardsim libshardsim-dev)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/changelog.in
    ${debian_files}/${name}/changelog.Debian @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${debian_files}/${name}/changelog COPYONLY)
  execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${debian_files}/${name}/changelog.Debian
    ${debian_files}/${name}/changelog COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(pair "shardsim program" "libshardsim-dev development")
  separate_arguments(pair)
  list(GET pair 0 name)
  list(GET pair 1 component)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright
    ${debian_files}/${name}/changelog.Debian.gz ${debian_files}/${name}/changelog.gz
    DESTINATION share/doc/${name} COMPONENT ${component})
endforeach()

# All that the packages hold, for who does not want to build the tests first.
add_custom_target(package_contents)
add_dependencies(package_contents shardsim manual ${SHARDSIM_LIBRARIES})
if(SHARDSIM_HAS_WASM)
  add_dependencies(package_contents wasm_module)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shardsim)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of sharded training on GPU clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${SHARDSIM_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME shardsim)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
"Takes a model, a sharding strategy (FSDP, DDP, ZeRO) and a cluster, and tells
how long a training step takes, how much of its communication is hidden, how
much memory each GPU needs, and why. It needs no GPU; the same input gives the
same output to the bit.
.
This package holds the program with scenarios, models of GPUs and machines, a
quiz on FSDP in English, Hindi and Malay, and the tables that forecasts are
held against.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libshardsim-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "shardsim (= ${PROJECT_VERSION}-1), \
libfmt-dev, nlohmann-json3-dev, libpugixml-dev, libyaml-cpp-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"This package holds headers, static libraries and CMake's package of shardsim,
for programs that simulate collectives and training steps themselves.")
include(CPack)

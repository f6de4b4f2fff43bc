# The Debian package, unpacked into a folder and used from another one.
#
# Arguments: BUILD_DIR, SCRATCH, CPACK, DPKG_DEB, LINTIAN (or NOTFOUND); see CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

# In an environment that knows nothing of the source tree.
function(run)
  cmake_parse_arguments(arg "" "FOLDER" "COMMAND" ${ARGN})
  execute_process(COMMAND env -i PATH=/usr/bin:/bin HOME=${SCRATCH} ${arg_COMMAND}
    WORKING_DIRECTORY ${arg_FOLDER}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE messages)
  if(NOT status EQUAL 0)
    list(JOIN arg_COMMAND " " command)
    message(SEND_ERROR "exit ${status}: ${command}\n${output}${messages}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH}/packages ${SCRATCH}/unpacked ${SCRATCH}/elsewhere)
execute_process(COMMAND ${CPACK} --config ${BUILD_DIR}/CPackConfig.cmake -B ${SCRATCH}/packages
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "cpack: exit ${status}\n${output}")
endif()
file(GLOB package ${SCRATCH}/packages/shardsim_*.deb)
file(GLOB development ${SCRATCH}/packages/libshardsim-dev_*.deb)
if(NOT package OR NOT development)
  message(FATAL_ERROR "cpack made no packages:\n${output}")
endif()

execute_process(COMMAND ${DPKG_DEB} -f ${package} Depends OUTPUT_VARIABLE depends)
foreach(library libc6 libstdc++6 libyaml-cpp libfmt libpugixml)
  string(FIND "${depends}" ${library} at)
  if(at EQUAL -1)
    message(SEND_ERROR "Depends names no ${library}: ${depends}")
  endif()
endforeach()

execute_process(COMMAND ${DPKG_DEB} -x ${package} ${SCRATCH}/unpacked COMMAND_ERROR_IS_FATAL ANY)
set(data usr/share/shardsim)
foreach(file usr/bin/shardsim ${data}/scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml
    ${data}/scenarios/models/llama-2-7b.yaml ${data}/topologies/dgx-h100.yaml
    ${data}/topologies/gpus/h100-sxm5-80gb.yaml ${data}/quiz/questions.yaml ${data}/quiz/hi.yaml
    ${data}/validation/residuals.csv ${data}/validation/examples/published-runs.csv
    ${data}/schemas/result.schema.json usr/share/man/man1/shardsim.1.gz
    usr/share/man/man1/shardsim-quiz.1.gz usr/share/bash-completion/completions/shardsim
    usr/share/zsh/vendor-completions/_shardsim usr/share/fish/vendor_completions.d/shardsim.fish
    usr/share/doc/shardsim/copyright usr/share/doc/shardsim/changelog.gz
    usr/share/doc/shardsim/changelog.Debian.gz usr/share/doc/shardsim/README.md
    usr/share/doc/shardsim/docs/install.md)
  if(NOT EXISTS ${SCRATCH}/unpacked/${file})
    message(SEND_ERROR "not in the package: ${file}")
  endif()
endforeach()
# Headers and libraries are the other package's.
foreach(folder usr/include usr/lib)
  if(EXISTS ${SCRATCH}/unpacked/${folder})
    message(SEND_ERROR "in the wrong package: ${folder}")
  endif()
endforeach()

# By name, from a folder that has nothing to do with it.
set(program ${SCRATCH}/unpacked/usr/bin/shardsim)
set(here ${SCRATCH}/elsewhere)
set(name fsdp2-llama-2-7b-4xdgx-h100)
run(FOLDER ${here} COMMAND ${program} run ${name} --json by-name.json)
string(FIND "${output}" "step time" at)
if(at EQUAL -1)
  message(SEND_ERROR "no forecast in: ${output}")
endif()
run(FOLDER / COMMAND ${program} topology dgx-h100 --nodes 2)
run(FOLDER ${here} COMMAND ${program} quiz solve --question q5)
run(FOLDER ${here} COMMAND ${program} validate --training published-runs)
run(FOLDER ${here} COMMAND ${program} schema result)
run(FOLDER ${here} COMMAND ${program} sweep ${name} --over cluster.nodes=1,2 --prices list-2026)

# A scenario that was copied away says the same; so does one beside a topology that extends another.
configure_file(${SCRATCH}/unpacked/${data}/scenarios/${name}.yaml ${here}/mine.yaml COPYONLY)
run(FOLDER / COMMAND ${program} run ${here}/mine.yaml --json ${here}/copied.json)
file(READ ${here}/by-name.json first)
file(READ ${here}/copied.json second)
string(JSON first_time GET "${first}" step time_s)
string(JSON second_time GET "${second}" step time_s)
if(NOT first_time STREQUAL second_time)
  message(SEND_ERROR "by name ${first_time} s, copied ${second_time} s")
endif()
file(WRITE ${here}/my-machine.yaml "name: my machine\nextends: dgx-h100\n")
file(READ ${here}/mine.yaml text)
string(REPLACE "topology: dgx-h100" "topology: my-machine.yaml" text "${text}")
file(WRITE ${here}/other.yaml "${text}")
run(FOLDER / COMMAND ${program} run ${here}/other.yaml --json ${here}/extended.json)
file(READ ${here}/extended.json third)
string(JSON third_time GET "${third}" step time_s)
if(NOT first_time STREQUAL third_time)
  message(SEND_ERROR "by name ${first_time} s, on a topology that extends it ${third_time} s")
endif()

if(NOT LINTIAN)
  message(STATUS "there is no lintian: the packages are not looked at by it")
  file(REMOVE_RECURSE ${SCRATCH})
  return()
endif()
execute_process(COMMAND ${LINTIAN} --allow-root --fail-on error ${package} ${development}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(SEND_ERROR "lintian: ${output}")
endif()
message(STATUS "lintian: ${output}")
file(REMOVE_RECURSE ${SCRATCH})

# The models that tests and the README's commands read: the folder `models` of the
# build mirrors test/models by links, and holds what is made of the files there.
#
# `models` makes them all, and so does `all` where tests are built; `models-demo`
# those of test/models/demo alone, and likewise the others. A checkout without
# test/models has none of these targets.

set(SLUICE_MODELS ${CMAKE_BINARY_DIR}/models)

# sluice_models(NAME sources...): those of a folder of test/models, out of its files
# and of scripts.
function(sluice_models name)
  set(stamp ${SLUICE_MODELS}/${name}.stamp)
  # Changes where a file comes or goes, which no file's time says.
  set(list ${CMAKE_BINARY_DIR}/CMakeFiles/models/${name}.sources)
  list(JOIN ARGN "\n" text)
  file(CONFIGURE OUTPUT ${list} CONTENT "${text}\n" @ONLY)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/models/make_models.py
            ${SLUICE_MODELS} ${name}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${ARGN} ${list}
    COMMENT "Making the models of test/models/${name}"
    VERBATIM)
  add_custom_target(models-${name} DEPENDS ${stamp})
  add_dependencies(models models-${name})
endfunction()

if(NOT EXISTS ${CMAKE_SOURCE_DIR}/test/models)
  message(STATUS "Models: none, as there is no test/models")
  return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(SLUICE_BUILD_TESTS)
  add_custom_target(models ALL)
else()
  add_custom_target(models)
endif()
file(GLOB sluice_models_scripts CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/test/models/*.py
  ${CMAKE_SOURCE_DIR}/utils/model_files/*.py)
file(GLOB sluice_models_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true
  RELATIVE ${CMAKE_SOURCE_DIR}/test/models ${CMAKE_SOURCE_DIR}/test/models/*)
foreach(folder IN LISTS sluice_models_folders)
  set(path ${CMAKE_SOURCE_DIR}/test/models/${folder})
  if(IS_DIRECTORY ${path} AND NOT folder STREQUAL "__pycache__")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${path}/*)
    sluice_models(${folder} ${sources} ${sluice_models_scripts})
  endif()
endforeach()

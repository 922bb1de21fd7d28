# Helpers that add the project's libraries and tests, so that a folder's
# CMakeLists.txt only names what it holds.

# sluice_runtime_library(NAME sources... [LINK_LIBS libs...])
#   An object library of the runtime. All of them are also collected into the
#   one static archive that emitted executables link with.
function(sluice_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  set_property(GLOBAL APPEND PROPERTY SLUICE_RUNTIME_LIBRARIES ${name})
endfunction()

# sluice_library(NAME sources... [LINK_LIBS libs...]): a library of lib/ that
# does not use MLIR (those that do use add_mlir_library-like sluice_mlir_library).
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
endfunction()

# sluice_unit_test(NAME sources... [LINK_LIBS libs...]): one GoogleTest
# executable, known to CTest.
function(sluice_unit_test name)
  if(NOT SLUICE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest
                                        GTest::gmock GTest::gtest_main)
  target_compile_definitions(
    ${name} PRIVATE SLUICE_TEST_MODELS="${CMAKE_SOURCE_DIR}/test/models")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           ${CMAKE_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY SLUICE_UNIT_TESTS ${name})
endfunction()

# GoogleTest, and the helper that adds unit tests.

# GoogleTest's headers, parsed once: they are a third of a unit test's
# compilation. CMAKE_DISABLE_PRECOMPILE_HEADERS leaves this out, where builds in
# several folders share a ccache (the headers' bytes name the folder).
if(SLUICE_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  set(source ${CMAKE_BINARY_DIR}/TestHeaders.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(SluiceTestHeaders OBJECT ${source})
  target_link_libraries(SluiceTestHeaders PRIVATE GTest::gtest GTest::gmock)
  # The same headers are the same bytes, for ccache.
  set(test_options)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(test_options "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  # As executables are compiled, which share it.
  set_target_properties(SluiceTestHeaders PROPERTIES
    POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(SluiceTestHeaders PRIVATE
    ${CMAKE_CXX_COMPILE_OPTIONS_PIE} ${test_options})
  target_precompile_headers(SluiceTestHeaders PRIVATE
    <gtest/gtest.h> <gmock/gmock.h>)
endif()

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
  target_compile_options(${name} PRIVATE ${test_options})
  target_precompile_headers(${name} REUSE_FROM SluiceTestHeaders)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           ${CMAKE_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY SLUICE_UNIT_TESTS ${name})
endfunction()

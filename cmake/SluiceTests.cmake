# GoogleTest, and the helper that adds unit tests.

# A test is compiled more often than its own code takes time: not optimised, that
# is two and a half times as fast. What it tests is.
set(sluice_test_options -O0)

# sluice_test_headers(NAME headers...): GoogleTest's, and others.
function(sluice_test_headers name)
  sluice_precompiled_headers(${name} <gtest/gtest.h> <gmock/gmock.h> ${ARGN}
    FOR_EXECUTABLES
    LINK_LIBS GTest::gtest GTest::gmock
    OPTIONS ${sluice_test_options})
endfunction()

if(SLUICE_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  sluice_test_headers(SluiceTestHeaders <nlohmann/json.hpp>)
  find_path(SLUICE_SIMDE_INCLUDE simde/x86/avx512.h REQUIRED
    DOC "SIMDe's headers, with which AVX-512 is tested on other processors")
  mark_as_advanced(SLUICE_SIMDE_INCLUDE)
endif()

# sluice_test_objects(NAME sources... [LINK_LIBS libs...]): tests that several
# executables are linked with, as an object library: a static one would leave out
# what nobody calls. Who names it in LINK_LIBS gets the libraries, too.
function(sluice_test_objects name)
  if(NOT SLUICE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} GTest::gtest
                                       GTest::gmock)
  # As an executable's sources, whose headers they use.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE ${sluice_test_options}
                                         ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  sluice_use_headers(${name} SluiceTestHeaders)
endfunction()

# sluice_unit_test(NAME sources... [MLIR] [LINK_LIBS libs...]): one GoogleTest
# executable, known to CTest. MLIR: its sources include MLIR's headers.
function(sluice_unit_test name)
  if(NOT SLUICE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest
                                        GTest::gmock GTest::gtest_main)
  target_compile_definitions(
    ${name} PRIVATE SLUICE_TEST_MODELS="${SLUICE_MODELS}")
  if(TARGET models)
    add_dependencies(${name} models)
  endif()
  target_compile_options(${name} PRIVATE ${sluice_test_options})
  if(ARG_MLIR)
    sluice_use_headers(${name} SluiceMLIRTestHeaders)
  else()
    sluice_use_headers(${name} SluiceTestHeaders)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           ${CMAKE_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY SLUICE_UNIT_TESTS ${name})
endfunction()

# sluice_emulated_avx512(sources...): sources of unit tests that include
# runtime/device/cpu/test/EmulatedAvx512.h. Their vectors do not leave them, so
# that it does not matter how they would be passed.
function(sluice_emulated_avx512)
  set_source_files_properties(${ARGN}
    PROPERTIES COMPILE_OPTIONS "-O2;-mavx2;-mfma;-mf16c;-Wno-psabi;-I${SLUICE_SIMDE_INCLUDE}"
               SKIP_PRECOMPILE_HEADERS ON)
endfunction()

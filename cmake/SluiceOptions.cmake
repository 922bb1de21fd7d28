# Compile and link options that every target of the project shares.

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache asks for before it keeps anything of precompiled headers.
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros ${SLUICE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter)
# Bit-identity (a row's result is the same in any batch) rules out letting
# the compiler contract or reassociate floating-point operations as it likes.
add_compile_options(-ffp-contract=off)

find_program(SLUICE_LLD NAMES ld.lld-22 ld.lld)
if(SLUICE_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_link_options(-fuse-ld=lld)
endif()

if(SLUICE_ASSERTIONS)
  # Behind the -DNDEBUG of optimised builds.
  add_compile_options(-UNDEBUG)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

if(SLUICE_SANITIZER)
  add_compile_options(-fsanitize=${SLUICE_SANITIZER} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g)
  add_link_options(-fsanitize=${SLUICE_SANITIZER})
  if(SLUICE_SANITIZER MATCHES thread)
    # ThreadSanitizer's operators new and delete are not weak, and tests that count
    # allocations have their own. Those of the library call malloc, which it sees.
    add_link_options(-fno-sanitize-link-c++-runtime)
  endif()
endif()

if(SLUICE_BUILD_FUZZERS)
  # Every library counts what it covers: that is what guides the search.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include
                    ${CMAKE_BINARY_DIR}/include)

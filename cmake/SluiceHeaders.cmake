# Headers that many files begin with, parsed once.
#
# CMAKE_DISABLE_PRECOMPILE_HEADERS leaves them out, where builds in several folders
# share a ccache (the headers' bytes name the folder).

set(sluice_headers_options)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # The same headers are the same bytes, for ccache.
  set(sluice_headers_options "SHELL:-Xclang -fno-pch-timestamp")
endif()

# sluice_precompiled_headers(NAME headers... [FOR_EXECUTABLES] [LINK_LIBS libs...]
#                            [OPTIONS options...])
#   Those that use them are compiled with the same options: libraries, or
#   executables.
function(sluice_precompiled_headers name)
  cmake_parse_arguments(ARG "FOR_EXECUTABLES" "" "LINK_LIBS;OPTIONS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  if(ARG_FOR_EXECUTABLES)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  endif()
  target_compile_options(${name} PRIVATE ${sluice_headers_options}
                                         ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# sluice_use_headers(TARGET NAME)
function(sluice_use_headers target name)
  target_compile_options(${target} PRIVATE ${sluice_headers_options})
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

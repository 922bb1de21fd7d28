# Helpers that add the project's libraries, so that a folder's
# CMakeLists.txt only names what it holds.

# What many files without MLIR include, by themselves or by others. Sources that
# are compiled for an instruction set of their own do without
# (SKIP_PRECOMPILE_HEADERS).
sluice_precompiled_headers(SluicePlainHeaders
  <algorithm> <charconv> <chrono> <functional> <map> <memory> <optional> <random>
  <span> <string> <string_view> <vector> <nlohmann/json.hpp>)

# sluice_runtime_library(NAME sources... [LINK_LIBS libs...])
#   An object library of the runtime. All of them are also collected into the
#   one static archive that emitted executables link with.
function(sluice_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  sluice_use_headers(${name} SluicePlainHeaders)
  set_property(GLOBAL APPEND PROPERTY SLUICE_RUNTIME_LIBRARIES ${name})
endfunction()

# sluice_library(NAME sources... [LINK_LIBS libs...]): a library of lib/ that
# does not use MLIR (those that do use add_mlir_library-like sluice_mlir_library).
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  sluice_use_headers(${name} SluicePlainHeaders)
endfunction()

# Finds LLVM and MLIR and sets what targets that use them need.

# MLIR's config only accepts its exact version, so the major one is checked here.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Sluice needs LLVM and MLIR 22, found ${LLVM_VERSION}")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# System headers: the project's warnings do not apply to LLVM's code.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})

# What more than a few files of lib/ include, by themselves or by others: parsing
# it is more than half of compiling one.
set(mlir_headers
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/SymbolTable.h>
  <mlir/Pass/PassManager.h>
  <llvm/ADT/TypeSwitch.h>)
sluice_precompiled_headers(SluiceMLIRHeaders ${mlir_headers})
if(SLUICE_BUILD_TESTS)
  sluice_test_headers(SluiceMLIRTestHeaders ${mlir_headers})
endif()

# sluice_mlir_library(NAME sources... [DEPENDS ...] [LINK_LIBS ...]): a library
# of lib/ that uses MLIR, which is linked as the one shared libMLIR.
function(sluice_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  sluice_use_headers(${name} SluiceMLIRHeaders)
  add_dependencies(${name} SluiceTableGen ${ARG_DEPENDS})
endfunction()

# sluice_tool(NAME sources... [LINK_LIBS ...]): a program in build/bin.
function(sluice_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}
    PRIVATE SluiceCommandLine ${ARG_LINK_LIBS} MLIR LLVM)
  set_property(GLOBAL APPEND PROPERTY SLUICE_TOOLS ${name})
endfunction()

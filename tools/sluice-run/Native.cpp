//===- Native.cpp - native execution of the phase kernels -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Native.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Target/Compiler.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <vector>

using namespace sluice;
namespace fs = llvm::sys::fs;

bool run::isKernels(mlir::ModuleOp module) {
  return !module.getOps<ir::ProgramOp>().empty();
}

namespace {

/// A temporary folder for the executable and its packed weights. The destructor
/// removes it with its content.
class TemporaryFolder {
public:
  TemporaryFolder() { failed = fs::createUniqueDirectory("sluice-run", path); }
  ~TemporaryFolder() {
    if (!failed)
      (void)fs::remove_directories(path);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  llvm::SmallString<128> path;
  std::error_code failed;
};

} // namespace

Expected<int> run::runNatively(mlir::ModuleOp module,
                               std::span<const std::string> arguments) {
  auto programs = module.getOps<ir::ProgramOp>();
  auto forCpu = llvm::find_if(
      programs, [](ir::ProgramOp program) { return program.getCpu(); });
  if (forCpu == programs.end())
    return failure("the module has no program for a CPU");
  CompileOptions options;
  options.cpu = getCpuTarget(
      *cpu::parseIsa(ir::stringifyCpuLevel(*(*forCpu).getCpu()).str()));

  TemporaryFolder folder;
  if (folder.failed)
    return failure("cannot make a temporary folder: ", folder.failed.message());
  llvm::SmallString<128> executable(folder.path);
  llvm::sys::path::append(executable, "program");
  SLUICE_RETURN_IF_ERROR(compile(module, options, executable.str().str()));
  std::vector<llvm::StringRef> words = {executable};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::string message;
  int code = llvm::sys::ExecuteAndWait(executable, words, std::nullopt, {}, 0,
                                       0, &message);
  if (code < 0)
    return failure("cannot run the compiled module: ", message);
  return code;
}

//===- sluice-opt.cpp - runner of passes over modules ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/InitAll.h"
#include "sluice/Support/ModuleFile.h"
#include "tools/ToolCommandLine.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

using namespace sluice;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                                  cl::init("-"));
static cl::opt<std::string> output("o", cl::desc("Output filename"),
                                   cl::value_desc("filename"), cl::init("-"));

int main(int argc, char **argv) {
  setVersion("sluice-opt");
  if (Status status = checkOutput(argc, argv); !status.ok())
    return complain("sluice-opt", status);
  mlir::DialectRegistry registry;
  sluice::registerAllDialects(registry);
  sluice::registerAllPasses();
  std::string overview =
      mlir::registerCLIOptions("Sluice's pass driver", registry);
  shortenDiagnostics();
  if (!parseCommandLine("sluice-opt", argc, argv, overview))
    return exitFailure;
  setModuleFolder(registry, input);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}

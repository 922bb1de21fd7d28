//===- sluice-import.cpp - importer of model files ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AtomicFile.h"
#include "runtime/formats/BlockFormat.h"
#include "sluice/Import/Import.h"
#include "sluice/Support/Diagnostics.h"
#include "tools/ToolCommandLine.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace sluice;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");

cl::opt<std::string> input(cl::Positional, cl::Required,
                           cl::desc("<model.gguf or Hugging Face folder>"),
                           cl::cat(category));

cl::opt<std::string> output("o",
                            cl::desc("Where to write the module; '-' (the "
                                     "default) is standard output"),
                            cl::value_desc("file"), cl::init("-"),
                            cl::cat(category));

cl::opt<Format> quantize(
    "quantize", cl::desc("Compute linear layers with quantised weights"),
    cl::values(clEnumValN(Format::Q8_0, "q8_0", "8 bits, blocks of 32"),
               clEnumValN(Format::Q4_0, "q4_0", "4 bits, blocks of 32"),
               clEnumValN(Format::E4M3, "e4m3",
                          "8 bits of floating point, blocks of 128")),
    cl::cat(category));

Status writeModule(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // A model's files have no lines, so locations are not printed.
  module.print(stream);
  return writeFile(output, text);
}

Status run() {
  ImportOptions options;
  if (quantize.getNumOccurrences() > 0)
    options.quantize = formatInfo(quantize).name;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  PrintedWarnings warnings(&context, "sluice-import");
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      importModel(input, options, &context);
  if (!module)
    return module.status();
  return writeModule(**module);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  setVersion("sluice-import");
  wrapHelp();
  if (!parseCommandLine(
          "sluice-import", argc, argv,
          "Imports a model as MLIR (dialect sluice, phase model). Its\n"
          "weights stay in its files.\n"))
    return exitUsage;
  if (Status status = run(); !status.ok())
    return complain("sluice-import", status);
  return exitSuccess;
}

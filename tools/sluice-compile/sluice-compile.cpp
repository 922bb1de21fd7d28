//===- sluice-compile.cpp - model files in, executable out ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Import.h"
#include "sluice/InitAll.h"
#include "sluice/Support/Diagnostics.h"
#include "sluice/Target/Compiler.h"
#include "sluice/Target/Link.h"
#include "tools/CommandLine.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace sluice;
namespace cl = llvm::cl;

static cl::OptionCategory category("sluice-compile options");
static cl::opt<std::string>
    input(cl::Positional, cl::cat(category),
          cl::desc("<model.gguf | Hugging Face folder | model.mlir | ->"));
static cl::opt<std::string>
    output("o", cl::cat(category), cl::value_desc("path"),
           cl::desc("What to write ('-': stdout, not for executables)"));
static cl::opt<std::string>
    cpuName("cpu", cl::init("native"), cl::cat(category),
            cl::value_desc("name"),
            cl::desc("The CPU to build for: native, x86-64-v3 or x86-64-v4"));
static cl::opt<std::string> compileTo(
    "compile-to", cl::init("executable"), cl::cat(category),
    cl::value_desc("phase"),
    cl::desc("Stop after this phase: model, kernels, object or executable"));
static cl::opt<std::string>
    dumpPhasesTo("dump-phases-to", cl::cat(category), cl::value_desc("folder"),
                 cl::desc("Also write every phase that is passed through"));
static cl::opt<bool>
    embedWeights("embed-weights", cl::cat(category),
                 cl::desc("Put the packed weights into the executable"));
static cl::opt<std::string>
    quantize("quantize", cl::cat(category), cl::value_desc("format"),
             cl::desc("Compute matrices in q8_0 or q4_0 (model files only)"));

static int fail(const Status &status, int exitCode = exitFailure) {
  llvm::errs() << "sluice-compile: error: " << status.message() << '\n';
  return exitCode;
}

/// Imports a model's files or parses MLIR, by what `input` is.
static Expected<OwningOpRef<ModuleOp>> load(MLIRContext *context) {
  bool isText = input == "-" || llvm::StringRef(input).ends_with(".mlir");
  if (!isText) {
    ImportOptions options;
    options.quantize = quantize;
    return importModel(input, options, context);
  }
  if (!quantize.empty())
    return failure("--quantize works while importing a model's files, not on "
                   "MLIR");
  FirstError firstError(context);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &message);
  if (!buffer)
    return failure(message);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, context);
  if (!module)
    return firstError.status("cannot parse");
  return module;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerMLIRContextCLOptions();
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  sluice::registerAllPasses();
  // Those of MLIR stay usable; --help-hidden lists them.
  cl::HideUnrelatedOptions(category);
  if (!parseCommandLine(argc, argv,
                        "Compiles a language model to a native executable\n"))
    return exitUsage;

  // Checked here rather than by LLVM, which reports each in a line of its own.
  if (input.empty())
    return fail(failure("no model given: see --help"), exitUsage);
  if (output.empty())
    return fail(failure("no output given: -o says what to write"), exitUsage);

  CompileOptions options;
  std::optional<Phase> phase = parsePhase(compileTo);
  if (!phase)
    return fail(failure("--compile-to: unknown phase '", std::string(compileTo),
                        "': expected model, kernels, "
                        "object or executable"),
                exitUsage);
  options.target = *phase;
  options.embedWeights = embedWeights;
  options.dumpPhasesTo = dumpPhasesTo;
  options.configurePasses = [](PassManager &passes) {
    applyDefaultTimingPassManagerCLOptions(passes);
    return applyPassManagerCLOptions(passes);
  };
  Expected<CpuTarget> cpu = getCpuTarget(std::string(cpuName));
  if (!cpu)
    return fail(cpu.status().withContext("--cpu"), exitUsage);
  options.cpu = cpu.take();
  if (options.target == Phase::Executable) {
    if (output == "-")
      return fail(failure("-o: an executable cannot be written to standard "
                          "output"),
                  exitUsage);
    Expected<std::string> archive = findRuntimeArchive();
    if (!archive)
      return fail(archive.status());
    options.runtimeArchive = archive.take();
  }

  DialectRegistry registry;
  sluice::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Expected<OwningOpRef<ModuleOp>> module = load(&context);
  if (!module)
    return fail(module.status());
  Status status = compile(**module, options, output);
  return status.ok() ? exitSuccess : fail(status);
}

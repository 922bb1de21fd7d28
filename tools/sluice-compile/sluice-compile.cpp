//===- sluice-compile.cpp - compiler of models to executables -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Conversion/CudaChips.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Import/Import.h"
#include "sluice/InitAll.h"
#include "sluice/Support/Diagnostics.h"
#include "sluice/Support/ModuleFile.h"
#include "sluice/Target/Compiler.h"
#include "sluice/Target/MergeDraft.h"
#include "tools/ToolCommandLine.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sluice;
namespace cl = llvm::cl;

static cl::OptionCategory category("sluice-compile options");
static cl::opt<std::string> input(cl::Positional, cl::cat(category),
                                  cl::desc("<model>"));
static cl::opt<std::string>
    output("o", cl::cat(category), cl::value_desc("path"),
           cl::desc("What to write ('-': stdout, not for executables)"));
static cl::opt<std::string>
    cpuName("cpu", cl::init("native"), cl::cat(category),
            cl::value_desc("name"),
            cl::desc("The CPU to build for: native, x86-64-v3, x86-64-v4 or "
                     "x86-64-v4+vnni"));
static cl::opt<std::string>
    targetNames("target", cl::init("cpu"), cl::cat(category),
                cl::value_desc("list"),
                cl::desc("What to build for: cpu, cuda or cpu,cuda"));
static cl::opt<std::string>
    cudaArch("cuda-arch", cl::cat(category), cl::value_desc("list"),
             cl::desc("The chips to build CUDA kernels for (default: "
                      "sm_80,sm_90a,sm_100,sm_120, and PTX for later ones); or "
                      "emulator, for tests"));
static cl::opt<std::string>
    cudaToolkit("cuda-toolkit", cl::cat(category), cl::value_desc("folder"),
                cl::desc("The CUDA toolkit whose ptxas makes the kernels "
                         "(default: that of CUDA_PATH, or PATH)"));
static cl::opt<std::string> runtimeArchive(
    "runtime-archive", cl::cat(category), cl::value_desc("path"),
    cl::desc("The runtime to link with (default: the one beside this tool)"));
static cl::opt<bool> sanitizeThreads(
    "sanitize-threads", cl::Hidden, cl::cat(category),
    cl::desc("Have generated code tell ThreadSanitizer what it does; needs a "
             "runtime that is built for it (--runtime-archive)"));
static cl::opt<std::string>
    compileTo("compile-to", cl::init("executable"), cl::cat(category),
              cl::value_desc("phase"),
              cl::desc("Stop after this phase: model, pipeline, program, plan, "
                       "kernels, object "
                       "or executable"));
static cl::opt<std::string>
    dumpPhasesTo("dump-phases-to", cl::cat(category), cl::value_desc("folder"),
                 cl::desc("Also write every phase that is passed through"));
static cl::opt<bool>
    embedWeights("embed-weights", cl::cat(category),
                 cl::desc("Put the packed weights into the executable"));
static cl::opt<std::string>
    quantize("quantize", cl::cat(category), cl::value_desc("format"),
             cl::desc("Compute matrices of the model, not of its draft, in "
                      "q8_0, q4_0 or e4m3 (model files only)"));
static cl::opt<std::string>
    draftPath("draft", cl::cat(category), cl::value_desc("path"),
              cl::desc("A smaller model that guesses ahead, in any form that "
                       "the model can have"));
static cl::opt<int64_t>
    stages("stages", cl::init(0), cl::cat(category), cl::value_desc("N"),
           cl::desc("Cut the model into N stages, each on a rank of its own "
                    "(default: one, or as many as are fastest on --cluster)"));
static cl::opt<int64_t> tensorParallel(
    "tensor-parallel", cl::init(1), cl::cat(category), cl::value_desc("N"),
    cl::desc(
        "Split each stage over a group of N devices, each on a rank of its "
        "own (default: 1; up to phase program)"));
static cl::opt<std::string>
    clusterFile("cluster", cl::cat(category), cl::value_desc("cluster.yaml"),
                cl::desc("The machines to cut the model for"));
static cl::opt<int64_t> maxLatency(
    "max-latency-us", cl::cat(category), cl::value_desc("N"),
    cl::desc("The longest that cancelled rows are computed on, by the cost "
             "model; 0: to the step's end (default: 500, and 0 with one stage "
             "and no draft)"));
static cl::opt<std::string> draftPlacement(
    "draft-placement", cl::init("own"), cl::cat(category),
    cl::value_desc("where"),
    cl::desc("Where the draft runs: on a rank of its own, or the head's, which "
             "has the first stage as well: own or head (default: own)"));
static cl::opt<int64_t>
    depth("speculate-depth", cl::init(32), cl::cat(category),
          cl::value_desc("N"),
          cl::desc("Guesses beyond the last known token, at most (default: "
                   "32)"));
static cl::opt<int64_t> width("speculate-width", cl::init(8), cl::cat(category),
                              cl::value_desc("N"),
                              cl::desc("Guesses for one row's next token, at "
                                       "most (default: 8)"));
static cl::opt<bool>
    explain("explain", cl::cat(category),
            cl::desc("Print a table of the stages, of the tasks of their steps "
                     "on a CPU, and with --target cuda of their launches on a "
                     "GPU; without -o only that"));

static int fail(const Status &status, int exitCode = exitFailure) {
  return complain("sluice-compile", status, exitCode);
}

/// Reads a module, or imports a model's files, depending on `path`.
static Expected<OwningOpRef<ModuleOp>> load(const std::string &path,
                                            const std::string &quantized,
                                            MLIRContext *context) {
  if (!isModuleFile(path)) {
    ImportOptions options;
    options.quantize = quantized;
    return importModel(path, options, context);
  }
  if (!quantized.empty())
    return failure("--quantize works while importing a model's files, not on "
                   "MLIR");
  Expected<OwningOpRef<ModuleOp>> module = readModuleFile(path, context);
  if (module)
    makePathsAbsolute(**module);
  return module;
}

/// Returns the module of the model, with its draft if there is one.
static Expected<OwningOpRef<ModuleOp>> loadAll(MLIRContext *context) {
  Expected<OwningOpRef<ModuleOp>> target = load(input, quantize, context);
  if (!target || draftPath.empty())
    return target;
  Expected<OwningOpRef<ModuleOp>> draft = load(draftPath, "", context);
  if (!draft)
    return draft.status().withContext("--draft");
  if (Status status = mergeDraft(**target, **draft); !status.ok())
    return status.withContext("--draft");
  return target;
}

/// Prints a table to stdout, or to stderr if the compiler's output goes to
/// stdout.
static Status printTable(std::string_view table) {
  llvm::raw_ostream &stream = output == "-" ? llvm::errs() : llvm::outs();
  stream << llvm::StringRef(table);
  stream.flush();
  return {};
}

/// Returns the first of the options that was given, with its dashes, or an
/// empty string.
static std::string
findGiven(std::initializer_list<const cl::Option *> options) {
  for (const cl::Option *option : options)
    if (option->getNumOccurrences() > 0)
      return "--" + option->ArgStr.str();
  return "";
}

/// Checks that options about the pipeline are given only if the compilation
/// gets as far as a pipeline.
static Status checkPhaseOfOptions(Phase phase, const std::string &given) {
  if (phase >= Phase::Pipeline)
    return {};
  if (explain)
    return failure("--explain: there are no stages in phase ",
                   phaseName(phase));
  if (!given.empty())
    return failure(given, ": phase ", phaseName(phase),
                   " comes before the pipeline that this is about");
  return {};
}

/// Reads the options that say for which devices programs are made.
static Status readTargets(CompileOptions &all) {
  bool isBoth = targetNames == "cpu,cuda" || targetNames == "cuda,cpu";
  all.forCpu = targetNames == "cpu" || isBoth;
  all.forCuda = targetNames == "cuda" || isBoth;
  if (!all.forCpu && !all.forCuda)
    return failure("--target: '", std::string(targetNames),
                   "' is not cpu, cuda or cpu,cuda");
  std::string given = findGiven({&cudaArch, &cudaToolkit});
  if (!given.empty() && !all.forCuda)
    return failure(given, " needs --target cuda");
  all.cudaToolkit = cudaToolkit;
  all.targetGiven = targetNames.getNumOccurrences() > 0;
  if (cudaArch.empty())
    return {};
  Expected<std::vector<std::string>> chips =
      parseCudaChips(std::string(cudaArch));
  if (!chips)
    return chips.status().withContext("--cuda-arch");
  all.cudaChips = chips.take();
  return {};
}

/// Reads the options that say how the model becomes a pipeline, and checks
/// their ranges.
static Status readPipelineOptions(CompileOptions &all) {
  if (stages.getNumOccurrences() > 0 && stages < 1)
    return failure("--stages: ", int64_t(stages), " is not at least 1");
  if (tensorParallel < 1 || tensorParallel > ir::maxMembers)
    return failure("--tensor-parallel: ", int64_t(tensorParallel),
                   " is not 1 to ", ir::maxMembers);
  if (maxLatency < 0 || maxLatency > ir::maxLatencyMicros)
    return failure("--max-latency-us: ", int64_t(maxLatency), " is not 0 to ",
                   ir::maxLatencyMicros);
  if (depth < 1 || depth > ir::maxGuessDepth)
    return failure("--speculate-depth: ", int64_t(depth), " is not 1 to ",
                   ir::maxGuessDepth);
  if (width < 1 || width > ir::maxGuessWidth)
    return failure("--speculate-width: ", int64_t(width), " is not 1 to ",
                   ir::maxGuessWidth);
  all.draftGiven = findGiven({&draftPlacement, &depth, &width});
  if (!all.draftGiven.empty() && draftPath.empty() && !isModuleFile(input))
    return failure(all.draftGiven, " needs --draft");
  std::optional<ir::Placement> placement =
      ir::symbolizePlacement(draftPlacement);
  if (!placement)
    return failure("--draft-placement: '", std::string(draftPlacement),
                   "' is neither own nor head");
  all.pipelineGiven = findGiven({&tensorParallel, &stages, &clusterFile,
                                 &maxLatency, &draftPlacement, &depth, &width});
  all.pipeline = {.tensorParallel = tensorParallel,
                  .stages = stages,
                  .clusterFile = clusterFile,
                  .maxLatencyMicros = {},
                  .placement = *placement,
                  .depth = depth,
                  .width = width};
  if (maxLatency.getNumOccurrences() > 0)
    all.pipeline.maxLatencyMicros = maxLatency;
  return {};
}

/// Reads the input and compiles it. Returns the exit status.
static int compileInput(const CompileOptions &options) {
  DialectRegistry registry;
  sluice::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  PrintedWarnings warnings(&context, "sluice-compile");
  Expected<OwningOpRef<ModuleOp>> module = loadAll(&context);
  if (!module)
    return fail(module.status());
  Status status = compile(**module, options, output);
  return status.ok() ? exitSuccess : fail(status);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerMLIRContextCLOptions();
  shortenDiagnostics();
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  sluice::registerAllPasses();
  setVersion("sluice-compile");
  // MLIR's options stay usable; --help-hidden lists them.
  cl::HideUnrelatedOptions(category);
  wrapHelp();
  if (!parseCommandLine(
          "sluice-compile", argc, argv,
          "Compiles a language model to a native executable. The model is a\n"
          "GGUF file, a Hugging Face folder, or a module, as text (x.mlir) or\n"
          "bytecode; '-' reads a module from standard input.\n"))
    return exitUsage;

  // Missing options are checked here, since LLVM would report each in a line of
  // its own.
  if (input.empty())
    return fail(failure("no model given: see --help"), exitUsage);
  if (output.empty() && !explain)
    return fail(failure("no output given: -o says what to write"), exitUsage);

  CompileOptions options;
  std::optional<Phase> phase = parsePhase(compileTo);
  if (!phase)
    return fail(failure("--compile-to: unknown phase '", std::string(compileTo),
                        "': expected model, pipeline, program, plan, kernels, "
                        "object or executable"),
                exitUsage);
  if (Status status = readPipelineOptions(options); !status.ok())
    return fail(status, exitUsage);
  if (Status status = readTargets(options); !status.ok())
    return fail(status, exitUsage);
  if (Status status = checkPhaseOfOptions(*phase, options.pipelineGiven);
      !status.ok())
    return fail(status, exitUsage);
  // If nothing is written, the phases behind the tables are not needed.
  const Phase explained = options.forCuda ? Phase::Kernels : Phase::Plan;
  options.target = output.empty() ? std::min(*phase, explained) : *phase;
  if (explain)
    options.explain = printTable;
  if (embedWeights && options.target != Phase::Executable)
    return fail(failure("--embed-weights: phase ", phaseName(options.target),
                        " is no executable"),
                exitUsage);
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
  options.cpu.sanitizesThreads = sanitizeThreads;
  if (options.target == Phase::Executable && output == "-")
    return fail(failure("-o: an executable cannot be written to standard "
                        "output"),
                exitUsage);
  options.runtimeArchive = runtimeArchive;

  return compileInput(options);
}

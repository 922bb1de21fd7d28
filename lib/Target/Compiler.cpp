//===- Compiler.cpp - compilation of a module to a later phase ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/Compiler.h"

#include "CarriedTokenizer.h"
#include "Lowering.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/InputFiles.h"
#include "runtime/base/MappedFile.h"
#include "runtime/program/PackedFileWriter.h"
#include "runtime/program/WeightDigests.h"
#include "sluice/Analysis/Explain.h"
#include "sluice/Conversion/CudaChips.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Target/CudaImage.h"
#include "sluice/Target/DescriptorBuilder.h"
#include "sluice/Target/ExplainLaunches.h"
#include "sluice/Target/ExplainTasks.h"
#include "sluice/Target/Link.h"
#include "sluice/Target/NativeObject.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sluice;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

/// Returns the path of a phase's dump.
static std::string dumpPath(const CompileOptions &options, Phase phase) {
  llvm::SmallString<256> path(options.dumpPhasesTo);
  llvm::sys::path::append(path, llvm::Twine(static_cast<int>(phase) + 1) + "-" +
                                    llvm::StringRef(phaseName(phase)) +
                                    (phase == Phase::Object ? ".o" : ".mlir"));
  return path.str().str();
}

/// Writes a phase on the way to the target, if the options ask for it.
static Status dump(const CompileOptions &options, Phase phase,
                   llvm::function_ref<std::string()> render) {
  if (options.dumpPhasesTo.empty())
    return {};
  if (std::error_code error = llvm::sys::fs::create_directories(
          options.dumpPhasesTo, true, llvm::sys::fs::all_all))
    return failure(options.dumpPhasesTo,
                   ": cannot make folder: ", error.message());
  return writeFile(dumpPath(options, phase), render());
}

/// Checks that no output is a file that the module refers to or that is still
/// to be read. Must be called before anything is computed or written.
static Status checkOutputs(ModuleOp module, const CompileOptions &options,
                           const std::string &output) {
  for (ir::FileOp file : module.getOps<ir::FileOp>())
    noteInput(file.getAbsolutePath());
  noteInput(options.pipeline.clusterFile);
  noteInput(options.runtimeArchive);
  if (!options.dumpPhasesTo.empty())
    for (Phase phase = phaseOf(module); phase < options.target;
         phase = nextPhase(phase))
      SLUICE_RETURN_IF_ERROR(checkIsNoInput(dumpPath(options, phase)));
  return output == "-" ? Status() : checkIsNoInput(output);
}

//===----------------------------------------------------------------------===//
// Objects and executables
//===----------------------------------------------------------------------===//

/// Links the executable and appends the packed weights if the options ask for
/// it.
static Status writeExecutable(llvm::ArrayRef<char> object,
                              const ExecutableDescriptor &descriptor,
                              const std::string &archive,
                              const CompileOptions &options,
                              const std::string &output) {
  if (output == "-")
    return failure("an executable cannot be written to standard output");
  Expected<AtomicFile> file = AtomicFile::create(output, 0777);
  if (!file)
    return file.status();

  llvm::SmallString<128> linked;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("sluice", "", linked))
    return failure("cannot make a temporary file: ", error.message());
  llvm::sys::RemoveFileOnSignal(linked);
  llvm::FileRemover removeLinked(linked);
  const bool isForGpus =
      llvm::any_of(descriptor.programs, [](const ProgramDescriptor &program) {
        return program.target == ProgramTarget::Cuda;
      });
  SLUICE_RETURN_IF_ERROR(linkExecutable({object.data(), object.size()}, archive,
                                        isForGpus, options.cpu.sanitizesThreads,
                                        linked.str().str()));

  Expected<MappedFile> program = MappedFile::open(linked.str().str());
  if (!program)
    return program.status();
  std::span<const uint8_t> bytes = program->bytes();
  SLUICE_RETURN_IF_ERROR(file->write(bytes.data(), bytes.size()));
  if (options.embedWeights)
    SLUICE_RETURN_IF_ERROR(appendEmbeddedWeights(descriptor, {}, {}, *file));
  return file->commit();
}

/// Passes `options.explain` the table that a phase makes possible: in phase
/// pipeline the stages, in phase plan the tasks on a CPU, in phase kernels the
/// launches on a GPU.
static Status explainPhase(ModuleOp module, const CompileOptions &options,
                           Phase reached) {
  if (!options.explain)
    return {};
  Expected<std::string> text = std::string();
  if (reached == Phase::Pipeline)
    text = explainStages(module);
  else if (reached == Phase::Plan)
    text = explainTasks(module);
  else if (reached == Phase::Kernels && options.forCuda)
    text = explainLaunches(module);
  if (!text)
    return text.status();
  if (options.forCuda && reached == options.target && reached < Phase::Kernels)
    *text += "launches of a step on a GPU: known in phase kernels\n";
  return text->empty() ? Status() : options.explain(*text);
}

/// Lowers the module to `last`, which is at most phase kernels, and dumps the
/// phases on the way.
static Status lowerTo(ModuleOp module, const CompileOptions &options,
                      Phase phase, Phase last) {
  auto explain = [&](Phase reached) {
    return explainPhase(module, options, reached);
  };
  SLUICE_RETURN_IF_ERROR(explain(phase));
  while (phase < last) {
    SLUICE_RETURN_IF_ERROR(dump(options, phase, [&] { return print(module); }));
    SLUICE_RETURN_IF_ERROR(lowerToNext(module, options, phase));
    phase = nextPhase(phase);
    SLUICE_RETURN_IF_ERROR(explain(phase));
  }
  return {};
}

static const char *nameTargets(bool forCpu, bool forCuda) {
  if (!forCuda)
    return "cpu";
  return forCpu ? "cpu,cuda" : "cuda";
}

static Expected<std::string> buildImage(ModuleOp module,
                                        const CompileOptions &options) {
  if (!hasCudaChips(module))
    return std::string();
  Expected<std::string> toolkit = findCudaToolkit(options.cudaToolkit);
  if (!toolkit)
    return toolkit.status();
  return buildCudaImage(module, *toolkit);
}

/// Returns the path of the runtime to link with a module's executable.
static Expected<std::string> chooseArchive(ModuleOp module,
                                           const CompileOptions &options) {
  if (!options.runtimeArchive.empty())
    return options.runtimeArchive;
  std::vector<std::string> chips = getCudaChips(module);
  return findRuntimeArchive(!chips.empty() && chips.front() == cudaEmulator);
}

/// Checks that a module of phase kernels is for the requested devices.
static Status checkTargets(ModuleOp module,
                           const ExecutableDescriptor &descriptor,
                           const CompileOptions &options) {
  bool forCpu = false, forCuda = false;
  for (const ProgramDescriptor &program : descriptor.programs) {
    bool isForCpu = program.target == ProgramTarget::Cpu;
    (isForCpu ? forCpu : forCuda) = true;
    if (isForCpu && program.cpu != cpu::isaName(options.cpu.isa))
      return failure("the kernels are for ", program.cpu, ", not for ",
                     cpu::isaName(options.cpu.isa), ": give --cpu to match");
  }
  if (options.targetGiven &&
      (forCpu != options.forCpu || forCuda != options.forCuda))
    return failure("the kernels are for ", nameTargets(forCpu, forCuda),
                   ", not for ", nameTargets(options.forCpu, options.forCuda),
                   ": give --target to match");
  std::vector<std::string> chips = getCudaChips(module);
  if (!options.cudaChips.empty() &&
      !std::is_permutation(chips.begin(), chips.end(),
                           options.cudaChips.begin(), options.cudaChips.end()))
    return failure("the kernels are for ", llvm::join(chips, ","), ", not for ",
                   llvm::join(options.cudaChips, ","),
                   ": give --cuda-arch to match");
  return {};
}

/// Compiles a module of phase kernels to an object or executable.
static Status writeNative(ModuleOp module, const CompileOptions &options,
                          const std::string &output) {
  Expected<ExecutableDescriptor> descriptor = buildDescriptor(module);
  if (!descriptor)
    return descriptor.status();
  SLUICE_RETURN_IF_ERROR(checkTargets(module, *descriptor, options));
  descriptor->embedded = options.embedWeights;
  recordDigests(*descriptor);
  Expected<std::string> json = descriptor->toJson();
  if (!json)
    return json.status();
  Expected<std::string> tokenizer =
      buildTokenizer(module, descriptor->vocabSize);
  if (!tokenizer)
    return tokenizer.status();
  Expected<std::string> image = buildImage(module, options);
  if (!image)
    return image.status();
  Expected<llvm::SmallVector<char, 0>> object = emitObject(
      module, {json.take(), tokenizer.take(), image.take()}, options.cpu);
  if (!object)
    return object.status();
  if (options.target == Phase::Object)
    return writeFile(output, std::string_view(object->data(), object->size()));
  SLUICE_RETURN_IF_ERROR(dump(options, Phase::Object, [&] {
    return std::string(object->begin(), object->end());
  }));
  Expected<std::string> archive = chooseArchive(module, options);
  if (!archive)
    return archive.status();
  return writeExecutable(*object, *descriptor, *archive, options, output);
}

Status sluice::compile(ModuleOp module, const CompileOptions &options,
                       const std::string &output) {
  Phase phase = phaseOf(module);
  SLUICE_RETURN_IF_ERROR(verifyPhase(module, options, phase));
  if (options.target < phase)
    return failure("the module is in phase ", phaseName(phase),
                   " already, beyond ", phaseName(options.target));
  if (phase > Phase::Model && !options.pipelineGiven.empty())
    return failure(options.pipelineGiven, ": the module is in phase ",
                   phaseName(phase),
                   ", in which its stages, draft and latency are settled");
  if (!options.draftGiven.empty() && !hasDraft(module))
    return failure(options.draftGiven, ": the module has no draft");
  if (phase > Phase::Pipeline && options.explain)
    return failure("the module is in phase ", phaseName(phase),
                   ", beyond what can be explained");

  SLUICE_RETURN_IF_ERROR(checkOutputs(module, options, output));
  SLUICE_RETURN_IF_ERROR(lowerTo(module, options, phase,
                                 std::min(options.target, Phase::Kernels)));
  if (output.empty())
    return {};
  if (options.target <= Phase::Kernels)
    return writeFile(output, print(module));
  SLUICE_RETURN_IF_ERROR(
      dump(options, Phase::Kernels, [&] { return print(module); }));
  return writeNative(module, options, output);
}

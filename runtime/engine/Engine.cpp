//===- Engine.cpp - a model, its weights and its tokenizer ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Engine.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/engine/GroupExecutor.h"
#include "runtime/engine/ModelChain.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

using namespace sluice;
using namespace sluice::engine;

namespace {

Expected<cpu::CpuProgram>
programFor(const ProgramDescriptor &descriptor,
           std::span<const SluiceRowKernelEntry> table,
           const std::vector<cpu::CpuWeight> &weights) {
  std::optional<cpu::Isa> isa = cpu::parseIsa(descriptor.cpu);
  if (!isa)
    return failure("the program was built for '", descriptor.cpu,
                   "', a CPU that this runtime does not know");
  std::vector<SluiceRowKernel> kernels;
  for (const std::string &name : descriptor.step.kernelNames) {
    auto entry = std::ranges::find(table, name, &SluiceRowKernelEntry::name);
    if (entry == table.end())
      return failure("the executable lacks the row kernel '", name,
                     "' of program '", descriptor.name, "'");
    kernels.push_back(entry->kernel);
  }
  return cpu::CpuProgram{descriptor, std::move(kernels), *isa, weights};
}

/// Ends the process, because it has used damaged weights.
void endDamaged(const Status &why) {
  writeError(why.message() +
             "; what was computed with these weights may be wrong");
  std::_Exit(1);
}

} // namespace

Expected<std::unique_ptr<Engine>> Engine::create(const ProgramImage &image,
                                                 const EngineOptions &options) {
  std::unique_ptr<Engine> engine(new Engine(image, options));
  Expected<ExecutableDescriptor> parsed =
      ExecutableDescriptor::parse(image.descriptor);
  if (!parsed)
    return parsed.status();
  engine->described = parsed.take();
  const ExecutableDescriptor &executable = engine->described;
  noteModelFiles(executable.files, {image.executable, options.modelDir});
  for (const ProgramDescriptor &program : executable.programs)
    if (program.target == ProgramTarget::Cpu)
      SLUICE_RETURN_IF_ERROR(cpu::requireIsa(program.cpu));

  if (engine->settings.contextLength == 0)
    engine->settings.contextLength = executable.contextLength;

  if (!image.tokenizer.empty()) {
    Expected<text::Tokenizer> loaded = text::Tokenizer::load(image.tokenizer);
    if (!loaded)
      return loaded.status().withContext("tokenizer");
    engine->words = loaded.take();
  }
  return engine;
}

Status Engine::checkOptions() const {
  if (settings.contextLength <= described.contextLength)
    return {};
  return failure("a context of ", settings.contextLength,
                 " tokens is more than the model's ", described.contextLength);
}

Expected<DeviceFinding> Engine::findDevice(int64_t gpu) {
  const DeviceOption option = settings.device;
  const bool forCpu = described.isFor(ProgramTarget::Cpu);
  const bool forGpus = described.isFor(ProgramTarget::Cuda);
  if (option == DeviceOption::Cuda && !forGpus)
    return failure("--device cuda: this program has no code for a GPU: compile "
                   "it with --target cpu,cuda");
  if (option == DeviceOption::Cpu && !forCpu)
    return failure("--device cpu: this program has no code for a CPU: compile "
                   "it with --target cpu,cuda");
  if (option == DeviceOption::Cpu || !forGpus)
    return DeviceFinding{};
  Status usable = gpus.open();
  if (!usable.ok() && option == DeviceOption::Cuda)
    return usable.withContext("--device cuda");
  if (!usable.ok() && !forCpu)
    return usable.withContext("this program has no code for a CPU");
  // If only a GPU is possible, loading reports what is wrong with its chip.
  if (usable.ok() && option == DeviceOption::Auto && forCpu)
    usable = gpus.checkChip(gpu, image.cudaImage);
  return DeviceFinding{usable.ok(), usable.message()};
}

Status Engine::useDevice(bool gpu) {
  if (settings.device == DeviceOption::Cuda && !gpu)
    return failure("--device cuda, but other ranks use the CPU");
  if (!gpu && !described.isFor(ProgramTarget::Cpu))
    return failure("this program has no code for a CPU");
  const bool cacheForGpu = settings.cacheType >= CacheType::F16;
  if (settings.cacheType != CacheType::Default && cacheForGpu != gpu)
    return failure("--cache-type: ",
                   gpu ? "on a GPU the cache is f16, bf16 or fp8"
                       : "on the CPU the cache is f32 or q8_0");
  onGpu = gpu;
  return {};
}

Expected<bool> Engine::usesGpu() {
  if (onGpu)
    return *onGpu;
  Expected<DeviceFinding> found = findDevice(/*gpu=*/0);
  if (!found)
    return found.status();
  if (!found->why.empty())
    writeNote(found->why + "; the CPU is used");
  SLUICE_RETURN_IF_ERROR(useDevice(found->gpu));
  return *onGpu;
}

Expected<CacheStorage> Engine::cacheStorage() {
  Expected<bool> gpu = usesGpu();
  if (!gpu)
    return gpu.status();
  return *gpu ? CacheStorage(gpuCacheKind(settings.cacheType))
              : CacheStorage(cpuCacheFormat(settings.cacheType));
}

Expected<cpu::CpuProgram> Engine::loadCpuProgram(std::string_view name) {
  std::optional<int64_t> index =
      described.findProgram(name, ProgramTarget::Cpu);
  if (!index)
    return failure("there is no program '", name, "' for a CPU");
  WeightLoadOptions loading;
  loading.search = {image.executable, settings.modelDir};
  loading.packing = {settings.threads, interrupted};
  loading.note = writeNote;
  loading.lost = endDamaged;
  loading.verifyFirst = settings.verify == VerifyOption::Full;
  loading.randomSeed = settings.randomWeights;
  Expected<PackedWeightStore> store =
      PackedWeightStore::load(described, *index, loading);
  if (!store)
    return store.status();
  Expected<cpu::CpuProgram> program = programFor(
      described.programs[size_t(*index)], image.rowKernels, store->weights());
  if (!program)
    return program.status();
  weights.push_back(store.take());
  return program;
}

Expected<LocalStage>
Engine::loadCpuStage(std::string_view name, const CpuTeam &team,
                     std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool,
                     comm::Collectives *group) {
  Expected<cpu::CpuProgram> program = loadCpuProgram(name);
  if (!program)
    return program.status();
  return cpuStage(program.take(), cpuCacheFormat(settings.cacheType), team,
                  std::move(pool), group);
}

/// Loads all members of the group that computes a stage.
Expected<LocalStage> Engine::loadCpuGroup(const PlanStage &stage) {
  std::vector<cpu::CpuProgram> members;
  for (int64_t member = 0; member < stage.members(); ++member) {
    Expected<cpu::CpuProgram> program = loadCpuProgram(stage.programOf(member));
    if (!program)
      return program.status();
    members.push_back(program.take());
  }
  return cpuGroup(std::move(members), cpuCacheFormat(settings.cacheType),
                  wholeTeam());
}

/// Returns the threads of a process in which one stage computes at a time.
CpuTeam Engine::wholeTeam() const {
  CpuTeam team;
  team.threads = settings.threads;
  team.pinning = settings.pinning;
  return team;
}

Expected<LocalStage> Engine::loadStage(std::string_view name,
                                       const CpuTeam &team, int64_t gpu,
                                       comm::Collectives *group,
                                       cuda::DeviceGroup *members) {
  Expected<bool> onDevice = usesGpu();
  if (!onDevice)
    return onDevice.status();
  if (!*onDevice)
    return loadCpuStage(name, team, nullptr, group);
  GpuStageOptions options;
  options.search = {image.executable, settings.modelDir};
  options.image = image.cudaImage;
  options.cacheKind = gpuCacheKind(settings.cacheType);
  options.fastMathBatch = settings.fastMathBatch;
  options.threads = team.threads;
  options.gpu = gpu;
  options.randomSeed = settings.randomWeights;
  options.group = members;
  Expected<LocalStage> stage = gpus.load(described, name, options, files);
  if (!stage)
    return stage;
  SLUICE_RETURN_IF_ERROR(noteFiles(name));
  return stage;
}

/// Adds the known bytes of a program for a GPU, whose files are the last ones.
/// Verifies them first with --verify=full.
Status Engine::noteFiles(std::string_view name) {
  std::vector<KnownBytes> known = knownBytesOf(
      files.back(),
      described
          .programs[size_t(*described.findProgram(name, ProgramTarget::Cuda))]);
  if (settings.verify == VerifyOption::Full) {
    Expected<const KnownBytes *> damaged =
        findDamage(known, {settings.threads, interrupted});
    if (!damaged)
      return damaged.status();
    if (*damaged)
      return reportDamage(**damaged);
  }
  std::ranges::move(known, std::back_inserter(ofFiles));
  return {};
}

void Engine::startVerifying(bool goesOn) {
  const bool isFirst = settings.verify == VerifyOption::Background;
  goesOn &= ofFiles.empty();
  if (settings.verify == VerifyOption::Off || (!isFirst && !goesOn))
    return;
  VerifierPace pace;
  if (!isFirst)
    pace.first = VerifierPace::idle;
  if (goesOn)
    pace.later = VerifierPace::idle;
  std::vector<KnownBytes> known = ofFiles;
  for (const PackedWeightStore &store : weights)
    std::ranges::copy(store.knownBytes(), std::back_inserter(known));
  verifier.reset(); // refers to what was loaded before
  verifier =
      std::make_unique<WeightVerifier>(std::move(known), pace, endDamaged);
}

/// Loads all stages of the target.
Expected<std::vector<LocalStage>> Engine::loadStages() {
  Expected<bool> onDevice = usesGpu();
  if (!onDevice)
    return onDevice.status();
  auto pool = std::make_shared<std::shared_ptr<cpu::ThreadPool>>();
  std::vector<LocalStage> stages;
  for (const PlanStage &stage : described.plan.stages) {
    if (*onDevice && stage.members() > 1)
      return failure("what is computed outside of the pipeline takes one GPU, "
                     "and the program is for groups of ",
                     stage.members(), ": use --device cpu");
    Expected<LocalStage> loaded =
        *onDevice ? loadStage(stage.program, wholeTeam(), /*gpu=*/0)
        : stage.members() > 1
            ? loadCpuGroup(stage)
            : loadCpuStage(stage.program, wholeTeam(), pool, nullptr);
    if (!loaded)
      return loaded.status();
    stages.push_back(loaded.take());
  }
  return stages;
}

Expected<std::unique_ptr<device::StepExecutor>>
Engine::load(device::StepLimits limits, ActivationFormat activations) {
  Expected<std::vector<LocalStage>> stages = loadStages();
  if (!stages)
    return stages.status();
  limits.contextLength = settings.contextLength;
  Expected<std::unique_ptr<device::StepExecutor>> made =
      makeModelChain(*stages, limits, activations);
  if (made)
    startVerifying(/*goesOn=*/false);
  return made;
}

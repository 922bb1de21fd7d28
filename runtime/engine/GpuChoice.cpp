//===- GpuChoice.cpp - the GPUs of this machine and their programs --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/GpuChoice.h"

#include "runtime/base/Interrupt.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/weights/WeightMaker.h"
#include "runtime/program/DescribedProgram.h"
#include "runtime/program/Progress.h"

#include <algorithm>
#include <utility>

using namespace sluice;
using namespace sluice::engine;

namespace {

/// [weight]: whether a GPU generates its random numbers. A weight that is laid
/// out together with a gate's is generated with the gate.
std::vector<bool> madeOnDevice(const ProgramDescriptor &program) {
  std::vector<bool> made;
  for (const cuda::CudaWeight &weight :
       cuda::describedProgram(program, nullptr).weights)
    made.push_back(cuda::canMakeOnDevice(weight));
  for (size_t i = 0; i < made.size(); ++i)
    if (const int64_t partner = program.weights[i].partner; partner >= 0)
      made[size_t(partner)] = made[i];
  return made;
}

/// Lets a GPU generate `weight`, which has number `index` in the program.
void makeOnDevice(cuda::CudaWeight &weight, const ProgramDescriptor &program,
                  size_t index, uint64_t seed) {
  const WeightDescriptor &described = program.weights[index];
  std::visit(
      [&](auto &each) { each.matrix.random = randomRows(described, seed); },
      weight);
  if (auto *linear = std::get_if<cuda::LinearWeight>(&weight);
      linear && linear->partner)
    linear->partner->random =
        randomRows(program.weights[size_t(described.partner)], seed);
}

Expected<MappedModelFiles> openFiles(const ExecutableDescriptor &executable,
                                     const ProgramDescriptor &program,
                                     const GpuStageOptions &options) {
  if (!options.randomSeed)
    return MappedModelFiles::open(executable.files, program, options.search);
  Expected<RandomWeights> reserved =
      RandomWeights::reserve(program, madeOnDevice(program));
  if (!reserved)
    return reserved.status();
  return MappedModelFiles::random(reserved.take());
}

/// Returns the number of threads that lay weights out and generate those that
/// no GPU generates.
int64_t threadsOf(const GpuStageOptions &options) {
  return options.threads > 0 ? options.threads : cpu::defaultThreadCount();
}

Status makeWeights(RandomWeights &weights, const ProgramDescriptor &program,
                   const GpuStageOptions &options) {
  cpu::ThreadPool pool(threadsOf(options));
  return weights.fill(program, *options.randomSeed, pool, interrupted);
}

/// `files` may be null for a program of shapes without numbers.
cuda::CudaProgram programFor(const ProgramDescriptor &descriptor,
                             const GpuStageOptions &options,
                             const MappedModelFiles *files) {
  cuda::CudaProgram program = cuda::describedProgram(descriptor, files);
  program.image = options.image;
  if (!files || !options.randomSeed)
    return program;
  const std::vector<bool> made = madeOnDevice(descriptor);
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i])
      makeOnDevice(program.weights[i], descriptor, i, *options.randomSeed);
  return program;
}

cuda::CudaExecutorOptions optionsOf(const device::StepLimits &needs,
                                    const GpuStageOptions &options) {
  cuda::CudaExecutorOptions made(needs);
  made.cacheKind = options.cacheKind;
  made.fastMathBatch = options.fastMathBatch;
  return made;
}

Expected<std::unique_ptr<device::StepExecutor>>
makeExecutor(const std::shared_ptr<cuda::Device> &device,
             const cuda::CudaProgram &program, const GpuStageOptions &options,
             const device::StepLimits &needs) {
  cuda::LoadOptions loading;
  loading.threads = threadsOf(options);
  loading.group = options.group;
  std::optional<Progress> line;
  loading.progress = [&](uint64_t done, uint64_t total) -> Status {
    if (!line)
      line.emplace("loading weights", total);
    line->update(done);
    return interrupted() ? failure("interrupted") : Status();
  };
  Expected<std::unique_ptr<cuda::CudaExecutor>> made =
      cuda::CudaExecutor::create(device, program, optionsOf(needs, options),
                                 loading);
  if (!made)
    return made.status();
  return std::unique_ptr<device::StepExecutor>(made.take());
}

} // namespace

Status GpuChoice::open() {
  if (driver)
    return {};
  Expected<std::unique_ptr<cuda::Driver>> opened = cuda::openDriver();
  if (!opened)
    return opened.status();
  driver = opened.take();
  return {};
}

Expected<std::shared_ptr<cuda::Device>> GpuChoice::device(int64_t number) {
  if (only)
    return only;
  number %= driver->deviceCount();
  std::shared_ptr<cuda::Device> &held = devices[number];
  if (!held) {
    Expected<std::unique_ptr<cuda::Device>> opened =
        driver->open(static_cast<int32_t>(number));
    if (!opened)
      return opened.status();
    Expected<cuda::DeviceOptions> wanted =
        cuda::deviceOptionsOfEnvironment((*opened)->options());
    if (!wanted)
      return wanted.status();
    (*opened)->use(*wanted);
    held = opened.take();
  }
  return held;
}

Status GpuChoice::checkChip(int64_t number, std::span<const uint8_t> image) {
  Expected<std::shared_ptr<cuda::Device>> on = device(number);
  if (!on)
    return on.status();
  SLUICE_RETURN_IF_ERROR((*on)->enter());
  return cuda::KernelLibrary::load(**on, image).status();
}

Expected<std::string> GpuChoice::nameOf(int64_t number) {
  Expected<std::shared_ptr<cuda::Device>> on = device(number);
  if (!on)
    return on.status();
  return (*on)->properties().name;
}

Expected<cuda::MemoryNeed>
GpuChoice::memoryNeed(const ProgramDescriptor &descriptor,
                      const GpuStageOptions &options,
                      const device::StepLimits &needs, bool exact) {
  cuda::CudaProgram program = programFor(descriptor, options, nullptr);
  const cuda::CudaExecutorOptions wanted = optionsOf(needs, options);
  if (exact) {
    Expected<std::shared_ptr<cuda::Device>> on = device(0);
    if (!on)
      return on.status();
    return cuda::CudaExecutor::memoryNeed(*on, std::move(program), wanted);
  }
  Expected<cuda::CudaExecutorOptions> resolved =
      cuda::resolveOptions(program, wanted);
  if (!resolved)
    return resolved.status();
  Expected<cuda::MemoryPlan> plan = cuda::MemoryPlan::make(program, *resolved);
  if (!plan)
    return plan.status();
  return cuda::MemoryNeed(*plan);
}

/// Counts `need` with all that is planned for the device and not allocated yet.
/// Fails if the device has too little memory.
Status GpuChoice::count(const std::shared_ptr<cuda::Device> &device,
                        const cuda::MemoryNeed &need) {
  SLUICE_RETURN_IF_ERROR(device->enter());
  Expected<cuda::MemoryState> memory = device->memory();
  if (!memory)
    return memory.status();
  cuda::MemoryNeed &all = expected[device.get()];
  all += need;
  return cuda::checkRoom(all, *memory, device->properties().name);
}

Expected<LocalStage> GpuChoice::load(const ExecutableDescriptor &executable,
                                     std::string_view name,
                                     const GpuStageOptions &options,
                                     std::list<MappedModelFiles> &files) {
  std::optional<int64_t> index =
      executable.findProgram(name, ProgramTarget::Cuda);
  if (!index)
    return failure("there is no program '", name, "' for a GPU");
  const ProgramDescriptor &descriptor = executable.programs[size_t(*index)];
  Expected<MappedModelFiles> opened =
      openFiles(executable, descriptor, options);
  if (!opened)
    return opened.status();
  files.push_back(opened.take());
  cuda::CudaProgram program = programFor(descriptor, options, &files.back());
  Expected<std::shared_ptr<cuda::Device>> on = device(options.gpu);
  if (!on)
    return on.status();
  LocalStage stage = {
      program.hasEmbedding,  program.hasOutput, program.hiddenSize,
      program.contextLength, nullptr,           nullptr};
  // The memory that is planned for this stage and not allocated yet.
  auto planned = std::make_shared<cuda::MemoryNeed>();
  auto shared = std::make_shared<cuda::CudaProgram>(std::move(program));
  stage.plan = [=, this,
                device = *on](const device::StepLimits &needs) -> Status {
    Expected<cuda::MemoryNeed> need = cuda::CudaExecutor::memoryNeed(
        device, *shared, optionsOf(needs, options));
    if (!need)
      return need.status();
    *planned = *need;
    return count(device, *need);
  };
  stage.make =
      [=, this, device = *on, &descriptor,
       random = files.back().randomWeights()](const device::StepLimits &needs)
      -> Expected<std::unique_ptr<device::StepExecutor>> {
    expected[device.get()] -= std::exchange(*planned, {});
    if (random)
      SLUICE_RETURN_IF_ERROR(makeWeights(*random, descriptor, options));
    return makeExecutor(device, *shared, options, needs);
  };
  return stage;
}

//===- StepBed.cpp - a model's steps on a device, one by one --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/StepBed.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::devicecheck;

namespace {

constexpr uint64_t seedOfWeights = 1;

/// Returns an arbitrary token, which is always the same for a position of a
/// sequence.
int32_t tokenAt(int64_t sequence, int64_t position, int64_t vocabSize) {
  return static_cast<int32_t>((7 + 13 * sequence + 31 * position) % vocabSize);
}

} // namespace

StepBed::StepBed(const BedLimits &limits, CachePages pages)
    : pages(std::move(pages)), batch(limits.rows, limits.outputs) {}

Expected<std::unique_ptr<StepBed>>
StepBed::make(const engine::ProgramImage &image,
              std::shared_ptr<cuda::Device> device, const BedLimits &limits) {
  Expected<CachePages> pages = CachePages::create(
      {limits.pages, limits.sequences, limits.contextLength});
  if (!pages)
    return pages.status();
  std::unique_ptr<StepBed> bed(new StepBed(limits, pages.take()));
  SLUICE_RETURN_IF_ERROR(bed->load(image, std::move(device), limits));
  return bed;
}

Status StepBed::load(const engine::ProgramImage &image,
                     std::shared_ptr<cuda::Device> device,
                     const BedLimits &limits) {
  Expected<ExecutableDescriptor> parsed =
      ExecutableDescriptor::parse(image.descriptor);
  if (!parsed)
    return parsed.status();
  described = parsed.take();
  if (described.plan.stages.size() != 1)
    return failure("the model is cut into ", described.plan.stages.size(),
                   " stages, and one is wanted");
  gpus.use(std::move(device));
  engine::GpuStageOptions options;
  options.image = image.cudaImage;
  options.randomSeed = seedOfWeights;
  Expected<engine::LocalStage> stage =
      gpus.load(described, described.plan.stages[0].program, options, files);
  if (!stage)
    return stage.status();
  device::StepLimits step;
  step.rows = limits.rows;
  step.outputs = limits.outputs;
  step.sequences = limits.sequences;
  step.pages = limits.pages;
  step.contextLength = limits.contextLength;
  Expected<std::unique_ptr<device::StepExecutor>> made = stage->make(step);
  if (!made)
    return made.status();
  held = made.take();
  // A program for a GPU has only this kind of executor.
  computes = static_cast<cuda::CudaExecutor *>(held.get());
  for (int64_t i = 0; i < limits.sequences; ++i) {
    Expected<SequenceId> opened = pages.open();
    if (!opened)
      return opened.status();
    sequences.push_back(*opened);
  }
  return {};
}

Status StepBed::run(std::span<const Part> parts) {
  batch.clear();
  std::vector<OutputRequest> requests;
  for (const Part &part : parts) {
    const SequenceId id = sequences[size_t(part.sequence)];
    const int64_t first = pages.length(id) + part.skipped;
    SLUICE_RETURN_IF_ERROR(pages.grow(id, first + part.tokens));
    for (int64_t i = 0; i < part.tokens; ++i) {
      const bool wants = part.wantsToken && i + 1 == part.tokens;
      SLUICE_RETURN_IF_ERROR(
          batch.add(id, first + i,
                    tokenAt(part.sequence, first + i, vocabSize()), wants));
      if (wants)
        requests.push_back({OutputRequest::Greatest});
    }
  }
  device::StepInput input = {&batch, &pages};
  input.requests = requests;
  return computes->execute(input);
}

void StepBed::drop(int64_t sequence, int64_t tokens) {
  const SequenceId id = sequences[size_t(sequence)];
  pages.truncate(id, pages.length(id) - tokens);
}

std::vector<int32_t> StepBed::tokens() const {
  std::vector<int32_t> greatest;
  for (int64_t output = 0; output < batch.outputs(); ++output)
    greatest.push_back(computes->token(output).value_or(-1));
  return greatest;
}

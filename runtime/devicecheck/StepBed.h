//===- StepBed.h - runs a model's steps on a device, one by one -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<StepBed>> bed =
//       StepBed::make(model.image, device, {.rows = 8, .sequences = 2});
//   StepBed::Part part = {.sequence = 0, .tokens = 5, .wantsToken = true};
//   Status s = (*bed)->run({&part, 1});
//   int32_t token = (*bed)->tokens()[0];
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_STEPBED_H
#define SLUICE_RUNTIME_DEVICECHECK_STEPBED_H

#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/engine/Engine.h"

#include <list>

namespace sluice::devicecheck {

struct BedLimits {
  int64_t rows = 8;      ///< of a step
  int64_t outputs = 1;   ///< of a step
  int64_t sequences = 1; ///< open from the start
  int64_t pages = 8;     ///< of all sequences
  int64_t contextLength = 256;
};

/// Holds a whole model as one program, with weights that are made from a seed,
/// and sequences that grow. Thread-compatible.
class StepBed {
public:
  /// Errors: the model is cut into stages, or has no code for a GPU; those of
  /// CudaExecutor::create().
  static Expected<std::unique_ptr<StepBed>>
  make(const engine::ProgramImage &image, std::shared_ptr<cuda::Device> device,
       const BedLimits &limits);

  /// Some new rows of a sequence in a step.
  struct Part {
    int64_t sequence = 0;
    /// Their ids follow from the sequence's number and the positions.
    int64_t tokens = 1;
    /// Whether the token of the last row's greatest logit is wanted.
    bool wantsToken = false;
    /// Positions before the rows that the sequence leaves out. Its cache has
    /// there what is in memory.
    int64_t skipped = 0;
  };
  /// Runs one step of these rows, which are appended to their sequences.
  Status run(std::span<const Part> parts);
  /// Removes the last `tokens` positions of a sequence.
  void drop(int64_t sequence, int64_t tokens);

  cuda::CudaExecutor &executor() { return *computes; }
  int64_t vocabSize() const { return computes->vocabSize(); }
  /// Returns the token of the greatest logit for each output of the last step.
  std::vector<int32_t> tokens() const;

private:
  StepBed(const BedLimits &limits, CachePages pages);
  Status load(const engine::ProgramImage &image,
              std::shared_ptr<cuda::Device> device, const BedLimits &limits);

  std::list<MappedModelFiles> files;
  ExecutableDescriptor described;
  engine::GpuChoice gpus;
  std::unique_ptr<device::StepExecutor> held;
  cuda::CudaExecutor *computes = nullptr; ///< points to `held`
  CachePages pages;
  StepBatch batch;
  std::vector<SequenceId> sequences;
};

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_STEPBED_H

//===- Executor.h - runs the steps of a compiled program ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<Executor>> executor = Executor::create(program,
//                                                                   limits);
//   Expected<SequenceId> id = (*executor)->openSequence();
//   StepBatch batch(limits.rows, limits.outputs);
//   batch.add(*id, 0, token, /*wantsLogits=*/true);
//   if (Status s = (*executor)->execute(batch); !s.ok()) return s;
//   std::span<const float> logits = (*executor)->logits(0);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_EXECUTOR_H
#define SLUICE_RUNTIME_DEVICE_CPU_EXECUTOR_H

#include "runtime/base/Status.h"
#include "runtime/core/CachePages.h"
#include "runtime/core/StepBatch.h"
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cpu/ProgramABI.h"
#include "runtime/device/cpu/Weights.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::cpu {

/// The emitted step function; see ProgramABI.h.
using StepFunction = decltype(&sluice_program_step);

struct RopeTable {
  std::vector<float> inverseFrequencies; ///< one for each pair of dimensions
  float attentionFactor = 1;
};

/// What a compiled program says of itself (its descriptor), and its weights.
struct Program {
  StepFunction step = nullptr;
  Isa isa = Isa::Avx2;
  int64_t rowFloats = 0;    ///< arena floats for each row of capacity
  int64_t outputFloats = 0; ///< arena floats for each output of capacity
  int64_t logitsOffset = 0; ///< output offset of logits[output][vocabSize]
  int64_t vocabSize = 0;
  int64_t contextLength = 0;      ///< positions are below it
  std::vector<CacheShape> caches; ///< one for each layer
  std::vector<RopeTable> ropeTables;
  /// Weights in the descriptor's order. What they refer to (packed weights,
  /// mapped files) must outlive the Executor.
  std::vector<Weight> weights;
};

/// Bounds of an Executor; all memory for them is reserved at the start.
struct ExecutorLimits {
  int64_t rows = 512;      ///< rows of a step
  int64_t outputs = 1;     ///< rows of a step that ask for logits
  int64_t sequences = 1;   ///< sequences open at the same time
  int64_t cacheTokens = 0; ///< tokens of all sequences; 0: each a full context
  int64_t contextLength = 0; ///< of one sequence; 0: the program's
  int64_t threads = 0;       ///< 0: defaultThreadCount()
};

/// Owns the thread pool, the arena and the caches of one program. Memory is
/// reserved from the kernel and only takes room once it is used.
/// Thread-compatible: one call at a time.
class Executor {
public:
  /// Errors: a program that does not fit together (sizes that overflow, a
  /// weight missing its data), limits below one, or not enough memory.
  static Expected<std::unique_ptr<Executor>>
  create(Program program, const ExecutorLimits &limits);
  ~Executor();

  /// The limits in force: zeros replaced by what they stand for.
  const ExecutorLimits &limits() const;
  int64_t vocabSize() const;
  int64_t threads() const;
  /// Bytes of address space reserved for the arena and for the caches.
  uint64_t arenaBytes() const;
  uint64_t cacheBytes() const;

  /// Opens an empty sequence. Error: as many as the limit are open.
  Expected<SequenceId> openSequence();
  void closeSequence(SequenceId sequence);
  /// Tokens of the sequence in the cache.
  int64_t sequenceLength(SequenceId sequence) const;
  /// Drops the cache of positions from `length` on; nothing where it is
  /// shorter.
  void truncateSequence(SequenceId sequence, int64_t length);

  /// Runs one step. Each sequence's rows must continue it: the first of them at
  /// position sequenceLength(). Errors, and then nothing has changed: no rows,
  /// more rows or outputs than the limits, an unknown sequence, a token id or
  /// position out of range, a gap, or a cache without room. Allocates nothing
  /// but an error's message.
  Status execute(const StepBatch &batch);

  /// Logits of output `output` of the last step. Valid until the next
  /// execute().
  std::span<const float> logits(int64_t output) const;

private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  Status check(const StepBatch &batch) const;
  Status reserve(const StepBatch &batch);

  std::unique_ptr<State> state;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_EXECUTOR_H

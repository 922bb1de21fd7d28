//===- StepTasks.h - the tasks of a step, ready to run --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program's StepPlan refers to buffers, weights and caches by number.
// StepTasks has the same tasks with addresses, which stay the same from step to
// step. Every thread of the pool runs all tasks, in order, and does its own
// share of each:
//
// - of a row loop, the rows [rows * thread / threads, rows * (thread + 1) /
//   threads);
// - of products and attention, the parts that it takes as it comes free
//   (Tickets.h);
// - of an append, some of the pairs of a row and a head;
// - thread 0 does all of an exchange.
//
// What one thread has written is visible to the other threads after the next
// barrier or checkpoint, not before.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_STEPTASKS_H
#define SLUICE_RUNTIME_DEVICE_CPU_STEPTASKS_H

#include "runtime/device/StepPlan.h"
#include "runtime/device/cpu/Step.h"

#include <span>
#include <variant>
#include <vector>

namespace sluice::cpu {

/// The memory of a program's arena, and how many rows and outputs it has room
/// for.
struct ArenaMemory {
  float *start = nullptr;
  int64_t rowCapacity = 0;
  int64_t outputCapacity = 0;
};

/// The number of rows of a step, and of outputs among them.
struct StepCounts {
  int64_t rows = 0;
  int64_t outputs = 0;

  int64_t of(device::RecordKind kind) const {
    return kind == device::RecordKind::Rows ? rows : outputs;
  }
};

// The tasks of StepPlan.h with addresses in place of numbers.

struct BoundRowLoop {
  SluiceRowKernel kernel;
  std::vector<void *> arguments;
  device::RecordKind kind;
};

struct BoundProduct {
  PackedWeight weight; ///< the columns that the task computes
  const void *input;
  const float *bias; ///< of these columns; null if there is none
  float *output;
  device::RecordKind kind;
  uint32_t loop; ///< the loop's number in Tickets
};

struct BoundAppend {
  LayerCache *cache;
  const float *key;
  const float *value;
};

struct BoundAttend {
  const LayerCache *cache;
  SluiceAttention attention; ///< its slopes are the plan's
  const float *query;
  float *output;
  uint32_t loop; ///< as in BoundProduct
};

struct BoundExchange {
  device::ExchangeTask::Operation operation;
  device::RecordKind kind;
  const float *input;
  float *output;
  float *scratch;
  int64_t inputFloats; ///< of a record
  int64_t outputFloats;
};

struct BoundCheckpoint {
  struct Moved {
    float *start;
    int64_t floats; ///< of a record
    device::RecordKind kind;
  };
  std::vector<Moved> buffers;
};

struct BoundBarrier {};

using BoundTask =
    std::variant<BoundRowLoop, BoundProduct, BoundAppend, BoundAttend,
                 BoundExchange, BoundCheckpoint, BoundBarrier>;

/// The tasks of one program. Constant after bind().
class StepTasks {
public:
  StepTasks() = default;

  /// Binds the tasks of the program's plan to the arena, the caches, and the
  /// program's weights and tables, none of which may move afterwards. Fails if
  /// the plan is not sound (device::checkStepPlan), or if a weight has another
  /// kind or shape than its task needs.
  static Expected<StepTasks> bind(const CpuProgram &program,
                                  const ArenaMemory &arena,
                                  std::span<LayerCache> caches);

  /// Runs the tasks of a step that begins with `counts` rows and outputs. All
  /// `threads` threads of the step's pool call it. Returns early if no row is
  /// left after a checkpoint.
  void run(SluiceStep &step, StepCounts counts, int64_t thread,
           int64_t threads) const;

private:
  std::vector<BoundTask> tasks;

  friend class TaskBinder;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_STEPTASKS_H

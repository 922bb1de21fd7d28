//===- StepTasks.h - the tasks of a step, ready to run --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program's StepPlan names buffers, weights and caches by number. StepTasks
// has the same tasks with their addresses, which stay the same from step to
// step. Every thread of the pool runs all tasks, in their order, and does its
// own share of each:
//
// - of a row loop, the rows [rows * thread / threads, rows * (thread + 1) /
//   threads);
// - of products and attention, the parts that it takes as it comes free
//   (Tickets.h);
// - of an append, some of the pairs of a row and a head;
// - thread 0 does all of an exchange.
//
// What one thread has written the others see behind the next barrier or
// checkpoint, and not before.
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

/// How many rows a step has, and how many outputs are among them.
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
  PackedWeight weight; ///< its columns that the task computes
  const void *input;
  const float *bias; ///< of these columns; null: none
  float *output;
  device::RecordKind kind;
  uint32_t loop; ///< its number among the loops that tickets deal out
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

/// The tasks of one program. Constant once it is made.
class StepTasks {
public:
  StepTasks() = default;

  /// Binds the tasks of the program's plan to the arena and to the weights,
  /// tables and caches of `step`, which must stay where they are. Errors: the
  /// plan is not sound (device::checkStepPlan), or a task needs a weight of
  /// another kind or shape.
  static Expected<StepTasks> bind(const CpuProgram &program, const Arena &arena,
                                  SluiceStep &step);

  /// Runs the tasks for a step that begins with `counts` rows and outputs. All
  /// `threads` threads of the step's pool call it. It ends early where a
  /// checkpoint leaves no row.
  void run(SluiceStep &step, StepCounts counts, int64_t thread,
           int64_t threads) const;

private:
  std::vector<BoundTask> tasks;

  friend class TaskBinder;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_STEPTASKS_H

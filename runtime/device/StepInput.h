//===- StepInput.h - the input of one step, for every device --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines what an executor is given for one step of a program, and the handler
// that it calls at the step's checkpoints. It is the same for all devices.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_STEPINPUT_H
#define SLUICE_RUNTIME_DEVICE_STEPINPUT_H

#include "runtime/base/Status.h"
#include "runtime/core/CachePages.h"
#include "runtime/core/OutputRequest.h"
#include "runtime/core/RowMoves.h"
#include "runtime/core/Rows.h"
#include "runtime/core/StepBatch.h"
#include "runtime/formats/Activations.h"

#include <cstdint>
#include <span>

namespace sluice::device {

/// Decides at the checkpoints of a step which of its rows leave. If the host
/// passes the checkpoints, it calls checkpoint() at each. If the device passes
/// them, the host calls findDead() while the device computes; after that it
/// calls agree(), leave() for each checkpoint, and at the end dropOrphans().
class CheckpointHandler {
public:
  virtual ~CheckpointHandler() = default;

  /// Removes the rows that have died from the step's batch (StepBatch::keep).
  /// Returns the moves that were applied to the batch, as planCompaction() made
  /// them; they are valid until the next call. If no row has died, the batch is
  /// unchanged and there are no moves. Called at each checkpoint on the thread
  /// that called execute(), while all other threads wait.
  virtual std::span<const RowMove> checkpoint() = 0;

  /// Sets alive[row] to 0 for the rows of the batch that have died, and returns
  /// whether it set any. The rows stay in the batch; a 0 stays 0. Called
  /// repeatedly on the thread that called execute(), so it must be cheap if
  /// nothing has changed.
  virtual bool findDead(std::span<uint8_t> alive) = 0;

  /// Called once, after the last findDead() of a step. The members of a group
  /// tell each other here which rows they found dead.
  virtual void agree() {}

  /// Removes the rows with a 0 in alive[row], which the device dropped at a
  /// checkpoint, from the batch. Called in order for each checkpoint that the
  /// device passed while rows lived. If `alive` is empty, no row has left. The
  /// rows are some of those that findDead() has named, in any order. `seen` is
  /// the time on the steady clock at which the host saw that they had left.
  /// Returns the moves as checkpoint() does.
  virtual std::span<const RowMove> leave(std::span<const uint8_t> alive,
                                         Time seen) = 0;

  /// Called once, after the last leave() of a step. Removes the rows from the
  /// batch that the device kept although an ancestor of theirs in this step has
  /// left. Returns the moves as checkpoint() does.
  virtual std::span<const RowMove> dropOrphans() = 0;
};

/// The input of one step. Everything that it refers to outlives execute(), and
/// during it only `checkpoints` changes any of it.
struct StepInput {
  /// The rows, those of a sequence in any order. Their mirrors are stored as
  /// well.
  const StepBatch *batch = nullptr;
  /// Has a page for the position of every row and mirror.
  const CachePages *pages = nullptr;
  /// The copies of pages, made in this order in every layer before anything
  /// else. They include the copies of earlier steps that had no row left when
  /// they were to be executed.
  std::span<const PageCopy> copies = {};
  /// For each row of the batch its incoming activations: hiddenSize numbers at
  /// any alignment. Empty if the program has an embedding.
  std::span<const uint8_t *const> incoming = {};
  ActivationFormat incomingFormat = ActivationFormat::F32;
  /// Replaces `incoming` if the activations are in the memory of the executor's
  /// device: for each row the address of hiddenSize floats, which are complete.
  /// Only for executors on a device.
  std::span<const uint64_t> incomingOnDevice = {};
  /// Room for the activations of all rows of the batch, one row after another.
  /// The rows that are alive at the end are written, in the batch's order.
  /// Empty if the program has an output.
  std::span<uint8_t> outgoing = {};
  ActivationFormat outgoingFormat = ActivationFormat::F32;
  /// Replaces `outgoing`: the rows stay in the device's memory, as floats, and
  /// StepExecutor::sentRows() returns them. Only for executors on a device.
  bool keepsOutgoing = false;
  /// What is wanted of each output of the batch, as numbered at the start of
  /// the step. Empty: the logits of all outputs.
  std::span<const OutputRequest> requests = {};
  /// Null if no row can die.
  CheckpointHandler *checkpoints = nullptr;
  /// Whether to measure StepExecutor::waits(), which reads clocks.
  bool timesWaits = false;
};

/// The sizes that an executor is created with.
struct StepLimits {
  int64_t rows = defaultStepRows; ///< of a step
  int64_t outputs = 1;            ///< rows of a step with logits
  int64_t sequences = 1;          ///< open at the same time
  int64_t pages = 0;              ///< of cache memory
  int64_t contextLength = 0;      ///< of one sequence; 0 means the program's
  /// Whether all memory is made resident at the start, so that no step can run
  /// out of it.
  bool resident = false;
};

/// What a program and its executor ask of a step.
struct StepBounds {
  bool hasEmbedding = true; ///< rows enter as tokens, not as activations
  bool hasOutput = true;    ///< rows leave as logits, not as activations
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  StepLimits limits = {};     ///< with the context length in force
  bool hasDeviceRows = false; ///< rows may enter and leave in device memory
};

/// Checks a step before it is executed. Errors: no rows; more rows or outputs
/// than the bounds; a token id or position out of range; a row, mirror or copy
/// without a page; activations that are missing or have no room. Allocates
/// nothing but an error's message.
Status checkStep(const StepInput &input, const StepBounds &bounds);

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_STEPINPUT_H

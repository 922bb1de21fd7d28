//===- StepInput.h - what a device is given to compute --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step of a program, whichever device executes it.
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

/// Decides at the checkpoints of a step which of its rows leave. Where the host
/// passes the checkpoints, checkpoint() is called at each; where the device
/// does, findDead() while it computes, and when it has, agree(), leave() for
/// each, and dropOrphans() in the end.
class CheckpointHandler {
public:
  virtual ~CheckpointHandler() = default;

  /// Called at each checkpoint, on the thread that called execute(), while all
  /// others wait. Takes the rows that have died out of the step's batch
  /// (StepBatch::keep) and returns the moves that it told the batch, as
  /// planCompaction made them; they stay valid until the next call. No moves
  /// and the batch as it was: nobody has died.
  virtual std::span<const RowMove> checkpoint() = 0;

  /// Sets alive[row] to 0 for the rows of the batch that have died, which stay
  /// in it; a row that is 0 stays so. Whether it has set any. Called over and
  /// over by the thread that called execute(), so it is cheap where nothing is
  /// new.
  virtual bool findDead(std::span<uint8_t> alive) = 0;

  /// Once, behind the last findDead() of a step: what the members of a group
  /// have to tell each other of who has been found dead.
  virtual void agree() {}

  /// For each checkpoint that the device has passed while rows lived, in order:
  /// takes the rows out of the batch that are 0 in alive[row], which the device
  /// has let leave there; empty: nobody has left. They are of those that
  /// findDead() has named, though not all of them, in any order. `seen`: when
  /// the host saw that they had left, on the steady clock. Returns the moves as
  /// checkpoint() does.
  virtual std::span<const RowMove> leave(std::span<const uint8_t> alive,
                                         Time seen) = 0;

  /// Once, behind the last leave() of a step: takes the rows out of the batch
  /// that the device has kept though an ancestor of theirs in this step has
  /// left. Returns the moves as checkpoint() does.
  virtual std::span<const RowMove> dropOrphans() = 0;
};

/// One step. Everything named here outlives execute(), and nothing but
/// `checkpoints` changes it meanwhile.
struct StepInput {
  /// Rows of a sequence in any order; mirrors are stored as well.
  const StepBatch *batch = nullptr;
  /// Has a page for the position of every row and mirror.
  const CachePages *pages = nullptr;
  /// Made in this order before anything else, in every layer: also those of
  /// earlier steps that came to nothing before they were executed.
  std::span<const PageCopy> copies = {};
  /// For each row of the batch the activations that have come in: hiddenSize
  /// numbers at any alignment. Empty where the program has an embedding.
  std::span<const uint8_t *const> incoming = {};
  ActivationFormat incomingFormat = ActivationFormat::F32;
  /// Instead of `incoming`, where they have come into the memory of the
  /// executor's device: for each row the address of hiddenSize floats, which
  /// are there. Only for executors on a device.
  std::span<const uint64_t> incomingOnDevice = {};
  /// Room for the activations of all rows of the batch, one row after another;
  /// those that live at the end are written, in the batch's order. Empty where
  /// the program has an output.
  std::span<uint8_t> outgoing = {};
  ActivationFormat outgoingFormat = ActivationFormat::F32;
  /// Instead of `outgoing`: the rows stay in the device's memory, as floats,
  /// where StepExecutor::sentRows() says. Only for executors on a device.
  bool keepsOutgoing = false;
  /// For each output of the batch as it begins, what is wanted of it. Empty:
  /// the logits of all.
  std::span<const OutputRequest> requests = {};
  /// Null: no row dies.
  CheckpointHandler *checkpoints = nullptr;
  /// StepExecutor::waits() is wanted afterwards: clocks are read for it.
  bool timesWaits = false;
};

/// What a program and its executor's limits allow a step.
struct StepBounds {
  bool hasEmbedding = true; ///< rows come as tokens, not as activations
  bool hasOutput = true;    ///< they end as logits, not as activations
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t rows = 0;           ///< of a step
  int64_t outputs = 0;        ///< of a step
  int64_t pages = 0;          ///< of the cache
  int64_t contextLength = 0;  ///< of a sequence
  bool hasDeviceRows = false; ///< rows may come and go in a device's memory
};

/// Errors: no rows, more rows or outputs than the bounds, a token id or
/// position out of range, a row, a mirror or a copy without a page, activations
/// that are missing or have no room. Allocates nothing but an error's message.
Status checkStep(const StepInput &input, const StepBounds &bounds);

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_STEPINPUT_H

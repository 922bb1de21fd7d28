//===- Stage.h - forms a stage's steps from queued frames -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stage is the deciding half of a stage. It has no threads, clocks or layers.
// It takes the queued frames, drops dead rows, fuses the rest into one step,
// places rows in the cache, lets rows leave at checkpoints, and builds the
// frame for the next stage. A worker that computes layers drives it, or the
// simulator does.
//
//   stage.enqueue(std::move(frame));            // as frames arrive, in order
//   while (stage.formStep()) {
//     copy pages(); compute stage.batch();
//     at each checkpoint: for (RowMove move : stage.checkpoint()) ...
//     stage.finishStep(outgoing); send it
//   }
//
// Branches. A sequence of CachePages is one path through a request's tree of
// guesses. A row whose parent is the last row of a path continues that path.
// Any other row forks a path at its parent: full pages are shared, the page
// with the fork is copied, and rows of this very step that belong on the copy
// as well are stored twice (StepBatch::mirrors). So each path lies in the cache
// as if it had been computed alone, and attention, which does not know trees,
// gives the same bits whatever was guessed beside it. A path whose last row is
// dead is cut back when a living row needs its beginning, and closed once the
// confirmed row lies on another path; see BranchTable.h. StageTree.h says which
// rows are dead.
//
// Shared pages. When the head orders a page of a request to be pinned, the page
// stays in the cache under the number that the head gives it, also after the
// request has closed, until the head orders it to be unpinned. Later requests
// with the same prefix begin with it. A step carries out the orders of all its
// frames and repeats them in one frame to the next stage, where unpins and
// opens come before pins and closes. So a frame waits for the next step if it
// opens a slot that this step closes, or if it unpins or shares a page that
// this step pins or still uses.
//
// A row can come again, as a certain row, if the head does not know whether
// this stage has it; then it is computed again. A row whose parent never came
// is dead, and so are its descendants.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STAGE_H
#define SLUICE_RUNTIME_CORE_STAGE_H

#include "runtime/core/CachePages.h"
#include "runtime/core/EpochBoard.h"
#include "runtime/core/RowMoves.h"
#include "runtime/core/Rows.h"
#include "runtime/core/StepBatch.h"
#include "runtime/core/StepRows.h"

#include <memory>
#include <span>

namespace sluice {

struct StageLimits {
  int64_t rows = defaultStepRows; ///< rows of a step
  int64_t outputs = 64;           ///< rows of a step that want an output
  /// Rows of a step that belong to prompts. Chunks of this size keep the
  /// latency between checkpoints short and follow each other through the
  /// stages; fused in a mailbox, they would do neither.
  int64_t promptRows = defaultStepRows;
  int64_t requests = 1; ///< requests open at the same time
  /// Paths of all requests, which are sequences of the cache. A request has at
  /// most one more than it has living rows.
  int64_t branches = 64;
  int64_t nodes = 1024; ///< speculative rows of a request that can be alive
  int64_t contextLength = 0;
  /// Number of tokens that the program has rows for; 0 if it has rows for all
  /// tokens. A draft can have fewer than the target whose texts it continues:
  /// it computes any larger token as its last one, which mostly is padding.
  /// promptOf() and outputOf() return the tokens unchanged.
  int64_t vocabSize = 0;
  int64_t frames = 256; ///< frames queued in the mailbox
  /// The number of shared pages; 0 if none may be pinned.
  int64_t sharedPages = 0;
  /// Whether a step takes all queued frames, or only one: to measure what
  /// fusion is worth.
  bool fuse = true;
  /// Whether to keep tokens for promptOf() and outputOf(). Only the draft and
  /// the stages that sample need them.
  bool keepTokens = true;
};

/// Thread-compatible, except that other threads may publish to the board. After
/// create() nothing allocates but the vectors of frames, which keep their
/// memory, and the contents of an OpenRequest.
class Stage {
public:
  /// `pages` and `board` must outlive the stage. Only the stage may open
  /// sequences of `pages`, and `pages` must not change while a step is formed.
  /// Fails if a limit is below one or too large, and if the cache or the board
  /// is too small for the limits.
  static Expected<Stage> create(const StageLimits &limits, CachePages &pages,
                                EpochBoard &board);
  Stage(Stage &&);
  Stage &operator=(Stage &&);
  ~Stage();

  /// Puts a frame into the mailbox and returns its number. Its marks are on the
  /// board from then on. `frame` is left empty, with the memory of an old
  /// frame, so receiving into the same frame again allocates nothing in the
  /// long run. Fails, and changes nothing, if the mailbox is full or the frame
  /// is inconsistent: a row, open, pin or close of a slot that does not exist
  /// or is not open (or is open already), a shared page that does not exist or
  /// is not pinned (or is pinned already), a prefix that is not whole pages of
  /// the known tokens, a position outside the context, or node numbers that do
  /// not increase.
  Expected<uint64_t> enqueue(StepFrame &&frame);

  /// Returns how many frames are in the mailbox.
  int64_t queued() const;

  /// Forms the next step from the frames in the mailbox, in order, as far as
  /// the limits allow; the rows of a frame may be split over steps. Dead rows
  /// are dropped. Returns false if the mailbox is empty. A step can have no
  /// rows, if all were dead or a frame had none; then finishStep() must follow
  /// at once. After an error the stage cannot be used any more. Fails if the
  /// cache has no room or more rows are in flight than `nodes`, both of which
  /// the head's limits prevent; if a row's position does not follow its
  /// parent's, or a row comes again with another parent, position or token; and
  /// if no branch has a page that is to be pinned.
  Expected<bool> formStep();

  /// Return the step's rows for the executor: row r is row r of the batch.
  /// Valid until the next formStep(); checkpoint() changes them.
  const StepBatch &batch() const;
  std::span<const Row> rows() const;
  std::span<const RowOrigin> origins() const;
  /// Returns the page copies to make, in order, before the step is computed.
  /// Checkpoints do not change them.
  std::span<const PageCopy> pageCopies() const;

  /// Returns the number of the first frame in the mailbox, which may have been
  /// taken in part. Frames with lower numbers are no longer needed once the
  /// step is finished.
  uint64_t firstFrameInUse() const;

  /// Lets rows leave that have died since the last check, unless they are
  /// ancestors of rows that live in this step. Returns the moves that close the
  /// gaps; the caller makes them in everything that has a record for each row.
  /// batch(), rows() and origins() have changed already, and batch().rows()
  /// rows remain. Cheap if no new mark was published. Valid until the next
  /// checkpoint() or formStep().
  std::span<const RowMove> checkpoint();

  /// The first half of checkpoint(), for a device that passes its checkpoints
  /// by itself: sets alive[row] to 0 for the rows of batch() that would leave
  /// now. Returns whether it has set any that it had not set before. No row
  /// leaves.
  bool findDead(std::span<uint8_t> alive);
  /// The second half, for each checkpoint that the device has passed: lets the
  /// rows leave whose alive[row] is 0. These are rows that findDead() has
  /// marked and that the device has removed at this checkpoint. If `alive` is
  /// empty, no row has left. The result is valid as that of checkpoint().
  std::span<const RowMove> leave(std::span<const uint8_t> alive);
  /// Must follow the last leave() of a step. The device reads `alive` while it
  /// is being written, so it may have kept a dead row whose ancestor has left;
  /// its result for such a row is meaningless. Such rows leave now. O(rows).
  /// The result is valid as that of checkpoint().
  std::span<const RowMove> dropOrphans();

  /// Returns when the head decided each of the cancels that removed rows at the
  /// last checkpoint. A row counts for the first cancel by which it is dead. A
  /// row that died by a mark of a frame, which came before the cancel, counts
  /// for none. Valid as long as the moves.
  std::span<const Time> cancelsOfDeparted() const;

  /// Ends the step and appends to `outgoing`, which must be empty, what the
  /// next stage needs: the rows in the order of rows() (the next stage sorts
  /// them), the newest mark that came with the rows of each request, the orders
  /// to unpin, open, pin and close, how many of the head's frames have been
  /// taken completely, and the timings of the fused frames (those of the last
  /// frame, if several have some). A request that closed gives its pages back.
  /// batch(), rows() and origins() stay valid until the next formStep().
  void finishStep(StepFrame &outgoing);

  /// For the sampler: return the tokens of the request's prompt, and the tokens
  /// after it up to and including row r's. Need keepTokens; must be called
  /// before finishStep(). Valid until the next call.
  std::span<const int32_t> promptOf(int64_t row);
  std::span<const int32_t> outputOf(int64_t row);
  /// Returns how the row's request was opened. Must be called before
  /// finishStep().
  const OpenRequest &requestOf(int64_t row) const;

  struct Counters {
    uint64_t steps = 0; ///< with at least one row
    uint64_t rows = 0;  ///< rows at the start of steps
    /// Guesses among these rows that stayed to the end of their step.
    uint64_t guesses = 0;
    uint64_t droppedAtMailbox = 0;
    uint64_t repeated = 0;             ///< rows that were in the step already
    uint64_t departedAtCheckpoint = 0; ///< of `rows`, those that left
    uint64_t checkpoints = 0;
    uint64_t tombstones = 0;
  };
  const Counters &counters() const;

  /// Sequences and pages held by requests, open requests, and queued frames:
  /// all 0 once every request has closed (invariant 4). `pinned` counts the
  /// shared pages that are pinned, in use or not.
  struct Holdings {
    int64_t requests = 0, branches = 0, pages = 0, frames = 0;
    int64_t pinned = 0;
    bool operator==(const Holdings &) const = default;
  };
  Holdings holdings() const;

private:
  struct State;
  explicit Stage(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STAGE_H

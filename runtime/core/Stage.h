//===- Stage.h - what a stage does with the rows in its mailbox -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The deciding half of a stage, without threads, clocks or layers: takes what
// is queued, drops the dead, fuses the rest into one step, places rows in the
// cache, lets rows leave at checkpoints, and says what goes on to the next
// stage. A worker that computes layers drives it, or the simulator.
//
//   stage.enqueue(std::move(frame));            // as frames arrive, in order
//   while (stage.formStep()) {
//     copy pages(); compute stage.batch();
//     at each checkpoint: for (RowMove move : stage.checkpoint()) ...
//     stage.finishStep(outgoing); send it
//   }
//
// Branches. A sequence of CachePages is one path through a request's tree of
// guesses. A row whose parent is the last row of a path continues it; any other
// row forks a path at its parent: full pages are shared, the page in which the
// fork lies is copied, and rows of this very step that belong on the copy as
// well are stored twice (StepBatch::mirrors). So each path lies in the cache as
// if it had been computed alone, and attention, which never knows of trees, has
// the same bits whatever was guessed beside it. Paths whose last row is dead
// are cut back when a living row needs their beginning, and closed once the
// confirmed row lies on another; see BranchTable.h. Which rows are dead:
// StageTree.h.
//
// Shared pages. What the head has the stage pin of a request's path stays in
// the cache under the number that the head gives it, whatever becomes of the
// request, until the head unpins it; requests that begin alike begin with it.
// Frames say so, and what they say is done in the order of the frames: a frame
// waits for the next step where it opens a slot or names a page about which
// this step has something to say that comes later in a frame. So the frame that
// comes of a step says to the next stage what its frames said.
//
// A row can come again, as certain, where the head is in doubt whether this
// stage has it: it is computed again. A row whose parent has not been here is
// dead, and so are its children.
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
  int64_t rows = 512;   ///< of a step
  int64_t outputs = 64; ///< rows of a step that want an output
  /// Rows of a step that belong to prompts. Chunks of so many keep the latency
  /// of checkpoints, and follow each other through the stages; fused in a
  /// mailbox, they would do neither.
  int64_t promptRows = 512;
  int64_t requests = 1; ///< open at the same time
  /// Paths of all requests: sequences of the cache. A request has no more than
  /// it has living rows, and one.
  int64_t branches = 64;
  int64_t nodes = 1024; ///< speculative rows of a request that can be alive
  int64_t contextLength = 0;
  /// Tokens that the program has rows for; 0: all. A draft can have fewer than
  /// the target whose texts it continues: it computes any other token as its
  /// last one, which is padding as a rule. The texts themselves are as they are
  /// in promptOf() and outputOf().
  int64_t vocabSize = 0;
  int64_t frames = 256; ///< queued in the mailbox
  /// Numbers of shared pages; 0: none may be pinned.
  int64_t sharedPages = 0;
  /// Takes all that is queued (true), or one frame a step: for measuring what
  /// fusion is worth.
  bool fuse = true;
  /// Keeps tokens for promptOf() and outputOf(): the stages that sample, and
  /// the draft.
  bool keepTokens = true;
};

/// Thread-compatible but for the board, which others may publish to. After
/// create() nothing allocates but the vectors of frames, which keep their room,
/// and what an OpenRequest holds.
class Stage {
public:
  /// `pages` and `board` outlive the stage; only the stage opens sequences of
  /// `pages`, and nobody changes them while a step is formed. Errors: a limit
  /// below one or too large, or a cache or board too small for them.
  static Expected<Stage> create(const StageLimits &limits, CachePages &pages,
                                EpochBoard &board);
  Stage(Stage &&);
  Stage &operator=(Stage &&);
  ~Stage();

  /// Puts a frame in the mailbox; its number. Its marks are on the board from
  /// now on. `frame` is left empty, with the room of an old frame: whoever
  /// receives into the same frame again allocates nothing in the long run.
  /// Errors, and then nothing has changed: the mailbox is full, or a frame that
  /// cannot be right: a row, open, pin or close of a slot that is not there or
  /// not open (or open already), a shared page that is not there or not pinned
  /// (or pinned already), a prefix that is not whole pages of the known tokens,
  /// a position out of the context, numbers that do not go on.
  Expected<uint64_t> enqueue(StepFrame &&frame);

  /// Frames in the mailbox.
  int64_t queued() const;

  /// Forms the next step from the frames in the mailbox, in order, as far as
  /// the limits allow; a frame's rows may be split over steps. Dead rows are
  /// dropped. False: the mailbox is empty. A step can come out without rows,
  /// where all were dead or a frame had none: then finishStep() follows at
  /// once. Errors, after which the stage is of no further use: the cache has no
  /// room, or more rows are in flight than `nodes`, which the limits of the
  /// head prevent; a row's position does not follow its parent's, or it comes
  /// again with another parent, position or token; or a page is to be pinned
  /// that no branch has.
  Expected<bool> formStep();

  /// The step's rows, for the executor: row r is batch row r. Valid until the
  /// next formStep(); checkpoint() changes them.
  const StepBatch &batch() const;
  std::span<const Row> rows() const;
  std::span<const RowOrigin> origins() const;
  /// Pages to copy, in order, before the step is computed. Checkpoints do not
  /// change them.
  std::span<const PageCopy> pageCopies() const;

  /// Frames with lower numbers are no longer needed once the step is finished:
  /// the first one in the mailbox, which may have been taken in part.
  uint64_t firstFrameInUse() const;

  /// Lets the rows leave that have died since the last look, and are no
  /// ancestors of rows that live in this step. Returns the moves that close the
  /// gaps, to be made to everything that has a record for each row; batch(),
  /// rows() and origins() have changed already. Rows that are left:
  /// batch().rows(). Cheap where nothing new was published; valid until the
  /// next checkpoint() or formStep().
  std::span<const RowMove> checkpoint();

  /// The same in parts, for a device that passes its checkpoints by itself:
  /// sets alive[row] of batch() to 0 for rows that would leave now, and says
  /// whether there are any that it has not named before. Nobody leaves.
  bool findDead(std::span<uint8_t> alive);
  /// For each checkpoint that the device has passed: lets the rows leave that
  /// are 0 in alive[row], of those that findDead() has named: the device has
  /// left them out there. Empty: nobody has left. Valid as checkpoint()'s.
  std::span<const RowMove> leave(std::span<const uint8_t> alive);
  /// Behind the last leave() of a step. The device reads who lives while it is
  /// told, and may have kept a dead row whose ancestor has left: what it has
  /// computed of that row means nothing. Such rows leave now. O(rows). Valid as
  /// checkpoint()'s.
  std::span<const RowMove> dropOrphans();

  /// Of the cancels that took rows out at the last checkpoint: when the head
  /// decided each. A row counts for the first cancel that it is dead by; one
  /// that died of a mark that came with a frame, before its cancel, for none.
  /// Valid as long as the moves.
  std::span<const Time> cancelsOfDeparted() const;

  /// Ends the step: appends to `outgoing`, which is empty, what the next stage
  /// has to know: rows with their order as in rows() (the next stage sorts),
  /// the newest mark that came with the rows of each request, what to unpin,
  /// open, pin and close, how many of the head's frames have been taken in
  /// whole, and the timings of the frames that were fused (of several frames,
  /// those of the last). A request that closed gives its pages back. batch(),
  /// rows() and origins() stay as they are until the next formStep().
  void finishStep(StepFrame &outgoing);

  /// For the sampler, before finishStep(): the tokens of the request's prompt,
  /// and after it up to and including row r's. Only with keepTokens. Valid
  /// until the next call.
  std::span<const int32_t> promptOf(int64_t row);
  std::span<const int32_t> outputOf(int64_t row);
  /// How the row's request was opened; before finishStep().
  const OpenRequest &requestOf(int64_t row) const;

  struct Counters {
    uint64_t steps = 0; ///< with at least one row
    uint64_t rows = 0;  ///< that steps began with
    /// Of them, guesses that stayed to the end of their step.
    uint64_t guesses = 0;
    uint64_t droppedAtMailbox = 0;
    uint64_t repeated = 0;             ///< rows that were in the step already
    uint64_t departedAtCheckpoint = 0; ///< of `rows`
    uint64_t checkpoints = 0;
    uint64_t tombstones = 0;
  };
  const Counters &counters() const;

  /// Sequences and pages held by requests, requests open, frames queued: all 0
  /// once every request has closed (invariant 4). Apart from them, the shared
  /// pages that are pinned, in use or not.
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

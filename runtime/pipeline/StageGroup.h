//===- StageGroup.h - equal steps at all members of a group ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first member of a tensor-parallel group decides for all members which
// frames make a step and which rows are dead. A Stage depends only on the
// frames in its mailbox and the marks on its board. So each member has a Stage,
// and the first member tells the others before each step which frames have come
// since the last one, and then and at each checkpoint which marks are new. Thus
// all members have the same rows in the same places, with the same pages.
//
//   first member                          other members
//   group.barrier()                  <---->  group.barrier()
//   frames arrive, by the channel
//   group.tellStep(frames)        ----->  group.hearStep(frames)
//     how long they are, new marks
//     each frame by itself
//   stage.formStep()                      stage.formStep()
//   group.formed(stage)                   group.formed(stage)
//   ... group.checkpoint()        ----->  ... group.checkpoint()
//   or while a device computes, and when it has:
//   ... group.look()
//   group.agree(looked)           ----->  group.agree(looked)
//   sends on
//   group.tellEnd()               ----->  group.hearStep(): no more
//
// For this purpose the stage has a board of its own, which changes only through
// these calls. Marks that the head publishes on the rank's board meanwhile wait
// for the next call.
//
// If devices pass the checkpoints by themselves, the first member's device has
// told the other devices which rows leave; their hosts learn the marks behind
// that when the step has ended. What a stage concludes from marks depends on
// when it looks at them. So the other members look as often as the first member
// did, with the same marks each time.
//
// Members with different steps would add up unrelated numbers, and the result
// would not show it. So each message carries a hash of all steps of the first
// member so far, which the others compare with their own.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_STAGEGROUP_H
#define SLUICE_RUNTIME_PIPELINE_STAGEGROUP_H

#include "runtime/comm/Collectives.h"
#include "runtime/core/Stage.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sluice::pipeline {

/// One member's end of the group. Used by the stage's thread. All members fail
/// as Collectives::fromFirst() does, on an invalid message, and on steps that
/// differ from those of the first member; after a failure `members` has failed.
class StageGroup {
public:
  /// `members`, `rankBoard` and `buffers` must outlive it. The stage's board
  /// has as many requests as `rankBoard`.
  StageGroup(comm::Collectives &members, const EpochBoard &rankBoard,
             comm::BufferPool &buffers);

  bool isFirst() const { return members.member() == 0; }
  int64_t member() const { return members.member(); }

  /// Returns the stage's own board.
  EpochBoard &board() { return stageBoard; }

  /// All members, once, before the first step: takes what the stage is created
  /// with.
  void start(const StageLimits &limits, int64_t pages);
  /// All members, before the first step: waits until all have loaded their
  /// weights. Loading takes minutes, while devices that wait for each other
  /// within a step give up after seconds. The communicator notices if a member
  /// dies meanwhile.
  Status barrier() { return members.barrier(); }
  /// All members, after each Stage::formStep() that has formed a step. O(rows).
  void formed(const Stage &stage, const CachePages &pages);

  /// The first member, before Stage::formStep(): sends the frames, as received,
  /// that have been put into the stage's mailbox since the last call.
  Status tellStep(std::span<const std::span<const uint8_t>> frames);
  /// The first member: tells the others that no step follows.
  Status tellEnd();

  /// The others: waits for the first member's next step. The caller must put
  /// the frames into the mailbox, and then the marks onto the board by
  /// takeMarks(). The frames' buffers are from `buffers` and should be returned
  /// there. Returns false at the end.
  Expected<bool> hearStep(std::vector<comm::Bytes> &frames);
  void takeMarks();

  /// All members, at each checkpoint, before Stage::checkpoint().
  Status checkpoint();

  /// The first member, repeatedly while a device computes, before
  /// Stage::findDead(): puts new marks onto the board. Allocates nothing: if
  /// there are more marks than agree() can report, it takes none until the next
  /// step. Does nothing at the others.
  void look();
  /// All members, when the device has computed a step with checkpoints: sends
  /// the marks that look() has found. At the others, calls `looked` once for
  /// each look() that found some, after putting its marks onto the board.
  Status agree(const std::function<void()> &looked);

private:
  enum class Kind : uint8_t { Step, Checkpoint, Agreement, End };

  struct TimedMark {
    EpochMark mark;
    /// By this machine's clock; only at the first member.
    std::optional<Time> decided;
    bool endsLook = false; ///< whether it is the last mark of a look
  };

  /// A summary of the steps of a member.
  struct Steps {
    uint64_t count = 0; ///< steps formed so far
    int64_t rows = 0;   ///< rows at the start of the last step
    uint64_t hash = 0;  ///< a hash of the limits and of all rows of all steps
  };

  void begin(Kind kind, std::span<const std::span<const uint8_t>> frames);
  void findMarks();
  void putMarks(std::span<const TimedMark> reported);
  Expected<Kind> read();
  Status readAtCheckpoint(Kind wanted);
  Status compare(const Steps &first) const;

  comm::Collectives &members;
  const EpochBoard &rankBoard;
  EpochBoard stageBoard;
  uint64_t seenChanges = 0; ///< changes() of rankBoard at the last look
  comm::BufferPool &buffers;
  Steps steps;
  comm::Bytes message;
  std::vector<uint32_t> lengths; ///< of the frames that follow `message`
  std::vector<TimedMark> marks;  ///< received or found, not on the board yet
  /// Found by look(): on the board, not reported yet.
  std::vector<TimedMark> found;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STAGEGROUP_H

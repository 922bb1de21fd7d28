//===- StageGroup.h - the same steps at all members of a group ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first member of a tensor-parallel group decides, for all of them, which
// frames make a step and who is dead. A Stage follows from the frames that come
// to its mailbox and from the marks on its board, and from nothing else; so
// each member has one, and is told before each step which frames have come
// since the last, and there and at each checkpoint which marks are new. Then
// all have the same rows in the same places, with the same pages.
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
// For that the stage has a board of its own, which changes nowhere else. What
// the head publishes on the rank's board meanwhile waits for the next of these.
//
// Where devices pass the checkpoints by themselves, the first member's has told
// the others' who leaves; of the marks that this comes from, the hosts hear
// when the step has ended. What a stage makes of marks depends on when it looks
// at them. So the others look as often as the first member has, and find the
// same.
//
// Members whose steps are not the same would add up numbers that do not belong
// together, and nobody would see it in the result. So each message says what
// the first member's steps have been, as a number that all steps so far go
// into, and the others compare it with their own.
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

/// One member's end. Used by the stage's thread. The errors of all: those of
/// Collectives::fromFirst(), a message that cannot be right, and steps that are
/// not those of the first member; after one, `members` has failed.
class StageGroup {
public:
  /// `members`, `rankBoard` and `buffers` outlive it; both boards have as many
  /// requests.
  StageGroup(comm::Collectives &members, const EpochBoard &rankBoard,
             comm::BufferPool &buffers);

  bool isFirst() const { return members.member() == 0; }
  int64_t member() const { return members.member(); }

  /// The stage's.
  EpochBoard &board() { return stageBoard; }

  /// All, once, before the first step: what the stage is made with.
  void start(const StageLimits &limits, int64_t pages);
  /// All, before the first step: waits until all have their weights. Loading
  /// takes minutes, and devices wait for each other within a step only for
  /// seconds before they take a member for lost. Whether one dies meanwhile is
  /// the communicator's to notice.
  Status barrier() { return members.barrier(); }
  /// All, after each Stage::formStep() that has formed one. O(rows).
  void formed(const Stage &stage, const CachePages &pages);

  /// The first member, before Stage::formStep(): the frames, as they came, that
  /// have been put in the stage's mailbox since the last call.
  Status tellStep(std::span<const std::span<const uint8_t>> frames);
  /// The first member: no step comes any more.
  Status tellEnd();

  /// The others: waits for the first member's next step. The frames are to be
  /// put in the mailbox, and then the marks onto the board by takeMarks().
  /// Their buffers are from `buffers`, and should go back there. False: it is
  /// the end.
  Expected<bool> hearStep(std::vector<comm::Bytes> &frames);
  void takeMarks();

  /// All, at each checkpoint, before Stage::checkpoint().
  Status checkpoint();

  /// The first member, over and over while a device computes, before
  /// Stage::findDead(): brings new marks onto the board. Allocates nothing: of
  /// more marks than it can tell of later it takes none, before the next step.
  /// The others: nothing.
  void look();
  /// All, when the device has computed a step with checkpoints. At the others
  /// `looked` is called for each of the first member's looks that have found
  /// something, when that is on the board.
  Status agree(const std::function<void()> &looked);

private:
  enum class Kind : uint8_t { Step, Checkpoint, Agreement, End };

  struct TimedMark {
    EpochMark mark;
    std::optional<Time> decided; ///< by this machine's clock: first member only
    bool endsLook = false;       ///< the last one that a look has found
  };

  /// What a member has computed.
  struct Steps {
    uint64_t count = 0; ///< formed so far
    int64_t rows = 0;   ///< that the last one began with
    uint64_t hash = 0;  ///< of the limits and of all rows of all steps
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
  uint64_t seenChanges = 0; ///< of rankBoard
  comm::BufferPool &buffers;
  Steps steps;
  comm::Bytes message;
  std::vector<uint32_t> lengths; ///< of the frames behind `message`
  std::vector<TimedMark> marks;  ///< heard or found, not on the board yet
  std::vector<TimedMark> found;  ///< by look(): on the board, not reported yet
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STAGEGROUP_H

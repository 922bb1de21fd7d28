//===- StageGroup.cpp - equal steps at all members of a group -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StageGroup.h"

#include "runtime/comm/Wire.h"

#include <initializer_list>
#include <limits>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

constexpr int64_t maxFrames = 1 << 16;
constexpr size_t markBytes = sizeof(int32_t) + sizeof(int64_t) + 2;

/// How many marks of each request look() can find in a step, on average.
constexpr int64_t marksInStep = 4;

/// Mixes numbers into a hash that need not withstand adversaries.
uint64_t mix(uint64_t hash, std::initializer_list<int64_t> numbers) {
  for (int64_t number : numbers) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

} // namespace

StageGroup::StageGroup(comm::Collectives &members, const EpochBoard &rankBoard,
                       comm::BufferPool &buffers)
    : members(members), rankBoard(rankBoard), stageBoard(rankBoard.requests()),
      buffers(buffers) {
  marks.reserve(size_t(marksInStep * rankBoard.requests()));
  found.reserve(marks.capacity());
}

//===----------------------------------------------------------------------===//
// The summary of steps
//===----------------------------------------------------------------------===//

void StageGroup::start(const StageLimits &limits, int64_t pages) {
  steps.hash =
      mix(0, {limits.rows, limits.outputs, limits.promptRows, limits.requests,
              limits.branches, limits.nodes, limits.contextLength,
              limits.sharedPages, limits.fuse, pages});
}

void StageGroup::formed(const Stage &stage, const CachePages &pages) {
  const StepBatch &batch = stage.batch();
  ++steps.count;
  steps.rows = batch.rows();
  for (int64_t r = 0; r < batch.rows(); ++r) {
    const Row &row = stage.rows()[r];
    SequenceId sequence = batch.sequences()[r];
    int32_t page =
        pages.pages(sequence)[size_t(row.position / CachePages::pageTokens)];
    steps.hash = mix(steps.hash, {row.request, row.node, row.position,
                                  row.token, row.wantsOutput, sequence, page});
  }
  for (const PageCopy &copy : stage.pageCopies())
    steps.hash = mix(steps.hash, {copy.from, copy.to});
}

Status StageGroup::compare(const Steps &first) const {
  if (first.count != steps.count || first.rows != steps.rows)
    return failure("the first of the group is at step ", first.count, " of ",
                   first.rows, " rows, this member at step ", steps.count,
                   " of ", steps.rows);
  if (first.hash == steps.hash)
    return {};
  if (steps.count == 0)
    return failure("the first of the group has other limits than this member: "
                   "start all with the same options");
  return failure("the ", steps.rows, " rows of step ", steps.count,
                 " are not those of the first of the group");
}

//===----------------------------------------------------------------------===//
// The first member
//===----------------------------------------------------------------------===//

void StageGroup::begin(Kind kind,
                       std::span<const std::span<const uint8_t>> frames) {
  message.clear();
  comm::WireWriter out(message);
  out.put(static_cast<uint8_t>(kind));
  out.put(steps.count);
  out.put(steps.rows);
  out.put(steps.hash);
  out.putCount(frames);
  for (std::span<const uint8_t> frame : frames)
    out.putCount(frame);
}

/// Finds what is new on the rank's board since the last look.
void StageGroup::findMarks() {
  // Read before any mark: a mark that comes in between counts as news later.
  uint64_t changes = rankBoard.changes();
  marks.clear();
  for (RequestId request = 0;
       changes != seenChanges && request < rankBoard.requests(); ++request) {
    EpochBoard::State state = rankBoard.get(request);
    if (!state.isNewerThan(stageBoard.get(request)))
      continue;
    EpochMark mark{request, 0, state.confirmed, state.ended};
    marks.push_back({mark, rankBoard.decidedWhen(request, [&](auto cancel) {
                       return cancel == state;
                     })});
  }
  if (!marks.empty())
    marks.back().endsLook = true;
  seenChanges = changes;
}

void StageGroup::putMarks(std::span<const TimedMark> reported) {
  comm::WireWriter out(message);
  out.putCount(reported);
  for (const TimedMark &each : reported) {
    out.put(int32_t{each.mark.request});
    out.put(int64_t{each.mark.confirmed});
    out.put(uint8_t{each.mark.ended});
    out.put(uint8_t{each.endsLook});
  }
}

Status StageGroup::tellStep(std::span<const std::span<const uint8_t>> frames) {
  begin(Kind::Step, frames);
  findMarks();
  putMarks(marks);
  SLUICE_RETURN_IF_ERROR(members.fromFirst(message));
  for (std::span<const uint8_t> frame : frames)
    SLUICE_RETURN_IF_ERROR(members.tell(frame));
  takeMarks();
  return {};
}

Status StageGroup::tellEnd() {
  begin(Kind::End, {});
  putMarks({});
  return members.fromFirst(message);
}

//===----------------------------------------------------------------------===//
// The other members
//===----------------------------------------------------------------------===//

/// Reads the first member's next message, without the frames that follow it.
Expected<StageGroup::Kind> StageGroup::read() {
  SLUICE_RETURN_IF_ERROR(members.fromFirst(message));
  comm::WireReader in(message);
  auto kind = static_cast<Kind>(
      in.getInRange<uint8_t>("kind", 0, static_cast<int64_t>(Kind::End)));
  Steps of;
  of.count = in.get<uint64_t>();
  of.rows = in.get<int64_t>();
  of.hash = in.get<uint64_t>();
  size_t count = in.getCount("frames", maxFrames, sizeof(uint32_t));
  lengths.clear();
  for (size_t i = 0; i < count && in.ok(); ++i)
    lengths.push_back(in.getInRange<uint32_t>("bytes of a frame", 0,
                                              comm::defaultMessageBytes));
  count = in.getCount("marks", marksInStep * stageBoard.requests(), markBytes);
  marks.clear();
  for (size_t i = 0; i < count && in.ok(); ++i) {
    EpochMark mark;
    mark.request =
        in.getInRange<int32_t>("request", 0, stageBoard.requests() - 1);
    mark.confirmed = in.getInRange<int64_t>(
        "node", noNode, std::numeric_limits<int64_t>::max() / 2);
    mark.ended = in.getFlag("end");
    marks.push_back({mark, {}, in.getFlag("end of a look")});
  }
  if (Status s = in.finish(); !s.ok())
    return members.fail(s.withContext("the first of the group"));
  if (Status s = compare(of); !s.ok())
    return members.fail(s);
  return kind;
}

Expected<bool> StageGroup::hearStep(std::vector<comm::Bytes> &frames) {
  frames.clear();
  Expected<Kind> kind = read();
  if (!kind)
    return kind.status();
  if (*kind == Kind::Checkpoint || *kind == Kind::Agreement)
    return members.fail(failure("the first of the group is at a checkpoint, "
                                "this member between two steps"));
  for (uint32_t length : lengths) {
    comm::Bytes &frame = frames.emplace_back(buffers.take());
    frame.resize(length);
    SLUICE_RETURN_IF_ERROR(members.hear(frame));
  }
  return *kind == Kind::Step;
}

//===----------------------------------------------------------------------===//
// All members
//===----------------------------------------------------------------------===//

void StageGroup::takeMarks() {
  for (const TimedMark &each : marks)
    stageBoard.publish(each.mark, each.decided);
  marks.clear();
}

/// Reads a message of the kind `wanted`; for the other members, during a step.
Status StageGroup::readAtCheckpoint(Kind wanted) {
  Expected<Kind> kind = read();
  if (!kind)
    return kind.status();
  if (*kind != wanted)
    return members.fail(failure("the first of the group has ended the step "
                                "at which this member is"));
  return {};
}

Status StageGroup::checkpoint() {
  if (isFirst()) {
    begin(Kind::Checkpoint, {});
    findMarks();
    putMarks(marks);
    SLUICE_RETURN_IF_ERROR(members.fromFirst(message));
  } else if (Status s = readAtCheckpoint(Kind::Checkpoint); !s.ok()) {
    return s;
  }
  takeMarks();
  return {};
}

void StageGroup::look() {
  if (!isFirst() || std::ssize(found) + rankBoard.requests() >
                        marksInStep * rankBoard.requests())
    return;
  findMarks();
  found.insert(found.end(), marks.begin(), marks.end());
  takeMarks();
}

Status StageGroup::agree(const std::function<void()> &looked) {
  if (isFirst()) {
    begin(Kind::Agreement, {});
    putMarks(found);
    found.clear();
    return members.fromFirst(message);
  }
  SLUICE_RETURN_IF_ERROR(readAtCheckpoint(Kind::Agreement));
  for (const TimedMark &each : marks) {
    stageBoard.publish(each.mark, each.decided);
    if (each.endsLook)
      looked();
  }
  marks.clear();
  return {};
}

//===- FuzzStage.cpp - fuzzes a stage with frames that can be read --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is a list of choices: what is put into the next frame, when it goes
// to the mailbox, when a step is formed, passes a checkpoint and ends, and what
// is cancelled meanwhile. Each frame is one that FrameCodec takes; whether it
// can follow those before it is for the stage to say. Most rows are near to
// such that could: children of rows that were sent, at the next position, of
// requests that are open.
//
//===----------------------------------------------------------------------===//

#include "ByteSource.h"

#include "runtime/comm/Frame.h"
#include "runtime/core/Stage.h"

#include <cstdlib>
#include <optional>

using namespace sluice;
using namespace sluice::fuzz;

namespace {

constexpr int64_t requests = 3;
constexpr int64_t contextLength = 3 * CachePages::pageTokens;
constexpr int64_t sharedPages = 4;
constexpr int64_t vocabSize = 50;

StageLimits limitsBy(ByteSource &input) {
  StageLimits limits;
  uint8_t flags = input.byte();
  limits.rows = 24;
  limits.outputs = 6;
  limits.promptRows = 16;
  limits.requests = requests;
  limits.branches = 8;
  limits.nodes = 8;
  limits.contextLength = contextLength;
  limits.frames = 6;
  limits.sharedPages = flags & 1 ? sharedPages : 0;
  limits.fuse = !(flags & 2);
  limits.keepTokens = !(flags & 4);
  limits.vocabSize = flags & 8 ? vocabSize / 2 : 0;
  return limits;
}

comm::FrameLimits frameLimits() {
  comm::FrameLimits limits;
  limits.rows = 64;
  limits.requests = requests;
  limits.contextLength = contextLength;
  limits.sharedPages = sharedPages;
  limits.vocabSize = vocabSize;
  return limits;
}

/// Frames, as a head that has gone astray could make them.
class FrameMaker {
public:
  explicit FrameMaker(ByteSource &input) : input(input) {}

  void addOpen();
  void addRow();
  void addPrompt();
  void addPin();
  void addMark() { frame.marks.push_back(mark()); }
  void addClose() { frame.closes.push_back(slot()); }
  void addUnpin() { frame.unpins.push_back(page()); }
  EpochMark mark();

  StepFrame take() {
    frame.step = sent++;
    frame.launched = sent;
    return std::exchange(frame, {});
  }

private:
  struct Sent {
    NodeId node = 0;
    int32_t position = 0;
  };
  /// What has been sent of a slot's request.
  struct Slot {
    NodeId firstNode = 0, nextNode = 0;
    int32_t prefix = 0;
    std::vector<Sent> rows;
  };

  RequestId slot() { return int32_t(input.between(0, requests - 1)); }
  SharedPage page() { return int32_t(input.between(0, sharedPages - 1)); }
  NodeId nodeOf(const Slot &slot) {
    return slot.rows.empty() ? slot.firstNode
                             : slot.rows[input.byte() % slot.rows.size()].node;
  }
  void add(RequestId request, std::optional<Sent> parent, bool certain);

  ByteSource &input;
  StepFrame frame;
  std::array<Slot, requests> slots;
  uint64_t sent = 0;
};

void FrameMaker::addOpen() {
  OpenRequest open;
  open.request = slot();
  Slot &slot = slots[size_t(open.request)];
  // Now and then lower than those before.
  open.firstNode = std::max<NodeId>(0, slot.nextNode + input.between(-1, 4));
  open.promptTokens = int32_t(input.between(1, contextLength));
  open.knownTokens = int32_t(std::min<int64_t>(
      contextLength, open.promptTokens + input.between(0, 3)));
  for (int64_t pages = input.between(0, 2); pages > 0; --pages)
    open.prefixPages.push_back(page());
  open.prefix.assign(open.prefixPages.size() * CachePages::pageTokens, 7);
  if (input.byte() % 8 == 0) {
    open.scored.assign(size_t(open.promptTokens), 3);
    open.logProbabilities = 0;
  }
  auto prefix = int32_t(open.prefix.size());
  NodeId first = open.firstNode + prefix;
  slot = {first, first, prefix, {}};
  frame.opens.push_back(std::move(open));
}

void FrameMaker::add(RequestId request, std::optional<Sent> parent,
                     bool certain) {
  Slot &slot = slots[size_t(request)];
  Row row;
  row.request = request;
  row.node = slot.nextNode;
  row.parent = parent            ? parent->node
               : slot.prefix > 0 ? slot.firstNode - 1
                                 : noNode;
  row.position = parent ? parent->position + 1 : slot.prefix;
  row.token = int32_t(input.between(0, vocabSize - 1));
  row.certain = certain;
  if (row.position >= contextLength)
    return;
  uint8_t astray = input.byte();
  row.wantsOutput = astray & 1;
  switch (astray >> 1) {
  case 0: // comes again
    row.node = nodeOf(slot);
    break;
  case 1:
    row.position = int32_t(input.between(0, contextLength - 1));
    break;
  case 2:
    row.parent = input.between(-1, 40);
    break;
  case 3:
    row.node += input.between(0, 20);
    break;
  default:
    break;
  }
  slot.nextNode = std::max(slot.nextNode, row.node + 1);
  slot.rows.push_back({row.node, row.position});
  frame.rows.push_back(row);
}

/// One row behind any other, or the request's first.
void FrameMaker::addRow() {
  RequestId request = slot();
  const Slot &slot = slots[size_t(request)];
  std::optional<Sent> parent;
  if (!slot.rows.empty()) {
    // Mostly the last ones: guesses fork there.
    size_t back = input.byte() % std::min<size_t>(4, slot.rows.size());
    parent = slot.rows[slot.rows.size() - 1 - back];
  }
  add(request, parent, !parent || input.byte() % 4 == 0);
}

/// A chain of certain rows behind the last one.
void FrameMaker::addPrompt() {
  RequestId request = slot();
  for (int64_t rows = input.between(1, 40); rows > 0; --rows) {
    const Slot &slot = slots[size_t(request)];
    std::optional<Sent> parent;
    if (!slot.rows.empty())
      parent = slot.rows.back();
    add(request, parent, /*certain=*/true);
  }
}

void FrameMaker::addPin() {
  PinPage pin;
  pin.request = slot();
  pin.node = nodeOf(slots[size_t(pin.request)]);
  pin.index = int32_t(input.between(0, 2));
  pin.page = page();
  frame.pins.push_back(pin);
}

EpochMark FrameMaker::mark() {
  EpochMark made;
  made.request = slot();
  made.epoch = input.byte();
  made.confirmed = nodeOf(slots[size_t(made.request)]);
  made.ended = input.byte() % 8 == 0;
  return made;
}

/// The stage, and a worker that does with it what it may.
class Driver {
public:
  Driver(ByteSource &input, const StageLimits &limits)
      : input(input), limits(limits),
        pages(CachePages::create({24, limits.branches, contextLength}).take()),
        board(requests), stage(Stage::create(limits, pages, board).take()),
        maker(input) {}

  /// Whether the stage is of further use.
  bool choose();
  /// Ends what has begun, and all that waits in the mailbox.
  void drain();

private:
  void send();
  bool formStep();
  void checkStep();
  void pass();
  void passOnDevice();
  void finishStep();

  ByteSource &input;
  StageLimits limits;
  CachePages pages;
  EpochBoard board;
  Stage stage;
  FrameMaker maker;
  bool inStep = false;
  bool onDevice = false; ///< which passes the step's checkpoints by itself
};

/// Over the wire, as it would come.
void Driver::send() {
  static const comm::FrameCodec codec(/*plan=*/1, frameLimits());
  comm::Bytes bytes;
  codec.encodeStep(maker.take(), {}, bytes);
  StepFrame frame;
  comm::ActivationRows activations;
  if (!codec.decodeStep(bytes, frame, activations).ok())
    return;
  int64_t before = stage.queued();
  Expected<uint64_t> number = stage.enqueue(std::move(frame));
  if (stage.queued() != before + bool(number))
    std::abort();
  if (!number && number.status().message().find('\n') != std::string::npos)
    std::abort();
}

/// Each row is within the limits, and has a place in the cache.
void Driver::checkStep() {
  const StepBatch &batch = stage.batch();
  if (batch.rows() > limits.rows || batch.outputs() > limits.outputs ||
      batch.rows() != std::ssize(stage.rows()) ||
      batch.rows() != std::ssize(stage.origins()))
    std::abort();
  for (int64_t row = 0; row < batch.rows(); ++row) {
    SequenceId sequence = batch.sequences()[size_t(row)];
    if (stage.rows()[size_t(row)].position >= pages.length(sequence))
      std::abort();
    if (limits.keepTokens &&
        std::ssize(stage.promptOf(row)) + std::ssize(stage.outputOf(row)) !=
            stage.rows()[size_t(row)].position + 1)
      std::abort();
  }
}

bool Driver::formStep() {
  Expected<bool> formed = stage.formStep();
  if (!formed)
    return false;
  inStep = *formed;
  onDevice = inStep && input.byte() % 2;
  if (inStep)
    checkStep();
  return true;
}

void Driver::pass() {
  int64_t before = stage.batch().rows();
  stage.checkpoint();
  if (stage.batch().rows() > before)
    std::abort();
  checkStep();
}

/// The device has left some of those out that it was told of. Others that they
/// are ancestors of may stay, until the step ends.
void Driver::passOnDevice() {
  std::vector<uint8_t> alive(size_t(stage.batch().rows()), 1);
  stage.findDead(alive);
  for (uint8_t &each : alive)
    each |= input.byte() % 4 == 0;
  stage.leave(alive);
}

void Driver::finishStep() {
  if (onDevice) {
    stage.dropOrphans();
    checkStep();
  }
  StepFrame outgoing;
  stage.finishStep(outgoing);
  if (std::ssize(outgoing.rows) != stage.batch().rows())
    std::abort();
  inStep = false;
}

bool Driver::choose() {
  switch (input.between(0, 11)) {
  case 0:
    maker.addOpen();
    break;
  case 1:
    maker.addPrompt();
    break;
  case 2:
  case 3:
    maker.addRow();
    break;
  case 4:
    maker.addMark();
    break;
  case 5:
    maker.addPin();
    break;
  case 6:
    maker.addClose();
    break;
  case 7:
    maker.addUnpin();
    break;
  case 8:
    send();
    break;
  case 9:
    board.publish(maker.mark());
    break;
  case 10:
    if (inStep)
      onDevice ? passOnDevice() : pass();
    break;
  default:
    if (!inStep)
      return formStep();
    finishStep();
  }
  return true;
}

void Driver::drain() {
  if (inStep)
    finishStep();
  while (stage.queued() > 0 && formStep())
    finishStep();
  if (stage.holdings().pages > pages.limits().pages)
    std::abort();
}

} // namespace

/// Whatever frames come in whatever order, the stage refuses them, or computes
/// rows that have a place in the cache.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ByteSource input({data, size});
  StageLimits limits = limitsBy(input);
  Driver driver(input, limits);
  bool isOfUse = true;
  while (isOfUse && !input.empty())
    isOfUse = driver.choose();
  if (isOfUse)
    driver.drain();
  return 0;
}

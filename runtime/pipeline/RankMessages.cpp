//===- RankMessages.cpp - the messages of a rank --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankRuntime.h"

#include "runtime/base/Guarded.h"

using namespace sluice;
using namespace sluice::pipeline;

using comm::Bytes;
using comm::FrameKind;
using comm::Lane;

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

void RankRuntime::take(comm::Message message) {
  int64_t source = message.source;
  if (Status s = guarded([&] { return read(message); }); !s.ok())
    fail(failure("a message from rank ", source, ": ", s.message()));
  // For a step the bytes have been moved on and are still in use.
  comm.buffers().give(std::move(message.bytes));
}

Status RankRuntime::read(comm::Message &message) {
  Expected<comm::FrameHeader> header = codec.readHeader(message.bytes);
  if (!header)
    return header.status();
  switch (header->kind) {
  case FrameKind::Step:
    return readStep(message);
  case FrameKind::Results:
    return readResults(message);
  case FrameKind::Epochs:
    return readEpochs(message);
  case FrameKind::Error: {
    comm::ErrorFrame frame;
    Status read = codec.decodeError(message.bytes, frame);
    if (read.ok())
      fail(failure("rank ", frame.rank, ": ", frame.text));
    return read;
  }
  case FrameKind::Report:
    return readReport(message);
  case FrameKind::Shutdown:
    if (!stageWorker)
      return failure("the end of the steps, but no stage is here");
    stageWorker->arrive({{}, {}, {}, /*last=*/true});
    return {};
  }
  return failure("a frame of kind ", comm::frameKindName(header->kind),
                 " has no reader here");
}

Status RankRuntime::readStep(comm::Message &message) {
  if (!stageWorker || followsGroup())
    return failure("a step, but no stage is here");
  ArrivedFrame arrival;
  arrival.bytes = std::move(message.bytes);
  arrival.payload = message.payload;
  SLUICE_RETURN_IF_ERROR(decodeStep(arrival));
  if (Status s = stepsCome.take(arrival.frame.step); !s.ok())
    return s.withContext("steps");
  int64_t expected = int64_t(arrival.frame.rows.size()) * payloadRowBytes();
  if (arrival.payload.bytes != expected)
    return failure("a step with ", arrival.payload.bytes,
                   " bytes of rows in the device's memory, not ", expected);
  uint64_t step = arrival.frame.step;
  stageWorker->arrive(std::move(arrival));
  if (message.source != comm.rank())
    commTrace.messageArrived(message.source, step);
  commTrace.add(trace::Kind::Mailbox, now(), Time(0), {stageWorker->waiting()});
  return {};
}

Status RankRuntime::decodeStep(ArrivedFrame &arrival) {
  return codec.decodeStep(arrival.bytes, arrival.frame, arrival.activations);
}

Status RankRuntime::readResults(const comm::Message &message) {
  if (!headLoop)
    return failure("results, but the head is not here");
  ResultFrame frame;
  SLUICE_RETURN_IF_ERROR(codec.decodeResults(message.bytes, frame));
  if (Status s = resultsCome.take(frame.step); !s.ok())
    return s.withContext("results");
  if (message.source != comm.rank())
    commTrace.messageArrived(message.source, frame.step);
  headLoop->onResults(std::move(frame));
  return {};
}

Status RankRuntime::readEpochs(const comm::Message &message) {
  comm::EpochFrame frame;
  SLUICE_RETURN_IF_ERROR(codec.decodeEpochs(message.bytes, frame));
  Time at = now();
  for (const EpochMark &mark : frame.marks) {
    board.publish(mark, frame.decided);
    commTrace.controlArrived(at, message.source, mark);
    commTrace.add(trace::Kind::CancelSeen, at, Time(0),
                  {mark.request, mark.epoch, mark.confirmed});
  }
  return {};
}

Status RankRuntime::readReport(const comm::Message &message) {
  std::string text;
  SLUICE_RETURN_IF_ERROR(codec.decodeReport(message.bytes, text));
  Expected<RankReport> report = RankReport::parse(text);
  if (!report)
    return report.status();
  if (report->rank != message.source)
    return failure("the report of rank ", report->rank);
  report->forgetTimesOfOtherClocks(clockIdentity());
  std::lock_guard lock(mutex);
  reports.push_back(report.take());
  changed.notify_all();
  return {};
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

Status RankRuntime::sendData(int64_t to, Bytes bytes, int64_t rows,
                             uint64_t step, RoleTrace &trace,
                             int64_t emulatedBytes) {
  int64_t length = emulatedBytes > 0 ? emulatedBytes : int64_t(bytes.size());
  if (to != comm.rank())
    trace.message(now(), to, length, rows, step);
  return comm.send(to, Lane::Data, std::move(bytes), emulatedBytes);
}

/// Called on the stage's thread, which has computed the rows on the device.
Status RankRuntime::sendRows(int64_t to, const StepFrame &frame,
                             const device::DeviceRows &rows) {
  const auto count = int64_t(frame.rows.size());
  const int64_t rowBytes =
      count * setup.shape.hiddenSize * int64_t(sizeof(float));
  Bytes bytes = comm.buffers().take();
  codec.encodeStep(frame, {}, bytes);
  if (count == 0)
    return sendData(to, std::move(bytes), count, frame.step, stageTrace);
  stageTrace.message(now(), to, int64_t(bytes.size()) + rowBytes, count,
                     frame.step);
  return setup.deviceRows->sendRows(to, std::move(bytes), rows.address,
                                    rowBytes, rows.stream);
}

/// Returns the buffers of a frame that the stage has read to their owners.
void RankRuntime::release(ArrivedFrame arrival) {
  comm.buffers().give(std::move(arrival.bytes));
  if (arrival.payload.bytes > 0)
    setup.deviceRows->giveBack(arrival.payload);
}

/// Records a frame of the head in the trace: its first row's request, its rows,
/// how many of them are certain, and its first node.
static void traceFrame(RoleTrace &trace, trace::Kind kind,
                       const StepFrame &frame) {
  if (frame.rows.empty())
    return;
  int64_t certain = 0;
  for (const Row &row : frame.rows)
    certain += row.certain;
  trace.add(kind, now(), Time(0),
            {frame.rows.front().request, int64_t(frame.rows.size()), certain,
             frame.rows.front().node});
}

Status RankRuntime::launch(const StepFrame &frame) {
  traceFrame(headTrace, trace::Kind::Launch, frame);
  Bytes bytes = comm.buffers().take();
  codec.encodeStep(frame, {}, bytes);
  return sendData(setup.shape.stageRanks.front(), std::move(bytes),
                  int64_t(frame.rows.size()), frame.step, headTrace);
}

Status RankRuntime::draft(StepFrame frame) {
  traceFrame(headTrace, trace::Kind::DraftAsked, frame);
  draftWorker->arrive({std::move(frame), {}, {}});
  return {};
}

Status RankRuntime::cancel(const EpochMark &mark, Time decided) {
  headTrace.add(trace::Kind::Cancel, decided, Time(0),
                {mark.request, mark.epoch, mark.confirmed});
  board.publish(mark, decided);
  draftBoard.publish(mark, decided);
  comm::EpochFrame frame{decided, {mark}};
  for (int64_t rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank())
      continue;
    Bytes bytes = comm.buffers().take();
    codec.encodeEpochs(frame, bytes);
    headTrace.control(decided, rank, int64_t(bytes.size()), mark);
    SLUICE_RETURN_IF_ERROR(comm.send(rank, Lane::Control, std::move(bytes)));
  }
  return {};
}

void RankRuntime::reported(const TokenEvent &token, Time at) {
  headTrace.add(trace::Kind::Token, at, Time(0), {token.request, token.token});
}

void RankRuntime::reported(const RequestEnd &end, Time at) {
  headTrace.add(trace::Kind::Finish, at, Time(0),
                {end.slot, int64_t(end.reason)});
}

void RankRuntime::note(const PolicyNote &note, Time at) {
  headTrace.add(
      trace::Kind::Policy, at, Time(0),
      {note.request, int64_t(note.verdict), note.depth, note.rowsInSlot},
      note.chance);
  headTrace.add(trace::Kind::Alive, at, Time(0), {note.nodesAlive});
}

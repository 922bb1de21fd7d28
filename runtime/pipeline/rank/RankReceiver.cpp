//===- RankReceiver.cpp - reads the messages that arrive at a rank --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/rank/RankReceiver.h"

#include "runtime/base/Guarded.h"

using namespace sluice;
using namespace sluice::pipeline;

using comm::FrameKind;

void RankReceiver::take(comm::Message message) {
  int64_t source = message.source;
  if (Status s = guarded([&] { return read(message); }); !s.ok())
    inboxes.fail(failure("a message from rank ", source, ": ", s.message()));
  // For a step the bytes have been moved on and are still in use.
  comm.buffers().give(std::move(message.bytes));
}

Status RankReceiver::read(comm::Message &message) {
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
  case FrameKind::Error:
    return readError(message);
  case FrameKind::Report:
    return readReport(message);
  case FrameKind::Shutdown:
    return readEnd();
  }
  return failure("a frame of kind ", comm::frameKindName(header->kind),
                 " has no reader here");
}

Status RankReceiver::readStep(comm::Message &message) {
  if (!inboxes.stage)
    return failure("a step, but no stage is here");
  ArrivedFrame arrival;
  arrival.bytes = std::move(message.bytes);
  arrival.payload = message.payload;
  SLUICE_RETURN_IF_ERROR(
      codec.decodeStep(arrival.bytes, arrival.frame, arrival.activations));
  if (Status s = steps.take(arrival.frame.step); !s.ok())
    return s.withContext("steps");
  int64_t expected = int64_t(arrival.frame.rows.size()) * payloadRowBytes;
  if (arrival.payload.bytes != expected)
    return failure("a step with ", arrival.payload.bytes,
                   " bytes of rows in the device's memory, not ", expected);
  uint64_t step = arrival.frame.step;
  inboxes.stage->arrive(std::move(arrival));
  if (message.source != comm.rank())
    trace.messageArrived(message.source, step);
  trace.add(trace::Kind::Mailbox, now(), Time(0), {inboxes.stage->waiting()});
  return {};
}

Status RankReceiver::readEnd() {
  // The members of a group learn of the end from the first of them.
  if (!inboxes.stage)
    return failure("the end of the steps, but no stage is here");
  inboxes.stage->arrive({{}, {}, {}, /*last=*/true});
  return {};
}

Status RankReceiver::readResults(const comm::Message &message) {
  if (!inboxes.head)
    return failure("results, but the head is not here");
  ResultFrame frame;
  SLUICE_RETURN_IF_ERROR(codec.decodeResults(message.bytes, frame));
  if (Status s = results.take(frame.step); !s.ok())
    return s.withContext("results");
  if (message.source != comm.rank())
    trace.messageArrived(message.source, frame.step);
  inboxes.head->onResults(std::move(frame));
  return {};
}

Status RankReceiver::readEpochs(const comm::Message &message) {
  comm::EpochFrame frame;
  SLUICE_RETURN_IF_ERROR(codec.decodeEpochs(message.bytes, frame));
  Time at = now();
  for (const EpochMark &mark : frame.marks) {
    inboxes.board.publish(mark, frame.decided);
    trace.controlArrived(at, message.source, mark);
    trace.add(trace::Kind::CancelSeen, at, Time(0),
              {mark.request, mark.epoch, mark.confirmed});
  }
  return {};
}

Status RankReceiver::readError(const comm::Message &message) {
  comm::ErrorFrame frame;
  SLUICE_RETURN_IF_ERROR(codec.decodeError(message.bytes, frame));
  inboxes.fail(failure("rank ", frame.rank, ": ", frame.text));
  return {};
}

Status RankReceiver::readReport(const comm::Message &message) {
  std::string text;
  SLUICE_RETURN_IF_ERROR(codec.decodeReport(message.bytes, text));
  Expected<RankReport> report = RankReport::parse(text);
  if (!report)
    return report.status();
  if (report->rank != message.source)
    return failure("the report of rank ", report->rank);
  report->forgetTimesOfOtherClocks(clockIdentity());
  inboxes.job.add(report.take());
  return {};
}

//===- RankSender.cpp - sends the messages of a rank ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/rank/RankSender.h"

using namespace sluice;
using namespace sluice::pipeline;

using comm::Bytes;
using comm::Lane;

/// Sends what belongs to a step. `emulatedBytes` is the size that counts on an
/// emulated link; 0 for the real one.
Status RankSender::sendData(int64_t to, Bytes bytes, int64_t rows,
                            uint64_t step, RoleTrace &trace,
                            int64_t emulatedBytes) {
  int64_t length = emulatedBytes > 0 ? emulatedBytes : int64_t(bytes.size());
  if (to != comm.rank())
    trace.message(now(), to, length, rows, step);
  return comm.send(to, Lane::Data, std::move(bytes), emulatedBytes);
}

Status RankSender::sendEnd(int64_t to) {
  Bytes bytes = comm.buffers().take();
  codec.encodeShutdown(bytes);
  return comm.send(to, Lane::Data, std::move(bytes));
}

Status RankSender::launch(const StepFrame &frame) {
  Bytes bytes = comm.buffers().take();
  codec.encodeStep(frame, {}, bytes);
  return sendData(firstStage(), std::move(bytes), int64_t(frame.rows.size()),
                  frame.step, traces.head);
}

Status RankSender::cancel(const EpochMark &mark, Time decided) {
  const comm::EpochFrame frame{decided, {mark}};
  for (int64_t rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank())
      continue;
    Bytes bytes = comm.buffers().take();
    codec.encodeEpochs(frame, bytes);
    traces.head.control(decided, rank, int64_t(bytes.size()), mark);
    SLUICE_RETURN_IF_ERROR(comm.send(rank, Lane::Control, std::move(bytes)));
  }
  return {};
}

Status RankSender::launchEnd() { return sendEnd(firstStage()); }

Status RankSender::forward(const StepFrame &frame,
                           const comm::ActivationRows &rows) {
  Bytes bytes = comm.buffers().take();
  codec.encodeStep(frame, rows, bytes);
  const auto count = int64_t(frame.rows.size());
  int64_t emulated = 0;
  if (setup.activationBytes)
    emulated =
        int64_t(bytes.size() - rows.data.size()) + setup.activationBytes(count);
  return sendData(nextStage(), std::move(bytes), count, frame.step,
                  traces.stage, emulated);
}

Status RankSender::forward(const StepFrame &frame,
                           const device::DeviceRows &rows) {
  const auto count = int64_t(frame.rows.size());
  const int64_t rowBytes = count * setup.deviceRowBytes();
  Bytes bytes = comm.buffers().take();
  codec.encodeStep(frame, {}, bytes);
  if (count == 0)
    return sendData(nextStage(), std::move(bytes), count, frame.step,
                    traces.stage);
  traces.stage.message(now(), nextStage(), int64_t(bytes.size()) + rowBytes,
                       count, frame.step);
  return setup.deviceRows->sendRows(nextStage(), std::move(bytes), rows.address,
                                    rowBytes, rows.stream);
}

Status RankSender::forwardEnd() { return sendEnd(nextStage()); }

Status RankSender::answer(const ResultFrame &frame) {
  Bytes bytes = comm.buffers().take();
  codec.encodeResults(frame, bytes);
  return sendData(headRank, std::move(bytes), int64_t(frame.results.size()),
                  frame.step, traces.stage);
}

void RankSender::sendError(const Status &reason) {
  Bytes bytes = comm.buffers().take();
  codec.encodeError(comm.rank(), reason.message(), bytes);
  (void)comm.send(headRank, Lane::Control, std::move(bytes));
}

Status RankSender::sendReport(const RankReport &report) {
  Bytes bytes = comm.buffers().take();
  codec.encodeReport(report.serialize(), bytes);
  return comm.send(headRank, Lane::Control, std::move(bytes));
}

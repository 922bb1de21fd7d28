//===- FrameEncode.cpp - encoders of frames -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Encodes frames. These are the bodies, by kind. A list is a u32 count followed
// by its entries. In a body of several lists, all counts come first; a list
// inside an entry directly follows its own count.
//
//   step      unpins, opens, marks, rows, pins, closes, timings; u32 width;
//             u8 format; entries of the lists; zeros up to a multiple of 16
//             from the frame's start; data[row][width]. Width 0: no
//             activations.
//   results   results, timings
//   epochs    i64 decided; marks
//   error     i32 rank; text to the end
//   report    text to the end
//
//   unpin     i32 page
//   open      i32 request; i64 firstNode; i32 promptTokens, knownTokens;
//             i32 logProbabilities; f64 temperature; i64 topK; f64 topP, minP,
//             repetitionPenalty, presencePenalty, frequencyPenalty; u64 seed;
//             biases (i32 token; f64 bias), tokens ascending; u8 kind of
//             grammar; u64 its scope; its source (u8); u64 tenant; prefix
//             pages (i32); prefix tokens (i32); scored tokens (i32)
//   mark      i32 request, epoch; i64 confirmed; u8 ended
//   row       i64 node, parent; i32 request, position, token; u8 flags
//   pin       i32 request; i64 node; i32 index, page
//   close     i32 request
//   timing    i32 rows, departed; i64 busyNanos, idleNanos
//   result    i64 node; i32 request, token; report (i32 token; f64);
//             error (u8); u8 isNotFinite, only after an error
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Frame.h"
#include "runtime/comm/FrameLayout.h"
#include "runtime/comm/Wire.h"

#include <cassert>

using namespace sluice;
using namespace sluice::comm;

namespace {

/// Begins a frame. finish() writes its length.
WireWriter begin(uint64_t plan, FrameKind kind, uint64_t step,
                 uint64_t launched, Bytes &out) {
  out.clear();
  WireWriter writer(out);
  writer.put(frameMagic);
  writer.put(frameVersion);
  writer.put(static_cast<uint8_t>(kind));
  writer.put(uint8_t{0});
  writer.put(plan);
  writer.put(step);
  writer.put(launched);
  writer.put(int64_t{0});
  writer.put(uint64_t{0});
  assert(out.size() == frameHeaderBytes);
  return writer;
}

void finish(Bytes &out) {
  uint64_t length = out.size();
  std::memcpy(out.data() + layout::lengthOffset, &length, sizeof(length));
}

/// Writes pages, tokens or requests.
void putAll(WireWriter &writer, const std::vector<int32_t> &numbers) {
  for (int32_t each : numbers)
    writer.put(each);
}

void put(WireWriter &writer, const PinPage &pin) {
  writer.put(pin.request);
  writer.put(pin.node);
  writer.put(pin.index);
  writer.put(pin.page);
}

void put(WireWriter &writer, const OpenRequest &open) {
  writer.put(open.request);
  writer.put(open.firstNode);
  writer.put(open.promptTokens);
  writer.put(open.knownTokens);
  writer.put(open.logProbabilities);
  const SamplingParams &sampling = open.sampling;
  writer.put(sampling.temperature);
  writer.put(sampling.topK);
  writer.put(sampling.topP);
  writer.put(sampling.minP);
  writer.put(sampling.repetitionPenalty);
  writer.put(sampling.presencePenalty);
  writer.put(sampling.frequencyPenalty);
  writer.put(sampling.seed);
  writer.put(static_cast<uint32_t>(sampling.logitBias.size()));
  for (const auto &[token, bias] : sampling.logitBias) {
    writer.put(token);
    writer.put(bias);
  }
  writer.put(static_cast<uint8_t>(open.grammar.kind));
  writer.put(open.grammar.scope);
  std::string_view grammar = open.grammar.text();
  writer.putCount(grammar);
  writer.put(grammar);
  writer.put(open.tenant);
  writer.putCount(open.prefixPages);
  putAll(writer, open.prefixPages);
  writer.putCount(open.prefix);
  putAll(writer, open.prefix);
  writer.putCount(open.scored);
  putAll(writer, open.scored);
}

void put(WireWriter &writer, const EpochMark &mark) {
  writer.put(mark.request);
  writer.put(mark.epoch);
  writer.put(mark.confirmed);
  writer.put(static_cast<uint8_t>(mark.ended));
}

void put(WireWriter &writer, const Row &row) {
  writer.put(row.node);
  writer.put(row.parent);
  writer.put(row.request);
  writer.put(row.position);
  writer.put(row.token);
  writer.put(static_cast<uint8_t>((row.certain ? layout::rowCertain : 0) |
                                  (row.wantsOutput ? layout::rowWants : 0)));
}

void put(WireWriter &writer, const StageTiming &timing) {
  writer.put(timing.rows);
  writer.put(timing.departed);
  writer.put(timing.busyNanos);
  writer.put(timing.idleNanos);
}

void put(WireWriter &writer, const ResultRow &result) {
  writer.put(result.node);
  writer.put(result.request);
  writer.put(result.token);
  writer.putCount(result.report);
  for (const TokenLogProbability &entry : result.report) {
    writer.put(entry.token);
    writer.put(entry.logProbability);
  }
  std::string_view error = result.error;
  error = error.substr(0, layout::errorBytes);
  writer.putCount(error);
  writer.put(error);
  if (!error.empty())
    writer.put(static_cast<uint8_t>(result.isNotFinite));
}

template <typename T>
void putAll(WireWriter &writer, const std::vector<T> &list) {
  for (const T &each : list)
    put(writer, each);
}

} // namespace

void FrameCodec::encodeStep(const StepFrame &frame,
                            const ActivationRows &activations,
                            Bytes &out) const {
  assert(activations.data.empty() ||
         activations.data.size() == frame.rows.size() * activations.width *
                                        activationBytes(activations.format));
  WireWriter writer =
      begin(identity, FrameKind::Step, frame.step, frame.launched, out);
  if (frame.isTombstone())
    return finish(out);
  writer.putCount(frame.unpins);
  writer.putCount(frame.opens);
  writer.putCount(frame.marks);
  writer.putCount(frame.rows);
  writer.putCount(frame.pins);
  writer.putCount(frame.closes);
  writer.putCount(frame.timings);
  bool carries = !activations.data.empty();
  writer.put(static_cast<uint32_t>(carries ? activations.width : 0));
  writer.put(carries ? static_cast<uint8_t>(activations.format) : uint8_t{0});
  putAll(writer, frame.unpins);
  putAll(writer, frame.opens);
  putAll(writer, frame.marks);
  putAll(writer, frame.rows);
  putAll(writer, frame.pins);
  putAll(writer, frame.closes);
  putAll(writer, frame.timings);
  if (carries) {
    out.resize(layout::aligned(out.size()));
    writer.put(activations.data);
  }
  finish(out);
}

void FrameCodec::encodeResults(const ResultFrame &frame, Bytes &out) const {
  WireWriter writer =
      begin(identity, FrameKind::Results, frame.step, frame.launched, out);
  writer.putCount(frame.results);
  writer.putCount(frame.timings);
  putAll(writer, frame.results);
  putAll(writer, frame.timings);
  finish(out);
}

void FrameCodec::encodeEpochs(const EpochFrame &frame, Bytes &out) const {
  WireWriter writer = begin(identity, FrameKind::Epochs, 0, 0, out);
  writer.put(int64_t{frame.decided.count()});
  writer.putCount(frame.marks);
  putAll(writer, frame.marks);
  finish(out);
}

void FrameCodec::encodeError(int64_t rank, std::string_view text,
                             Bytes &out) const {
  WireWriter writer = begin(identity, FrameKind::Error, 0, 0, out);
  writer.put(static_cast<int32_t>(rank));
  writer.put(text.substr(0, static_cast<size_t>(bounds.textBytes)));
  finish(out);
}

void FrameCodec::encodeReport(std::string_view text, Bytes &out) const {
  WireWriter writer = begin(identity, FrameKind::Report, 0, 0, out);
  writer.put(text);
  finish(out);
}

void FrameCodec::encodeShutdown(Bytes &out) const {
  begin(identity, FrameKind::Shutdown, 0, 0, out);
  finish(out);
}

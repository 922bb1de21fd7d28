//===- FrameFields.h - the fields of frames, in order ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the fields of everything that frames carry, once for both directions:
// an EntryWriter writes them, and an EntryReader reads them and checks each
// against its range. A new field is added here and nowhere else, together with
// frameVersion. Internal to the codec.
//
// These are the bodies, by kind. A list is a u32 count followed by its entries.
// In a body of several lists, all counts come first; a list inside an entry
// directly follows its own count. Numbers have the size of their types in the
// structs below; an enumeration or a flag is a u8.
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
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_FRAMEFIELDS_H
#define SLUICE_RUNTIME_COMM_FRAMEFIELDS_H

#include "runtime/comm/Frame.h"

#include <limits>

namespace sluice::comm {

inline constexpr int64_t maxInt32 = std::numeric_limits<int32_t>::max();
inline constexpr int64_t maxInt64 = std::numeric_limits<int64_t>::max();
/// The largest time of a timing: the head adds times up, which must not
/// overflow.
inline constexpr int64_t maxNanos = maxInt64 / 4;
/// The length to which a result's error is truncated.
inline constexpr int64_t maxErrorBytes = 1024;

/// Offsets in a frame's header.
inline constexpr size_t deliverAtOffset = 32, lengthOffset = 40;

/// Returns where the activations begin if `offset` is the end of what precedes
/// them.
constexpr size_t alignedOffset(size_t offset) {
  return (offset + 15) / 16 * 16;
}

/// What `Io` is given of a T: a constant one to write, or one to read into.
template <typename Io, typename T> using Of = typename Io::template Of<T>;

//===----------------------------------------------------------------------===//
// Numbers that occur in several entries
//===----------------------------------------------------------------------===//

template <typename Io> void requestField(Io &io, Of<Io, RequestId> &request) {
  io.number(request, "a request", 0, io.limits.requests - 1);
}
template <typename Io> void tokenField(Io &io, Of<Io, int32_t> &token) {
  io.number(token, "a token", 0, io.limits.vocabSize - 1);
}
template <typename Io> void pageField(Io &io, Of<Io, SharedPage> &page) {
  io.number(page, "a shared page", 0, io.limits.sharedPages - 1);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

template <typename Io> void fields(Io &io, Of<Io, PinPage> &pin) {
  requestField(io, pin.request);
  io.number(pin.node, "a pinned node", 0, maxInt64);
  io.number(pin.index, "a page of a path", 0, io.limits.contextLength - 1);
  pageField(io, pin.page);
}

template <typename Io> void fields(Io &io, Of<Io, SamplingParams> &sampling) {
  io.any(sampling.temperature);
  io.any(sampling.topK);
  io.any(sampling.topP);
  io.any(sampling.minP);
  io.any(sampling.repetitionPenalty);
  io.any(sampling.presencePenalty);
  io.any(sampling.frequencyPenalty);
  io.any(sampling.seed);
  io.biases(sampling.logitBias); // by ascending tokens
  io.check([&] { return sampling.validate(io.limits.vocabSize); });
}

template <typename Io> void fields(Io &io, Of<Io, OpenRequest> &open) {
  requestField(io, open.request);
  io.number(open.firstNode, "a first node", 0, maxInt64);
  io.number(open.promptTokens, "a prompt's length", 1, io.limits.contextLength);
  io.number(open.knownTokens, "a number of known tokens", open.promptTokens,
            io.limits.contextLength);
  io.number(open.logProbabilities, "a number of log-probabilities", -1,
            io.limits.reportEntries - 1);
  fields(io, open.sampling);
  io.grammar(open.grammar); // kind, scope, source
  io.any(open.tenant);
  io.count(open.prefixPages, "prefix pages", io.limits.sharedPages);
  io.forEach(open.prefixPages, pageField<Io>);
  io.count(open.prefix, "prefix tokens", io.limits.contextLength);
  io.forEach(open.prefix, tokenField<Io>);
  io.count(open.scored, "scored tokens", io.limits.contextLength);
  io.forEach(open.scored, tokenField<Io>);
}

template <typename Io> void fields(Io &io, Of<Io, EpochMark> &mark) {
  requestField(io, mark.request);
  io.number(mark.epoch, "an epoch", 0, maxInt32);
  io.number(mark.confirmed, "a confirmed node", noNode, maxInt64);
  io.flag(mark.ended, "a mark's flag");
}

template <typename Io> void fields(Io &io, Of<Io, Row> &row) {
  io.number(row.node, "a node", 0, maxInt64);
  io.number(row.parent, "a row's parent", noNode, row.node - 1);
  requestField(io, row.request);
  io.number(row.position, "a position", 0, io.limits.contextLength - 1);
  tokenField(io, row.token);
  io.flags(row.certain, row.wantsOutput, "a row's flags"); // bits 0 and 1
}

template <typename Io> void fields(Io &io, Of<Io, StageTiming> &timing) {
  io.number(timing.rows, "a step's rows", 0, maxInt32);
  io.number(timing.departed, "rows that left", 0, timing.rows);
  io.number(timing.busyNanos, "a busy time", 0, maxNanos);
  io.number(timing.idleNanos, "an idle time", 0, maxNanos);
}

template <typename Io> void fields(Io &io, Of<Io, TokenLogProbability> &entry) {
  tokenField(io, entry.token);
  io.any(entry.logProbability);
  io.check([&] {
    return entry.logProbability <= 0
               ? Status()
               : failure("a log-probability is ", entry.logProbability,
                         ", not at most 0");
  });
}

template <typename Io> void fields(Io &io, Of<Io, ResultRow> &result) {
  io.number(result.node, "a node", 0, maxInt64);
  requestField(io, result.request);
  tokenField(io, result.token);
  io.count(result.report, "report entries", io.limits.reportEntries);
  io.entries(result.report);
  io.text(result.error, "letters of an error", maxErrorBytes);
  // Only an error is followed by this flag.
  io.flag(result.isNotFinite, "whether logits are not finite",
          !result.error.empty());
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// The numbers of entries of a step's lists, which precede all entries.
template <typename Io> void stepCounts(Io &io, Of<Io, StepFrame> &frame) {
  io.count(frame.unpins, "unpins", io.limits.sharedPages);
  io.count(frame.opens, "opens", io.limits.requests);
  io.count(frame.marks, "marks", io.limits.requests);
  io.count(frame.rows, "rows", io.limits.rows);
  io.count(frame.pins, "pins", io.limits.sharedPages);
  io.count(frame.closes, "closes", io.limits.requests);
  io.count(frame.timings, "timings", io.limits.stages);
}

template <typename Io> void stepEntries(Io &io, Of<Io, StepFrame> &frame) {
  io.forEach(frame.unpins, pageField<Io>);
  io.entries(frame.opens);
  io.entries(frame.marks);
  io.entries(frame.rows);
  io.entries(frame.pins);
  io.forEach(frame.closes, requestField<Io>);
  io.entries(frame.timings);
}

template <typename Io> void fields(Io &io, Of<Io, ResultFrame> &frame) {
  io.count(frame.results, "results", io.limits.rows);
  io.count(frame.timings, "timings", io.limits.stages);
  io.entries(frame.results);
  io.entries(frame.timings);
}

template <typename Io>
void markList(Io &io, Of<Io, std::vector<EpochMark>> &marks) {
  io.count(marks, "marks", io.limits.requests);
  io.entries(marks);
}

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_FRAMEFIELDS_H

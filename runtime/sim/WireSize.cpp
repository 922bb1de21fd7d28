//===- WireSize.cpp - sizes of messages -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/WireSize.h"

using namespace sluice;

// These sizes are those that FrameEncode.cpp of runtime/comm writes.
namespace {
constexpr int64_t headerBytes = 48;
constexpr int64_t countBytes = 4;
constexpr int64_t openBytes = 125, biasBytes = 12, markBytes = 17;
constexpr int64_t rowTableBytes = 29, pinBytes = 20, closeBytes = 4;
constexpr int64_t pageBytes = 4, tokenBytes = 4, timingBytes = 24;
constexpr int64_t resultBytes = 24, reportEntryBytes = 12;
constexpr int64_t activationAlignment = 16;
} // namespace

template <typename T> static int64_t countOf(const std::vector<T> &list) {
  return static_cast<int64_t>(list.size());
}

int64_t sim::wireBytes(const StepFrame &frame, int64_t rowBytes) {
  if (frame.isTombstone())
    return headerBytes;
  // A frame has seven lists, the activations' width and their format.
  int64_t bytes =
      headerBytes + 7 * countBytes + 4 + 1 + countOf(frame.unpins) * pageBytes +
      countOf(frame.opens) * openBytes + countOf(frame.marks) * markBytes +
      countOf(frame.rows) * rowTableBytes + countOf(frame.pins) * pinBytes +
      countOf(frame.closes) * closeBytes + countOf(frame.timings) * timingBytes;
  for (const OpenRequest &open : frame.opens)
    bytes += static_cast<int64_t>(open.grammar.text().size()) +
             static_cast<int64_t>(open.sampling.logitBias.size()) * biasBytes +
             countOf(open.prefixPages) * pageBytes +
             (countOf(open.prefix) + countOf(open.scored)) * tokenBytes;
  if (rowBytes == 0 || frame.rows.empty())
    return bytes;
  bytes = (bytes + activationAlignment - 1) / activationAlignment *
          activationAlignment;
  return bytes + countOf(frame.rows) * rowBytes;
}

int64_t sim::wireBytes(const ResultFrame &frame) {
  int64_t bytes = headerBytes + 2 * countBytes +
                  countOf(frame.results) * resultBytes +
                  countOf(frame.timings) * timingBytes;
  for (const ResultRow &result : frame.results)
    bytes += countOf(result.report) * reportEntryBytes;
  return bytes;
}

int64_t sim::wireBytes(const EpochMark &) {
  return headerBytes + 8 + countBytes + markBytes;
}

//===- FrameLayout.h - sizes and offsets in a frame -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_FRAMELAYOUT_H
#define SLUICE_RUNTIME_COMM_FRAMELAYOUT_H

#include <cstddef>
#include <cstdint>

/// What the writer and the reader of frames agree on; see FrameEncode.cpp.
namespace sluice::comm::layout {

constexpr size_t deliverAtOffset = 32;
constexpr size_t lengthOffset = 40;

constexpr uint8_t rowCertain = 1;
constexpr uint8_t rowWants = 2;

// Bytes of an entry; of those with a list inside, without its entries.
constexpr size_t openBytes = 109;
constexpr size_t biasBytes = 12;
constexpr size_t markBytes = 17;
constexpr size_t rowBytes = 29;
constexpr size_t pinBytes = 20;
constexpr size_t closeBytes = 4;
constexpr size_t pageBytes = 4;
constexpr size_t tokenBytes = 4;
constexpr size_t timingBytes = 24;
constexpr size_t resultBytes = 24;
constexpr size_t reportEntryBytes = 12;

/// What a result's error is cut to.
constexpr int64_t errorBytes = 1024;

/// Where activations begin, `offset` being the end of what comes before.
constexpr size_t aligned(size_t offset) { return (offset + 15) / 16 * 16; }

} // namespace sluice::comm::layout

#endif // SLUICE_RUNTIME_COMM_FRAMELAYOUT_H

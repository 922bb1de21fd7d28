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

/// The sizes and offsets on which FrameEncode.cpp, which describes the layout,
/// and FrameDecode.cpp agree.
namespace sluice::comm::layout {

constexpr size_t deliverAtOffset = 32;
constexpr size_t lengthOffset = 40;

constexpr uint8_t rowCertain = 1;
constexpr uint8_t rowWants = 2;

// The size of one entry of each table, in bytes. An entry that contains a list
// is counted without the entries of that list.
constexpr size_t openBytes = 125;
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

/// The length to which a result's error is truncated.
constexpr int64_t errorBytes = 1024;

/// Returns where the activations begin if `offset` is the end of what precedes
/// them.
constexpr size_t aligned(size_t offset) { return (offset + 15) / 16 * 16; }

} // namespace sluice::comm::layout

#endif // SLUICE_RUNTIME_COMM_FRAMELAYOUT_H

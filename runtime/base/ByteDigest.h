//===- ByteDigest.h - telling whether bytes are still the same ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A digest of all of a weight's bytes, computed at memory's rate (XXH3), by
// which a damaged or changed weight is found. Any accident changes it, but for
// one in 2^64; whoever changes bytes on purpose can keep it as it is.
//
// It is made of the digests of blocks, so that several threads can share a
// weight, and one thread can stop after any block.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_BYTEDIGEST_H
#define SLUICE_RUNTIME_BASE_BYTEDIGEST_H

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// Of a block, all but the last.
constexpr uint64_t digestBlockBytes = uint64_t(1) << 20;

/// Of one block: at most digestBlockBytes.
uint64_t digestBlock(std::span<const uint8_t> block);

/// Of bytes whose blocks have these digests, in order.
uint64_t digestOfBlocks(std::span<const uint64_t> blocks);

/// The same for bytes that come in pieces of any size. Thread-compatible.
class ByteDigest {
public:
  ByteDigest();
  ByteDigest(ByteDigest &&) noexcept;
  ~ByteDigest();

  void add(std::span<const uint8_t> bytes);

  /// Of all that was added; the next bytes are the first of another digest.
  uint64_t finish();

private:
  struct Block;

  void endBlock();

  std::unique_ptr<Block> block; // that is not full yet
  std::vector<uint64_t> blocks; // digests of those that are
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_BYTEDIGEST_H

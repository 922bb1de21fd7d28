//===- ByteDigest.h - a digest that detects changed bytes -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes a digest of all bytes of a weight at the speed of memory (XXH3), to
// detect a damaged or changed weight. An accidental change is missed with a
// probability of 2^-64; a deliberate one can keep the digest.
//
// The digest is made of the digests of blocks, so that several threads can
// share a weight, and a thread can stop after any block.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_BYTEDIGEST_H
#define SLUICE_RUNTIME_BASE_BYTEDIGEST_H

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// The size of all blocks but the last one.
constexpr uint64_t digestBlockBytes = uint64_t(1) << 20;

/// Returns the digest of one block, of at most digestBlockBytes.
uint64_t digestBlock(std::span<const uint8_t> block);

/// Returns the digest of bytes from the digests of their blocks, in order.
uint64_t digestOfBlocks(std::span<const uint64_t> blocks);

/// Computes the same digest from pieces of any size. Not thread-safe.
class ByteDigest {
public:
  ByteDigest();
  ByteDigest(ByteDigest &&) noexcept;
  ~ByteDigest();

  void add(std::span<const uint8_t> bytes);

  /// Returns the digest of all bytes added, and starts a new digest.
  uint64_t finish();

private:
  struct Block;

  void endBlock();

  std::unique_ptr<Block> block; // the current, partial block
  std::vector<uint64_t> blocks; // digests of the full blocks
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_BYTEDIGEST_H

//===- ByteDigest.cpp - a digest that detects changed bytes ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ByteDigest.h"

#include <algorithm>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sluice;

/// The bytes since the last full block.
struct ByteDigest::Block {
  XXH3_state_t state;
  uint64_t bytes = 0;

  Block() { XXH3_64bits_reset(&state); }
};

uint64_t sluice::digestBlock(std::span<const uint8_t> block) {
  return XXH3_64bits(block.data(), block.size());
}

uint64_t sluice::digestOfBlocks(std::span<const uint64_t> blocks) {
  return XXH3_64bits(blocks.data(), blocks.size_bytes());
}

ByteDigest::ByteDigest() : block(std::make_unique<Block>()) {}
ByteDigest::ByteDigest(ByteDigest &&) noexcept = default;
ByteDigest::~ByteDigest() = default;

void ByteDigest::endBlock() {
  blocks.push_back(XXH3_64bits_digest(&block->state));
  XXH3_64bits_reset(&block->state);
  block->bytes = 0;
}

void ByteDigest::add(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    uint64_t room = digestBlockBytes - block->bytes;
    std::span<const uint8_t> now =
        bytes.first(std::min<uint64_t>(room, bytes.size()));
    XXH3_64bits_update(&block->state, now.data(), now.size());
    block->bytes += now.size();
    bytes = bytes.subspan(now.size());
    if (block->bytes == digestBlockBytes)
      endBlock();
  }
}

uint64_t ByteDigest::finish() {
  if (block->bytes > 0)
    endBlock();
  return digestOfBlocks(std::exchange(blocks, {}));
}

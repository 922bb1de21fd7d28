//===- ByteDigestTest.cpp - a digest that detects changed bytes -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests that a digest depends on every bit and on the length, but not on the
// pieces of the input. Digests must never change, because files contain them.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ByteDigest.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace sluice;

namespace {

std::vector<uint8_t> someBytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  uint64_t state = 1;
  for (uint8_t &byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = uint8_t(state >> 56);
  }
  return bytes;
}

uint64_t digestInPieces(std::span<const uint8_t> bytes, size_t piece) {
  ByteDigest digest;
  for (size_t at = 0; at < bytes.size(); at += piece)
    digest.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  return digest.finish();
}

uint64_t digestInBlocks(std::span<const uint8_t> bytes) {
  std::vector<uint64_t> blocks;
  for (size_t at = 0; at < bytes.size(); at += digestBlockBytes)
    blocks.push_back(digestBlock(bytes.subspan(
        at, std::min<size_t>(digestBlockBytes, bytes.size() - at))));
  return digestOfBlocks(blocks);
}

TEST(ByteDigest, DoesNotDependOnThePieces) {
  for (size_t size : {size_t(0), size_t(1), size_t(1000), size_t(1) << 20,
                      (size_t(1) << 20) + 1, (size_t(3) << 20) - 5}) {
    std::vector<uint8_t> bytes = someBytes(size);
    uint64_t whole = digestInBlocks(bytes);
    for (size_t piece :
         {size_t(4093), size_t(1) << 20, size_t(1500000), size_t(8) << 20})
      EXPECT_EQ(digestInPieces(bytes, piece), whole) << size << ' ' << piece;
  }
}

TEST(ByteDigest, CanBeUsedAgain) {
  std::vector<uint8_t> bytes = someBytes(100);
  ByteDigest digest;
  digest.add(someBytes(5));
  digest.finish();
  digest.add(bytes);
  EXPECT_EQ(digest.finish(), digestInBlocks(bytes));
}

TEST(ByteDigest, DependsOnEveryBitAndOnTheLength) {
  std::vector<uint8_t> bytes = someBytes(300);
  std::set<uint64_t> seen = {digestInBlocks(bytes)};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_TRUE(seen.insert(digestInBlocks(bytes)).second) << "bit " << bit;
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
  }
  for (size_t size : {size_t(299), size_t(0)})
    EXPECT_TRUE(
        seen.insert(digestInBlocks(std::span(bytes).first(size))).second);
  // Swapped blocks, and a page of zeros.
  bytes = someBytes(size_t(2) << 20);
  seen = {digestInBlocks(bytes)};
  std::rotate(bytes.begin(), bytes.begin() + (1 << 20), bytes.end());
  EXPECT_TRUE(seen.insert(digestInBlocks(bytes)).second);
  std::fill_n(bytes.begin() + 8192, 4096, uint8_t(0));
  EXPECT_TRUE(seen.insert(digestInBlocks(bytes)).second);
}

TEST(ByteDigest, StaysTheSameFromVersionToVersion) {
  EXPECT_EQ(digestInBlocks({}), 0x2d06800538d394c2u); // XXH3 of no bytes
  EXPECT_EQ(digestInBlocks(someBytes(1000)), 14272137354793958241u);
  EXPECT_EQ(digestInBlocks(someBytes(1500000)), 384312452626076026u);
}

} // namespace

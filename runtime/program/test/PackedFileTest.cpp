//===- PackedFileTest.cpp - layout, header and trailer of packed weights --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A header is the same after encoding and reading, and a change of any of its
// bytes is detected. A trailer is used only if it points inside the file.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using testing::HasSubstr;

namespace {

const PackedKey key{"avx512vnni", 0x1234};

std::vector<uint8_t> wholeFile(const PackedFileLayout &layout) {
  std::vector<uint8_t> bytes = encodePackedHeader(layout, key);
  bytes.resize(layout.totalBytes);
  return bytes;
}

TEST(PackedFileTest, PlacesSectionsOnCacheLinesAfterAPage) {
  std::vector<uint64_t> sizes = {100, 0, 64, 1};
  Expected<PackedFileLayout> layout = PackedFileLayout::plan(sizes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->payloadOffset, 4096u);
  EXPECT_EQ(layout->sections[0].offset, 4096u);
  EXPECT_EQ(layout->sections[1].bytes, 0u);
  EXPECT_EQ(layout->sections[2].offset, 4096u + 128);
  EXPECT_EQ(layout->sections[3].offset, 4096u + 192);
  EXPECT_EQ(layout->totalBytes, 4096u + 256);
}

TEST(PackedFileTest, RefusesSizesThatOverflow) {
  std::vector<uint64_t> sizes = {uint64_t(1) << 63, uint64_t(1) << 63};
  EXPECT_FALSE(PackedFileLayout::plan(sizes));
  sizes = {~uint64_t(0)};
  EXPECT_FALSE(PackedFileLayout::plan(sizes));
}

TEST(PackedFileTest, HeaderRoundTripsAndGuardsItself) {
  std::vector<uint64_t> sizes = {100, 0, 64};
  PackedFileLayout layout = *PackedFileLayout::plan(sizes);
  layout.sections[2].digest = 0x123456789abcdef0;
  std::vector<uint8_t> bytes = wholeFile(layout);
  Expected<PackedFileLayout> back = readPackedHeader(bytes, key, 3);
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(back->sections[2].offset, layout.sections[2].offset);
  EXPECT_EQ(back->sections[2].bytes, 64u);
  EXPECT_EQ(back->sections[2].digest, 0x123456789abcdef0u);

  size_t headerAndTable = 64 + 3 * 24;
  for (size_t i = 0; i < headerAndTable; ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 0x20;
    EXPECT_FALSE(readPackedHeader(damaged, key, 3)) << "byte " << i;
  }
  for (size_t size : {size_t(0), size_t(63), size_t(80), bytes.size() - 1})
    EXPECT_FALSE(readPackedHeader(std::span(bytes).first(size), key, 3));
}

TEST(PackedFileTest, SaysWhyAFileIsStale) {
  std::vector<uint64_t> sizes = {100};
  std::vector<uint8_t> bytes = wholeFile(*PackedFileLayout::plan(sizes));
  auto reason = [&](const PackedKey &wanted, size_t weights) {
    return readPackedHeader(bytes, wanted, weights).status().message();
  };
  EXPECT_EQ(reason({"avx2", 0x1234}, 1), "was packed for avx512vnni, not avx2");
  EXPECT_EQ(reason({"avx512vnni", 0x1235}, 1),
            "was packed for another program");
  EXPECT_EQ(reason(key, 2), "was packed for another program");
  bytes.push_back(0);
  EXPECT_THAT(reason(key, 1), HasSubstr("bytes, not"));
  bytes[8] = 1; // after the magic bytes
  EXPECT_THAT(reason(key, 1), HasSubstr("is of version 1, not"));
}

TEST(PackedFileTest, FindsFilesInsideAnExecutable) {
  std::vector<uint8_t> executable(8192, 1);
  EXPECT_FALSE(findEmbeddedPackedFile(executable, 0));
  executable.resize(8192 + 500);
  auto withTrailer = [&](std::vector<PackedPlace> payloads) {
    std::vector<uint8_t> bytes = executable;
    std::vector<uint8_t> trailer = encodePackedTrailer(payloads);
    EXPECT_EQ(trailer.size(), 32u + 16 * payloads.size());
    bytes.insert(bytes.end(), trailer.begin(), trailer.end());
    return bytes;
  };
  std::vector<uint8_t> good = withTrailer({{4096, 100}, {8192, 500}});
  std::optional<std::span<const uint8_t>> found =
      findEmbeddedPackedFile(good, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->data(), good.data() + 8192);
  EXPECT_EQ(found->size(), 500u);
  ASSERT_TRUE(findEmbeddedPackedFile(good, 0));
  EXPECT_EQ(findEmbeddedPackedFile(good, 0)->size(), 100u);
  EXPECT_FALSE(findEmbeddedPackedFile(good, 2));
  EXPECT_FALSE(findEmbeddedPackedFile(good, -1));
  for (size_t i = 8192 + 500; i < good.size(); ++i) {
    std::vector<uint8_t> damaged = good;
    damaged[i] ^= 0x20;
    EXPECT_FALSE(findEmbeddedPackedFile(damaged, 1)) << "byte " << i;
  }

  auto finds = [&](uint64_t offset, uint64_t size) {
    return findEmbeddedPackedFile(withTrailer({{offset, size}}), 0).has_value();
  };
  EXPECT_TRUE(finds(4096, 4596));
  EXPECT_FALSE(finds(4096, 4597));
  EXPECT_FALSE(finds(4095, 10));
  EXPECT_FALSE(finds(12288, 0));
  EXPECT_FALSE(finds(4096, ~uint64_t(0)));
  EXPECT_FALSE(findEmbeddedPackedFile(withTrailer({}), 0));
  EXPECT_FALSE(findEmbeddedPackedFile({}, 0));
}

} // namespace

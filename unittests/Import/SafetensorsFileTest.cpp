//===- SafetensorsFileTest.cpp - tests of the safetensors reader ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/HuggingFace/SafetensorsFile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace sluice;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns a file: the header's length, the header, and `data` zero bytes.
std::vector<uint8_t> fileBytes(std::string_view header, size_t data) {
  std::vector<uint8_t> bytes;
  for (uint64_t length = header.size(); bytes.size() < 8; length >>= 8)
    bytes.push_back(static_cast<uint8_t>(length));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data);
  return bytes;
}

std::string error(std::string_view header, size_t data) {
  std::vector<uint8_t> bytes = fileBytes(header, data);
  return hf::SafetensorsFile::parse("m", bytes).status().message();
}

constexpr std::string_view goodHeader =
    R"({"__metadata__":{"format":"pt"},)"
    R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
    R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
    R"("e":{"dtype":"F16","shape":[0],"data_offsets":[4,4]}})";

TEST(SafetensorsFile, ReadsTensors) {
  std::vector<uint8_t> bytes = fileBytes(goodHeader, 28);
  Expected<hf::SafetensorsFile> file = hf::SafetensorsFile::parse("m", bytes);
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_EQ(file->tensors().size(), 3u);
  const hf::SafetensorsTensor &a = file->tensors()[0];
  const hf::SafetensorsTensor &b = file->tensors()[2];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.format, Format::BF16);
  EXPECT_EQ(b.format, Format::F32);
  EXPECT_THAT(b.shape, ElementsAre(2, 3));
  EXPECT_EQ(b.offset + b.bytes, bytes.size());
}

TEST(SafetensorsFile, RefusesEveryTruncation) {
  std::vector<uint8_t> whole = fileBytes(goodHeader, 28);
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<uint8_t> part(whole.begin(), whole.begin() + size);
    EXPECT_FALSE(hf::SafetensorsFile::parse("m", part)) << size;
  }
}

TEST(SafetensorsFile, SurvivesEveryCorruptByte) {
  std::vector<uint8_t> bytes = fileBytes(goodHeader, 28);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (uint8_t value : {0x00, 0x22, 0x39, 0x5b, 0x7d, 0xff}) {
      std::vector<uint8_t> corrupt = bytes;
      corrupt[i] = value;
      Expected<hf::SafetensorsFile> file =
          hf::SafetensorsFile::parse("m", corrupt);
      if (!file)
        continue;
      for (const hf::SafetensorsTensor &tensor : file->tensors())
        EXPECT_LE(tensor.offset + tensor.bytes, corrupt.size());
    }
  }
}

TEST(SafetensorsFile, RefusesAMalformedHeader) {
  std::vector<uint8_t> huge(8, 0xff);
  EXPECT_THAT(hf::SafetensorsFile::parse("m", huge).status().message(),
              HasSubstr("at most 100000000 are allowed"));
  std::vector<uint8_t> past = {100, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  EXPECT_THAT(hf::SafetensorsFile::parse("m", past).status().message(),
              HasSubstr("the file ends at byte 10"));
  EXPECT_THAT(error("[]", 0), HasSubstr("header: not a JSON object"));
  EXPECT_THAT(error("{", 0), HasSubstr("m: header: parse error"));
  EXPECT_THAT(error(std::string(100, '['), 0), HasSubstr("deeper than 64"));
  EXPECT_THAT(error(R"({"__metadata__":3})", 0), HasSubstr("__metadata__"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                    8),
              HasSubstr("key 'a' appears twice"));
}

TEST(SafetensorsFile, RefusesMalformedTensors) {
  auto tensor = [](std::string_view dtype, std::string_view shape,
                   std::string_view offsets) {
    std::string header = R"({"t":{"dtype":)";
    header += dtype;
    header += R"(,"shape":)";
    header += shape;
    header += R"(,"data_offsets":)";
    header += offsets;
    return error(header + "}}", 8);
  };
  constexpr std::string_view f32 = R"("F32")";
  EXPECT_EQ(tensor(f32, "[2]", "[0,8]"), "");
  EXPECT_THAT(tensor("7", "[2]", "[0,8]"), HasSubstr("tensor 't': no string"));
  EXPECT_THAT(tensor(f32, "2", "[0,8]"), HasSubstr("no array 'shape'"));
  EXPECT_THAT(tensor(f32, "[-2]", "[0,8]"), HasSubstr("else than sizes"));
  EXPECT_THAT(tensor(f32, "[2.0]", "[0,8]"), HasSubstr("else than sizes"));
  EXPECT_THAT(tensor(f32, "[18446744073709551615]", "[0,8]"),
              HasSubstr("else than sizes"));
  EXPECT_THAT(tensor(f32, "[4611686018427387904,4]", "[0,8]"),
              HasSubstr("shape overflows"));
  EXPECT_THAT(tensor(f32, "[4611686018427387904]", "[0,8]"),
              HasSubstr("size overflows"));
  EXPECT_THAT(tensor(f32, "[2]", "[0]"), HasSubstr("no pair"));
  EXPECT_THAT(tensor(f32, "[2]", "[8,0]"), HasSubstr("not a range"));
  EXPECT_THAT(tensor(f32, "[2]", "[0,16]"), HasSubstr("reach past"));
  EXPECT_THAT(tensor(f32, "[3]", "[0,8]"),
              HasSubstr("needs 12 bytes, 'data_offsets' gives 8"));
  EXPECT_THAT(tensor(f32, "[2]", R"([0,8],"extra":1)"),
              HasSubstr("unknown key 'extra'"));
}

TEST(SafetensorsFile, RefusesHolesOverlapsAndTrailingBytes) {
  auto two = [](std::string_view first, std::string_view second) {
    std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)";
    header += first;
    header += R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)";
    header += second;
    return error(header + "}}", 9);
  };
  EXPECT_THAT(two("[0,4]", "[3,7]"), HasSubstr("tensor 'b': overlaps"));
  EXPECT_THAT(two("[0,4]", "[5,9]"), HasSubstr("a hole of 1 bytes"));
  EXPECT_THAT(two("[0,4]", "[4,8]"), HasSubstr("1 bytes at the end"));
}

// A tensor of an unknown type is an error only if a model uses the tensor.
TEST(SafetensorsFile, KeepsTensorsOfOtherTypes) {
  std::vector<uint8_t> bytes =
      fileBytes(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                R"("b":{"dtype":"F4","shape":[3],"data_offsets":[8,10]}})",
                10);
  Expected<hf::SafetensorsFile> file = hf::SafetensorsFile::parse("m", bytes);
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->tensors()[0].format, std::nullopt);
  EXPECT_EQ(file->tensors()[1].dtype, "F4");
}

} // namespace

//===- GGUFFileTest.cpp - tests of the GGUF reader ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GGUFBytes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>

using namespace sluice;
using gguf::ValueType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr uint32_t f32Type = 0;
constexpr uint32_t q80Type = 8;

/// Returns a small well-formed file.
GGUFBytes goodFile(uint32_t version = 3) {
  GGUFBytes file(2, 4, version);
  file.text("general.architecture", "llama")
      .u32("general.alignment", 64)
      .f32("x.epsilon", 0.5f)
      .entry("x.flag", ValueType::Bool, uint8_t(1))
      .tensor("a", {4, 2}, f32Type, 0)
      .tensor("b", {64}, q80Type, 64)
      .data(64 + 68, 64);
  return file;
}

TEST(GGUFFile, ReadsMetadataAndTensors) {
  for (uint32_t version : {2, 3}) {
    GGUFBytes bytes = goodFile(version);
    Expected<gguf::GGUFFile> file = bytes.parse();
    ASSERT_TRUE(file) << file.status().message();
    EXPECT_EQ(file->version(), version);
    EXPECT_EQ(file->find("general.architecture")->asString(), "llama");
    EXPECT_EQ(file->find("x.epsilon")->asFloat(), 0.5);
    EXPECT_EQ(**file->boolValue("x.flag"), true);
    EXPECT_EQ(*file->uintValue("absent"), std::nullopt);
    ASSERT_EQ(file->tensors().size(), 2u);
    const gguf::TensorInfo &a = file->tensors()[0], &b = file->tensors()[1];
    EXPECT_EQ(a.name, "a");
    EXPECT_THAT(a.dims, ElementsAre(4, 2));
    EXPECT_EQ(b.name, "b");
    EXPECT_EQ(b.format, Format::Q8_0);
    EXPECT_EQ(b.bytes, 68u);
    EXPECT_EQ(b.offset + b.bytes, bytes.bytes().size());
  }
}

TEST(GGUFFile, ReadsEveryValueType) {
  GGUFBytes bytes(0, 14);
  bytes.entry("u8", ValueType::UInt8, uint8_t(200))
      .entry("i8", ValueType::Int8, int8_t(-3))
      .entry("u16", ValueType::UInt16, uint16_t(60000))
      .entry("i16", ValueType::Int16, int16_t(-300))
      .entry("i32", ValueType::Int32, int32_t(-70000))
      .entry("u64", ValueType::UInt64, ~uint64_t(0))
      .entry("i64", ValueType::Int64, int64_t(-5))
      .entry("f64", ValueType::Float64, 0.25)
      .key("ints", ValueType::Array)
      .number(uint32_t(ValueType::Int16))
      .number(uint64_t(2))
      .number(int16_t(1))
      .number(int16_t(-1))
      .key("floats", ValueType::Array)
      .number(uint32_t(ValueType::Float32))
      .number(uint64_t(1))
      .number(1.5f)
      .key("strings", ValueType::Array)
      .number(uint32_t(ValueType::String))
      .number(uint64_t(2))
      .string("")
      .string("two")
      .key("bools", ValueType::Array)
      .number(uint32_t(ValueType::Bool))
      .number(uint64_t(2))
      .raw(std::string_view("\1\0", 2))
      .key("none", ValueType::Array)
      .number(uint32_t(ValueType::UInt64))
      .number(uint64_t(0))
      .text("empty", "");
  Expected<gguf::GGUFFile> file = bytes.parse();
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->find("u8")->asUInt(), 200u);
  EXPECT_EQ(file->find("i8")->asInt(), -3);
  EXPECT_EQ(file->find("i8")->asUInt(), std::nullopt);
  EXPECT_EQ(file->find("u16")->asUInt(), 60000u);
  EXPECT_EQ(file->find("i16")->asInt(), -300);
  EXPECT_EQ(file->find("i32")->asInt(), -70000);
  EXPECT_EQ(file->find("u64")->asUInt(), ~uint64_t(0));
  EXPECT_EQ(file->find("u64")->asInt(), std::nullopt);
  EXPECT_EQ(file->find("i64")->asInt(), -5);
  EXPECT_EQ(file->find("f64")->asFloat(), 0.25);
  EXPECT_THAT(*file->find("ints")->asInts(), ElementsAre(1, -1));
  EXPECT_THAT(*file->find("floats")->asFloats(), ElementsAre(1.5f));
  EXPECT_THAT(*file->find("strings")->asStrings(), ElementsAre("", "two"));
  EXPECT_THAT(*file->find("bools")->asBools(), ElementsAre(true, false));
  EXPECT_EQ(file->find("none")->arraySize(), 0u);
  EXPECT_EQ(file->find("empty")->asString(), "");
  EXPECT_EQ(file->find("empty")->asInt(), std::nullopt);
}

TEST(GGUFFile, NamesTheKeyWhoseTypeIsWrong) {
  GGUFBytes bytes = goodFile();
  Expected<gguf::GGUFFile> file = bytes.parse();
  ASSERT_TRUE(file);
  EXPECT_EQ(file->uintValue("x.epsilon").status().message(),
            "m.gguf: x.epsilon: expected a non-negative integer, found "
            "float32");
}

// Every prefix of a good file is refused with one line, without reading past
// its end, which the sanitizers would report.
TEST(GGUFFile, RefusesEveryTruncation) {
  std::vector<uint8_t> whole = goodFile().bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<uint8_t> part(whole.begin(), whole.begin() + size);
    Expected<gguf::GGUFFile> file = gguf::GGUFFile::parse("m.gguf", part);
    ASSERT_FALSE(file) << size;
    EXPECT_THAT(file.status().message(), StartsWith("m.gguf: "));
    EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
  }
}

// Flipping any byte of the header gives a file or an error, never a crash.
TEST(GGUFFile, SurvivesEveryCorruptByte) {
  std::vector<uint8_t> bytes = goodFile().bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> corrupt = bytes;
      corrupt[i] = value;
      Expected<gguf::GGUFFile> file = gguf::GGUFFile::parse("m", corrupt);
      if (!file)
        continue;
      for (const gguf::TensorInfo &tensor : file->tensors())
        EXPECT_EQ(file->tensorBytes(tensor).size(), tensor.bytes);
    }
  }
}

TEST(GGUFFile, RefusesOtherFilesAndVersions) {
  std::vector<uint8_t> text = {'G', 'G', 'M', 'L', 1, 0, 0, 0};
  EXPECT_THAT(gguf::GGUFFile::parse("m", text).status().message(),
              HasSubstr("not a GGUF file"));
  EXPECT_THAT(GGUFBytes(0, 0, 1).error(), HasSubstr("version 1"));
  EXPECT_THAT(GGUFBytes(0, 0, 4).error(), HasSubstr("version 4"));
  EXPECT_THAT(GGUFBytes(0, 0, 3u << 24).error(), HasSubstr("big-endian"));
}

TEST(GGUFFile, RefusesCountsBeyondTheFile) {
  EXPECT_THAT(GGUFBytes(0, ~uint64_t(0)).error(),
              HasSubstr("header: 18446744073709551615 metadata entries do not "
                        "fit"));
  EXPECT_THAT(GGUFBytes(uint64_t(1) << 60, 0).error(),
              HasSubstr("tensors do not fit"));
}

TEST(GGUFFile, RefusesMalformedMetadata) {
  GGUFBytes longKey(0, 1);
  longKey.u32(std::string(70000, 'k'), 1);
  EXPECT_THAT(longKey.error(), HasSubstr("a key of 70000 bytes"));

  GGUFBytes hugeKey(0, 1);
  hugeKey.number(~uint64_t(0)).raw("0123456789");
  EXPECT_THAT(hugeKey.error(), HasSubstr("metadata entry 0: key at byte 32: "
                                         "18446744073709551615 bytes long"));

  GGUFBytes twice(0, 2);
  twice.u32("k", 1).u32("k", 2);
  EXPECT_THAT(twice.error(), HasSubstr("key 'k' appears twice"));

  GGUFBytes type(0, 1);
  type.string("k").number(uint32_t(13)).number(uint32_t(0));
  EXPECT_THAT(type.error(), HasSubstr("metadata 'k': unknown value type 13"));

  GGUFBytes boolean(0, 1);
  boolean.entry("k", ValueType::Bool, uint8_t(2));
  EXPECT_THAT(boolean.error(), HasSubstr("a bool of value 2"));

  GGUFBytes hostile(0, 1);
  hostile.text(std::string("k\n\033", 3), "v").raw("");
  std::vector<uint8_t> cut = hostile.bytes();
  cut.pop_back();
  EXPECT_THAT(gguf::GGUFFile::parse("m", cut).status().message(),
              HasSubstr("metadata 'k\\x0a\\x1b'"));
}

TEST(GGUFFile, RefusesMalformedArrays) {
  auto array = [](uint32_t type, uint64_t count) {
    GGUFBytes file(0, 1);
    file.key("k", ValueType::Array).number(type).number(count);
    return file.raw("12345678").error();
  };
  EXPECT_THAT(array(13, 1), HasSubstr("unknown element type 13"));
  EXPECT_THAT(array(uint32_t(ValueType::Array), 1),
              HasSubstr("arrays of arrays"));
  EXPECT_THAT(array(uint32_t(ValueType::UInt64), ~uint64_t(0)),
              HasSubstr("does not fit"));
  EXPECT_THAT(array(uint32_t(ValueType::UInt8), 9), HasSubstr("does not fit"));
  EXPECT_THAT(array(uint32_t(ValueType::String), 1), HasSubstr("(string 0)"));
  EXPECT_THAT(array(uint32_t(ValueType::String), uint64_t(1) << 61),
              HasSubstr("does not fit"));
}

TEST(GGUFFile, RefusesABadAlignment) {
  for (uint32_t alignment : {0u, 3u, 48u}) {
    GGUFBytes file(0, 1);
    file.u32("general.alignment", alignment);
    EXPECT_THAT(file.error(), HasSubstr("general.alignment: not a power"));
  }
  GGUFBytes file(0, 1);
  file.text("general.alignment", "32");
  EXPECT_THAT(file.error(), HasSubstr("general.alignment: not a power"));
}

/// Returns the error of a file with one tensor.
std::string tensorError(std::initializer_list<uint64_t> dims, uint32_t type,
                        uint64_t offset, size_t data = 128) {
  GGUFBytes file(1, 0);
  file.tensor("t", dims, type, offset).data(data);
  return file.error();
}

TEST(GGUFFile, RefusesMalformedTensors) {
  EXPECT_EQ(tensorError({32}, f32Type, 0), "");
  EXPECT_THAT(tensorError({}, f32Type, 0), HasSubstr("0 dimensions"));
  EXPECT_THAT(tensorError({1, 1, 1, 1, 1}, f32Type, 0),
              HasSubstr("tensor 't': 5 dimensions"));
  EXPECT_THAT(tensorError({4, 0}, f32Type, 0),
              HasSubstr("dimension 1 is zero"));
  EXPECT_THAT(tensorError({~uint64_t(0)}, f32Type, 0),
              HasSubstr("dimensions overflow"));
  EXPECT_THAT(tensorError({uint64_t(1) << 32, uint64_t(1) << 32}, f32Type, 0),
              HasSubstr("dimensions overflow"));
  EXPECT_THAT(tensorError({uint64_t(1) << 31, uint64_t(1) << 31}, f32Type, 0),
              HasSubstr("overflow"));
  EXPECT_THAT(tensorError({32}, 99, 0), HasSubstr("unknown tensor type 99"));
  EXPECT_THAT(tensorError({256}, 10, 0),
              HasSubstr("tensor type 10 (q2_k) is not supported"));
  EXPECT_THAT(tensorError({33}, q80Type, 0),
              HasSubstr("rows of 33 values are not whole blocks of q8_0"));
  EXPECT_THAT(tensorError({4}, f32Type, 8), HasSubstr("offset 8"));
  EXPECT_THAT(tensorError({33}, f32Type, 0), HasSubstr("reach past the end"));
  EXPECT_THAT(tensorError({4}, f32Type, uint64_t(1) << 40),
              HasSubstr("reach past the end"));
  EXPECT_THAT(tensorError({4}, f32Type, ~uint64_t(31)),
              HasSubstr("reach past the end"));
  EXPECT_THAT(tensorError({32}, f32Type, 0, 0),
              HasSubstr("reach past the end"));
}

TEST(GGUFFile, RefusesTensorsThatShareANameOrBytes) {
  GGUFBytes names(2, 0);
  names.tensor("t", {8}, f32Type, 0).tensor("t", {8}, f32Type, 32).data(64);
  EXPECT_THAT(names.error(), HasSubstr("tensor 't': the name appears twice"));

  GGUFBytes overlap(2, 0);
  overlap.tensor("a", {16}, f32Type, 0).tensor("b", {8}, f32Type, 32).data(64);
  EXPECT_THAT(overlap.error(), HasSubstr("tensor 'b': overlaps tensor 'a'"));

  GGUFBytes same(2, 0);
  same.tensor("a", {8}, f32Type, 0).tensor("b", {8}, f32Type, 0).data(64);
  EXPECT_THAT(same.error(), HasSubstr("overlaps"));
}

TEST(GGUFFile, OpensFilesAndKeepsThemMapped) {
  EXPECT_THAT(gguf::GGUFFile::open("/nonexistent.gguf").status().message(),
              StartsWith("/nonexistent.gguf: cannot open"));
  std::string path = testing::TempDir() + "GGUFFileTest.gguf";
  std::vector<uint8_t> bytes = goodFile().bytes();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  Expected<gguf::GGUFFile> opened = gguf::GGUFFile::open(path);
  std::remove(path.c_str());
  ASSERT_TRUE(opened) << opened.status().message();
  gguf::GGUFFile file = opened.take();
  EXPECT_EQ(file.find("general.architecture")->asString(), "llama");
}

} // namespace

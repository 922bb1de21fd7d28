//===- WeightSliceTest.cpp - tests of parts of weights --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/Blocks.h"
#include "runtime/program/WeightPacker.h"
#include "runtime/program/test/TestModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sluice;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr int64_t rows = 40, cols = 96;

/// Makes a matrix with a byte for each block that says where the block is.
std::vector<uint8_t> makeMatrix(Format format) {
  std::vector<uint8_t> bytes;
  const FormatInfo &info = formatInfo(format);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < cols / info.blockElements; ++block)
      bytes.insert(bytes.end(), size_t(info.blockBytes),
                   uint8_t(row * 4 + block));
  return bytes;
}

TEST(WeightSliceTest, CopiesRowsOfSeveralRanges) {
  std::vector<uint8_t> matrix = makeMatrix(Format::Q8_0), part;
  WeightSlice slice{false, {3, 5, 20, 24}};
  SlicedMatrix sliced{matrix.data(), rows, cols, Format::Q8_0, slice};
  EXPECT_EQ(sliced.usedRows(), 6);
  EXPECT_EQ(sliced.usedCols(), cols);
  uint64_t block = *rowBytes(Format::Q8_0, 32);
  sliced.copy(1, 4, 0, cols, part);
  ASSERT_EQ(part.size(), 3 * 3 * block);
  std::vector<int> places;
  for (size_t at = 0; at < part.size(); at += block)
    places.push_back(part[at]);
  EXPECT_THAT(places, ElementsAre(16, 17, 18, 80, 81, 82, 84, 85, 86));
}

TEST(WeightSliceTest, CopiesColumnsOfSeveralRanges) {
  std::vector<uint8_t> matrix = makeMatrix(Format::Q8_0), part;
  WeightSlice slice{true, {0, 32, 64, 96}};
  SlicedMatrix sliced{matrix.data(), rows, cols, Format::Q8_0, slice};
  EXPECT_EQ(sliced.usedRows(), rows);
  EXPECT_EQ(sliced.usedCols(), 64);
  uint64_t block = *rowBytes(Format::Q8_0, 32);
  sliced.copy(7, 9, 32, 64, part);
  ASSERT_EQ(part.size(), 2 * block);
  EXPECT_EQ(part[0], 7 * 4 + 2);
  EXPECT_EQ(part[block], 8 * 4 + 2);
}

TEST(WeightSliceTest, ScalesThatLieApartAreCutWithTheirNumbers) {
  // 256 rows and columns; block (r, c) of the grid has scale 2r + c + 1.
  std::vector<uint8_t> numbers(256 * 256);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = uint8_t(i % 251 % 127);
  const float scales[] = {1, 2, 3, 4};
  WeightSlice ofRows{false, {126, 130}}, ofColumns{true, {128, 256}};
  for (const WeightSlice &slice : {ofRows, ofColumns}) {
    SlicedMatrix sliced{numbers.data(), 256, 256, Format::E4M3, slice};
    sliced.scales = ScaleGrid::find(256, 256, 2, 2);
    sliced.scales->data = reinterpret_cast<const uint8_t *>(scales);
    std::vector<uint8_t> part;
    sliced.copy(0, sliced.usedRows(), 0, sliced.usedCols(), part);
    ASSERT_EQ(part.size(),
              size_t(sliced.usedRows() * sliced.usedCols() / 128) * 132);
    size_t at = 0;
    for (int64_t row = 0; row < sliced.usedRows(); ++row)
      for (int64_t col = 0; col < sliced.usedCols(); col += 128, at += 132) {
        BlockE4M3 block;
        std::memcpy(&block, part.data() + at, sizeof(block));
        int64_t r = slice.ofColumns ? row : 126 + row;
        int64_t c = slice.ofColumns ? 128 + col : col;
        ASSERT_EQ(block.d, float(r / 128 * 2 + c / 128 + 1));
        ASSERT_EQ(std::memcmp(block.qs, &numbers[size_t(r * 256 + c)], 128), 0);
      }
  }
}

TEST(WeightSliceTest, RefusesWhatIsNoPart) {
  auto check = [](WeightSlice slice, bool transposed = false,
                  Format stored = Format::F32) {
    return checkSlice(slice, rows, cols, stored, Format::Q8_0, transposed)
        .message();
  };
  EXPECT_EQ(check({}), "");
  EXPECT_EQ(check({true, {0, 32, 32, 96}}), "");
  EXPECT_THAT(check({false, {0}}), HasSubstr("no end"));
  EXPECT_THAT(check({false, {0, 41}}), HasSubstr("not in 40"));
  EXPECT_THAT(check({false, {4, 4}}), HasSubstr("is empty"));
  EXPECT_THAT(check({false, {4, 8, 6, 9}}), HasSubstr("out of order"));
  EXPECT_THAT(check({false, {-1, 8}}), HasSubstr("out of order"));
  EXPECT_THAT(check({true, {0, 16}}), HasSubstr("inside a block of q8_0"));
  // The inputs of a transposed weight are its rows.
  EXPECT_EQ(check({true, {0, 16}}, true), "");
  EXPECT_EQ(check({false, {0, 32}}, true), "");
  EXPECT_THAT(check({false, {0, 16}}, true),
              HasSubstr("row 16 is inside a block of q8_0"));
  EXPECT_THAT(check({true, {0, 16}}, true, Format::Q4_0),
              HasSubstr("column 16 is inside a block of q4_0"));
}

class IntoVector final : public PieceTarget {
public:
  explicit IntoVector(std::vector<uint8_t> &bytes) : bytes(bytes) {}
  Expected<uint8_t *> begin(uint64_t first, uint64_t) override {
    return bytes.data() + first;
  }
  Status end(uint64_t, uint64_t) override { return {}; }

private:
  std::vector<uint8_t> &bytes;
};

/// Packs a weight of a file that the test writes.
class PackedParts : public testing::Test {
protected:
  void SetUp() override {
    // Tests of this class may run at the same time.
    path = testing::TempDir() + "parts-" + std::to_string(getpid()) + ".bin";
    values.resize(size_t(rows * cols));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = test::noise(i);
  }
  void TearDown() override { std::remove(path.c_str()); }

  /// Writes the model's file of the programs.
  std::vector<ModelFile> write(std::span<const float> file) {
    std::span<const uint8_t> bytes{
        reinterpret_cast<const uint8_t *>(file.data()), file.size_bytes()};
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               std::streamsize(bytes.size()));
    return {{path, bytes.size(), fileIdentity(bytes)}};
  }

  std::vector<uint8_t> pack(const WeightDescriptor &weight,
                            std::span<const float> file) {
    std::vector<ModelFile> files = write(file);
    ProgramDescriptor program;
    program.name = "main";
    program.weights = {weight};
    EXPECT_EQ(program.validate(files).message().find("weight"),
              std::string::npos);
    Expected<MappedModelFiles> opened =
        MappedModelFiles::open(files, program, {});
    EXPECT_TRUE(bool(opened)) << opened.status().message();
    Expected<PackedFileLayout> layout =
        planPackedFile(files, program, PackedContents::Everything);
    EXPECT_TRUE(bool(layout)) << layout.status().message();
    cpu::ThreadPool pool(2);
    WeightPacker packer(*opened, pool);
    std::vector<uint8_t> packed(layout->sections[0].bytes);
    IntoVector target(packed);
    EXPECT_TRUE(packer.pack(weight, target).ok());
    return packed;
  }

  WeightDescriptor describe(int64_t rows, int64_t cols) const {
    WeightDescriptor weight;
    weight.name = "w";
    weight.rows = rows;
    weight.cols = cols;
    weight.bytes = uint64_t(rows * cols) * sizeof(float);
    weight.use = WeightUse::Linear;
    return weight;
  }

  /// Returns the slice as a matrix of its own.
  std::vector<float> cut(const WeightSlice &slice) const {
    std::vector<uint8_t> part;
    SlicedMatrix sliced{reinterpret_cast<const uint8_t *>(values.data()), rows,
                        cols, Format::F32, slice};
    sliced.copy(0, sliced.usedRows(), 0, sliced.usedCols(), part);
    std::vector<float> floats(part.size() / sizeof(float));
    std::memcpy(floats.data(), part.data(), part.size());
    return floats;
  }

  std::string path;
  std::vector<float> values; // [rows][cols]
};

/// A slice of rows and a slice of columns with equal bounds are not confused.
TEST_F(PackedParts, RowsAndColumnsAreCheckedEach) {
  WeightDescriptor ofRows = describe(rows, cols), ofColumns = ofRows;
  ofRows.slice = {false, {0, 32}};
  ofColumns.slice = {true, {0, 32}};
  values[size_t(35 * cols)] = NAN; // only in the slice of columns
  std::vector<ModelFile> files = write(values);
  ProgramDescriptor program;
  program.name = "main";
  program.weights = {ofRows, ofColumns};
  Expected<MappedModelFiles> opened =
      MappedModelFiles::open(files, program, {});
  ASSERT_TRUE(bool(opened)) << opened.status().message();
  cpu::ThreadPool pool(1);
  WeightPacker packer(*opened, pool);
  EXPECT_TRUE(packer.check(ofRows).ok());
  EXPECT_THAT(packer.check(ofColumns).message(), HasSubstr("row 35 is not"));
}

/// Packs a weight in which some rows' last elements are not finite.
class PackedChecks : public PackedParts {
protected:
  // Two pieces with many grains; the last panel is not full.
  static constexpr int64_t manyRows = 2100, manyCols = 1024;

  std::string error(WeightDescriptor weight, std::vector<int64_t> badRows) {
    values.assign(size_t(manyRows * manyCols), 1);
    for (int64_t row : badRows)
      values[size_t((row + 1) * manyCols - 1)] = NAN;
    std::vector<ModelFile> files = write(values);
    ProgramDescriptor program;
    program.name = "main";
    program.weights = {weight};
    Expected<MappedModelFiles> opened =
        MappedModelFiles::open(files, program, {});
    Expected<PackedFileLayout> layout =
        planPackedFile(files, program, PackedContents::Everything);
    if (!opened || !layout)
      return "cannot be opened";
    cpu::ThreadPool pool(3);
    WeightPacker packer(*opened, pool);
    std::vector<uint8_t> packed(layout->sections[0].bytes);
    IntoVector target(packed);
    return packer.pack(weight, target).message();
  }
};

TEST_F(PackedChecks, EachRowIsCheckedBeforeItIsPacked) {
  const WeightDescriptor weight = describe(manyRows, manyCols);
  EXPECT_EQ(error(weight, {}), "");
  for (int64_t row : {0, 15, 16, 1037, 2095, 2096, 2099})
    EXPECT_EQ(error(weight, {row}), path + ": weight 'w': row " +
                                        std::to_string(row) +
                                        " is not finite as f32");
  EXPECT_THAT(error(weight, {2099, 1500, 37}), HasSubstr("row 37 is not"));
}

TEST_F(PackedChecks, OnlyWhatIsUsedOfThemCounts) {
  WeightDescriptor weight = describe(manyRows, manyCols);
  weight.slice = {false, {16, 40, 2090, 2100}};
  EXPECT_EQ(error(weight, {15, 40, 2089}), "");
  EXPECT_THAT(error(weight, {39}), HasSubstr("row 23 is not"));
  EXPECT_THAT(error(weight, {2099}), HasSubstr("row 33 is not"));
  weight.slice = {true, {0, manyCols - 32}};
  EXPECT_EQ(error(weight, {5}), "");
}

TEST_F(PackedChecks, TransposedWeightsAreCheckedByTheRowsOfTheFile) {
  WeightDescriptor weight = describe(manyRows, manyCols);
  weight.transposed = true;
  EXPECT_EQ(error(weight, {}), "");
  EXPECT_THAT(error(weight, {2099, 1999}), HasSubstr("row 1999 is not"));
}

TEST_F(PackedChecks, RowsOfTablesAreCheckedOneByOne) {
  WeightDescriptor weight = describe(manyRows, manyCols);
  weight.use = WeightUse::Rows;
  EXPECT_EQ(error(weight, {}), "");
  EXPECT_THAT(error(weight, {2098}), HasSubstr("row 2098 is not"));
}

TEST_F(PackedParts, ArePackedAsAWeightOfTheirOwn) {
  for (bool transposed : {false, true})
    for (const WeightSlice &slice :
         {WeightSlice{false, {3, 20, 25, 40}}, WeightSlice{true, {0, 40}},
          WeightSlice{true, {32, 64, 65, 90}}, WeightSlice{false, {39, 40}}}) {
      WeightDescriptor part = describe(rows, cols);
      part.transposed = transposed;
      part.slice = slice;
      WeightDescriptor own = describe(part.usedRows(), part.usedCols());
      own.transposed = transposed;
      EXPECT_EQ(pack(part, values), pack(own, cut(slice)));
    }
}

TEST_F(PackedParts, OfVectorsAreTheirElements) {
  WeightDescriptor part = describe(1, 12);
  part.use = WeightUse::Vector;
  part.slice = {true, {0, 2, 9, 12}};
  std::vector<float> file(values.begin(), values.begin() + 12);
  std::vector<uint8_t> packed = pack(part, file);
  ASSERT_EQ(packed.size(), 5 * sizeof(float));
  const auto *floats = reinterpret_cast<const float *>(packed.data());
  for (int64_t i : {0, 1, 2, 3, 4})
    EXPECT_EQ(floats[i], file[size_t(i < 2 ? i : i + 7)]);
}

TEST_F(PackedParts, HaveAHashOfTheirOwn) {
  ProgramDescriptor program;
  program.cpu = "avx2";
  std::vector<ModelFile> files = {{"f", 1, "0123456789abcdef"}};
  std::vector<uint64_t> hashes;
  for (const WeightSlice &slice :
       {WeightSlice{}, WeightSlice{false, {0, 20}}, WeightSlice{true, {0, 20}},
        WeightSlice{false, {20, 40}}}) {
    program.weights = {describe(rows, cols)};
    program.weights[0].slice = slice;
    hashes.push_back(program.packingHash(files));
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

} // namespace

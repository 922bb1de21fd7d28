//===- WeightUploadTest.cpp - uploads weights from files to the device ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/weights/WeightUpload.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/TestUtils.h"
#include "runtime/formats/Blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using testing::HasSubstr;

namespace {

/// A weight in a format, and the memory that it refers to.
struct Stored {
  Stored(Format format, int64_t rows, int64_t cols, unsigned seed)
      : rowBytes(*sluice::rowBytes(format, cols)),
        bytes(uint64_t(rows) * rowBytes + 1) {
    std::mt19937 random(seed);
    for (int64_t row = 0; row < rows; ++row)
      quantizeRow(format, randomFloats(random, size_t(cols)).data(),
                  data() + uint64_t(row) * rowBytes, cols);
    matrix = {data(), format, format, rows, cols};
  }
  /// Returns data that are not aligned.
  uint8_t *data() { return bytes.data() + 1; }

  uint64_t rowBytes;
  std::vector<uint8_t> bytes;
  StoredMatrix matrix;
};

class WeightUploadTest : public testing::Test {
protected:
  WeightUploadTest() {
    device = (*emulator::openEmulated({}))->open(0).take();
    stream = *device->makeStream();
  }
  ~WeightUploadTest() override { device->destroy(stream); }

  /// Uploads a weight. Returns the tiles that arrive, or an error.
  Status upload(const LinearWeight &weight, std::vector<uint8_t> &tiles,
                WeightUpload::Progress progress = nullptr,
                bool asHalves = false) {
    Expected<WeightSpec> spec = weightSpec(weight);
    if (!spec)
      return spec.status();
    uint64_t bytes = *layoutBytes(*spec);
    DeviceAddress to = *device->allocate(bytes);
    Status status;
    {
      auto upload =
          WeightUpload::create(*device, stream, pool, progress).take();
      status = upload->linear(weight, to, asHalves);
      if (status.ok())
        status = upload->finish();
    }
    const auto *arrived = reinterpret_cast<const uint8_t *>(to);
    tiles.assign(arrived, arrived + bytes);
    device->release(to);
    return status;
  }

  /// Returns what the layout makes of all rows at once.
  static std::vector<uint8_t> expected(const WeightSpec &spec,
                                       const StoredMatrix &matrix,
                                       const uint8_t *partner = nullptr) {
    std::vector<uint8_t> tiles(*layoutBytes(spec));
    layoutTiles(spec, matrix.data, partner, tiles.data(), 0, columnTiles(spec));
    return tiles;
  }

  std::unique_ptr<Device> device;
  Stream stream;
  cpu::ThreadPool pool{2};
};

} // namespace

TEST_F(WeightUploadTest, TilesArriveAsTheLayoutHasThem) {
  for (Format format : {Format::F32, Format::F16, Format::BF16, Format::Q8_0,
                        Format::Q4_0, Format::E4M3}) {
    Stored stored(format, 37, 256, 1);
    LinearWeight weight = {"w", stored.matrix, false, {}, false};
    std::vector<uint8_t> tiles;
    ASSERT_TRUE(upload(weight, tiles).ok());
    EXPECT_EQ(tiles, expected(*weightSpec(weight), stored.matrix));
  }
}

/// The wait for the last piece has the usual limit, too.
TEST_F(WeightUploadTest, ADeviceThatDoesNotAnswerIsGivenUp) {
  emulator::EmulatedOptions options;
  options.stickCopy = 1;
  options.patience = std::chrono::milliseconds(100);
  // The device stays in use until the process ends.
  static std::unique_ptr<Device> stuck;
  stuck = (*emulator::openEmulated(options))->open(0).take();
  Stream other = *stuck->makeStream();
  DeviceAddress to = *stuck->allocate(16);
  const uint8_t bytes[16] = {};
  {
    auto upload = WeightUpload::create(*stuck, other, pool, nullptr).take();
    // Both buffers are used, whose events the stream then keeps.
    ASSERT_TRUE(upload->bytes(bytes, 16, to).ok());
    ASSERT_TRUE(upload->bytes(bytes, 16, to).ok());
    EXPECT_EQ(upload->finish().message(),
              "the upload of weights has not ended within 0.1 s");
  }
  EXPECT_TRUE(stuck->isGivenUp());
  (void)stuck.release();
  ASSERT_TRUE(device->enter().ok());
}

TEST_F(WeightUploadTest, ScalesThatLieApartComeToTheirBlocks) {
  Stored blocks(Format::E4M3, 37, 256, 9);
  std::vector<uint8_t> numbers;
  std::vector<float> scales;
  for (size_t at = 0; at < 37 * 2; ++at) {
    BlockE4M3 block;
    std::memcpy(&block, blocks.data() + at * sizeof(block), sizeof(block));
    numbers.insert(numbers.end(), std::begin(block.qs), std::end(block.qs));
    // There is one scale for each row.
    block.d = at % 2 == 0 ? block.d : scales.back();
    if (at % 2 == 0)
      scales.push_back(block.d);
    std::memcpy(blocks.data() + at * sizeof(block), &block, sizeof(block));
  }
  LinearWeight weight = {"w", blocks.matrix, false, {}, false};
  weight.matrix.data = numbers.data();
  weight.matrix.scales = ScaleGrid::find(37, 256, 37, 1);
  weight.matrix.scales->data = reinterpret_cast<const uint8_t *>(scales.data());
  std::vector<uint8_t> tiles;
  ASSERT_TRUE(upload(weight, tiles).ok());
  EXPECT_EQ(tiles, expected(*weightSpec(weight), blocks.matrix));
  numbers[21 * 256 + 255] = 0xff;
  EXPECT_EQ(upload(weight, tiles).message(),
            "weight 'w': row 21 is not finite as e4m3");
  numbers[21 * 256 + 255] = 0;
  scales[30] = INFINITY;
  EXPECT_EQ(upload(weight, tiles).message(),
            "weight 'w': row 30 is not finite as e4m3");
}

/// From ranges of rows, and of columns of each row, the same arrives as from a
/// file of their own, also if transposed.
TEST_F(WeightUploadTest, SlicesAreWhatAMemberHas) {
  for (Format format : {Format::F16, Format::Q8_0})
    for (bool ofColumns : {false, true})
      for (bool transposed : {false, true}) {
        if (transposed && format == Format::Q8_0)
          continue;
        Stored whole(format, 128, 256, 5);
        const WeightSlice slice = {ofColumns, {32, 64, 96, 128}};
        const SlicedMatrix sliced = {whole.data(), 128, 256, format, slice};
        std::vector<uint8_t> part;
        sliced.copy(0, sliced.usedRows(), 0, sliced.usedCols(), part);
        StoredMatrix alone = {part.data(), format, format, sliced.usedRows(),
                              sliced.usedCols()};
        LinearWeight weight = {"w", alone, transposed, {}, false};
        std::vector<uint8_t> wanted, tiles;
        ASSERT_TRUE(upload(weight, wanted).ok());
        weight.matrix.data = whole.data();
        weight.matrix.slice = slice;
        weight.matrix.wholeRows = 128;
        weight.matrix.wholeCols = 256;
        ASSERT_TRUE(upload(weight, tiles).ok());
        EXPECT_EQ(tiles, wanted);
      }
}

TEST_F(WeightUploadTest, MoreThanOneBuffer) {
  // 40 MB go in pieces of 16 MB, and all of them are reported.
  Stored stored(Format::F32, 1000, 10048, 2);
  LinearWeight weight = {"w", stored.matrix, false, {}, false};
  std::vector<uint8_t> tiles;
  uint64_t reported = 0, times = 0;
  ASSERT_TRUE(upload(weight, tiles, [&](uint64_t bytes) {
                reported += bytes;
                ++times;
                return Status();
              }).ok());
  EXPECT_EQ(tiles, expected(*weightSpec(weight), stored.matrix));
  EXPECT_EQ(reported, tiles.size());
  EXPECT_EQ(times, 3u);
  Status stopped = upload(
      weight, tiles, [](uint64_t) { return failure("stopped by the user"); });
  EXPECT_EQ(stopped.message(), "stopped by the user");
}

TEST_F(WeightUploadTest, GatedAndTransposedAndConverted) {
  Stored gate(Format::BF16, 20, 128, 3), partner(Format::BF16, 20, 128, 4);
  LinearWeight weight = {"w", gate.matrix, false, partner.matrix, false};
  std::vector<uint8_t> tiles;
  ASSERT_TRUE(upload(weight, tiles).ok());
  EXPECT_EQ(tiles, expected(*weightSpec(weight), gate.matrix, partner.data()));

  // [in][out] in f32, to be used as f16.
  Stored turned(Format::F32, 70, 20, 5);
  std::vector<uint8_t> rows(20 * 70 * 2);
  for (int64_t out = 0; out < 20; ++out)
    for (int64_t in = 0; in < 70; ++in) {
      float value;
      std::memcpy(&value, turned.data() + 4 * (in * 20 + out), 4);
      uint16_t half = floatToHalf(value);
      std::memcpy(rows.data() + 2 * (out * 70 + in), &half, 2);
    }
  turned.matrix.format = Format::F16;
  weight = {"w", turned.matrix, true, {}, false};
  ASSERT_TRUE(upload(weight, tiles).ok());
  StoredMatrix halves = {rows.data(), Format::F16, Format::F16, 20, 70};
  EXPECT_EQ(tiles, expected(*weightSpec(weight), halves));
}

TEST_F(WeightUploadTest, WhatIsNotFiniteIsNamed) {
  Stored stored(Format::F16, 40, 64, 6);
  uint16_t infinity = 0x7c00;
  std::memcpy(stored.data() + 23 * 128 + 10, &infinity, 2);
  std::vector<uint8_t> tiles;
  EXPECT_EQ(upload({"blk.0", stored.matrix, false, {}, false}, tiles).message(),
            "weight 'blk.0': row 23 is not finite as f16");
  // The number is finite in the file, but not in the format of the program.
  Stored large(Format::F32, 4, 32, 7);
  float value = 1e6f;
  std::memcpy(large.data() + 2 * 128, &value, 4);
  large.matrix.format = Format::F16;
  EXPECT_EQ(upload({"w", large.matrix, false, {}, false}, tiles).message(),
            "weight 'w': row 2 is not finite as f16");
}

/// A quant times its scale may be too large for f16. Kernels that multiply by
/// the scale after the sum can use such weights; products of f16 cannot.
TEST_F(WeightUploadTest, WhatF16DoesNotHaveIsRefusedWhereItIsNeeded) {
  Stored stored(Format::Q8_0, 40, 64, 11);
  auto setBlock = [&](int64_t block, float scale) {
    uint16_t bits = floatToHalf(scale);
    std::memcpy(stored.data() + block * 34, &bits, 2);
    std::memset(stored.data() + block * 34 + 2, 127, 32);
  };
  LinearWeight weight = {"w", stored.matrix, false, {}, false};
  std::vector<uint8_t> tiles;
  setBlock(2 * 23, 515); // 65405
  EXPECT_TRUE(upload(weight, tiles, nullptr, /*asHalves=*/true).ok());
  setBlock(2 * 23 + 1, -516); // -65532
  EXPECT_TRUE(upload(weight, tiles).ok());
  EXPECT_EQ(upload(weight, tiles, nullptr, /*asHalves=*/true).message(),
            "weight 'w': row 23 is not finite as q8_0, or beyond 65504, which "
            "products of --fast-math-batch do not have");
  // Scales that lie apart.
  std::vector<uint8_t> numbers(20 * 128, 0x7e); // 448
  std::vector<float> scales(20, 146.0f);        // 65408
  weight.matrix = {numbers.data(), Format::E4M3, Format::E4M3, 20, 128};
  weight.matrix.scales = ScaleGrid::find(20, 128, 20, 1);
  weight.matrix.scales->data = reinterpret_cast<const uint8_t *>(scales.data());
  EXPECT_TRUE(upload(weight, tiles, nullptr, /*asHalves=*/true).ok());
  scales[7] = 147;
  EXPECT_TRUE(upload(weight, tiles).ok());
  EXPECT_THAT(upload(weight, tiles, nullptr, /*asHalves=*/true).message(),
              HasSubstr("weight 'w': row 7 is not finite as e4m3, or beyond"));
}

TEST_F(WeightUploadTest, WeightsWithoutKernels) {
  Stored stored(Format::Q8_0, 32, 64, 8);
  LinearWeight weight = {"w", stored.matrix, true, {}, false};
  EXPECT_THAT(weightSpec(weight).status().message(),
              HasSubstr("cannot be used as q8_0 on a GPU"));
  weight.transposed = false;
  weight.partner = stored.matrix;
  weight.partner->rows = 16;
  EXPECT_FALSE(weightSpec(weight).ok());
  weight.partner.reset();
  weight.matrix.format = Format::Q5_K;
  EXPECT_EQ(weightSpec(weight).status().message(),
            "weight 'w': there are no CUDA kernels for q5_k");
}

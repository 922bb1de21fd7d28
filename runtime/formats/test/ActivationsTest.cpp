//===- ActivationsTest.cpp - tests of formats between stages --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/Activations.h"
#include "runtime/formats/BlockFormat.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace sluice;

namespace {

constexpr ActivationFormat formats[] = {
    ActivationFormat::F32, ActivationFormat::BF16, ActivationFormat::F16};

uint16_t elementOf(const std::vector<uint8_t> &bytes, size_t index) {
  uint16_t value;
  std::memcpy(&value, bytes.data() + 2 * index, sizeof(value));
  return value;
}

/// Encodes `values` at an odd address, and checks that nothing else is written.
std::vector<uint8_t> encoded(ActivationFormat format,
                             const std::vector<float> &values) {
  size_t bytes = values.size() * size_t(activationBytes(format));
  std::vector<uint8_t> room(bytes + 2, 0xa5);
  encodeActivations(format, values.data(), room.data() + 1,
                    int64_t(values.size()));
  EXPECT_EQ(room.front(), 0xa5);
  EXPECT_EQ(room.back(), 0xa5);
  return {room.begin() + 1, room.end() - 1};
}

std::vector<float> decoded(ActivationFormat format,
                           const std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> moved(1);
  moved.insert(moved.end(), bytes.begin(), bytes.end());
  size_t count = bytes.size() / size_t(activationBytes(format));
  std::vector<float> values(count + 1, -5);
  decodeActivations(format, moved.data() + 1, values.data(), int64_t(count));
  EXPECT_EQ(values.back(), -5);
  values.pop_back();
  return values;
}

/// Returns floats with each of the 2^16 upper halves, and with lower halves at
/// which rounding to 8 or 11 bits changes direction.
std::vector<float> manyFloats() {
  std::vector<float> values;
  for (uint32_t high = 0; high < 1 << 16; ++high)
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x3000u, 0x7fffu,
                         0x8000u, 0x8001u, 0xf000u, 0xffffu})
      values.push_back(std::bit_cast<float>(high << 16 | low));
  return values;
}

} // namespace

TEST(Activations, NamesAndSizes) {
  EXPECT_EQ(activationFormatName(ActivationFormat::F32), "f32");
  EXPECT_EQ(activationFormatName(ActivationFormat::BF16), "bf16");
  EXPECT_EQ(activationFormatName(ActivationFormat::F16), "f16");
  EXPECT_EQ(activationBytes(ActivationFormat::F32), 4);
  EXPECT_EQ(activationBytes(ActivationFormat::BF16), 2);
  EXPECT_EQ(activationBytes(ActivationFormat::F16), 2);
}

TEST(Activations, RoundsAsTheScalarConversionsDo) {
  std::vector<float> values = manyFloats();
  std::vector<uint8_t> bfloats = encoded(ActivationFormat::BF16, values);
  std::vector<uint8_t> halves = encoded(ActivationFormat::F16, values);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(elementOf(bfloats, i), floatToBfloat(values[i])) << i;
    ASSERT_EQ(elementOf(halves, i), floatToHalf(values[i])) << i;
  }
}

TEST(Activations, TiesGoToEven) {
  // 1 + 2^-8 lies halfway between the bfloats 1 and 1 + 2^-7, and 1 + 3 * 2^-8
  // halfway between 1 + 2^-7 and 1 + 2^-6. With 2^-11 the same holds for
  // halves.
  std::vector<float> values = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-11f,
                               1 + 3 * 0x1p-11f};
  std::vector<float> bfloats =
      decoded(ActivationFormat::BF16, encoded(ActivationFormat::BF16, values));
  EXPECT_EQ(bfloats[0], 1);
  EXPECT_EQ(bfloats[1], 1 + 0x1p-6f);
  std::vector<float> halves =
      decoded(ActivationFormat::F16, encoded(ActivationFormat::F16, values));
  EXPECT_EQ(halves[2], 1);
  EXPECT_EQ(halves[3], 1 + 0x1p-9f);
}

TEST(Activations, DecodingIsExactAndComesBack) {
  for (ActivationFormat format :
       {ActivationFormat::BF16, ActivationFormat::F16}) {
    std::vector<uint8_t> bytes(2 << 16);
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      auto element = uint16_t(bits);
      std::memcpy(bytes.data() + size_t(2) * bits, &element, sizeof(element));
    }
    std::vector<float> values = decoded(format, bytes);
    std::vector<uint8_t> again = encoded(format, values);
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      float expected = format == ActivationFormat::BF16
                           ? bfloatToFloat(uint16_t(bits))
                           : halfToFloat(uint16_t(bits));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(values[bits])) << bits;
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(values[bits]),
                std::bit_cast<uint32_t>(expected));
      ASSERT_EQ(elementOf(again, bits), bits);
    }
  }
}

TEST(Activations, OneNumberThatIsNotFiniteIsFound) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (ActivationFormat format : formats) {
    std::vector<float> values(21, 60000.0f); // close to the greatest half
    values[3] = -0.0f;
    std::vector<uint8_t> bytes = encoded(format, values);
    EXPECT_TRUE(areFinite(format, bytes.data(), 21));
    for (float bad : {infinity, -infinity, std::nanf("")})
      for (size_t at : {0, 20}) {
        std::vector<float> wrong = values;
        wrong[at] = bad;
        bytes = encoded(format, wrong);
        EXPECT_FALSE(areFinite(format, bytes.data(), 21)) << bad << " " << at;
      }
    EXPECT_TRUE(areFinite(format, bytes.data(), 0));
  }
}

TEST(Activations, SinglePrecisionIsUntouched) {
  std::vector<float> values = {
      0.1f, -0.0f, std::numeric_limits<float>::infinity(),
      std::bit_cast<float>(0x7fa12345u), std::bit_cast<float>(1u)};
  std::vector<float> back =
      decoded(ActivationFormat::F32, encoded(ActivationFormat::F32, values));
  EXPECT_EQ(std::memcmp(back.data(), values.data(), 4 * values.size()), 0);
}

TEST(Activations, AnyCount) {
  for (int64_t count : {0, 1, 7, 8, 9, 15, 17})
    for (ActivationFormat format : formats) {
      std::vector<float> values(size_t(count), 1.5f);
      EXPECT_EQ(decoded(format, encoded(format, values)), values);
    }
}

TEST(Activations, ABfloatOfAnyNaNIsOne) {
  // Only the lower half of the payload is set, so truncation would leave an
  // infinity.
  std::vector<float> values = {std::bit_cast<float>(0x7f800001u),
                               std::bit_cast<float>(0xff800001u)};
  for (ActivationFormat format : formats)
    for (float value : decoded(format, encoded(format, values)))
      EXPECT_TRUE(std::isnan(value)) << activationFormatName(format);
}

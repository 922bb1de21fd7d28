//===- PackedWeightTest.cpp - what can be packed, and in which pieces -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/FileIdentity.h"
#include "runtime/device/cpu/linear/test/LinearTestUtils.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;
using namespace sluice::cpu;

TEST(PackedWeight, SizesAreThoseOfTheTable) {
  struct Row {
    Format format;
    double bytesPerWeight;
  };
  const Row rows[] = {{Format::F32, 4},         {Format::F16, 2},
                      {Format::BF16, 2},        {Format::Q8_0, 1.0625},
                      {Format::Q5_0, 0.6875},   {Format::Q4_0, 0.5625},
                      {Format::Q5_1, 0.75},     {Format::Q4_1, 0.625},
                      {Format::Q5_K, 0.6875},   {Format::Q4_K, 0.5625},
                      {Format::Q6_K, 0.828125}, {Format::E4M3, 1.03125}};
  for (const Row &row : rows) {
    LinearSpec spec = {64, 2048, row.format, row.format, false};
    EXPECT_EQ(double(packedBytes(spec).value_or(0)),
              row.bytesPerWeight * 64 * 2048)
        << formatInfo(row.format).name;
    // 17 columns take two panels.
    spec.outFeatures = 17;
    EXPECT_EQ(double(packedBytes(spec).value_or(0)),
              row.bytesPerWeight * 32 * 2048);
  }
}

TEST(PackedWeight, RefusesWhatCannotBePacked) {
  auto refused = [](const LinearSpec &spec) {
    return !packedBytes(spec) && !storedBytes(spec);
  };
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(refused({0, 32, Format::F32, Format::F32, false}));
  EXPECT_TRUE(refused({32, 0, Format::F32, Format::F32, false}));
  EXPECT_TRUE(refused({-1, 32, Format::F32, Format::F32, false}));
  EXPECT_TRUE(refused({max, max, Format::F32, Format::F32, false}));
  EXPECT_TRUE(refused({max, 32, Format::Q8_0, Format::Q8_0, false}));
  EXPECT_TRUE(refused({4, 48, Format::Q8_0, Format::Q8_0, false}));
  EXPECT_TRUE(refused({4, 128, Format::Q4_K, Format::Q4_K, false}));
  EXPECT_TRUE(refused({4, 48, Format::F32, Format::Q4_0, false}));
  // These formats cannot be quantised to, or cannot be stored that way.
  EXPECT_TRUE(refused({4, 256, Format::F32, Format::Q4_K, false}));
  EXPECT_TRUE(refused({32, 32, Format::Q8_0, Format::Q8_0, true}));
  EXPECT_TRUE(refused({32, 32, Format::Q8_0, Format::F32, true}));
  // This weight fits as stored, but not once packed.
  EXPECT_FALSE(packedBytes({max / 2, 1, Format::F16, Format::F32, false}));
}

/// Files keep packed weights. If the packed form changes, the version in
/// PackedFile.cpp has to advance, and these hashes are to be replaced.
TEST(PackedWeight, ThePackedFormIsThatOfItsVersion) {
  struct Form {
    Format format;
    uint64_t hash;
  };
  const Form forms[] = {
      {Format::F32, 0x2c9ab8a4acb704bd},  {Format::F16, 0x8fe7aefd451622d1},
      {Format::BF16, 0x8fe7aefd451622d1}, {Format::Q8_0, 0xb6e3c29ca87d9655},
      {Format::Q5_0, 0xdcebfabbb825fdab}, {Format::Q4_0, 0xc37a5cf35a3364c1},
      {Format::Q5_1, 0x0db4c6d138abd1dd}, {Format::Q4_1, 0x64e5955104539325},
      {Format::Q5_K, 0x56d13a82be653d91}, {Format::Q4_K, 0x614b60753f78d6d1},
      {Format::Q6_K, 0x6c2e5c8952c27daa}, {Format::E4M3, 0xa4ff92168cc88619}};
  for (const Form &form : forms) {
    LinearSpec spec = {21, 768, form.format, form.format, false};
    std::vector<uint8_t> stored(storedBytes(spec).value_or(0));
    for (size_t i = 0; i < stored.size(); ++i)
      stored[i] = uint8_t(i * i / 7 + i * 131);
    uint64_t size = packedBytes(spec).value_or(0);
    PackedBytes packed(size);
    packPanels(spec, stored.data(), packed.get(), 0, 2);
    EXPECT_EQ(fnv1a({packed.get(), size}), form.hash)
        << formatInfo(form.format).name;
  }
}

TEST(PackedWeight, PanelsPackedApartEqualThoseAtOnce) {
  std::mt19937 random(3);
  for (int i = 0; i < formatCount; ++i) {
    LinearSpec spec = {85, 512, Format(i), Format(i), false};
    TestWeight weight(random, spec);
    uint64_t size = packedBytes(spec).value_or(0);
    // Packs in pieces, from bytes at an odd address, over old contents.
    std::vector<uint8_t> odd(weight.stored.size() + 1);
    std::memcpy(odd.data() + 1, weight.stored.data(), weight.stored.size());
    PackedBytes pieces(size);
    std::memset(pieces.get(), 0xa5, size);
    uint64_t panelBytes = packedWeight(spec, pieces.get()).panelBytes;
    auto pack = [&](int64_t first, int64_t last) {
      packPanels(spec, odd.data() + 1,
                 pieces.get() + uint64_t(first) * panelBytes, first, last);
    };
    for (int64_t panel : {5, 0, 3, 4})
      pack(panel, panel + 1);
    pack(1, 3);
    EXPECT_EQ(std::memcmp(pieces.get(), weight.bytes.get(), size), 0)
        << formatInfo(spec.format).name;
  }
}

using PackedWeightProducts = KernelTest;

/// All scales are NaNs, and so are all results, also if quants or scales are
/// expanded for many rows.
TEST_F(PackedWeightProducts, HostileScalesArePackedWithoutHarm) {
  constexpr int64_t rows = 64;
  for (int i = 0; i < formatCount; ++i) {
    LinearSpec spec = {20, 256, Format(i), Format(i), false};
    std::vector<uint8_t> stored(storedBytes(spec).value_or(0), 0xff);
    PackedBytes bytes(packedBytes(spec).value_or(0));
    packPanels(spec, stored.data(), bytes.get(), 0, 2);
    std::mt19937 random(4);
    TestRows x(random, packedKind(spec.format), rows, 256);
    for (const LinearKernels *kernels : runnableKernels())
      for (int64_t count : {int64_t(2), rows})
        for (float y : runLinear(*kernels, packedWeight(spec, bytes.get()),
                                 x.from(0), nullptr, count))
          ASSERT_TRUE(std::isnan(y)) << describe(kernels, spec, count);
  }
}

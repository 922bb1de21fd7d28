//===- CpuFeaturesTest.cpp - refusal of CPUs that lack features -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuFeatures.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cpu;

namespace {

constexpr FeatureBits everything = ~FeatureBits{0};

TEST(CpuFeaturesTest, NamesRoundTrip) {
  for (Isa isa : {Isa::Avx2, Isa::Avx512, Isa::Avx512Vnni})
    EXPECT_EQ(parseIsa(isaName(isa)), isa);
  EXPECT_EQ(parseIsa("sse2"), std::nullopt);
}

TEST(CpuFeaturesTest, MissingFeaturesAreNamed) {
  for (std::string_view name : {"avx2", "avx512", "avx512vnni"})
    EXPECT_TRUE(requireIsa(name, everything).ok());
  EXPECT_EQ(requireIsa("avx2", 0).message(),
            "this executable was built for avx2 (x86-64-v3), and this CPU "
            "lacks: avx, avx2, fma, f16c, bmi1, bmi2, abm, movbe");
  // The features that avx2 needs are the lowest bits.
  FeatureBits v3 = 0xff, v4 = 0x1fff;
  EXPECT_TRUE(requireIsa("avx2", v3).ok());
  EXPECT_EQ(requireIsa("avx512", v3).message(),
            "this executable was built for avx512 (x86-64-v4), and this CPU "
            "lacks: avx512f, avx512bw, avx512cd, avx512dq, avx512vl");
  EXPECT_EQ(requireIsa("avx512vnni", v4).message(),
            "this executable was built for avx512vnni (x86-64-v4 with "
            "VNNI), and this CPU lacks: avx512_vnni");
  EXPECT_EQ(requireIsa("neon", everything).message(),
            "this executable was built for 'neon', which this runtime does "
            "not know");
  EXPECT_EQ(bestIsa(0), std::nullopt);
  EXPECT_EQ(bestIsa(v3), Isa::Avx2);
  EXPECT_EQ(bestIsa(v4), Isa::Avx512);
  EXPECT_EQ(bestIsa(everything), Isa::Avx512Vnni);
}

TEST(CpuFeaturesTest, TheBestLevelIsAccepted) {
  if (std::optional<Isa> best = bestIsa(detectFeatures()))
    EXPECT_TRUE(requireIsa(isaName(*best)).ok());
}

} // namespace

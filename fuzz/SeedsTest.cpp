//===- SeedsTest.cpp - the fuzz targets over their seeds ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs each fuzz target once over each of its seeds, without libFuzzer: so the
// targets keep compiling, and seeds that were findings stay mended. A target
// says what is wrong by ending the process.
//
//===----------------------------------------------------------------------===//

#include "fuzz/FuzzTargets.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace fs = std::filesystem;

class Seeds : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Seeds, AreReadWithoutAFault) {
  std::string folder = GetParam().name;
  std::ranges::transform(folder, folder.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  int count = 0;
  for (const auto &seed :
       fs::directory_iterator(fs::path(SLUICE_FUZZ_CORPUS) / folder)) {
    SCOPED_TRACE(seed.path().filename());
    std::ifstream in(seed.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(GetParam().run(reinterpret_cast<const uint8_t *>(bytes.data()),
                             bytes.size()),
              0);
    ++count;
  }
  EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, Seeds, testing::ValuesIn(fuzzTargets),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

//===- ServingOptionsTest.cpp - the limits of concurrent requests ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/ServingOptions.h"
#include "runtime/engine/test/TestStages.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::engine;
using cpu::CacheFormat;

namespace {

/// Returns an executable with one layer and one KV head of 64 dimensions: pages
/// of 32 tokens take 16 KiB as f32 and 4.5 KiB as q8_0.
ExecutableDescriptor oneLayer() {
  ExecutableDescriptor executable;
  executable.programs.resize(2);
  executable.programs[0].name = "main.s0";
  executable.programs[0].caches = {{.kvHeads = 1, .headDim = 64}};
  executable.programs[1].name = "main.s1";
  executable.plan = makeLocalPlan({"main.s0", "main.s1"});
  return executable;
}

TEST(ServingOptionsTest, PagesAreWhatTheBytesHold) {
  ServingOptions options;
  options.requests = 1000;
  options.cacheBytes = 1 << 20;
  ExecutableDescriptor executable = oneLayer();
  auto pages = [&](CacheFormat format) {
    return *pagesOf(options, executable, format, 4096);
  };
  EXPECT_EQ(pages(CacheFormat::F32), 64);
  EXPECT_EQ(pages(CacheFormat::Q8_0), 227); // 2^20 / 4608
  // The stage with the largest pages decides.
  executable.programs[1].caches = {{.kvHeads = 2, .headDim = 64},
                                   {.kvHeads = 2, .headDim = 64}};
  EXPECT_EQ(pages(CacheFormat::F32), 16);
  EXPECT_EQ(pages(CacheFormat::Q8_0), 56);
}

TEST(ServingOptionsTest, NoMorePagesThanRequestsCanNeed) {
  ServingOptions options;
  options.requests = 3;
  for (CacheFormat format : {CacheFormat::F32, CacheFormat::Q8_0})
    EXPECT_EQ(*pagesOf(options, oneLayer(), format, 33), 6);
}

TEST(ServingOptionsTest, OnePageAtLeast) {
  ServingOptions options;
  options.cacheBytes = 4608;
  EXPECT_EQ(*pagesOf(options, oneLayer(), CacheFormat::Q8_0, 64), 1);
  EXPECT_EQ(
      pagesOf(options, oneLayer(), CacheFormat::F32, 64).status().message(),
      "--cache-bytes: 4608 bytes are less than one page of 32 tokens takes, "
      "16384");
}

} // namespace

//===- StallWatchTest.cpp - detection of work without progress ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/StallWatch.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::serve;

using std::chrono::seconds;

TEST(StallWatch, CountsFromTheFirstLookThatSawNothingMove) {
  StallWatch watch;
  EXPECT_EQ(watch.stalledFor(seconds(5)), Time(0));
  watch.look(seconds(10), {.count = 7, .hasWork = true});
  EXPECT_EQ(watch.stalledFor(seconds(12)), Time(0));
  watch.look(seconds(13), {.count = 7, .hasWork = true});
  watch.look(seconds(14), {.count = 7, .hasWork = true});
  EXPECT_EQ(watch.stalledFor(seconds(17)), seconds(4));
}

TEST(StallWatch, EndsWithTheNextMove) {
  StallWatch watch;
  for (int at : {1, 2, 3})
    watch.look(seconds(at), {.count = 7, .hasWork = true});
  watch.look(seconds(4), {.count = 8, .hasWork = true});
  EXPECT_EQ(watch.stalledFor(seconds(4)), Time(0));
  watch.look(seconds(5), {.count = 8, .hasWork = true});
  EXPECT_EQ(watch.stalledFor(seconds(6)), seconds(1));
}

TEST(StallWatch, WhoHasNoWorkNeedNotMove) {
  StallWatch watch;
  for (int at : {1, 2, 3})
    watch.look(seconds(at), {.count = 7, .hasWork = false});
  EXPECT_EQ(watch.stalledFor(seconds(9)), Time(0));
  watch.look(seconds(10), {.count = 7, .hasWork = true});
  EXPECT_EQ(watch.stalledFor(seconds(11)), seconds(1));
}

//===- OpenFilesTest.cpp - tests of the limit on open files ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OpenFiles.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace sluice;

TEST(OpenFiles, TheSoftLimitRisesToTheHardOne) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = {64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  int64_t limit = raiseOpenFileLimit();
  rlimit after = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  EXPECT_EQ(static_cast<rlim_t>(limit), after.rlim_cur);
  EXPECT_EQ(raiseOpenFileLimit(), limit);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

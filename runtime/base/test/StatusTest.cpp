//===- StatusTest.cpp - errors and values ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Status.h"

#include <gtest/gtest.h>
#include <memory>

using namespace sluice;

TEST(Status, MessagesStayOnOneLine) {
  Status status = failure("tensor '", "a\nb\x1b[31m\x7f\xc3\xa9", "': is bad");
  EXPECT_EQ(status.message(), "tensor 'a?b?[31m?\xc3\xa9': is bad");
  EXPECT_EQ(status.withContext("x\ty").message(),
            "x?y: tensor 'a?b?[31m?\xc3\xa9': is bad");
}

TEST(Status, ContextLeavesSuccessAlone) {
  Status status;
  EXPECT_TRUE(status.withContext("file").ok());
  EXPECT_EQ(status.message(), "");
}

TEST(Expected, HoldsAValueOrAnError) {
  Expected<std::unique_ptr<int>> value = std::make_unique<int>(3);
  ASSERT_TRUE(value);
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(*value.take(), 3);
  Expected<std::unique_ptr<int>> error = failure("no ", 3);
  EXPECT_FALSE(error);
  EXPECT_EQ(error.status().message(), "no 3");
}

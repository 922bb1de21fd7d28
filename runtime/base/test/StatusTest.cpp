//===- StatusTest.cpp - errors and values ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Status.h"

#include <gtest/gtest.h>
#include <locale>
#include <memory>

using namespace sluice;

TEST(Status, MessagesStayOnOneLine) {
  Status status = failure("tensor '", "a\nb\x1b[31m\x7f\xc3\xa9", "': is bad");
  EXPECT_EQ(status.message(), "tensor 'a?b?[31m?\xc3\xa9': is bad");
  EXPECT_EQ(status.withContext("x\ty").message(),
            "x?y: tensor 'a?b?[31m?\xc3\xa9': is bad");
}

namespace {

/// Writes numbers for which there is no memory.
class NoMemory : public std::num_put<char> {
  iter_type do_put(iter_type, std::ios_base &, char, long) const override {
    throw std::bad_alloc();
  }
};

/// A part of a message: a number for which there is no memory.
struct TooLarge {
  friend std::ostream &operator<<(std::ostream &stream, TooLarge) {
    stream.imbue(std::locale(stream.getloc(), new NoMemory));
    return stream << 3L;
  }
};

} // namespace

TEST(Status, MessagesAreWholeOrSayThatMemoryRanOut) {
  EXPECT_EQ(failure("tensor '", TooLarge(), "' is bad").message(),
            "out of memory");
  EXPECT_THROW((void)textFrom("tensor ", TooLarge()), std::bad_alloc);
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

//===- ProgressTest.cpp - tests of progress lines -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Progress.h"

#include <cstdio>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

using namespace sluice;
using testing::EndsWith;
using testing::StartsWith;

namespace {

/// Returns what a progress line writes to a terminal or pipe in place of
/// stderr.
std::string written(bool terminal, bool slow) {
  int reader = -1;
  int writer = -1;
  if (terminal) {
    EXPECT_EQ(::openpty(&reader, &writer, nullptr, nullptr, nullptr), 0);
  } else {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader = ends[0];
    writer = ends[1];
  }
  int old = ::dup(STDERR_FILENO);
  ::dup2(writer, STDERR_FILENO);
  {
    Progress progress("packing weights", 2000000);
    progress.update(100);
    if (slow)
      ::usleep(550000);
    progress.update(500000);
    progress.update(2000000);
  }
  std::fputs("end", stderr);
  std::fflush(stderr);
  ::dup2(old, STDERR_FILENO);
  ::close(old);
  // A terminal may deliver the text in several pieces.
  std::string text;
  char buffer[512];
  while (!text.ends_with("end")) {
    ssize_t count = ::read(reader, buffer, sizeof(buffer));
    if (count <= 0)
      break;
    text.append(buffer, size_t(count));
  }
  ::close(writer);
  ::close(reader);
  return text;
}

TEST(ProgressTest, AppearsOnATerminalAfterAWhile) {
  std::string text = written(true, true);
  EXPECT_THAT(text, StartsWith("\rpacking weights: 25% of 2 MB\033[K"));
  EXPECT_THAT(text, EndsWith("\r\033[Kend"));
}

TEST(ProgressTest, IsSilentOtherwise) {
  EXPECT_EQ(written(true, false), "end");
  EXPECT_EQ(written(false, true), "end");
}

} // namespace

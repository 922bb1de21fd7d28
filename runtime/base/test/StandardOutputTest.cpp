//===- StandardOutputTest.cpp - the standard descriptors ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/StandardOutput.h"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sluice;

/// Runs in a process of its own, without standard descriptors.
[[noreturn]] static void openWithoutStandardDescriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::close(descriptor);
  holdStandardDescriptors();
  const int file = ::open("/dev/null", O_RDWR);
  char byte = 0;
  const bool isUnusable = ::read(STDIN_FILENO, &byte, 1) < 0 &&
                          ::write(STDERR_FILENO, &byte, 1) < 0 &&
                          !writeOutput("text").ok();
  _exit(file > STDERR_FILENO && isUnusable ? 0 : 1);
}

TEST(StandardOutput, FilesDoNotTakeThePlaceOfClosedDescriptors) {
  EXPECT_EXIT(openWithoutStandardDescriptors(), testing::ExitedWithCode(0), "");
}

[[noreturn]] static void writeToOpenDescriptors() {
  int ends[2];
  if (::pipe(ends) != 0 || ::dup2(ends[1], STDOUT_FILENO) < 0)
    _exit(2);
  holdStandardDescriptors();
  char text[4] = {};
  const bool isWritten = writeOutput("abc").ok();
  _exit(isWritten && ::read(ends[0], text, 3) == 3 ? 0 : 1);
}

TEST(StandardOutput, OpenDescriptorsStayAsTheyAre) {
  EXPECT_EXIT(writeToOpenDescriptors(), testing::ExitedWithCode(0), "");
}

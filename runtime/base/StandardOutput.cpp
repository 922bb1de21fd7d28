//===- StandardOutput.cpp - writing to the user ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/StandardOutput.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace sluice;

Status sluice::writeOutput(std::string_view text) {
  while (!text.empty()) {
    ssize_t done = ::write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return failure("standard output: cannot write: ", std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(done));
  }
  return {};
}

void sluice::writeNote(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", int(line.size()), line.data());
}

//===- StandardOutput.cpp - writing to the user ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/StandardOutput.h"

#include <algorithm>
#include <cerrno> // program_invocation_short_name
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
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

void sluice::holdStandardDescriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF)
      continue;
    // The lowest free number is this one. Opened for the wrong direction, so
    // that it cannot be used.
    (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void sluice::writeNote(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", int(line.size()), line.data());
}

void sluice::writeError(std::string_view message) {
  std::string line = std::string(program_invocation_short_name) + ": error: ";
  line += message;
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  writeNote(line);
}

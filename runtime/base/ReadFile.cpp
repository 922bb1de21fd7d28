//===- ReadFile.cpp - reads files and pipes to their end ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ReadFile.h"

#include "runtime/base/InputFiles.h"
#include "runtime/base/Interrupt.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace sluice;

Expected<std::string> sluice::readToEnd(int descriptor, size_t maxBytes) {
  std::string text;
  char part[65536];
  while (true) {
    ssize_t count = ::read(descriptor, part, sizeof(part));
    if (count < 0 && errno == EINTR && !interrupted())
      continue;
    if (count < 0)
      return failure("cannot read: ", std::strerror(errno));
    if (count == 0)
      return text;
    text.append(part, static_cast<size_t>(count));
    if (text.size() > maxBytes)
      return failure("has more than ", maxBytes, " bytes");
  }
}

Expected<std::string> sluice::readFile(const std::string &path, size_t maxBytes,
                                       mode_t *mode) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failure("cannot open: ", std::strerror(errno));
  noteInput(file);
  struct stat about = {};
  Expected<std::string> text =
      ::fstat(file, &about) == 0
          ? readToEnd(file, maxBytes)
          : failure("cannot look at it: ", std::strerror(errno));
  ::close(file);
  if (mode)
    *mode = about.st_mode;
  return text;
}

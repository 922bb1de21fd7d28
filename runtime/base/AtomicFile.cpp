//===- AtomicFile.cpp - files that appear whole or not at all ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AtomicFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sluice;

Expected<AtomicFile> AtomicFile::create(const std::string &path, mode_t mode) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return failure(path, ": cannot write: not a regular file");
  AtomicFile file;
  file.target = path;
  file.temporary = path + ".XXXXXX";
  file.fd = ::mkostemp(file.temporary.data(), O_CLOEXEC);
  if (file.fd < 0) {
    int reason = errno;
    file.temporary.clear();
    return failure(path, ": cannot write: ", std::strerror(reason));
  }
  // mkostemp makes a file for its owner alone; give it the asked permissions.
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.fd, mode & ~mask) != 0)
    return failure(path, ": cannot set permissions: ", std::strerror(errno));
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : target(std::move(other.target)),
      temporary(std::exchange(other.temporary, {})),
      fd(std::exchange(other.fd, -1)), written(other.written) {}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t done = ::write(fd, next, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return failure(target, ": cannot write: ", std::strerror(errno));
    next += done;
    size -= static_cast<size_t>(done);
    written += static_cast<uint64_t>(done);
  }
  return {};
}

Status AtomicFile::commit() {
  int closed = ::close(std::exchange(fd, -1));
  if (closed != 0)
    return failure(target, ": cannot write: ", std::strerror(errno));
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return failure(target, ": cannot write: ", std::strerror(errno));
  temporary.clear();
  return {};
}

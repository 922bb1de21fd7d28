//===- AtomicFile.cpp - files that appear whole or not at all -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AtomicFile.h"
#include "runtime/base/InputFiles.h"
#include "runtime/base/StandardOutput.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sluice;

namespace {

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Opens a file without a name in `folder`, which vanishes with the process.
/// Returns -1 if the file system has no such files, or if it could not be named
/// later.
int openNameless(const std::string &folder, mode_t mode) {
  if (::access("/proc/self/fd", X_OK) != 0)
    return -1;
  return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

/// Opens a file with a unique name, made by replacing the Xs of `path`.
int openNamed(std::string &path, mode_t mode) {
  int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0)
    return -1;
  // mkostemp() makes a file for its owner only; this sets the requested
  // permissions.
  mode_t mask = ::umask(0);
  ::umask(mask);
  (void)::fchmod(fd, mode & ~mask);
  return fd;
}

} // namespace

Expected<AtomicFile> AtomicFile::create(const std::string &path, mode_t mode) {
  struct stat info = {};
  const bool isThere = ::stat(path.c_str(), &info) == 0;
  const bool isDevice = isThere && S_ISCHR(info.st_mode);
  if (isThere && !isDevice && !S_ISREG(info.st_mode))
    return failure(path, ": cannot write: not a regular file");
  SLUICE_RETURN_IF_ERROR(checkIsNoInput(path));
  ::signal(SIGXFSZ, SIG_IGN);
  AtomicFile file;
  file.target = path;
  if (isDevice) {
    file.isDevice = true;
    file.fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.fd < 0)
      return failure(path, ": cannot write: ", std::strerror(errno));
    return file;
  }
  file.fd = openNameless(folderOf(path), mode);
  if (file.fd >= 0)
    return file;
  std::string name = path + ".XXXXXX";
  file.fd = openNamed(name, mode);
  if (file.fd < 0)
    return failure(path, ": cannot write: ", std::strerror(errno));
  file.temporary = std::move(name);
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : target(std::move(other.target)),
      temporary(std::exchange(other.temporary, {})),
      fd(std::exchange(other.fd, -1)), isDevice(other.isDevice),
      written(other.written), reserved(other.reserved), started(other.started) {
}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::reserve(uint64_t size) {
  if (isDevice)
    return {};
  int error = 0;
  do {
    error = ::fallocate(fd, 0, 0, off_t(size)) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == EOPNOTSUPP || error == ENOSYS)
    return {};
  if (error != 0)
    return failure(target, ": cannot write: ", std::strerror(error));
  reserved = std::max(reserved, size);
  return {};
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

Status AtomicFile::rewrite(uint64_t offset, const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t done = ::pwrite(fd, next, size, off_t(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return failure(target, ": cannot write: ", std::strerror(errno));
    next += done;
    size -= static_cast<size_t>(done);
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

void AtomicFile::startWriteback() {
  // Only advice: commit() waits for all bytes in any case.
  (void)::sync_file_range(fd, off64_t(started), off64_t(written - started),
                          SYNC_FILE_RANGE_WRITE);
  started = written;
}

/// Gives the file a name. A nameless file cannot replace another in one step,
/// so it gets a free name first and is then renamed.
Status AtomicFile::nameTemporary() {
  std::string self = readablePath();
  std::string stem = target + "." + std::to_string(::getpid()) + ".";
  for (int i = 0; i < 100; ++i) {
    std::string name = stem + std::to_string(i);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      temporary = std::move(name);
      return {};
    }
    if (errno != EEXIST)
      break;
  }
  return failure(target, ": cannot write: ", std::strerror(errno));
}

std::string AtomicFile::readablePath() const {
  return temporary.empty() ? "/proc/self/fd/" + std::to_string(fd) : temporary;
}

Status AtomicFile::sync() {
  int error = 0;
  do {
    error = ::fdatasync(fd) == 0 ? 0 : errno;
  } while (error == EINTR);
  // Some file systems cannot sync and report EINVAL.
  if (error != 0 && error != EINVAL)
    return failure(target, ": cannot write: ", std::strerror(error));
  return {};
}

Status AtomicFile::commit() {
  if (isDevice) {
    ::close(std::exchange(fd, -1));
    return {};
  }
  // It may have become an input since create().
  SLUICE_RETURN_IF_ERROR(checkIsNoInput(target));
  // Removes reserved space behind the content.
  if (reserved > written && ::ftruncate(fd, off_t(written)) != 0)
    return failure(target, ": cannot write: ", std::strerror(errno));
  SLUICE_RETURN_IF_ERROR(sync());
  if (temporary.empty())
    SLUICE_RETURN_IF_ERROR(nameTemporary());
  if (::close(std::exchange(fd, -1)) != 0)
    return failure(target, ": cannot write: ", std::strerror(errno));
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return failure(target, ": cannot write: ", std::strerror(errno));
  temporary.clear();
  return {};
}

Status sluice::writeFile(const std::string &path, std::string_view bytes) {
  if (path == "-")
    return writeOutput(bytes);
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  SLUICE_RETURN_IF_ERROR(file->write(bytes));
  return file->commit();
}

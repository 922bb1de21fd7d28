//===- InputFiles.cpp - the files that this process reads -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/InputFiles.h"

#include <array>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <set>
#include <sys/stat.h>

using namespace sluice;

namespace {

/// Identifies a file: device, inode, and time of creation, because inodes are
/// reused.
using File = std::array<uint64_t, 5>;

/// Identifies a file by statx(), whose arguments these are. Returns nullopt if
/// there is no such file.
std::optional<File> identify(int folder, const char *path, int flags) {
  struct statx info = {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME, &info) != 0)
    return std::nullopt;
  // Some file systems do not know the time of creation, and leave zeros.
  return File{info.stx_dev_major, info.stx_dev_minor, info.stx_ino,
              uint64_t(info.stx_btime.tv_sec), info.stx_btime.tv_nsec};
}

struct Notes {
  std::mutex mutex;
  std::set<File> files; ///< guarded by `mutex`
};

/// Never destroyed, because threads may still read files while the process
/// ends.
Notes &notes() {
  static auto *all = new Notes;
  return *all;
}

void add(const std::optional<File> &file) {
  std::lock_guard lock(notes().mutex);
  if (file)
    notes().files.insert(*file);
}

} // namespace

void sluice::noteInput(const std::string &path) {
  add(identify(AT_FDCWD, path.c_str(), 0));
}

void sluice::noteInput(int fd) { add(identify(fd, "", AT_EMPTY_PATH)); }

Status sluice::checkIsNoInput(const std::string &path) {
  std::optional<File> file = identify(AT_FDCWD, path.c_str(), 0);
  std::lock_guard lock(notes().mutex);
  if (!file || !notes().files.contains(*file))
    return {};
  return failure(path, ": cannot write: it is one of the files that are read");
}

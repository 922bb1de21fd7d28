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

/// What a file is called by whatever name: device, inode, and when it was made,
/// as an inode is used again once its file is gone.
using File = std::array<uint64_t, 5>;

/// As statx() takes `folder`, `path` and `flags`. Nothing where there is no
/// such file.
std::optional<File> identify(int folder, const char *path, int flags) {
  struct statx info = {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME, &info) != 0)
    return std::nullopt;
  // Some file systems do not know when, and leave zeros.
  return File{info.stx_dev_major, info.stx_dev_minor, info.stx_ino,
              uint64_t(info.stx_btime.tv_sec), info.stx_btime.tv_nsec};
}

struct Notes {
  std::mutex mutex;
  std::set<File> files; ///< guarded by `mutex`
};

/// Never destroyed: threads may still read files while the process ends.
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

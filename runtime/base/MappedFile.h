//===- MappedFile.h - a file's bytes, mapped read-only --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_MAPPEDFILE_H
#define SLUICE_RUNTIME_BASE_MAPPEDFILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <sys/stat.h>

namespace sluice {

enum class FileUse : uint8_t {
  Input,      ///< never replaced by this process (InputFiles.h)
  Replaceable ///< which it may write anew, as a cache
};

/// A regular file mapped read-only for as long as the object lives. Moving it
/// keeps the addresses. Reading from several threads is safe. Where the file is
/// cut short meanwhile, or the disk fails, reading ends the process with a line
/// that names the file (MappingFaults.h).
class MappedFile {
public:
  /// Maps the whole file. Errors: cannot open, not a regular file, cannot map.
  /// An empty file maps to an empty span. `name`: the path that the file is
  /// going to have, where it has none yet; empty: `path`.
  static Expected<MappedFile> open(const std::string &path,
                                   FileUse use = FileUse::Input,
                                   const std::string &name = "");

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return {base, length}; }

  /// What the system said of the file when it was opened.
  const struct stat &info() const { return about; }

  /// Whether the file still has its path, rather than another one or none.
  bool isInPlace() const;

  /// The `count` bytes at `offset`, or nullptr where they are not all inside
  /// the file.
  const uint8_t *range(uint64_t offset, uint64_t count) const;

  /// Tells the kernel that what was read is not needed soon: it is no longer
  /// this process's memory, and comes back when it is touched.
  void releasePages() const;

private:
  MappedFile() = default;
  void release();

  std::string name;
  const uint8_t *base = nullptr;
  size_t length = 0;
  struct stat about = {};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_MAPPEDFILE_H

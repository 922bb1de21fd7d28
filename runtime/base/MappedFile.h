//===- MappedFile.h - read-only mapping of a file -------------------------===//
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
  Input,      ///< this process never replaces it (InputFiles.h)
  Replaceable ///< this process may replace it, like a cache
};

/// A regular file, mapped read-only while the object lives. Moving the object
/// keeps the addresses. Several threads may read. If the file is truncated
/// meanwhile, or the disk fails, reading ends the process with a line that
/// names the file (MappingFaults.h).
class MappedFile {
public:
  /// Maps the whole file; an empty file gives an empty span. Fails if the file
  /// cannot be opened or mapped, or is not a regular file. `name` is the path
  /// that the file will have later, if it has none yet; empty: `path`.
  static Expected<MappedFile> open(const std::string &path,
                                   FileUse use = FileUse::Input,
                                   const std::string &name = "");

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::string &path() const { return name; }
  std::span<const uint8_t> bytes() const { return {base, length}; }

  /// Returns the file's attributes from when it was opened.
  const struct stat &info() const { return about; }

  /// Returns whether this file is still at its path.
  bool isInPlace() const;

  /// Returns the `count` bytes at `offset`, or nullptr if they are not all
  /// inside the file.
  const uint8_t *range(uint64_t offset, uint64_t count) const;

  /// Tells the kernel that the pages read so far are not needed soon. They stop
  /// counting as this process's memory and are read again when touched.
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

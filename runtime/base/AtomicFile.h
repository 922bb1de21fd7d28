//===- AtomicFile.h - files that appear whole or not at all -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_ATOMICFILE_H
#define SLUICE_RUNTIME_BASE_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sluice {

/// Writes a temporary file beside `path` and renames it over `path` on
/// commit(). Without a commit, or after an error, the temporary is removed and
/// an older file at `path` stays as it was. Not thread-safe.
///
///   Expected<AtomicFile> file = AtomicFile::create(path);
///   if (Status s = file->write(data, size); !s.ok()) return s;
///   return file->commit();
class AtomicFile {
public:
  /// Errors: the folder is missing or not writable. `mode` are the finished
  /// file's permissions before the process's umask.
  static Expected<AtomicFile> create(const std::string &path,
                                     mode_t mode = 0666);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// Appends; a short write (a full disk) is an error that names the file.
  Status write(const void *data, size_t size);
  Status write(std::string_view text) { return write(text.data(), text.size()); }

  /// Bytes written so far.
  uint64_t position() const { return written; }

  /// The path of the temporary, for programs that write it themselves.
  const std::string &temporaryPath() const { return temporary; }

  /// Flushes, then renames the temporary to its final name.
  Status commit();

private:
  AtomicFile() = default;

  std::string target;
  std::string temporary;
  int fd = -1;
  uint64_t written = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_ATOMICFILE_H

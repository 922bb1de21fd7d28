//===- AtomicFile.h - files that appear whole or not at all ---------------===//
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

/// Writes a temporary file in the folder of `path`, and renames it to `path` on
/// commit(). Without a commit, or after an error, the temporary is removed and
/// an older file at `path` stays unchanged; on file systems with nameless
/// files, also if the process is killed. Not thread-safe. A device such as
/// /dev/null is written directly.
///
///   Expected<AtomicFile> file = AtomicFile::create(path);
///   if (Status s = file->write(data, size); !s.ok()) return s;
///   return file->commit();
class AtomicFile {
public:
  /// Fails if the folder is missing or not writable, or if `path` is neither a
  /// file nor a device, or is a file that this process reads (InputFiles.h).
  /// `mode` gives the finished file's permissions before the process's umask.
  /// From now on, a limit on the size of files causes an error, like a full
  /// disk, instead of a signal.
  static Expected<AtomicFile> create(const std::string &path,
                                     mode_t mode = 0666);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// Reserves disk space for the file's first `size` bytes, if the file system
  /// can. Fails if the disk is full.
  Status reserve(uint64_t size);
  /// Returns whether all bytes written so far had reserved space, so that the
  /// disk cannot be full for them.
  bool hasSpace() const { return written <= reserved; }

  /// Appends bytes. Fails, naming the file, if not all can be written (a full
  /// disk).
  Status write(const void *data, size_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }

  /// Overwrites bytes that lie before position(), which does not change. Fails
  /// as write() does.
  Status rewrite(uint64_t offset, const void *data, size_t size);

  /// Returns the number of bytes written so far.
  uint64_t position() const { return written; }

  /// Lets the disk begin to store the bytes written so far, so that commit()
  /// waits for less.
  void startWriteback();

  /// Returns a path from which the bytes written so far can be read until
  /// commit(), with zeros up to the reserved size.
  std::string readablePath() const;

  /// Waits until the disk has stored the bytes. After an error, the bytes may
  /// be lost even in mappings of the file.
  Status sync();

  /// Waits until the disk has stored the bytes, then renames the temporary to
  /// its final name. Even a power cut does not leave a partial file.
  Status commit();

private:
  AtomicFile() = default;
  Status nameTemporary();

  std::string target;
  std::string temporary; ///< empty if the temporary has no name yet
  int fd = -1;
  bool isDevice = false;
  uint64_t written = 0;
  uint64_t reserved = 0;
  uint64_t started = 0; ///< bytes of `written` that startWriteback() has passed
};

/// Writes a whole file at once, or to standard output for "-". After an error
/// there is no new file at `path`.
Status writeFile(const std::string &path, std::string_view bytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_ATOMICFILE_H

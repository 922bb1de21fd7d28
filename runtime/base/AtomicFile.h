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

/// Writes a temporary file in the folder of `path` and renames it over `path`
/// on commit(). Without a commit, or after an error, the temporary is gone and
/// an older file at `path` stays as it was; also when the process is killed,
/// where the file system has files without a name. Not thread-safe. A device,
/// as /dev/null, is written as it is, at once.
///
///   Expected<AtomicFile> file = AtomicFile::create(path);
///   if (Status s = file->write(data, size); !s.ok()) return s;
///   return file->commit();
class AtomicFile {
public:
  /// Errors: the folder is missing or not writable; there is something else
  /// than a file or a device, or a file that this process reads (InputFiles.h).
  /// `mode` are the finished file's permissions before the process's umask.
  /// From now on a limit on the size of files is an error, as a full disk is,
  /// and not a signal.
  static Expected<AtomicFile> create(const std::string &path,
                                     mode_t mode = 0666);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// Takes the disk's space for the file's first `size` bytes before they are
  /// written, where the file system can. Error: a full disk.
  Status reserve(uint64_t size);
  /// Whether all that was written so far has its space: the disk cannot be
  /// found full any more.
  bool hasSpace() const { return written <= reserved; }

  /// Appends; a short write (a full disk) is an error that names the file.
  Status write(const void *data, size_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }

  /// Writes over bytes that were written before, all of them in front of
  /// position(), which stays. Error: as write()'s.
  Status rewrite(uint64_t offset, const void *data, size_t size);

  /// Bytes written so far.
  uint64_t position() const { return written; }

  /// Lets the disk begin with what was written so far, so that commit() has
  /// less to wait for.
  void startWriteback();

  /// By this path what was written so far can be read, until commit(), and
  /// zeros up to what was reserved.
  std::string readablePath() const;

  /// Waits until the disk has the bytes. After an error they may be gone for
  /// those who have mapped them, too.
  Status sync();

  /// Waits until the disk has the bytes, then renames the temporary to its
  /// final name: not even after a power cut is there half a file.
  Status commit();

private:
  AtomicFile() = default;
  Status nameTemporary();

  std::string target;
  std::string temporary; ///< empty while the temporary has no name
  int fd = -1;
  bool isDevice = false;
  uint64_t written = 0;
  uint64_t reserved = 0;
  uint64_t started = 0; ///< of these, those that the disk was told to write
};

/// Writes a whole file at once, or to standard output for "-". Nothing is left
/// at `path` after an error.
Status writeFile(const std::string &path, std::string_view bytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_ATOMICFILE_H

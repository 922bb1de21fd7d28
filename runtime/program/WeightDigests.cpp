//===- WeightDigests.cpp - digests of the bytes of weights ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightDigests.h"

#include "runtime/base/ByteDigest.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/program/MappedModelFiles.h"
#include "runtime/program/Progress.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <unistd.h>

using namespace sluice;

namespace {

/// Computes digests of a model's file, each once.
class FileDigests {
public:
  /// If the file is missing or is another one, there are no digests.
  explicit FileDigests(const ModelFile &file) {
    Expected<MappedFile> opened = openModelFile(file, {});
    if (!opened)
      return;
    mapped = opened.take();
    fd = ::open(mapped->path().c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~FileDigests() {
    if (fd >= 0)
      ::close(fd);
  }
  FileDigests(const FileDigests &) = delete;
  FileDigests &operator=(const FileDigests &) = delete;

  /// Returns the digest of a range, or none. Adds the bytes that it had to read
  /// to `read`.
  std::optional<uint64_t> digest(uint64_t offset, uint64_t bytes,
                                 cpu::ThreadPool &pool, uint64_t &read) {
    if (!mapped || isHole(offset, bytes))
      return std::nullopt;
    auto [place, isNew] = known.try_emplace({offset, bytes}, 0);
    if (isNew) {
      place->second = digestOf(mapped->bytes().subspan(offset, bytes), pool);
      mapped->releasePages();
      read += bytes;
    }
    return place->second;
  }

private:
  bool isHole(uint64_t offset, uint64_t bytes) const {
    off_t data = ::lseek(fd, off_t(offset), SEEK_DATA);
    // If the file system does not report holes, everything is data.
    return data < 0 ? errno == ENXIO : uint64_t(data) >= offset + bytes;
  }

  std::optional<MappedFile> mapped;
  int fd = -1;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> known; // offset, bytes
};

} // namespace

uint64_t sluice::digestOf(std::span<const uint8_t> bytes,
                          cpu::ThreadPool &pool) {
  const auto count =
      int64_t((bytes.size() + digestBlockBytes - 1) / digestBlockBytes);
  std::vector<uint64_t> blocks(static_cast<size_t>(count));
  std::atomic<int64_t> next = 0;
  auto share = [&](int64_t) {
    int64_t block;
    while ((block = next.fetch_add(1)) < count) {
      uint64_t at = uint64_t(block) * digestBlockBytes;
      blocks[size_t(block)] = digestBlock(bytes.subspan(
          at, std::min<uint64_t>(digestBlockBytes, bytes.size() - at)));
    }
  };
  pool.run(share);
  return digestOfBlocks(blocks);
}

void sluice::recordDigests(ExecutableDescriptor &executable) {
  cpu::ThreadPool pool(cpu::defaultThreadCount());
  uint64_t read = 0, total = 0;
  for (const ModelFile &file : executable.files)
    total += file.size;
  Progress progress("reading weights", total);
  std::map<int64_t, FileDigests> files;
  auto digest = [&](int64_t file, uint64_t offset, uint64_t bytes) {
    auto place = files.try_emplace(file, executable.files[size_t(file)]).first;
    progress.update(read);
    return place->second.digest(offset, bytes, pool, read);
  };
  for (ProgramDescriptor &program : executable.programs)
    for (WeightDescriptor &weight : program.weights) {
      weight.digest = digest(weight.file, weight.offset, weight.bytes);
      if (std::optional<ScalesDescriptor> &scales = weight.scales)
        scales->digest = digest(scales->file, scales->offset, scales->bytes());
    }
}

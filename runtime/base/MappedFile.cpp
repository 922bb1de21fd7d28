//===- MappedFile.cpp - read-only mapping of a file -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/MappedFile.h"

#include "runtime/base/InputFiles.h"
#include "runtime/base/MappingFaults.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sluice;

Expected<MappedFile> MappedFile::open(const std::string &path, FileUse use,
                                      const std::string &name) {
  MappedFile file;
  file.name = name.empty() ? path : name;
  // Non-blocking, because opening a pipe would wait for its writer.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return failure(path, ": cannot open: ", std::strerror(errno));
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return failure(path, ": not a regular file");
  }
  if (use == FileUse::Input)
    noteInput(fd);
  file.about = info;
  const auto length = static_cast<size_t>(info.st_size);
  void *address = nullptr;
  if (length > 0)
    address = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, fd, 0);
  const int reason = errno;
  ::close(fd); // before code that may throw
  if (address == MAP_FAILED)
    return failure(path, ": cannot map: ", std::strerror(reason));
  file.base = static_cast<const uint8_t *>(address);
  file.length = length;
  if (file.base)
    noteMapping(file.base, file.length, file.name);
  return file;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), base(std::exchange(other.base, nullptr)),
      length(std::exchange(other.length, 0)), about(other.about) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  if (this != &other) {
    release();
    name = std::move(other.name);
    base = std::exchange(other.base, nullptr);
    length = std::exchange(other.length, 0);
    about = other.about;
  }
  return *this;
}

MappedFile::~MappedFile() { release(); }

void MappedFile::release() {
  if (base) {
    forgetMapping(base);
    ::munmap(const_cast<uint8_t *>(base), length);
  }
  base = nullptr;
  length = 0;
}

bool MappedFile::isInPlace() const {
  struct stat now = {};
  return ::stat(name.c_str(), &now) == 0 && now.st_dev == about.st_dev &&
         now.st_ino == about.st_ino;
}

const uint8_t *MappedFile::range(uint64_t offset, uint64_t count) const {
  if (offset > length || count > length - offset)
    return nullptr;
  return base + offset;
}

void MappedFile::releasePages() const {
  // Only advice: a kernel that ignores it costs memory, not correctness.
  if (base)
    (void)::madvise(const_cast<uint8_t *>(base), length, MADV_DONTNEED);
}

//===- AvailableMemory.cpp - the memory that this process can still use ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/AvailableMemory.h"

#include <algorithm>
#include <fstream>

using namespace sluice;

/// Returns the number after the word `name` in a file.
static std::optional<uint64_t> numberOf(const std::string &path,
                                        std::string_view name) {
  std::ifstream file(path);
  std::string word;
  for (uint64_t number = 0; file >> word;)
    if (word == name && file >> number)
      return number;
  return std::nullopt;
}

static std::optional<uint64_t> onlyNumber(const std::string &path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number)
    return number;
  return std::nullopt; // no such file, or "max"
}

/// Returns what the control group has left. Cached files count as free because
/// they can be dropped, except those that exist in memory only (shared memory,
/// tmpfs).
static std::optional<uint64_t> availableInGroup(const std::string &group) {
  auto max = onlyNumber(group + "memory.max");
  auto used = onlyNumber(group + "memory.current");
  if (!max || !used)
    return std::nullopt;
  uint64_t files = numberOf(group + "memory.stat", "file").value_or(0);
  uint64_t shared = numberOf(group + "memory.stat", "shmem").value_or(0);
  uint64_t cached = files - std::min(files, shared);
  uint64_t held = *used - std::min(*used, cached);
  return *max - std::min(*max, held);
}

std::optional<uint64_t> cpu::availableMemory(const std::string &root) {
  auto kibibytes = numberOf(root + "proc/meminfo", "MemAvailable:");
  auto group = availableInGroup(root + "sys/fs/cgroup/");
  if (!kibibytes)
    return group;
  return group ? std::min(*group, *kibibytes * 1024) : *kibibytes * 1024;
}

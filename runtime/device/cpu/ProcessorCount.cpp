//===- ProcessorCount.cpp - how many threads to start by default ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/ProcessorCount.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <optional>
#include <sched.h>
#include <set>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::cpu {

namespace {

std::optional<int64_t> readNumber(const std::string &path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number)
    return number;
  return std::nullopt;
}

/// Processors that this process may run on.
std::vector<int> allowedProcessors() {
  // Ever larger masks: the kernel refuses one smaller than its own.
  for (int processors = CPU_SETSIZE; processors <= (1 << 20); processors *= 2) {
    cpu_set_t *mask = CPU_ALLOC(processors);
    if (!mask)
      break;
    size_t bytes = CPU_ALLOC_SIZE(processors);
    std::vector<int> allowed;
    bool known = ::sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; known && cpu < processors; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, mask))
        allowed.push_back(cpu);
    CPU_FREE(mask);
    if (known)
      return allowed;
  }
  return {0};
}

/// Physical cores of these processors, hyperthreads of a core counted once.
int64_t coresOf(const std::vector<int> &processors,
                const std::string &sysRoot) {
  std::set<std::pair<int64_t, int64_t>> cores;
  for (int cpu : processors) {
    std::string topology = sysRoot + "/devices/system/cpu/cpu" +
                           std::to_string(cpu) + "/topology/";
    // A processor that the kernel says nothing about counts for itself.
    std::optional<int64_t> core = readNumber(topology + "core_id");
    std::optional<int64_t> package =
        readNumber(topology + "physical_package_id");
    if (core && package)
      cores.emplace(*package, *core);
    else
      cores.emplace(-1, cpu);
  }
  return static_cast<int64_t>(cores.size());
}

/// Whole processors that the control group's quota is worth, rounded up.
std::optional<int64_t> quota(const std::string &sysRoot) {
  std::ifstream file(sysRoot + "/fs/cgroup/cpu.max");
  int64_t time = 0, period = 0;
  if (file >> time >> period && time > 0 && period > 0)
    return time / period + (time % period != 0);
  return std::nullopt;
}

} // namespace

int64_t defaultThreadCount(const std::string &sysRoot) {
  int64_t count = coresOf(allowedProcessors(), sysRoot);
  if (std::optional<int64_t> most = quota(sysRoot))
    count = std::min(count, *most);
  return std::max<int64_t>(count, 1);
}

int64_t threadCountOfSharer(int64_t processes, const std::string &sysRoot) {
  int64_t count = defaultThreadCount(sysRoot);
  std::vector<int> online(
      static_cast<size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  std::iota(online.begin(), online.end(), 0);
  if (allowedProcessors().size() >= online.size())
    return std::max<int64_t>(count / processes, 1);
  int64_t part = std::max<int64_t>(coresOf(online, sysRoot) / processes, 1);
  return std::min(count, part);
}

} // namespace sluice::cpu

//===- Topology.cpp - the cores that this process may use -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Topology.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <tuple>

namespace sluice::cpu {

namespace {

namespace fs = std::filesystem;

std::optional<int64_t> readNumber(const fs::path &path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number)
    return number;
  return std::nullopt;
}

/// Returns the NUMA node of a processor, whose folder has a link such as
/// "node3" to it, or 0 if the kernel has no NUMA support.
int64_t nodeOf(const fs::path &processor) {
  constexpr std::string_view prefix = "node";
  std::error_code failed;
  for (fs::directory_iterator entry(processor, failed), end;
       !failed && entry != end; entry.increment(failed)) {
    std::string name = entry->path().filename();
    int64_t node = 0;
    const char *first = name.data() + prefix.size();
    if (name.starts_with(prefix) &&
        std::from_chars(first, name.data() + name.size(), node).ptr > first)
      return node;
  }
  return 0;
}

std::optional<int64_t> readQuota(const std::string &sysRoot) {
  std::ifstream file(sysRoot + "/fs/cgroup/cpu.max");
  int64_t time = 0, period = 0;
  if (file >> time >> period && time > 0 && period > 0)
    return time / period + (time % period != 0);
  return std::nullopt;
}

} // namespace

Topology Topology::read(const std::string &sysRoot) {
  return read(AffinityMask::ofThisThread().processors(), sysRoot);
}

Topology Topology::read(ProcessorSet allowed, const std::string &sysRoot) {
  if (allowed.empty())
    allowed = {0};
  // Sorts by socket, node and core; processors without a core come last.
  using SortKey = std::tuple<bool, int64_t, int64_t, int64_t>;
  std::map<SortKey, ProcessorSet> cores;
  for (int32_t processor : allowed) {
    fs::path folder = fs::path(sysRoot) / "devices/system/cpu" /
                      ("cpu" + std::to_string(processor));
    std::optional<int64_t> core = readNumber(folder / "topology/core_id");
    std::optional<int64_t> package =
        readNumber(folder / "topology/physical_package_id");
    SortKey place = core && package
                        ? SortKey(false, *package, nodeOf(folder), *core)
                        : SortKey(true, 0, 0, processor);
    cores[place].push_back(processor);
  }
  Topology topology;
  topology.allowed = std::move(allowed);
  for (auto &[place, processors] : cores)
    topology.coreList.push_back(std::move(processors));
  topology.quotaProcessors = readQuota(sysRoot);
  return topology;
}

} // namespace sluice::cpu

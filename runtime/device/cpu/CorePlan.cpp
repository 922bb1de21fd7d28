//===- CorePlan.cpp - the number of threads and their cores ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CorePlan.h"

#include <algorithm>

namespace sluice::cpu {

namespace {

std::span<const ProcessorSet> coresOf(const Topology &topology,
                                      CoreShare share) {
  auto cores = static_cast<int64_t>(topology.cores().size());
  int64_t begin = cores * share.index / share.count;
  int64_t end = cores * (share.index + 1) / share.count;
  return std::span(topology.cores())
      .subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

/// Returns the hardware threads of `cores`: the first of each core, then the
/// second of each core that has one, and so on.
ProcessorSet inTurn(std::span<const ProcessorSet> cores) {
  ProcessorSet processors;
  bool isMore = true;
  for (size_t turn = 0; isMore; ++turn) {
    isMore = false;
    for (const ProcessorSet &core : cores)
      if (turn < core.size()) {
        processors.push_back(core[turn]);
        isMore = true;
      }
  }
  return processors;
}

bool overlap(const ProcessorSet &a, const ProcessorSet &b) {
  return std::ranges::any_of(a, [&](int32_t processor) {
    return std::ranges::binary_search(b, processor);
  });
}

/// Returns why some team cannot have a hardware thread for each of its threads,
/// or an empty string if every team can.
std::string findObstacle(const Topology &topology, CoreShare share,
                         int64_t threads) {
  if (!share.isExclusive)
    return "another rank of this machine may run on some of the same "
           "processors, but not on all";
  size_t min = topology.processors().size();
  for (int64_t index = 0; index < share.count; ++index)
    min = std::min(min, inTurn(coresOf(topology, {index, share.count})).size());
  if (threads <= static_cast<int64_t>(min))
    return {};
  std::string teams = share.count == 1
                          ? std::string()
                          : std::to_string(share.count) + " teams of ";
  return teams + std::to_string(threads) + " threads are more than " +
         std::to_string(topology.processors().size()) +
         (topology.processors().size() == 1 ? " processor takes"
                                            : " processors take");
}

} // namespace

CoreShare shareOf(std::span<const Tenant> tenants, size_t self) {
  CoreShare share;
  const Tenant &own = tenants[self];
  for (size_t other = 0; other < tenants.size(); ++other) {
    const Tenant &tenant = tenants[other];
    if (other == self || tenant.machine != own.machine ||
        !overlap(own.allowed, tenant.allowed))
      continue;
    ++share.count;
    share.index += other < self;
    share.isExclusive &= tenant.allowed == own.allowed;
  }
  return share;
}

int64_t defaultThreadCount(const Topology &topology, CoreShare share) {
  auto count = static_cast<int64_t>(topology.cores().size());
  if (std::optional<int64_t> max = topology.quota())
    count = std::min(count, *max);
  return std::max<int64_t>(count / share.count, 1);
}

int64_t defaultThreadCount() { return defaultThreadCount(Topology::read()); }

Expected<std::vector<ProcessorSet>> placeThreads(const Topology &topology,
                                                 CoreShare share,
                                                 int64_t threads,
                                                 Pinning pinning) {
  std::vector<ProcessorSet> places;
  auto cores = static_cast<int64_t>(topology.cores().size());
  // With fewer threads than cores, the kernel places them: a command line or a
  // quota has then left cores to other processes, which may be pinned to the
  // same ones. On a single core there is nothing to choose.
  bool isFull =
      share.isExclusive && threads == cores / share.count && cores > 1;
  if (pinning == Pinning::Off || (pinning == Pinning::Auto && !isFull))
    return places;
  if (std::string why = findObstacle(topology, share, threads); !why.empty())
    return failure(why);
  std::span<const ProcessorSet> own = coresOf(topology, share);
  // A thread gets a whole core if possible, so that other processes' short work
  // can use the core's second hardware thread.
  if (threads <= static_cast<int64_t>(own.size())) {
    places.assign(own.begin(), own.begin() + threads);
    return places;
  }
  ProcessorSet processors = inTurn(own);
  for (int64_t thread = 0; thread < threads; ++thread)
    places.push_back({processors[static_cast<size_t>(thread)]});
  return places;
}

} // namespace sluice::cpu

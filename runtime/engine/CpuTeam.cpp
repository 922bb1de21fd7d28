//===- CpuTeam.cpp - the threads that compute on a CPU --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/CpuTeam.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/engine/RankAgreement.h"

#include <algorithm>
#include <charconv>
#include <sstream>

using namespace sluice;
using namespace sluice::engine;

using cpu::CoreShare;
using cpu::ProcessorSet;
using cpu::Tenant;

int64_t CpuTeam::threadCount() const {
  if (threads > 0)
    return threads;
  return std::min(cpu::defaultThreadCount(cpu::Topology::read(), share),
                  cpu::maxThreads);
}

CpuTeam CpuTeam::part(int64_t index, int64_t count) const {
  CpuTeam team = *this;
  team.threads = std::max<int64_t>(1, threadCount() / count);
  team.share = share.part(index, count);
  team.saysObstacle = saysObstacle && index == 0;
  return team;
}

std::shared_ptr<cpu::ThreadPool> CpuTeam::makePool() const {
  int64_t count = threadCount();
  Expected<std::vector<ProcessorSet>> places =
      cpu::placeThreads(cpu::Topology::read(), share, count, pinning);
  if (places)
    return std::make_shared<cpu::ThreadPool>(count, *places);
  if (saysObstacle)
    writeNote("--cpu-pin on: threads are not pinned: " +
              places.status().message());
  return std::make_shared<cpu::ThreadPool>(count);
}

//===----------------------------------------------------------------------===//
// Ranks in several processes
//===----------------------------------------------------------------------===//

std::string engine::toText(const ProcessorSet &processors) {
  std::string text;
  for (size_t first = 0; first < processors.size();) {
    size_t last = first;
    while (last + 1 < processors.size() &&
           processors[last + 1] == processors[last] + 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(processors[first]);
    if (last > first)
      text += "-" + std::to_string(processors[last]);
    first = last + 1;
  }
  return text;
}

ProcessorSet engine::processorsOf(std::string_view text) {
  constexpr int32_t maxProcessor = 1 << 20;
  ProcessorSet processors;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int32_t first = 0;
    auto read = std::from_chars(at, end, first);
    int32_t last = first;
    if (read.ec == std::errc() && read.ptr < end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    int32_t min = processors.empty() ? 0 : processors.back() + 1;
    if (read.ec != std::errc() || first < min || last < first ||
        last > maxProcessor)
      break;
    for (; first <= last; ++first)
      processors.push_back(first);
    if (read.ptr < end && *read.ptr != ',')
      break;
    at = read.ptr + 1;
  }
  return processors;
}

namespace {

/// The number of ranks' shares that fit the text of one term.
constexpr size_t sharesInTerm = 256;

/// Returns the head's decision.
RankTerms toTerms(std::span<const Tenant> tenants) {
  RankTerms terms;
  for (size_t first = 0; first < tenants.size(); first += sharesInTerm) {
    std::ostringstream text;
    size_t end = std::min(first + sharesInTerm, tenants.size());
    for (size_t rank = first; rank < end; ++rank) {
      CoreShare share = cpu::shareOf(tenants, rank);
      text << share.index << " " << share.count << " " << share.isExclusive
           << " ";
    }
    terms.emplace_back("shares", text.str());
  }
  return terms;
}

Expected<CoreShare> shareOfRank(const RankTerms &terms, size_t rank) {
  std::istringstream in(rank / sharesInTerm < terms.size()
                            ? terms[rank / sharesInTerm].second
                            : std::string());
  CoreShare share;
  for (size_t each = 0; each <= rank % sharesInTerm; ++each)
    in >> share.index >> share.count >> share.isExclusive;
  if (!in || share.index < 0 || share.index >= share.count)
    return failure("the head is of another version of the program");
  return share;
}

} // namespace

Expected<CoreShare> engine::shareCores(comm::Communicator &comm,
                                       const Tenant &own) {
  Expected<RankTerms> answer = decideAtHead(
      comm, {{"machine", own.machine}, {"processors", toText(own.allowed)}},
      [](std::span<const RankTerms> all) -> Expected<RankTerms> {
        std::vector<Tenant> tenants;
        for (const RankTerms &terms : all) {
          if (terms.size() != 2 || terms[0].first != "machine" ||
              terms[1].first != "processors")
            return failure("a rank is of another version of the program");
          tenants.push_back({terms[0].second, processorsOf(terms[1].second)});
        }
        return toTerms(tenants);
      });
  if (!answer)
    return answer.status();
  return shareOfRank(*answer, static_cast<size_t>(comm.rank()));
}

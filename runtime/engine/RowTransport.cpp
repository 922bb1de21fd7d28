//===- RowTransport.cpp - transport of rows between GPUs ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/RowTransport.h"

#include "runtime/engine/ParallelFor.h"
#include "runtime/engine/RankAgreement.h"

using namespace sluice;
using namespace sluice::engine;

using comm::ncclVersionText;

/// So a stage can compute one message while the next ones arrive.
constexpr int64_t messagesInRing = 4;
/// So short messages, such as those of decoding, do not wait for room.
constexpr int64_t minRingBytes = int64_t{1} << 20;

std::string engine::ncclObstacle(std::span<const NcclFinding> ranks) {
  auto name = [](size_t rank) { return "rank " + std::to_string(rank); };
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].hasStage && !ranks[rank].why.empty())
      return name(rank) + ": " + ranks[rank].why;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t other = 0; other < rank; ++other) {
      const NcclFinding &one = ranks[other], &two = ranks[rank];
      if (!one.hasStage || !two.hasStage)
        continue;
      if (one.gpu == two.gpu)
        return "ranks " + std::to_string(other) + " and " +
               std::to_string(rank) + " share a GPU";
      if (one.version != two.version)
        return name(other) + " has NCCL " + ncclVersionText(one.version) +
               ", and " + name(rank) + " " + ncclVersionText(two.version);
    }
  return {};
}

Expected<std::string> engine::agreeOnNccl(comm::Communicator &comm,
                                          const NcclFinding &own) {
  Expected<RankTerms> answer = decideAtHead(
      comm,
      {{"stage", own.hasStage ? "yes" : "no"},
       {"version", std::to_string(own.version)},
       {"GPU", own.gpu},
       {"obstacle", own.why}},
      [](std::span<const RankTerms> all) -> Expected<RankTerms> {
        std::vector<NcclFinding> found;
        for (const RankTerms &terms : all) {
          if (terms.size() != 4)
            return failure("a rank is of another version of the program");
          found.push_back({terms[0].second == "yes",
                           int32_t(std::atoi(terms[1].second.c_str())),
                           terms[2].second, terms[3].second});
        }
        return RankTerms{{"obstacle", ncclObstacle(found)}};
      });
  if (!answer)
    return answer.status();
  if (answer->size() != 1)
    return failure("the head is of another version of the program");
  return answer->front().second;
}

int64_t engine::ringBytesOf(int64_t messageBytes) {
  constexpr int64_t step = 4096;
  int64_t wanted = std::max(minRingBytes, messagesInRing * messageBytes);
  return (wanted + step - 1) / step * step;
}

/// `isOneOfMany`: other ranks in this process wait for this one.
static Status connectOne(std::unique_ptr<comm::Communicator> &communicator,
                         const comm::NcclLibrary &library, cuda::Device *device,
                         const comm::NcclOptions &options, bool isOneOfMany) {
  std::unique_ptr<comm::NcclCommunicator> made =
      comm::layNcclOver(std::move(communicator), library, device, options);
  comm::NcclCommunicator &nccl = *made;
  // Done first, because the next line may throw.
  communicator = std::move(made);
  Status status = nccl.connect();
  if (!status.ok() && isOneOfMany)
    nccl.abort(status);
  return status;
}

Status engine::connectByNccl(
    std::vector<std::unique_ptr<comm::Communicator>> &communicators,
    const comm::NcclLibrary &library, std::span<cuda::Device *const> devices,
    comm::NcclOptions options, int64_t messageBytes) {
  options.ringBytes = ringBytesOf(messageBytes);
  return parallelFor(communicators.size(), [&](size_t i) {
    return connectOne(communicators[i], library, devices[i], options,
                      communicators.size() > 1);
  });
}

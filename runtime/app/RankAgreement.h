//===- RankAgreement.h - ranks agree before they load anything ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that are processes find out by themselves what device they have and how
// much memory that gives. The head's ledger of pages stands for all caches, and
// a token may not depend on which machines have a driver: so they compute all
// on GPUs or all on CPUs, and one whose cache differs ends.
//
// Each function is called by all ranks of the job, in the same order, before
// anything else is on the group lane. They wait for each other, a few minutes
// at most. Errors: the communication's; a rank that says nothing though it is
// alive; a message that is none of these, which is a rank of another version.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_RANKAGREEMENT_H
#define SLUICE_RUNTIME_APP_RANKAGREEMENT_H

#include "runtime/comm/Communicator.h"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

/// How long the head waits for what a rank says: a driver may take a minute to
/// start on a machine of many GPUs. The others come as much earlier than the
/// head and wait a little longer than it does, so that it is the one to say who
/// is missing.
constexpr std::chrono::seconds agreementPatience{120};
constexpr std::chrono::seconds headsLead{5};

/// Where a rank can compute.
struct DeviceFinding {
  bool gpu = false;
  /// Without a GPU, though the program has code for one: why; one line.
  std::string why;
};

/// Whether all ranks compute on GPUs: they do if all have found one. `note` is
/// given, on rank 0, the line that says which has not; it may be empty.
Expected<bool>
agreeOnGpus(comm::Communicator &comm, const DeviceFinding &own,
            const std::function<void(const std::string &)> &note,
            std::chrono::milliseconds patience = agreementPatience);

/// What ranks must have in common: names, fit to follow "its", and values.
using RankTerms = std::vector<std::pair<std::string, std::string>>;

/// Rank 0 tells its terms; error on each other rank that has others: which, and
/// what the head has.
Status compareTerms(comm::Communicator &comm, const RankTerms &own);

/// What each rank says goes to the head, in the ranks' order; what `decide`
/// makes of it there goes to all. An error of its is that of the head alone.
Expected<RankTerms> decideAtHead(
    comm::Communicator &comm, const RankTerms &own,
    const std::function<Expected<RankTerms>(std::span<const RankTerms>)>
        &decide);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_RANKAGREEMENT_H

//===- RankAgreement.h - agreement of ranks before they load --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes ranks in several processes agree before they load anything. Each finds
// its device and its memory by itself, but the head's ledger of pages stands
// for all caches, and a token must not depend on which machines have a driver.
// So all ranks compute on GPUs or all on CPUs, and a rank whose cache differs
// ends.
//
// All ranks of the job must call the functions in the same order, before
// anything else is sent on the group lane. The ranks wait for each other, at
// most for a few minutes. Errors: the communication fails, a rank is silent
// although it is alive, or a rank has another version of the program.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_RANKAGREEMENT_H
#define SLUICE_RUNTIME_ENGINE_RANKAGREEMENT_H

#include "runtime/comm/Communicator.h"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::engine {

/// How long the head waits for the message of a rank: a driver may take a
/// minute to start on a machine with many GPUs. Other ranks may arrive that
/// much before the head, and wait `headsLead` longer than it does, so that the
/// head is the rank that reports who is missing.
constexpr std::chrono::seconds agreementPatience{120};
constexpr std::chrono::seconds headsLead{5};

/// Whether a rank can compute on a GPU.
struct DeviceFinding {
  bool gpu = false;
  /// If the program has code for a GPU and the rank has none: why; one line.
  std::string why;
};

/// Returns whether all ranks compute on GPUs, which they do if all have found
/// one. If not, calls `note` on rank 0 with a line that names a rank without;
/// `note` may be empty.
Expected<bool>
agreeOnGpus(comm::Communicator &comm, const DeviceFinding &own,
            const std::function<void(const std::string &)> &note,
            std::chrono::milliseconds patience = agreementPatience);

/// Terms that must be the same on all ranks: names that can follow "its", and
/// values.
using RankTerms = std::vector<std::pair<std::string, std::string>>;

/// Compares the terms of all ranks with those of rank 0. Fails on each other
/// rank whose terms differ; the error names the term and the head's value.
Status compareTerms(comm::Communicator &comm, const RankTerms &own);

/// Sends the terms of all ranks to the head, which calls `decide` with them in
/// the order of ranks, and sends the result to all. An error of `decide` is
/// returned by the head only.
Expected<RankTerms> decideAtHead(
    comm::Communicator &comm, const RankTerms &own,
    const std::function<Expected<RankTerms>(std::span<const RankTerms>)>
        &decide);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_RANKAGREEMENT_H

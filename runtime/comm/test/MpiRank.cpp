//===- MpiRank.cpp - one rank of the conformance suite --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one rank's part of a case of the conformance suite:
//
//   mpirun -n N SluiceCommMpiTest CASE [emulated]
//
// It prints 'rank R: CASE: passed' and exits with 0, or prints the error and
// exits with 1.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/EmulatedLinks.h"
#include "runtime/comm/mpi/MpiCommunicator.h"
#include "runtime/comm/test/Conformance.h"

#include <cstdio>
#include <cstring>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

namespace {

using RunCase = Status (*)(Communicator &);

RunCase findCase(std::string_view name) {
  for (const ConformanceCase &each : conformanceCases())
    if (name == each.name)
      return each.run;
  for (const FailureCase &each : failureCases())
    if (name == each.name)
      return each.run;
  return nullptr;
}

int say(int64_t rank, const char *name, const Status &status) {
  std::printf("rank %lld: %s: %s\n", static_cast<long long>(rank), name,
              status.ok() ? "passed" : status.message().c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}

/// Checks that MPI finds the local rank and size that the launcher has set. If
/// the launcher has set none, all ranks must be on this machine.
Status checkPlace(const MpiLaunch &said, const MpiLaunch &found) {
  if (found.localRank == said.localRank.value_or(said.rank) &&
      found.localSize == said.localSize.value_or(said.size))
    return {};
  return failure("MPI says rank ", found.localRank.value_or(-1), " of ",
                 found.localSize.value_or(-1), " on this machine");
}

} // namespace

int main(int argc, char **argv) {
  RunCase run = argc >= 2 ? findCase(argv[1]) : nullptr;
  if (!run)
    return say(-1, "usage", failure("no such case"));
  Expected<std::optional<MpiLaunch>> launch = detectMpiLaunch();
  if (!launch)
    return say(-1, argv[1], launch.status());
  if (!*launch)
    return say(-1, argv[1], failure("not launched by MPI"));
  int64_t rank = (*launch)->rank;
  const MpiLaunch said = **launch;
  // Hide what the launcher has set, so that MPI is asked.
  (*launch)->localRank.reset();
  (*launch)->localSize.reset();
  Expected<std::unique_ptr<Communicator>> made = connectMpi(**launch);
  if (!made)
    return say(rank, argv[1], made.status());
  if (Status s = checkPlace(said, **launch); !s.ok())
    return say(rank, argv[1], s);
  std::unique_ptr<Communicator> comm = made.take();
  if (argc >= 3 && std::strcmp(argv[2], "emulated") == 0) {
    EmulatedLink link{std::chrono::microseconds(200), 1e9};
    std::vector<EmulatedLink> links(
        static_cast<size_t>(comm->size() * comm->size()), link);
    comm = emulateLinks(std::move(comm), std::move(links));
  }
  return say(rank, argv[1], run(*comm));
}

//===- CpuTeam.h - the threads that compute on a CPU ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_CPUTEAM_H
#define SLUICE_RUNTIME_ENGINE_CPUTEAM_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <memory>

namespace sluice::engine {

/// The settings of a thread pool.
struct CpuTeam {
  int64_t threads = 0;  ///< 0: one for each core of the share
  cpu::CoreShare share; ///< part of the process's cores
  cpu::Pinning pinning = cpu::Pinning::Off;
  /// False for all but one of several like teams, which would have the same
  /// problem.
  bool saysObstacle = true;

  int64_t threadCount() const;
  /// Returns the settings of part `index` of `count` parts that run at the same
  /// time.
  CpuTeam part(int64_t index, int64_t count) const;
  /// Makes the pool. If --cpu-pin asks for pinning that is impossible, writes a
  /// line to stderr.
  std::shared_ptr<cpu::ThreadPool> makePool() const;
};

/// Returns this rank's share of the processors that it may run on. All ranks
/// tell the head their processors and their machine. Must be called like the
/// functions of RankAgreement.h.
Expected<cpu::CoreShare> shareCores(comm::Communicator &comm,
                                    const cpu::Tenant &own);

/// Returns the processors in the form of taskset: "0-3,8".
std::string toText(const cpu::ProcessorSet &processors);
/// Parses the result of toText(). If the text is malformed or cut off, returns
/// the processors up to there.
cpu::ProcessorSet processorsOf(std::string_view text);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_CPUTEAM_H

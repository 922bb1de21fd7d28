//===- CpuTeam.h - the threads that compute -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_CPUTEAM_H
#define SLUICE_RUNTIME_APP_CPUTEAM_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <memory>

namespace sluice::app {

/// What the threads of a pool are to be.
struct CpuTeam {
  int64_t threads = 0;  ///< 0: one for each core of the share
  cpu::CoreShare share; ///< of this process's cores
  cpu::Pinning pinning = cpu::Pinning::Off;
  /// Teams of a process that are alike meet the same obstacle.
  bool saysObstacle = true;

  int64_t threadCount() const;
  /// Part `index` of `count` that run at the same time.
  CpuTeam part(int64_t index, int64_t count) const;
  /// Where --cpu-pin asks for pinned threads that cannot be, stderr has a line.
  std::shared_ptr<cpu::ThreadPool> makePool() const;
};

/// The part that this rank has of the processors that it may run on: each rank
/// says which they are and on which machine. As the functions of
/// RankAgreement.h.
Expected<cpu::CoreShare> shareCores(comm::Communicator &comm,
                                    const cpu::Tenant &own);

/// As taskset takes them: "0-3,8".
std::string toText(const cpu::ProcessorSet &processors);
/// Of a text that toText() has made; else, or where it has lost its end, of
/// what could be read.
cpu::ProcessorSet processorsOf(std::string_view text);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_CPUTEAM_H

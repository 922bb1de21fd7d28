//===- CopyBarriers.cpp - a block's barriers for bulk copies --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/CopyBarriers.h"

#include <algorithm>
#include <cstring>

namespace sluice::cuda::emulator {

namespace {

constexpr const char *noBarrier = "a barrier that is not initialised";
/// The limits of what a barrier can count.
constexpr uint32_t maxArrivals = (1 << 20) - 1;
constexpr int64_t maxBytes = (1 << 20) - 1;
constexpr uint8_t poison = 0xff;

bool isMultiple(const void *address, uintptr_t of) {
  return reinterpret_cast<uintptr_t>(address) % of == 0;
}

} // namespace

void CopyBarriers::Barrier::endPhaseIfComplete() {
  if (missing > 0 || bytes != 0)
    return;
  ++phase;
  missing = arrivals;
}

const char *CopyBarriers::initialise(void *barrier, uint32_t arrivals) {
  if (!isMultiple(barrier, 8))
    return "a barrier at an address that is not a multiple of 8";
  if (arrivals == 0 || arrivals > maxArrivals)
    return "a barrier for no arrivals, or for more than it can count";
  barriers[barrier] = {arrivals, arrivals};
  return nullptr;
}

const char *CopyBarriers::arrive(void *barrier, uint32_t bytes) {
  auto found = barriers.find(barrier);
  if (found == barriers.end())
    return noBarrier;
  Barrier &state = found->second;
  // After the last arrival, only bytes can be missing.
  if (state.missing == 0)
    return "more arrivals than a phase of the barrier has";
  state.bytes += bytes;
  if (state.bytes > maxBytes)
    return "more bytes are expected than a barrier can count";
  --state.missing;
  state.endPhaseIfComplete();
  return nullptr;
}

const char *CopyBarriers::copy(void *barrier, void *to, const void *from,
                               uint32_t bytes) {
  auto found = barriers.find(barrier);
  if (found == barriers.end())
    return noBarrier;
  if (!isMultiple(to, 16) || !isMultiple(from, 16) || bytes % 16 != 0)
    return "a bulk copy of addresses or bytes that are not multiples of 16";
  std::memset(to, poison, bytes);
  found->second.open.push_back({to, from, bytes});
  return nullptr;
}

const char *CopyBarriers::test(void *barrier, uint32_t parity, bool &ended,
                               uint64_t &copied) {
  auto found = barriers.find(barrier);
  if (found == barriers.end())
    return noBarrier;
  if (parity > 1)
    return "a parity that is neither 0 nor 1";
  Barrier &state = found->second;
  ended = state.phase % 2 != parity;
  if (ended)
    return nullptr;
  for (const Copy &copy : state.open) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    state.bytes -= copy.bytes;
    copied += copy.bytes;
  }
  state.open.clear();
  // The hardware allows bytes to come before the arrival that expects them. No
  // kernel needs that, and after the end of the phase they would count for the
  // next one.
  if (state.bytes < 0)
    return "more bytes have come than the phase of the barrier expects";
  state.endPhaseIfComplete();
  ended = state.phase % 2 != parity;
  return nullptr;
}

bool CopyBarriers::hasOpenCopies() const {
  return std::any_of(barriers.begin(), barriers.end(), [](const auto &each) {
    return !each.second.open.empty();
  });
}

} // namespace sluice::cuda::emulator

//===- WorkMeter.cpp - limits on the work of one request ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/WorkMeter.h"

#include <algorithm>

using namespace sluice;

WorkMeter::WorkMeter(Limits limits, Unwanted isUnwanted,
                     Clock::time_point (*now)())
    : limits(limits), isUnwanted(std::move(isUnwanted)), now(now),
      begin(now()) {}

/// Charges steps that reach the next reading of the clock.
bool WorkMeter::look(size_t steps) {
  if (ended != End::None)
    return false;
  size_t total = this->steps() + steps;
  if (total > limits.steps)
    ended = End::Steps;
  else if (now() - begin >= limits.time)
    ended = End::Time;
  else if (isUnwanted && isUnwanted())
    ended = End::Unwanted;
  untilLook = ended == End::None
                  ? std::min(stepsBetweenLooks, limits.steps - total)
                  : 0;
  looked = total + untilLook;
  return ended == End::None;
}

bool WorkMeter::hold(size_t bytes) {
  held += bytes;
  peak = std::max(peak, held);
  if (ended == End::None && held > limits.bytes) {
    ended = End::Bytes;
    looked -= untilLook;
    untilLook = 0;
  }
  return ended == End::None;
}

Status WorkMeter::status() const {
  switch (ended) {
  case End::None:
    break;
  case End::Steps:
    return failure("it takes more than ", limits.steps, " steps");
  case End::Bytes:
    return failure("it takes more than ", limits.bytes >> 20, " MiB of memory");
  case End::Time:
    return failure("it takes more than ",
                   std::chrono::duration<double>(limits.time).count(), " s");
  case End::Unwanted:
    return failure("nobody waits for it any more");
  }
  return {};
}

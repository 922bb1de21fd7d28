//===- TestStages.h - the test program's two stages -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs "main.s0" and "main.s1" of TestProgram.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_TEST_TESTSTAGES_H
#define SLUICE_RUNTIME_APP_TEST_TESTSTAGES_H

#include "runtime/program/test/TestModel.h"

namespace sluice::test {

/// Floats of a row of the second stage, which it receives.
constexpr int64_t secondRowFloats = hidden;

/// Returns the executable of testDescriptor() as two stages on one rank.
inline ExecutableDescriptor inStages(ExecutableDescriptor executable) {
  ProgramDescriptor first = executable.programs[0];
  first.name = "main.s0";
  first.hasOutput = false;
  first.outputFloats = first.logitsOffset = 0;
  first.checkpoints = 2;
  ProgramDescriptor second = executable.programs[0];
  second.name = "main.s1";
  second.firstLayer = first.layers;
  second.layers = 0;
  second.hasEmbedding = false;
  second.rowFloats = secondRowFloats;
  second.checkpoints = 1;
  second.caches.clear();
  second.weights = {first.weights.back()};
  first.weights.pop_back();
  executable.programs = {first, second};
  executable.plan = makeLocalPlan({first.name, second.name});
  return executable;
}

} // namespace sluice::test

#endif // SLUICE_RUNTIME_APP_TEST_TESTSTAGES_H

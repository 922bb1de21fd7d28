//===- ExecutorConformance.h - tests that every executor must pass --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conformance suite of step executors. A device brings a small model of its
// own; each case runs steps of it and compares their logits, bit for bit, with
// those of steps that compute a sequence alone.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_TEST_EXECUTORCONFORMANCE_H
#define SLUICE_RUNTIME_DEVICE_TEST_EXECUTORCONFORMANCE_H

#include "runtime/device/StepExecutor.h"

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

namespace sluice::device::test {

using ExecutorChain = std::vector<std::unique_ptr<StepExecutor>>;

/// A device's model. Its context has at least 80 tokens, its vocabulary at
/// least 16.
struct ExecutorSetup {
  int64_t vocabSize = 0;
  int64_t contextLength = 0;
  /// Makes executors of the model, with checkpoints: one of the whole, or those
  /// of two stages if the device can run stages by themselves.
  std::function<ExecutorChain(const StepLimits &limits, bool inStages)> make;
};

struct ExecutorCase {
  const char *name;
  /// Returns what is wrong, if anything is.
  Status (*run)(const ExecutorSetup &setup);
};

std::span<const ExecutorCase> executorCases();

/// Prints a case as gtest shows it when it fails.
inline std::ostream &operator<<(std::ostream &out, const ExecutorCase &which) {
  return out << which.name;
}

} // namespace sluice::device::test

#endif // SLUICE_RUNTIME_DEVICE_TEST_EXECUTORCONFORMANCE_H

//===- OracleGuesser.cpp - a draft that knows the answers -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/OracleGuesser.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

Status OracleGuesser::guess(Stage &stage, int64_t row, std::span<const float>,
                            std::vector<Candidate> &candidates) {
  std::span<const int32_t> output = stage.outputOf(row);
  PathKey path = target.begin(stage.promptOf(row));
  path.add(output);
  // After a wrong guess there is no true text; the target still says something.
  bool onPath = output.size() < truth.size() &&
                std::equal(output.begin(), output.end(), truth.begin());
  int32_t next =
      onPath ? truth[output.size()] : target.next(path, int64_t(truth.size()));
  draft.guess(path, next, count, candidates);
  return {};
}

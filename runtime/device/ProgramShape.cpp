//===- ProgramShape.cpp - the part of a program common to all devices -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/ProgramShape.h"

#include <limits>
#include <tuple>

namespace sluice::device {

Status checkRange(const char *what, int64_t value, int64_t min, int64_t max) {
  if (value < min || value > max)
    return failure("executor: ", what, ": ", value, " is not between ", min,
                   " and ", max);
  return {};
}

Status ProgramShape::checkSizes() const {
  constexpr int64_t max = int64_t{1} << 40;
  constexpr int64_t most32 = std::numeric_limits<int32_t>::max();
  const int64_t minOutput = hasOutput ? 1 : 0;
  const int64_t minVocab = hasOutput || hasEmbedding ? 1 : 0;
  const int64_t minHidden = hasOutput && hasEmbedding ? 0 : 1;
  for (auto [what, value, min, limit] :
       {std::tuple{"row floats", rowFloats, int64_t{1}, max},
        std::tuple{"output floats", outputFloats, minOutput, max},
        std::tuple{"logits offset", logitsOffset, int64_t{0}, max},
        std::tuple{"vocabulary", vocabSize, minVocab, most32},
        std::tuple{"context length", contextLength, int64_t{1}, most32},
        std::tuple{"hidden size", hiddenSize, minHidden, most32}})
    SLUICE_RETURN_IF_ERROR(checkRange(what, value, min, limit));
  if (hasOutput && logitsOffset + vocabSize > outputFloats)
    return failure("executor: logits end at ", logitsOffset + vocabSize, " of ",
                   outputFloats, " floats of an output");
  return {};
}

} // namespace sluice::device

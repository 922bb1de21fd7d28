//===- ProgramShape.cpp - what every target's program says of itself ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/ProgramShape.h"

#include <limits>
#include <tuple>

namespace sluice::device {

Status checkRange(const char *what, int64_t value, int64_t least,
                  int64_t most) {
  if (value < least || value > most)
    return failure("executor: ", what, ": ", value, " is not between ", least,
                   " and ", most);
  return {};
}

Status ProgramShape::checkSizes() const {
  constexpr int64_t most = int64_t{1} << 40;
  constexpr int64_t most32 = std::numeric_limits<int32_t>::max();
  const int64_t leastOutput = hasOutput ? 1 : 0;
  const int64_t leastVocab = hasOutput || hasEmbedding ? 1 : 0;
  const int64_t leastHidden = hasOutput && hasEmbedding ? 0 : 1;
  for (auto [what, value, least, limit] :
       {std::tuple{"row floats", rowFloats, int64_t{1}, most},
        std::tuple{"output floats", outputFloats, leastOutput, most},
        std::tuple{"logits offset", logitsOffset, int64_t{0}, most},
        std::tuple{"vocabulary", vocabSize, leastVocab, most32},
        std::tuple{"context length", contextLength, int64_t{1}, most32},
        std::tuple{"hidden size", hiddenSize, leastHidden, most32}})
    if (Status s = checkRange(what, value, least, limit); !s.ok())
      return s;
  if (hasOutput && logitsOffset + vocabSize > outputFloats)
    return failure("executor: logits end at ", logitsOffset + vocabSize, " of ",
                   outputFloats, " floats of an output");
  return {};
}

} // namespace sluice::device

//===- OracleGuesser.h - a draft that is told the answers -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A draft without a model, for measuring: it has been told what the target will
// say, and guesses it as often as one asks for.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_ORACLEGUESSER_H
#define SLUICE_RUNTIME_PIPELINE_ORACLEGUESSER_H

#include "runtime/pipeline/StepOutput.h"
#include "runtime/sim/Oracle.h"

namespace sluice::pipeline {

/// For one request, whose output is `truth`. A guess depends on the tokens
/// before it and the seed alone, so every schedule sees the same draft, and the
/// simulator too.
class OracleGuesser final : public Guesser {
public:
  OracleGuesser(uint64_t seed, int64_t vocabSize, double acceptance,
                int64_t count, std::vector<int32_t> truth)
      : target(seed, int32_t(vocabSize), truth),
        draft(seed, int32_t(vocabSize), acceptance,
              sim::Confidence::Calibrated),
        truth(std::move(truth)), count(count) {}

  Status guess(Stage &stage, int64_t row, std::span<const float> logits,
               std::vector<Candidate> &candidates) override;

private:
  sim::OracleTarget target;
  sim::OracleDraft draft;
  std::vector<int32_t> truth;
  int64_t count;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_ORACLEGUESSER_H

//===- OracleGuesser.h - a draft that knows the answers -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A draft without a model, for measurements: it knows what the target will
// answer and guesses it with a given probability.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_ORACLEGUESSER_H
#define SLUICE_RUNTIME_ENGINE_ORACLEGUESSER_H

#include "runtime/oracle/Oracle.h"
#include "runtime/pipeline/StepOutput.h"

namespace sluice::engine {

/// Guesses for one request whose output is `truth`. A guess depends only on the
/// tokens before it and the seed, so every schedule, and the simulator, sees
/// the same draft.
class OracleGuesser final : public pipeline::Guesser {
public:
  OracleGuesser(uint64_t seed, int64_t vocabSize, double acceptance,
                int64_t count, std::vector<int32_t> truth)
      : target(seed, int32_t(vocabSize), truth),
        draft(seed, int32_t(vocabSize), acceptance,
              OracleConfidence::Calibrated),
        truth(std::move(truth)), count(count) {}

  Status guess(Stage &stage, int64_t row, std::span<const float> logits,
               std::vector<Candidate> &candidates) override;

private:
  OracleTarget target;
  OracleDraft draft;
  std::vector<int32_t> truth;
  int64_t count;
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_ORACLEGUESSER_H

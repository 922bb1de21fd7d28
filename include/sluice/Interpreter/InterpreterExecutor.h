//===- InterpreterExecutor.h - the interpreter as an executor -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the steps of a head and its stage with the interpreter, so that a
// module of any phase generates tokens by the same loop as an executable.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_INTERPRETEREXECUTOR_H
#define SLUICE_INTERPRETER_INTERPRETEREXECUTOR_H

#include "runtime/device/StepExecutor.h"
#include "sluice/Interpreter/Interpreter.h"

namespace sluice::interpreter {

/// An executor of a whole model. Every output has logits, whatever a step asks
/// for. Allocates memory in each step.
class InterpreterExecutor final : public device::StepExecutor {
public:
  /// The interpreter must outlive the executor, which uses its caches alone.
  /// Zeros in `limits` are not replaced.
  InterpreterExecutor(Interpreter &interpreter,
                      const device::StepLimits &limits);

  bool hasEmbedding() const override { return true; }
  bool hasOutput() const override { return true; }
  int64_t vocabSize() const override { return bounds.vocabSize; }
  /// Returns 0, since no activations come in or go out.
  int64_t hiddenSize() const override { return 0; }
  int64_t outputLimit() const override { return bounds.limits.outputs; }
  Status execute(const device::StepInput &input) override;
  std::span<const float> logits(int64_t output) const override {
    return results.row(output);
  }

private:
  Interpreter &interpreter;
  device::StepBounds bounds;
  RowData results; ///< the logits of the last step's outputs
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_INTERPRETEREXECUTOR_H

//===- StepRunner.h - runner of a compiled model's steps ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H
#define SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H

#include "StubRuntime.h"

#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace sluice::test {

/// Returns numbers between -scale and scale that depend only on `seed`.
std::vector<float> makeValues(int64_t count, unsigned seed, float scale = 1.0f);

/// A just-in-time compiled module of the phase kernels.
class Jit {
public:
  /// Lowers and compiles the module. An error ends the test program.
  explicit Jit(mlir::ModuleOp kernels);

  template <typename Function> Function *lookup(const char *name) {
    return reinterpret_cast<Function *>(find(name));
  }

private:
  void *find(const char *name);
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

/// Returns a context with the dialects of all phases.
mlir::MLIRContext &getContext();

/// Returns the ops of a test module's weights. `weights` has a line "name:
/// type" for each weight, such as "w: 64xf32" or "m: 8x64x!sluice.block<q8_0>".
std::string makeWeightOps(std::string_view weights);
/// Returns the attributes of a test module's model or pipeline.
std::string makeModelAttributes(int64_t vocabSize);

/// Executes the steps of a model, or of a pipeline's programs one after the
/// other, with the stub runtime. The values of a weight are made from its name.
class StepRunner {
public:
  /// `weights` has the form of makeWeightOps()'s. `body` is the text of the
  /// model's body, whose batch is %batch. The model's logits are `width` wide.
  StepRunner(std::string_view weights, std::string_view body, int64_t width,
             ir::CpuLevel level);
  /// `module` has one model, or is of phase program.
  StepRunner(std::string_view module, int64_t width, ir::CpuLevel level);

  /// Returns the values of a weight.
  const std::vector<float> &getWeight(const std::string &name) const {
    return values.at(name).values;
  }
  const Matrix &getMatrix(const std::string &name) const {
    return values.at(name);
  }

  /// Runs a step and returns logits[output][width]. Caches keep the rows of
  /// earlier steps. `deaths` holds the sequences that die before each
  /// checkpoint, with checkpoints counted over all programs.
  std::vector<float>
  run(std::vector<Row> rows, int64_t threads = 1,
      const std::map<int64_t, std::set<int64_t>> &deaths = {});

  /// Returns the sequences of the last step's outputs, in their order.
  std::vector<int64_t> getOutputSequences() const;
  /// Returns the number of checkpoints of a step in which no row dies.
  int64_t countCheckpoints() const;

  /// Clears all caches.
  void reset();

private:
  struct Program {
    std::string step;
    int64_t rowFloats = 0, outputFloats = 0, logitsOffset = 0;
    int64_t hiddenSize = 0, checkpoints = 0;
    bool hasOutput = true;
    SluiceStep state;
  };
  void lower(std::string_view text, ir::CpuLevel level);
  Program readProgram(mlir::ModuleOp module, ir::ProgramOp op);
  std::vector<float> runProgram(Program &program, int64_t threads);

  int64_t width;
  std::map<std::string, Matrix> values;
  std::vector<Program> programs;
  std::unique_ptr<Jit> jit;
};

/// The levels for which code is tested. The just-in-time compiled code runs on
/// any CPU.
inline const ir::CpuLevel allLevels[] = {ir::CpuLevel::Avx2,
                                         ir::CpuLevel::Avx512};

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H

//===- StepRunner.h - compiles a model and runs steps of it ---------------===//
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

/// Numbers between -scale and scale that depend on `seed` alone.
std::vector<float> makeValues(int64_t count, unsigned seed, float scale = 1.0f);

/// A just-in-time compiled module of the phase kernels.
class Jit {
public:
  /// Lowers and compiles the module; fails the test on an error.
  explicit Jit(mlir::ModuleOp kernels);

  template <typename Function> Function *lookup(const char *name) {
    return reinterpret_cast<Function *>(find(name));
  }

private:
  void *find(const char *name);
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

/// A context with the dialects of all phases.
mlir::MLIRContext &getContext();

/// The modules of tests: a model, or workers of a pipeline. `weights` is a line
/// "name: type" for each weight, e.g. "w: 64xf32" or
/// "m: 8x64x!sluice.block<q8_0>".
std::string makeWeightOps(std::string_view weights);
/// `attributes` of the model, or of the pipeline that stands for it.
std::string makeModelAttributes(int64_t vocabSize);

/// A model whose steps are executed with the stub runtime, or the programs of a
/// pipeline, one after the other. Weights get values made from their names.
class StepRunner {
public:
  /// `weights` as makeWeightOps takes them; `body` the text of the model's
  /// body, whose batch is %batch. The model's logits are `width` wide.
  StepRunner(std::string_view weights, std::string_view body, int64_t width,
             ir::CpuLevel level);
  /// A module of one model, or of phase program.
  StepRunner(std::string_view module, int64_t width, ir::CpuLevel level);

  /// The values of a weight.
  const std::vector<float> &getWeight(const std::string &name) const {
    return values.at(name).values;
  }
  const Matrix &getMatrix(const std::string &name) const {
    return values.at(name);
  }

  /// Runs a step. Returns logits[output][width]. Caches keep what earlier steps
  /// have appended. `deaths` says which sequences die before each checkpoint,
  /// counted over all programs.
  std::vector<float>
  run(std::vector<Row> rows, int64_t threads = 1,
      const std::map<int64_t, std::set<int64_t>> &deaths = {});

  /// The sequences of the outputs of the last step, in their order.
  std::vector<int64_t> getOutputSequences() const;
  /// The checkpoints that a step passes in which nothing dies.
  int64_t countCheckpoints() const;

  /// Forgets all caches.
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

/// The levels that code is tested with; LLVM makes do on any CPU.
inline const ir::CpuLevel allLevels[] = {ir::CpuLevel::Avx2,
                                         ir::CpuLevel::Avx512};

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H

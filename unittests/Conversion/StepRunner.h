//===- StepRunner.h - runner of a compiled model's steps ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H
#define SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H

#include "runtime/core/CachePages.h"
#include "runtime/device/cpu/CpuExecutor.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace sluice::test {

/// A weight as float32: values[row][col]; a vector has one row. Those of a
/// quantised weight are what its blocks hold.
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  bool isQuantized = false; // takes quantised activations
  bool isTransposed = false;
  std::vector<float> values;
};

struct TestRow {
  int64_t sequence = 0;
  int64_t position = 0;
  int64_t token = 0;
  bool isOutput = true;
};

constexpr int64_t maxSequences = 32;
constexpr int64_t maxPositions = 64;
constexpr int64_t maxRows = 64; // of a step

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

/// A model whose steps the CPU's executor runs, or the programs of a pipeline,
/// one after the other. Weights get values made from their names.
class StepRunner {
public:
  /// `weights` has the form of makeWeightOps()'s. `body` is the text of the
  /// model's body, whose batch is %batch. The model's logits are `width` wide.
  StepRunner(std::string_view weights, std::string_view body, int64_t width,
             ir::CpuLevel level);
  /// `module` has one model, or is of phase program.
  StepRunner(std::string_view module, int64_t width, ir::CpuLevel level);
  ~StepRunner();

  /// Returns the values of a weight.
  const std::vector<float> &getWeight(const std::string &name) const {
    return values.at(name).values;
  }
  const Matrix &getMatrix(const std::string &name) const {
    return values.at(name);
  }

  /// Runs a step; the rows of a sequence come in order. Returns
  /// logits[output][width]. Caches keep what earlier steps have appended.
  /// `deaths` says which sequences die before each checkpoint, counted over all
  /// programs.
  std::vector<float>
  run(const std::vector<TestRow> &rows,
      const std::map<int64_t, std::set<int64_t>> &deaths = {});

  /// Returns the sequences of the last step's outputs, in their order.
  std::vector<int64_t> getOutputSequences() const;
  /// The checkpoints that a step passes in which nothing dies.
  int64_t countCheckpoints() const { return checkpoints; }

  /// Forgets all caches. Later steps run on so many threads.
  void reset(int64_t threads = 1);

private:
  void lower(std::string_view text, ir::CpuLevel level);
  void readProgram(mlir::ModuleOp module, ir::ProgramOp op);
  cpu::CpuWeight makeWeight(mlir::ModuleOp module, ir::WeightUseAttr use);
  uint8_t *allocate(uint64_t bytes);
  void fillBatch(const std::vector<TestRow> &rows);

  int64_t width;
  int64_t checkpoints = 0;
  std::map<std::string, Matrix> values;
  std::list<std::unique_ptr<uint8_t[]>> storage; // of weights
  std::vector<cpu::CpuProgram> programs;
  std::unique_ptr<Jit> jit;

  std::optional<CachePages> pages;
  std::vector<std::unique_ptr<cpu::CpuExecutor>> executors; // of the programs
  StepBatch batch{maxRows, maxRows};
};

/// The levels for which code is tested. The just-in-time compiled code runs on
/// any CPU.
inline const ir::CpuLevel allLevels[] = {ir::CpuLevel::Avx2,
                                         ir::CpuLevel::Avx512};

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_CONVERSION_STEPRUNNER_H

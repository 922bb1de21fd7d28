//===- GraphEmitter.h - the list of a step ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_GRAPHEMITTER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_GRAPHEMITTER_H

#include "DeviceKernels.h"
#include "GreedyTokens.h"
#include "lib/Conversion/StepPlanning/AttentionParameters.h"
#include "lib/Conversion/StepPlanning/StepLayout.h"

namespace sluice::tocuda {

/// What the programs of a module have in common.
struct SharedCode {
  SharedCode(mlir::ModuleOp module, mlir::gpu::GPUModuleOp kernelModule)
      : symbols(module), kernels(kernelModule), attention(symbols) {}

  mlir::SymbolTable symbols;
  KernelModule kernels;
  AttentionParameters attention;
};

/// Emits a step's `sluice.graph`.
class GraphEmitter {
public:
  /// `greedyParts`: that of addGreedyParts().
  GraphEmitter(SharedCode &shared, const StepGraph &graph,
               const StepSchedule &schedule, const StepLayout &layout,
               std::optional<unsigned> greedyParts)
      : shared(shared), graph(graph), schedule(schedule), layout(layout),
        greedyParts(greedyParts),
        kernels(shared.kernels, graph, schedule, weights) {}

  void emit(mlir::Location loc, llvm::StringRef name);

  const WeightUses &getWeights() const { return weights; }
  /// Launches of generated kernels.
  unsigned getLaunches() const { return launches; }

private:
  void markLayer(mlir::ImplicitLocOpBuilder &b, ir::LayerOp op);
  void emitTask(mlir::ImplicitLocOpBuilder &b, const Task &task);
  void emitRowLoop(mlir::ImplicitLocOpBuilder &b, const Task &task);
  void emitCall(mlir::ImplicitLocOpBuilder &b, const Node &node);
  void emitLinear(mlir::ImplicitLocOpBuilder &b, const Node &node);
  void emitGatedLinear(mlir::ImplicitLocOpBuilder &b, const Node &node);
  mlir::Value getBias(mlir::ImplicitLocOpBuilder &b, ir::LinearOp product);
  void emitMeeting(mlir::ImplicitLocOpBuilder &b, const Node &node);
  void emitCheckpoint(mlir::ImplicitLocOpBuilder &b, const Node &node);
  void emitGreedyTokens(mlir::ImplicitLocOpBuilder &b);
  void launch(mlir::ImplicitLocOpBuilder &b, mlir::gpu::GPUFuncOp kernel,
              Domain domain, RowShape shape, mlir::ValueRange words);
  /// `part`: floats of a record that come before what is wanted of it.
  mlir::Value getBuffer(mlir::ImplicitLocOpBuilder &b, unsigned buffer,
                        int64_t part = 0);
  mlir::Value getMemory(mlir::ImplicitLocOpBuilder &b, ir::GraphMemory memory,
                        std::optional<int64_t> index = std::nullopt);
  mlir::Value getCount(mlir::ImplicitLocOpBuilder &b, Domain domain);
  mlir::Value getParameter(mlir::ImplicitLocOpBuilder &b,
                           KernelParameter parameter, Domain domain);

  SharedCode &shared;
  const StepGraph &graph;
  const StepSchedule &schedule;
  const StepLayout &layout;
  std::optional<unsigned> greedyParts;
  WeightUses weights;
  DeviceKernels kernels;
  unsigned launches = 0;
  bool hasOutputs = false; // they have been numbered
  mlir::IntegerAttr layer; // that the list is at; null: it is at none
  llvm::DenseMap<std::pair<unsigned, int64_t>, mlir::Value> buffers;
  llvm::DenseMap<std::pair<unsigned, int64_t>, mlir::Value> memories;
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_GRAPHEMITTER_H

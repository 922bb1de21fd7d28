//===- GraphEmitter.h - the emitter of a step's launches ------------------===//
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

namespace sluice::tocuda {

/// The state that the programs of a module share.
struct CudaModuleCode {
  CudaModuleCode(mlir::ModuleOp module, mlir::gpu::GPUModuleOp kernelModule)
      : symbols(module), kernels(kernelModule), attention(symbols) {}

  mlir::SymbolTable symbols;
  KernelModule kernels;
  AttentionParameters attention;
};

/// Emits a step's `sluice.graph`.
class GraphEmitter {
public:
  GraphEmitter(CudaModuleCode &shared, ir::StepOp planned)
      : shared(shared), planned(planned), kernels(shared.kernels, weights) {}

  void emit(llvm::StringRef name);

  const WeightUses &getWeights() const { return weights; }
  /// Returns the number of launches of generated kernels.
  unsigned getLaunches() const { return launches; }

private:
  void markLayer(mlir::ImplicitLocOpBuilder &b, std::optional<int64_t> index);
  void emitTask(mlir::ImplicitLocOpBuilder &b, ir::TaskInterface task);
  void emitRowLoop(mlir::ImplicitLocOpBuilder &b, ir::TaskRowsOp loop);
  void emitRuntimeRows(mlir::ImplicitLocOpBuilder &b, ir::TaskRowsOp loop);
  void emitProduct(mlir::ImplicitLocOpBuilder &b, ir::TaskProductOp task);
  void emitAppend(mlir::ImplicitLocOpBuilder &b, ir::TaskAppendOp task);
  void emitAttend(mlir::ImplicitLocOpBuilder &b, ir::TaskAttendOp task);
  void emitExchange(mlir::ImplicitLocOpBuilder &b, ir::TaskExchangeOp task);
  void emitCheckpoint(mlir::ImplicitLocOpBuilder &b, ir::TaskCheckpointOp task);
  void emitSample(mlir::ImplicitLocOpBuilder &b, ir::TaskSampleOp task);
  void launch(mlir::ImplicitLocOpBuilder &b, mlir::gpu::GPUFuncOp kernel,
              ir::ValueDomain domain, RowShape shape, mlir::ValueRange words);
  /// `part` is an offset in floats from the start of the buffer's records.
  mlir::Value getBuffer(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer,
                        int64_t part = 0);
  mlir::Value getMemory(mlir::ImplicitLocOpBuilder &b, ir::GraphMemory memory,
                        std::optional<int64_t> index = std::nullopt);
  mlir::Value getCount(mlir::ImplicitLocOpBuilder &b, ir::ValueDomain domain);
  mlir::Value getParameter(mlir::ImplicitLocOpBuilder &b,
                           KernelParameter parameter, ir::ValueDomain domain);
  mlir::Value getBias(mlir::ImplicitLocOpBuilder &b, mlir::Value vector);

  CudaModuleCode &shared;
  ir::StepOp planned;
  WeightUses weights;
  DeviceKernels kernels;
  unsigned launches = 0;
  bool hasOutputs = false;      // they have been selected
  std::optional<int64_t> layer; // the layer of the latest task
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> buffers;
  llvm::DenseMap<std::pair<unsigned, int64_t>, mlir::Value> memories;
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_GRAPHEMITTER_H

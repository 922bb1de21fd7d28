//===- GraphReplay.h - a step of the IR as a graph of the runtime ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_TARGET_GRAPHREPLAY_H
#define SLUICE_LIB_TARGET_GRAPHREPLAY_H

#include "runtime/device/cuda/SluiceGraph.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/DenseMap.h"

namespace sluice {

/// Appends the work of a `sluice.graph` to a graph of the runtime, op by op and
/// with the calls that --sluice-lower-graphs would emit. So the nodes that the
/// runtime makes of each op are known without code or a device. If the runtime
/// refuses an op, the SluiceGraph keeps the error.
class GraphReplay {
public:
  /// Both arguments must outlive the object.
  GraphReplay(const mlir::SymbolTable &symbols, SluiceGraph &graph)
      : symbols(symbols), graph(graph) {}

  /// Appends the next op. Call it with the ops of one `sluice.graph`, in their
  /// order. Fails on attention whose parameters cannot be read.
  Status append(mlir::Operation &op);

private:
  void appendAddress(ir::GraphAddressOp op);
  void appendLaunch(ir::LaunchKernelOp op);
  void appendLinear(ir::GraphLinearOp op);
  Status appendAttend(ir::GraphAttendOp op);
  void appendCheckpoint(ir::GraphCheckpointOp op);

  /// Returns the address of a value, or null for a null value.
  template <typename T> T *at(mlir::Value address) const {
    return static_cast<T *>(addresses.lookup(address));
  }

  const mlir::SymbolTable &symbols;
  SluiceGraph &graph;
  llvm::DenseMap<mlir::Value, void *> addresses;
};

} // namespace sluice

#endif // SLUICE_LIB_TARGET_GRAPHREPLAY_H

//===- RuntimeCalls.h - calls of the runtime ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of runtime/device/cpu/CpuProgramABI.h as emitted code calls
// them; that header says what each does and what it waits for.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_RUNTIMECALLS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace sluice::tocpu {

/// The values that every call within a function needs. Rows, outputs, thread
/// and threads are i64, the pointers !llvm.ptr.
struct StepArguments {
  mlir::Value step, rows, outputs, arena, rowCapacity, outputCapacity, thread,
      threads;
};

/// Emits calls and declares what they call. Numbers of weights, tables and
/// caches are i64 values; begin and end are i64.
class RuntimeCalls {
public:
  /// The signature of a step function, also its arguments' order.
  static mlir::FunctionType getStepType(mlir::MLIRContext *context);

  explicit RuntimeCalls(mlir::SymbolTable &symbols) : symbols(symbols) {}

  void barrier(mlir::ImplicitLocOpBuilder &b, const StepArguments &step);
  /// How many rows live, and how many outputs are among them.
  mlir::Value checkpoint(mlir::ImplicitLocOpBuilder &b,
                         const StepArguments &step);
  mlir::Value outputs(mlir::ImplicitLocOpBuilder &b, const StepArguments &step);
  /// Records of `floats` floats, one for each row or, `ofOutputs`, each output.
  void moveRows(mlir::ImplicitLocOpBuilder &b, const StepArguments &step,
                mlir::Value x, int64_t floats, bool ofOutputs);
  void receiveRows(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                   mlir::Value h, int64_t cols, mlir::Value begin,
                   mlir::Value end);
  void sendRows(mlir::ImplicitLocOpBuilder &b, mlir::Value step, mlir::Value h,
                int64_t cols, mlir::Value begin, mlir::Value end);
  mlir::Value vector(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                     mlir::Value weight);
  void embed(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
             mlir::Value weight, bool byPosition, mlir::Value out,
             mlir::Value begin, mlir::Value end);
  void quantizeRows(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                    mlir::Value x, mlir::Value q, int64_t cols,
                    mlir::Value begin, mlir::Value end);
  void ropeTable(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                 mlir::Value table, mlir::Value cosSin, mlir::Value begin,
                 mlir::Value end);
  void selectOutputs(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                     mlir::Value h, mlir::Value out, int64_t cols,
                     mlir::Value begin, mlir::Value end);
  /// Of the output columns [firstColumn, endColumn).
  void linear(mlir::ImplicitLocOpBuilder &b, const StepArguments &step,
              mlir::Value weight, mlir::Value x, mlir::Value bias,
              mlir::Value y, int64_t firstColumn, int64_t endColumn,
              mlir::Value rows);
  void append(mlir::ImplicitLocOpBuilder &b, const StepArguments &step,
              mlir::Value cache, mlir::Value k, mlir::Value v);
  void attend(mlir::ImplicitLocOpBuilder &b, const StepArguments &step,
              mlir::Value cache, mlir::Value q, mlir::Value k, mlir::Value v,
              mlir::Value out, mlir::Value parameters);

  /// `gathers`: side by side, of parts `partCols` wide; else their sum.
  void meet(mlir::ImplicitLocOpBuilder &b, const StepArguments &step,
            bool gathers, mlir::Value x, mlir::Value y, mlir::Value scratch,
            int64_t partCols, int64_t cols, mlir::Value rows);

private:
  mlir::func::CallOp call(mlir::ImplicitLocOpBuilder &b, llvm::StringRef name,
                          mlir::TypeRange results, mlir::ValueRange operands);

  mlir::SymbolTable &symbols;
};

/// An i64 constant.
mlir::Value makeNumber(mlir::ImplicitLocOpBuilder &b, int64_t value);

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_RUNTIMECALLS_H

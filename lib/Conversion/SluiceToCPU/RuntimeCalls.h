//===- RuntimeCalls.h - calls of the runtime ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits calls of the functions of runtime/device/cpu/CpuProgramABI.h. That
// header says what each function does.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_RUNTIMECALLS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace sluice::tocpu {

/// The range of rows of a call; both bounds are i64.
struct RowRange {
  mlir::Value begin, end;
};

/// Emits calls, and declares the functions. The step, tables and memory are
/// pointers.
class RuntimeCalls {
public:
  explicit RuntimeCalls(mlir::SymbolTable &symbols) : symbols(symbols) {}

  void receiveRows(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                   mlir::Value h, int64_t cols, RowRange rows);
  void sendRows(mlir::ImplicitLocOpBuilder &b, mlir::Value step, mlir::Value h,
                int64_t cols, RowRange rows);
  void embed(mlir::ImplicitLocOpBuilder &b, mlir::Value step, mlir::Value table,
             bool byPosition, mlir::Value out, RowRange rows);
  void quantizeRows(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                    mlir::Value x, mlir::Value q, int64_t cols, RowRange rows);
  void ropeTable(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                 mlir::Value table, mlir::Value cosSin, RowRange rows);
  void selectOutputs(mlir::ImplicitLocOpBuilder &b, mlir::Value step,
                     mlir::Value h, mlir::Value out, int64_t cols,
                     RowRange outputs);

private:
  void call(mlir::ImplicitLocOpBuilder &b, llvm::StringRef name,
            mlir::ValueRange operands);

  mlir::SymbolTable &symbols;
};

/// Returns an i64 constant.
mlir::Value makeNumber(mlir::ImplicitLocOpBuilder &b, int64_t value);

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_RUNTIMECALLS_H

//===- RuntimeCalls.cpp - calls of the runtime ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "lib/Conversion/KernelsToLLVM/RuntimeFunctions.h"
#include "runtime/device/cpu/CpuProgramABI.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::tocpu;

static_assert(SLUICE_ABI_VERSION == 8, "read CpuProgramABI.h again");

Value sluice::tocpu::makeNumber(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, /*width=*/64);
}

void RuntimeCalls::call(ImplicitLocOpBuilder &b, StringRef name,
                        ValueRange operands) {
  callRuntime(b, symbols, name, {}, operands);
}

void RuntimeCalls::receiveRows(ImplicitLocOpBuilder &b, Value step, Value h,
                               int64_t cols, RowRange rows) {
  call(b, "sluice_receive_rows",
       {step, h, makeNumber(b, cols), rows.begin, rows.end});
}

void RuntimeCalls::sendRows(ImplicitLocOpBuilder &b, Value step, Value h,
                            int64_t cols, RowRange rows) {
  call(b, "sluice_send_rows",
       {step, h, makeNumber(b, cols), rows.begin, rows.end});
}

void RuntimeCalls::embed(ImplicitLocOpBuilder &b, Value step, Value table,
                         bool byPosition, Value out, RowRange rows) {
  Value by = arith::ConstantIntOp::create(b, byPosition, /*width=*/32);
  call(b, "sluice_embed", {step, table, by, out, rows.begin, rows.end});
}

void RuntimeCalls::quantizeRows(ImplicitLocOpBuilder &b, Value step, Value x,
                                Value q, int64_t cols, RowRange rows) {
  call(b, "sluice_quantize_rows",
       {step, x, q, makeNumber(b, cols), rows.begin, rows.end});
}

void RuntimeCalls::ropeTable(ImplicitLocOpBuilder &b, Value step, Value table,
                             Value cosSin, RowRange rows) {
  call(b, "sluice_rope_table", {step, table, cosSin, rows.begin, rows.end});
}

void RuntimeCalls::selectOutputs(ImplicitLocOpBuilder &b, Value step, Value h,
                                 Value out, int64_t cols, RowRange outputs) {
  call(b, "sluice_select_outputs",
       {step, h, out, makeNumber(b, cols), outputs.begin, outputs.end});
}

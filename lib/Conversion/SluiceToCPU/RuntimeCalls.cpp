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
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sluice::tocpu;

static_assert(SLUICE_ABI_VERSION == 6, "read ProgramABI.h again");

Value sluice::tocpu::makeNumber(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, /*width=*/64);
}

FunctionType RuntimeCalls::getStepType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = IntegerType::get(context, 64);
  return FunctionType::get(
      context, {pointer, i64, i64, pointer, i64, i64, i64, i64}, {});
}

func::CallOp RuntimeCalls::call(ImplicitLocOpBuilder &b, StringRef name,
                                TypeRange results, ValueRange operands) {
  return callRuntime(b, symbols, name, results, operands);
}

void RuntimeCalls::barrier(ImplicitLocOpBuilder &b, const StepArguments &step) {
  call(b, "sluice_barrier", {}, {step.step, step.thread});
}

Value RuntimeCalls::checkpoint(ImplicitLocOpBuilder &b,
                               const StepArguments &step) {
  return call(b, "sluice_checkpoint", b.getI64Type(), {step.step, step.thread})
      .getResult(0);
}

Value RuntimeCalls::outputs(ImplicitLocOpBuilder &b,
                            const StepArguments &step) {
  return call(b, "sluice_outputs", b.getI64Type(), {step.step}).getResult(0);
}

void RuntimeCalls::moveRows(ImplicitLocOpBuilder &b, const StepArguments &step,
                            Value x, int64_t floats, bool ofOutputs) {
  call(b, ofOutputs ? "sluice_move_outputs" : "sluice_move_rows", {},
       {step.step, x, makeNumber(b, floats), step.thread, step.threads});
}

void RuntimeCalls::receiveRows(ImplicitLocOpBuilder &b, Value step, Value h,
                               int64_t cols, Value begin, Value end) {
  call(b, "sluice_receive_rows", {},
       {step, h, makeNumber(b, cols), begin, end});
}

void RuntimeCalls::sendRows(ImplicitLocOpBuilder &b, Value step, Value h,
                            int64_t cols, Value begin, Value end) {
  call(b, "sluice_send_rows", {}, {step, h, makeNumber(b, cols), begin, end});
}

Value RuntimeCalls::vector(ImplicitLocOpBuilder &b, Value step, Value weight) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  return call(b, "sluice_vector", pointer, {step, weight}).getResult(0);
}

void RuntimeCalls::embed(ImplicitLocOpBuilder &b, Value step, Value weight,
                         bool byPosition, Value out, Value begin, Value end) {
  Value by = arith::ConstantIntOp::create(b, byPosition, /*width=*/32);
  call(b, "sluice_embed", {}, {step, weight, by, out, begin, end});
}

void RuntimeCalls::quantizeRows(ImplicitLocOpBuilder &b, Value step, Value x,
                                Value q, int64_t cols, Value begin, Value end) {
  call(b, "sluice_quantize_rows", {},
       {step, x, q, makeNumber(b, cols), begin, end});
}

void RuntimeCalls::ropeTable(ImplicitLocOpBuilder &b, Value step, Value table,
                             Value cosSin, Value begin, Value end) {
  call(b, "sluice_rope_table", {}, {step, table, cosSin, begin, end});
}

void RuntimeCalls::selectOutputs(ImplicitLocOpBuilder &b, Value step, Value h,
                                 Value out, int64_t cols, Value begin,
                                 Value end) {
  call(b, "sluice_select_outputs", {},
       {step, h, out, makeNumber(b, cols), begin, end});
}

void RuntimeCalls::linear(ImplicitLocOpBuilder &b, const StepArguments &step,
                          Value weight, Value x, Value bias, Value y,
                          int64_t firstColumn, int64_t endColumn, Value rows) {
  call(b, "sluice_linear", {},
       {step.step, weight, x, bias, y, makeNumber(b, firstColumn),
        makeNumber(b, endColumn), rows, step.thread, step.threads});
}

void RuntimeCalls::append(ImplicitLocOpBuilder &b, const StepArguments &step,
                          Value cache, Value k, Value v) {
  call(b, "sluice_append", {},
       {step.step, cache, k, v, step.rows, step.thread, step.threads});
}

void RuntimeCalls::attend(ImplicitLocOpBuilder &b, const StepArguments &step,
                          Value cache, Value q, Value k, Value v, Value out,
                          Value parameters) {
  call(b, "sluice_attend", {},
       {step.step, cache, q, k, v, out, parameters, step.rows, step.thread,
        step.threads});
}

void RuntimeCalls::meet(ImplicitLocOpBuilder &b, const StepArguments &step,
                        bool gathers, Value x, Value y, Value scratch,
                        int64_t partCols, int64_t cols, Value rows) {
  SmallVector<Value> operands = {step.step, x, y, scratch};
  if (gathers)
    operands.push_back(makeNumber(b, partCols));
  operands.append({makeNumber(b, cols), rows, step.thread});
  call(b, gathers ? "sluice_all_gather" : "sluice_all_reduce", {}, operands);
}

//===- RowKernels.cpp - the functions of row loops ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernels.h"

#include "lib/Conversion/SluiceToNative/TaskSignature.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::native;
using namespace sluice::planning;
using namespace sluice::tocpu;

func::FuncOp RowKernels::get(TaskRowsOp loop, int64_t lanes) {
  std::string signature = std::to_string(lanes) + " " + getSignature(loop);
  func::FuncOp &function = kernels[signature];
  if (!function)
    function = create(loop, lanes);
  return function;
}

/// Loads the pointers of the operands from `arguments`. Memory also gets a view
/// with rows and columns.
static RowOperands bindOperands(ImplicitLocOpBuilder &b, TaskRowsOp loop,
                                Value step, Value arguments, Value end) {
  RowOperands operands;
  operands.step = step;
  Type pointerType = LLVM::LLVMPointerType::get(b.getContext());
  for (auto [number, operand] : llvm::enumerate(loop->getOperands())) {
    Value place = LLVM::GEPOp::create(
        b, pointerType, pointerType, arguments,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
    Value pointer = LLVM::LoadOp::create(b, pointerType, place);
    if (auto buffer = dyn_cast<BufferType>(operand.getType())) {
      operands.pointers[operand] = pointer;
      if (!buffer.isFloats())
        continue;
      auto type =
          MemRefType::get(loop.getBodyType(operand).getShape(), b.getF32Type());
      operands.rows[operand] = ViewOp::create(b, type, pointer, end);
      continue;
    }
    Value weight = loop.getBody().getArgument(number);
    auto type = dyn_cast<RankedTensorType>(weight.getType());
    if (type && type.getRank() == 1)
      operands.vectors[weight] =
          ViewOp::create(b, MemRefType::get(type.getShape(), b.getF32Type()),
                         pointer, ValueRange());
    else
      operands.tables[weight] = pointer;
  }
  return operands;
}

func::FuncOp RowKernels::create(TaskRowsOp loop, int64_t lanes) {
  MLIRContext *context = symbols.getOp()->getContext();
  SmallVector<Location> locations;
  for (Operation &op : loop.getRowOps())
    locations.push_back(op.getLoc());
  ImplicitLocOpBuilder b(FusedLoc::get(context, locations), context);

  Type pointer = LLVM::LLVMPointerType::get(context);
  b.setInsertionPointToEnd(cast<ModuleOp>(symbols.getOp()).getBody());
  auto function = func::FuncOp::create(
      b, nameRowKernel(loop),
      b.getFunctionType({pointer, pointer, b.getIndexType(), b.getIndexType()},
                        {}));
  symbols.insert(function);

  Block &entry = *function.addEntryBlock();
  b.setInsertionPointToStart(&entry);
  Value begin = entry.getArgument(2), end = entry.getArgument(3);
  if (loop.countHeads() > 1) {
    // The heads of a row follow each other, as rows do.
    Value heads = arith::ConstantIndexOp::create(b, loop.countHeads());
    begin = arith::MulIOp::create(b, begin, heads);
    end = arith::MulIOp::create(b, end, heads);
  }
  RowOperands operands =
      bindOperands(b, loop, entry.getArgument(0), entry.getArgument(1), end);
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto rows = scf::ForOp::create(b, begin, end, one);
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(rows.getBody());
  RowEmitter(b, loop, runtime, operands, lanes).emit(rows.getInductionVar());
  return function;
}

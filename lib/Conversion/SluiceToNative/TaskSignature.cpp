//===- TaskSignature.cpp - the identity of row loops ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskSignature.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::native;

std::string sluice::native::nameRowKernel(TaskRowsOp loop) {
  std::string name = "rows";
  for (Operation &op : loop.getRowOps())
    // Rotations without a buffer are a part of the op that uses them.
    if (!isa<RotationsOp>(op) || loop.getBuffer(op.getResult(0)))
      name += ("_" + op.getName().stripDialect()).str();
  return name;
}

std::string sluice::native::getSignature(TaskRowsOp loop) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  DenseMap<Value, unsigned> registers;
  // The function also takes operands that no op uses.
  stream << loop->getNumOperands() << " " << loop.countHeads() << "\n";
  for (Operation &op : loop.getRowOps()) {
    stream << op.getName() << op.getAttrDictionary();
    for (ValueRange values :
         {ValueRange(op.getOperands()), ValueRange(op.getResults())})
      for (Value value : values) {
        if (std::optional<unsigned> number = loop.getOperandNumber(value))
          stream << " " << *number;
        if (!isRows(value.getType()))
          continue;
        stream << " x" << getWidth(value.getType());
        if (!loop.getBuffer(value))
          stream
              << "r"
              << registers.try_emplace(value, registers.size()).first->second;
      }
    stream << "\n";
  }
  return text;
}

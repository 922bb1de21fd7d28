//===- RuntimeFunctions.cpp - calls of the runtime's C functions ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

func::CallOp sluice::callRuntime(ImplicitLocOpBuilder &b, SymbolTable &symbols,
                                 StringRef name, TypeRange results,
                                 ValueRange operands) {
  if (!symbols.lookup(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(cast<ModuleOp>(symbols.getOp()).getBody());
    auto type = b.getFunctionType(operands.getTypes(), results);
    auto declaration = func::FuncOp::create(b, name, type);
    declaration.setPrivate();
    symbols.insert(declaration);
  }
  return func::CallOp::create(b, name, results, operands);
}

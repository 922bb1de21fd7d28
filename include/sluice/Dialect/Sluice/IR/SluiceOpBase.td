//===- SluiceOpBase.td - what the op files share ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEOPBASE_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEOPBASE_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "sluice/Dialect/Sluice/IR/SluiceAttributes.td"
include "sluice/Dialect/Sluice/IR/SluiceDialect.td"
include "sluice/Dialect/Sluice/IR/SluiceInterfaces.td"
include "sluice/Dialect/Sluice/IR/SluiceTypes.td"

class Sluice_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sluice_Dialect, mnemonic, traits>;

// An op each row of whose results depends on the same row of its operands.
// `costMethods` names the methods of CostInterface, beyond getFlopsPerRow, that
// the op defines itself.
class Sluice_RowWiseOp<string mnemonic, list<Trait> traits = [],
                       list<string> costMethods = []>
    : Sluice_Op<mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>,
        DeclareOpInterfaceMethods<Sluice_CostInterface, costMethods>])> {
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::RowWise;
    }
  }];
}

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEOPBASE_TD

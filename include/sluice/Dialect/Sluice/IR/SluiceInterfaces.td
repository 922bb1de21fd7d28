//===- SluiceInterfaces.td - op interfaces of the dialect sluice ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEINTERFACES_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEINTERFACES_TD

include "mlir/IR/Interfaces.td"
include "mlir/IR/OpBase.td"

def Sluice_RowSemanticsInterface : OpInterface<"RowSemanticsInterface"> {
  let cppNamespace = "::sluice::ir";
  let description = [{
    Says what a row of the op's results depends on. The rows of a *row-wise* op
    (norms, linear layers, activations) can be concatenated with any others; a
    *per-sequence* op (attention) reads its row's sequence's cache as well.
    Fusing the steps of several requests rests on nothing else.
  }];
  let methods = [
    InterfaceMethod<"Whether rows are independent of their sequence.",
                    "::sluice::ir::RowSemantics", "getRowSemantics", (ins)>
  ];
}

def Sluice_CostInterface : OpInterface<"CostInterface"> {
  let cppNamespace = "::sluice::ir";
  let description = [{
    What executing the op costs, for cost models. A step of R rows at C cached
    positions each takes R * (getFlopsPerRow() + C *
    getFlopsPerRowAndPosition()) floating-point operations. It moves
    getWeightBytes() once whatever R is, R * getBytesPerRow() of rows, and C *
    getCacheBytesPerPosition() of cache for each sequence among them. A
    multiply-add counts as two operations. The cost of a layer is the sum over
    its body.
  }];
  let methods = [
    InterfaceMethod<"Operations per row, attention's part that grows with the "
                    "context left out.",
                    "int64_t", "getFlopsPerRow", (ins)>,
    InterfaceMethod<"Operations per row and position it attends to.",
                    "int64_t", "getFlopsPerRowAndPosition", (ins),
                    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<"Bytes of weights read once per step, in the format they "
                    "are computed in.",
                    "int64_t", "getWeightBytes", (ins),
                    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<"Bytes of rows that are read and written for each row.",
                    "int64_t", "getBytesPerRow", (ins), /*methodBody=*/"",
                    /*defaultImplementation=*/[{
                      return ::sluice::ir::getOperandAndResultBytesPerRow($_op);
                    }]>,
    InterfaceMethod<"Bytes of cache one position takes, in float32.",
                    "int64_t", "getCacheBytesPerPosition", (ins),
                    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">
  ];
}

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEINTERFACES_TD

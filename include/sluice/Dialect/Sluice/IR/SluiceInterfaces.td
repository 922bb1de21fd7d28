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
    Says what a row of the op's results depends on. Every op that can stand in a
    step answers; fusing the steps of several requests rests on nothing else.

    - *row-wise* (norms, linear layers, activations): on the same row of its
      operands and what the batch says of that row. Rows can be concatenated
      with any others: the result is then the results, concatenated. That holds
      where rows are picked by their own marks, too.
    - *per-sequence* (attention): on its sequence's cache as well. Rows can be
      concatenated where the op is given the batch, to find each row's sequence.
    - *structural*: it computes no rows. It brings a weight or a cache in, or
      passes rows on.

    A layer is per-sequence where something in it is.
  }];
  let methods = [
    InterfaceMethod<"What a row of the results depends on.",
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
    collective takes getLinkRounds() messages one after the other, to all other
    members at once, and each member sends R * getLinkBytesPerRow() over its
    link to them. A multiply-add counts as two operations. The cost of a layer
    is the sum over its body.
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
                    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<"Messages one after the other between the members of a "
                    "group.",
                    "int64_t", "getLinkRounds", (ins),
                    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<"Bytes that a member sends to the others for each row.",
                    "int64_t", "getLinkBytesPerRow", (ins),
                    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">
  ];
}

def Sluice_ColumnOpInterface : OpInterface<"ColumnOpInterface"> {
  let cppNamespace = "::sluice::ir";
  let description = [{
    A row-wise op each of whose features depends on the same feature of its
    operands, and on a few scalars of the whole row that come from sums over its
    features. The op says what is computed, as `arith` and `math` ops on values
    of type f32 or vectors of f32; so all devices compute the same. In which
    order the terms of a sum are added is up to the device.

    Code for a row goes over its features once for each sum and adds up
    buildTerm(), then calls buildScalar(), and at last goes over them once more
    for buildFeatures(). `scalars` are the results of buildScalar() so far, each
    as a value of the type of the features.
  }];
  let methods = [
    InterfaceMethod<"Returns how many equal parts of a row the op treats each "
                    "by itself, as if it were a row; the vector weights are as "
                    "long as a part. In a row loop it is 1.",
                    "int64_t", "countHeads", (ins), /*methodBody=*/"",
                    /*defaultImplementation=*/"return 1;">,
    InterfaceMethod<"Sets that number, which is 1 for an op that cannot have "
                    "more.",
                    "void", "setHeadCount", (ins "int64_t":$heads),
                    /*methodBody=*/"", /*defaultImplementation=*/[{
                      assert(heads == 1 && "the op has no heads");
                      (void)heads;
                    }]>,
    InterfaceMethod<"Returns how many sums the op needs, one after the other.",
                    "unsigned", "countSums", (ins), /*methodBody=*/"",
                    /*defaultImplementation=*/"return 0;">,
    InterfaceMethod<"Adds the term of a feature of the op's first operand to "
                    "sum `number`.",
                    "::mlir::Value", "buildTerm",
                    (ins "::mlir::ImplicitLocOpBuilder &":$b,
                         "unsigned":$number, "::mlir::Value":$feature,
                         "::mlir::ValueRange":$scalars, "::mlir::Value":$sum),
                    /*methodBody=*/"", /*defaultImplementation=*/[{
                      llvm_unreachable("the op has no sums");
                    }]>,
    InterfaceMethod<"Returns the scalar, an f32, that follows from sum "
                    "`number`.",
                    "::mlir::Value", "buildScalar",
                    (ins "::mlir::ImplicitLocOpBuilder &":$b,
                         "unsigned":$number, "::mlir::Value":$sum),
                    /*methodBody=*/"", /*defaultImplementation=*/[{
                      llvm_unreachable("the op has no sums");
                    }]>,
    InterfaceMethod<"Returns a feature of the result. `operands` are that "
                    "feature of each operand, in order: of rows and of vector "
                    "weights.",
                    "::mlir::Value", "buildFeatures",
                    (ins "::mlir::ImplicitLocOpBuilder &":$b,
                         "::mlir::ValueRange":$operands,
                         "::mlir::ValueRange":$scalars)>
  ];
}

def Sluice_ColumnCopyOpInterface : OpInterface<"ColumnCopyOpInterface"> {
  let cppNamespace = "::sluice::ir";
  let description = [{
    A row-wise op that only copies columns: each column of its results is a
    column of one of its operands, the same for all rows.
  }];
  let methods = [
    InterfaceMethod<"Returns the copies, which together fill all results.",
                    "::sluice::ir::ColumnCopies", "getCopies", (ins)>
  ];
}

def Sluice_TaskInterface : OpInterface<"TaskInterface"> {
  let cppNamespace = "::sluice::ir";
  let description = [{
    A unit of work of a `sluice.step`. All threads of a CPU share it; on a GPU it
    is one launch or more, or a part of one. The order of a step's tasks and what
    each of them accesses are all that barriers, lifetimes and places are derived
    from.
  }];
  let methods = [
    InterfaceMethod<"Returns what the task reads and writes in memory: buffers "
                    "and caches.",
                    "::llvm::SmallVector<::sluice::ir::MemoryAccess>",
                    "getAccesses", (ins)>,
    InterfaceMethod<"Returns whether the task has one record of each of its "
                    "buffers for each row, or for each output.",
                    "::sluice::ir::ValueDomain", "getTaskDomain", (ins)>
  ];
  let extraSharedClassDeclaration = [{
    /// The layer of the model whose work the task is; of work of several
    /// layers the first; nothing outside of layers.
    std::optional<int64_t> getTaskLayer() {
      auto layer = $_op->template getAttrOfType<::mlir::IntegerAttr>(
          ::sluice::ir::taskLayerAttrName);
      return layer ? std::optional<int64_t>(layer.getInt()) : std::nullopt;
    }
  }];
}

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEINTERFACES_TD

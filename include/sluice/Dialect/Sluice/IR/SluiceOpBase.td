//===- SluiceOpBase.td - what the op files share --------------------------===//
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

//===----------------------------------------------------------------------===//
// Groups of the reference
//===----------------------------------------------------------------------===//

class Sluice_OpGroup<string title, string text> : OpDocGroup {
  let summary = title;
  let description = text;
}

def Sluice_SymbolOps : Sluice_OpGroup<"Symbols of a module",
    "What the model is made from, by name; and the frame of the model.">;
def Sluice_StructureOps : Sluice_OpGroup<"Structure of a model",
    "Layers, and the values of weights and caches in them.">;
def Sluice_RowWiseOps : Sluice_OpGroup<"Row-wise ops",
    "A row of their result depends on the same row of their operands alone.">;
def Sluice_PerSequenceOps : Sluice_OpGroup<"Per-sequence ops",
    "A row of their result depends on its sequence's earlier rows as well.">;
def Sluice_CollectiveOps : Sluice_OpGroup<"Collectives",
    "Where the members of a tensor-parallel group meet. Row-wise.">;
def Sluice_PipelineOps : Sluice_OpGroup<"Pipelines",
    "Stages on devices, and what a request does with them.">;
def Sluice_RankOps : Sluice_OpGroup<"Ranks",
    "What each rank runs, and what goes between them.">;
def Sluice_PlanOps : Sluice_OpGroup<"Steps",
    "A step as tasks over buffers: the phase `plan`.">;
def Sluice_TaskOps : Sluice_OpGroup<"Tasks",
    "What a step consists of. All read and write buffers.">;
def Sluice_ProgramOps : Sluice_OpGroup<"Beside emitted code",
    "What describes the code of the phase `kernels` to the runtime.">;

//===----------------------------------------------------------------------===//
// What effects are on
//===----------------------------------------------------------------------===//

def Sluice_CacheResource : Resource<"::sluice::ir::CacheResource">;
def Sluice_GroupResource : Resource<"::sluice::ir::GroupResource">;
def Sluice_RunResource : Resource<"::sluice::ir::RunResource">;
def Sluice_UserResource : Resource<"::sluice::ir::UserResource">;

//===----------------------------------------------------------------------===//
// Bases
//===----------------------------------------------------------------------===//

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

// An op that stands in a step, but computes no rows: it brings a weight or a
// cache in, or passes rows on.
class Sluice_StructureOp<string mnemonic, list<Trait> traits = []>
    : Sluice_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>])> {
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::Structural;
    }
  }];
}

// The number of equal parts, called heads, into which a row divides. The op
// treats each of them by itself.
def Sluice_Heads : OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>;

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEOPBASE_TD

//===- SluiceLayerOps.td - layers, and what stands in them ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICELAYEROPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICELAYEROPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

let opDocGroup = Sluice_StructureOps in {

def Sluice_LayerOp : Sluice_Op<"layer", [
    SingleBlock, RecursiveMemoryEffects,
    ParentOneOf<["ModelOp", "StageOp", "WorkerOp"]>, // layer_c5
    AllTypesMatch<["input", "result"]>,     // layer_c7
    DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>,
    DeclareOpInterfaceMethods<Sluice_CostInterface,
      ["getFlopsPerRowAndPosition", "getWeightBytes", "getBytesPerRow",
       "getCacheBytesPerPosition", "getLinkRounds", "getLinkBytesPerRow"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
      ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "one layer of the model";
  let description = [{
    A layer is a region, so that a pass that places or moves layers need not
    know what is in them. It may use the batch and nothing else from outside;
    its cost is the sum of what it holds.

    Shapes: `input`, the region's argument and `result` are [rows, N].

    ```mlir
    %h1 = sluice.layer 0 (%x = %h0) : tensor<?x256xf32> {
      ...
      sluice.yield %y : tensor<?x256xf32>
    }
    ```

    Where rows leave at a `sluice.checkpoint` inside it, the layer yields the
    batch that is left as well.

    ```mlir
    %h2, %b1 = sluice.layer 1 (%x = %h1) : tensor<?x256xf32>, !sluice.batch {
      ...
      %b, %x1 = sluice.checkpoint %batch, %x : tensor<?x256xf32>
      ...
      sluice.yield %x1, %b : tensor<?x256xf32>
    }
    ```

    Constraints:
    - (C1) the region has one argument, of the input's type.
    - (C2) `sluice.yield` yields the input's type, and a batch where the layer
      has one as its second result.
    - (C3) the region uses no value from outside but the batch or chunk.
    - (C4) the region holds at most one `sluice.layer_cache`.
    - (C5) it stands directly in a `sluice.model`, `sluice.stage` or
      `sluice.worker`.
    - (C6) the region holds at most one `sluice.attend`: a step stores one key
      and one value for each row and layer.
    - (C7) the result has the input's type.
    - (C8) a layer that holds a `sluice.checkpoint` yields the batch.
    - (C9) its number is not negative.
  }];
  let arguments = (ins I64Attr:$index, Sluice_Rows:$input);
  let results = (outs Sluice_Rows:$result,
                      Optional<Sluice_BatchType>:$result_batch);
  let builders = [
    // Without checkpoints: the batch is not a result.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::IntegerAttr":$index,
                   "::mlir::Value":$input), [{
      build($_builder, $_state, result, ::mlir::Type(), index, input);
    }]>
  ];
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
  }];
}

def Sluice_YieldOp : Sluice_StructureOp<"yield", [
    Pure, Terminator,
    HasParent<"LayerOp">]> { // yield_c1
  let summary = "ends a layer with its output";
  let description = [{
    Shapes: `value` is [rows, N], as the layer's result.

    ```mlir
    sluice.yield %y : tensor<?x256xf32>
    ```

    ```mlir
    sluice.yield %x1, %b : tensor<?x256xf32>
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.layer`.
  }];
  let arguments = (ins Sluice_Rows:$value, Optional<Sluice_BatchType>:$batch);
  let assemblyFormat = "$value (`,` $batch^)? attr-dict `:` type($value)";
  let builders = [
    // Without checkpoints: the batch is not a result.
    OpBuilder<(ins "::mlir::Value":$value), [{
      build($_builder, $_state, value, ::mlir::Value());
    }]>
  ];
}

def Sluice_ParamOp : Sluice_StructureOp<"param", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a weight";
  let description = [{
    Ops take weights as values, so that each says which weights it reads; the
    symbol keeps them out of the IR. The value is not loaded or converted by
    this op: it stands for the weight in the format that its type names.

    Shapes: `value` is the weight's type, [N] or [M, N].

    ```mlir
    %w = sluice.param @output.weight : tensor<4096x256x!sluice.block<q8_0>>
    ```

    Constraints:
    - (C1) the symbol names a `sluice.weight` or a `sluice.slice` of the module.
    - (C2) the result's type is the weight's.
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Sluice_Weight:$value);
  let assemblyFormat = "$weight attr-dict `:` type($value)";
}

def Sluice_ShardOp : Sluice_StructureOp<"shard", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a weight of which each member has a part";
  let description = [{
    In a `sluice.model` or `sluice.stage` that a tensor-parallel group executes
    together: stands for the first slice at the group's first member, for the
    second at the second, and so on. Members may have the same one.
    `--sluice-split-ranks` makes a `sluice.param` of it in each member's worker.

    Shapes: `value` is the slices' type, [N] or [M, N].

    ```mlir
    %w = sluice.shard [@blk.0.attn_q.weight.m0, @blk.0.attn_q.weight.m1]
      : tensor<128x256x!sluice.block<q8_0>>
    ```

    Constraints:
    - (C1) it stands in a `sluice.model` or `sluice.stage` of a group, and names
      as many slices as that has members.
    - (C2) each names a `sluice.slice` of the module.
    - (C3) the result's type is that of each slice.
  }];
  let arguments = (ins TypedArrayAttrBase<FlatSymbolRefAttr,
                                          "names of slices">:$slices);
  let results = (outs Sluice_Weight:$value);
  let assemblyFormat = "$slices attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Sluice_LayerCacheOp : Sluice_StructureOp<"layer_cache", [Pure]> {
  let summary = "the cache of the layer it stands in";
  let description = [{
    The keys and values that the layer keeps for every position of every
    sequence. Only `sluice.attend` reads or writes it.

    ```mlir
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    ```

    Constraints:
    - (C1) it stands in a `sluice.layer`.
  }];
  let results = (outs Sluice_CacheType:$cache);
  let assemblyFormat = "attr-dict `:` qualified(type($cache))";
  let hasVerifier = 1;
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICELAYEROPS_TD

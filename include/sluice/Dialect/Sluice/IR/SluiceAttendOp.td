//===- SluiceAttendOp.td - attention --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEATTENDOP_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEATTENDOP_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

let opDocGroup = Sluice_PerSequenceOps in {

def Sluice_AttendOp : Sluice_Op<"attend", [
    AllTypesMatch<["query", "result"]>, // attend_c7
    AllTypesMatch<["key", "value"]>,    // attend_c8
    DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>,
    DeclareOpInterfaceMethods<Sluice_CostInterface,
      ["getFlopsPerRowAndPosition", "getCacheBytesPerPosition"]>]> {
  let summary = "causal attention over a cache";
  let description = [{
    Stores the rows' keys and values in the cache at their positions; then each
    row attends to the positions of its sequence up to its own, and where
    `window` is given only to the last `window` of them, itself among them.
    Query head `h` reads key head `h / (heads / kv_heads)`: multi-head,
    grouped and multi-query attention in one.

    The score of position p is `s = scale * q.k`; with `softcap` c it becomes
    `c * tanh(s / c)`; with `alibi` a, `a * slope(h) * p` is added; the slopes
    of n heads are `2^(-8 i / n)` for i = 1..n where n is a power of two, and
    otherwise those of the next lower power of two m followed by every other
    slope of 2m. Press et al., *Train short, test long*, arXiv 2108.12409.

    A member of a tensor-parallel group has some of the heads, and slopes are
    those of all: `of` says how many there are, `from` which the first one here
    is, in a `sluice.model` or `sluice.stage` for each member.

    Shapes: `query` and `result` are [rows, heads * head_dim], `key` and `value`
    [rows, kv_heads * head_dim].

    ```mlir
    %a = sluice.attend %q, %k, %v, %cache, %batch heads 8
      scale 0.17677669529663687 window 512
      : tensor<?x256xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    ```

    Of a chunk all rows have one sequence, whose cache it is; of a batch each
    row has its own.

    ```mlir
    %a = sluice.attend %q, %k, %v, %cache, chunk %chunk heads 8
      scale 0.17677669529663687
      : tensor<?x256xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    ```

    ```mlir
    %a = sluice.attend %q, %k, %v, %cache, %batch heads 2
      scale 0.17677669529663687 alibi 0.17677669529663687 of 6 from [4]
      : tensor<?x64xf32>, tensor<?x32xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 32>
    ```

    Constraints:
    - (C1) `heads` is a positive multiple of the cache's `kv_heads`.
    - (C2) the query is `heads * head_dim` wide.
    - (C3) key and value are `kv_heads * head_dim` wide.
    - (C4) `scale` is finite and positive.
    - (C5) `window`, where given, is positive.
    - (C6) `softcap`, where given, is finite and positive.
    - (C7) the result has the query's type.
    - (C8) key and value have one type.
    - (C9) `alibi`, where given, is finite and positive.
    - (C10) `of` and `from` are given together, beside `alibi` alone; there is
      one first head for each member, and all its heads are among those `of`
      which they are.
  }];
  let arguments = (ins Sluice_Rows:$query, Sluice_Rows:$key,
                       Sluice_Rows:$value,
                       Arg<Sluice_CacheType, "the layer's cache",
                           [MemRead<Sluice_CacheResource>,
                            MemWrite<Sluice_CacheResource>]>:$cache,
                       Sluice_StepRows:$batch, I64Attr:$heads, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<F64Attr>:$alibi,
                       OptionalAttr<I64Attr>:$all_heads,
                       OptionalAttr<DenseI64ArrayAttr>:$first_heads);
  let results = (outs Sluice_Rows:$result);
  let builders = [
    // All heads.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$query,
                   "::mlir::Value":$key, "::mlir::Value":$value,
                   "::mlir::Value":$cache, "::mlir::Value":$batch,
                   "::mlir::IntegerAttr":$heads, "::mlir::FloatAttr":$scale,
                   "::mlir::IntegerAttr":$window,
                   "::mlir::FloatAttr":$softcap, "::mlir::FloatAttr":$alibi), [{
      build($_builder, $_state, result, query, key, value, cache, batch, heads,
            scale, window, softcap, alibi, ::mlir::IntegerAttr(),
            ::mlir::DenseI64ArrayAttr());
    }]>
  ];
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $cache `,`
    custom<StepRows>($batch, type($batch)) `heads` $heads `scale` $scale
    (`window` $window^)? (`softcap` $softcap^)?
    (`alibi` $alibi^ (`of` $all_heads^ `from` $first_heads)?)? attr-dict
    `:` type($query) `,` type($key) `,` qualified(type($cache))
  }];
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::PerSequence;
    }
  }];
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEATTENDOP_TD

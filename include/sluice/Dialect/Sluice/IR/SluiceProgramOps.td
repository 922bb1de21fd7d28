//===- SluiceProgramOps.td - what emitted code is described by ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEPROGRAMOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEPROGRAMOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Sluice_CpuLevel : Sluice_Enum<"CpuLevel",
    "the instructions that emitted code and its micro-kernels use", [
  I32EnumAttrCase<"Avx2", 0, "avx2">,
  I32EnumAttrCase<"Avx512", 1, "avx512">,
  I32EnumAttrCase<"Avx512Vnni", 2, "avx512vnni">
]>;

def Sluice_WeightUseKind : Sluice_Enum<"WeightUseKind",
    "what emitted code does with a weight", [
  I32EnumAttrCase<"Linear", 0, "linear">,
  I32EnumAttrCase<"Rows", 1, "rows">,
  I32EnumAttrCase<"Vector", 2, "vector">
]> {
  let genSpecializedAttr = 0;
}

def Sluice_WeightUseAttr : Sluice_Attr<"WeightUse", "weight_use"> {
  let summary = "a weight and what emitted code does with it";
  let description = [{
    Emitted code names weights to the runtime by their index in the program's
    list of these, since one weight can have several uses, each with its own
    layout in memory: `linear` (packed for matrix products; `transposed` where
    it is stored `[in, out]`), `rows` (a table that rows are looked up in) and
    `vector` (as float32).

    ```mlir
    weights = [#sluice.weight_use<@token_embd.weight, rows>,
               #sluice.weight_use<@token_embd.weight, linear>,
               #sluice.weight_use<@h.0.attn.c_attn.weight, linear, transposed>,
               #sluice.weight_use<@output_norm.weight, vector>]
    ```
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$weight,
    EnumParameter<Sluice_WeightUseKind>:$use,
    DefaultValuedParameter<"bool", "false">:$transposed);
  let hasCustomAssemblyFormat = 1;
}

def Sluice_RopeTableAttr : Sluice_Attr<"RopeTable", "rope_table"> {
  let summary = "what a table of rotary cosines and sines is computed from";
  let description = [{
    One inverse frequency (radians per position) for each rotated pair, and the
    factor that cosines and sines are multiplied by.

    ```mlir
    #sluice.rope_table<inverse = [1.000000e+00, 0.00999999977], factor = 1.0>
    ```
  }];
  let parameters = (ins
    "::mlir::DenseF32ArrayAttr":$inverse,
    Sluice_Double<"multiplies cosines and sines">:$factor);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Sluice_WeightUseArray
    : TypedArrayAttrBase<Sluice_WeightUseAttr, "uses of weights">;
def Sluice_RopeTableArray
    : TypedArrayAttrBase<Sluice_RopeTableAttr, "rope tables">;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

let opDocGroup = Sluice_ProgramOps in {

def Sluice_ProgramOp : Sluice_Op<"program", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "describes the emitted code of a model";
  let description = [{
    Stands for a `sluice.model` whose ops were converted to code. It holds what
    the runtime must know to run that code, all of which ends in the
    executable's descriptor:

    - `step` is the emitted step function, `cpu` what it was built for.
    - `architecture`, `model_name`, `vocab_size`, `context_length` and
      `eos_tokens` are the model's; `hidden_size` is the width of the rows that
      go through its layers, of which it has `layers`.
    - The arena has `row_floats` floats for each row of a step, then
      `output_floats` for each row whose logits are asked for; the logits stand
      at `logits_offset` among the latter.
    - `caches`, `rope_tables` and `weights` are numbered as emitted code names
      them to the runtime.

    ```mlir
    sluice.program @main step @sluice_program_step cpu avx512 {
      architecture = "llama", model_name = "demo", vocab_size = 4096,
      context_length = 1024, eos_tokens = array<i64: 2>, hidden_size = 256,
      layers = 1, row_floats = 2048, output_floats = 4352, logits_offset = 256,
      caches = [!sluice.cache<kv_heads = 2, head_dim = 32>],
      rope_tables = [#sluice.rope_table<inverse = [...], factor = 1.0>],
      weights = [#sluice.weight_use<@token_embd.weight, rows>, ...]}
    ```

    Constraints:
    - (C1) `step` names a function of the module.
    - (C2) every weight use names a `sluice.weight` of the module; a `vector`
      has rank 1, the others rank 2; only `linear` is transposed.
    - (C3) `vocab_size`, `context_length` and `hidden_size` are positive,
      `layers` and the sizes of the arena are not negative.
    - (C4) the logits lie inside the output part of the arena.
    - (C5) every cache is a `!sluice.cache`.
    - (C6) sizes and offsets of the arena are multiples of 16 floats.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$step,
                       Sluice_CpuLevel:$cpu, StrAttr:$architecture,
                       StrAttr:$model_name, I64Attr:$vocab_size,
                       I64Attr:$context_length,
                       DenseI64ArrayAttr:$eos_tokens, I64Attr:$hidden_size,
                       I64Attr:$layers, I64Attr:$row_floats,
                       I64Attr:$output_floats, I64Attr:$logits_offset,
                       TypeArrayAttr:$caches,
                       Sluice_RopeTableArray:$rope_tables,
                       Sluice_WeightUseArray:$weights);
  let assemblyFormat = "$sym_name `step` $step `cpu` $cpu attr-dict";
  let hasVerifier = 1;
}

def Sluice_ViewOp : Sluice_Op<"view", [Pure]> {
  let summary = "the memory behind a pointer, as a memref";
  let description = [{
    Emitted code gets its buffers as pointers into the arena. This gives one a
    shape, so that rows and columns are indexed rather than computed. There is
    one size for each dynamic dimension.

    ```mlir
    %x = sluice.view %pointer[%rows] : !llvm.ptr to memref<?x256xf32>
    %w = sluice.view %weight : !llvm.ptr to memref<256xf32>
    ```

    Constraints:
    - (C1) the source is an `!llvm.ptr`.
    - (C2) the memref has the identity layout and no memory space.
    - (C3) there is one size for each dynamic dimension.
  }];
  let arguments = (ins AnyType:$source, Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source (`[` $sizes^ `]`)? attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEPROGRAMOPS_TD

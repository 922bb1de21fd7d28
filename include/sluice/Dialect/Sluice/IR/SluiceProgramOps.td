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
    `vector` (as float32). A gate's weight can have a `partner`, with which it is
    packed and multiplied as one.

    ```mlir
    weights = [#sluice.weight_use<@token_embd.weight, rows>,
               #sluice.weight_use<@token_embd.weight, linear>,
               #sluice.weight_use<@h.0.attn.c_attn.weight, linear, transposed>,
               #sluice.weight_use<@output_norm.weight, vector>,
               #sluice.weight_use<@ffn_gate.weight, linear,
                                  partner @ffn_up.weight>,
               #sluice.weight_use<@ffn_up.weight, linear>]
    ```
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$weight,
    EnumParameter<Sluice_WeightUseKind>:$use,
    DefaultValuedParameter<"bool", "false">:$transposed,
    OptionalParameter<"::mlir::FlatSymbolRefAttr">:$partner);
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
    Sluice_Floats<"radians per position">:$inverse,
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
  let summary = "describes emitted code";
  let description = [{
    Stands for a `sluice.worker`, or a whole `sluice.model`, whose ops were
    converted to code. It holds what the runtime must know to run that code, all
    of which ends in the executable's descriptor:

    - `step` is the `sluice.step` whose row loops have kernels. `cpu` is what
      these were built for, unless the program is for `cuda`.
    - `counterpart` is the program of the same ops for a CPU, where a program
      for `cuda` stands beside one; the two are one in the plan.
    - `architecture`, `model_name`, `vocab_size`, `context_length` and
      `eos_tokens` are the model's; `hidden_size` is the width of the rows that
      go through its layers, of which the code has `layers`, the first of them
      the model's layer `first_layer`.
    - With `has_embedding` the code starts from tokens; without it receives
      rows. With `has_output` it ends with logits; without it sends rows on.
    - The arena has `row_floats` floats for each row of a step, then
      `output_floats` for each row whose logits are asked for; the logits stand
      at `logits_offset` among the latter.
    - `caches`, `rope_tables` and `weights` are numbered as emitted code names
      them to the runtime.
    - `members` is how many programs compute the stage together, of which this
      is one.
    - `checkpoints` is how many of them a step passes; `costs` and `step_rows`
      are as in `sluice.stage`; `rank` is where it runs, where there is a
      `sluice.deployment`.

    ```mlir
    sluice.program @main step @main_step cpu avx512 {
      architecture = "llama", model_name = "demo", vocab_size = 4096,
      context_length = 1024, eos_tokens = array<i64: 2>, hidden_size = 256,
      layers = 1, row_floats = 2048, output_floats = 4352, logits_offset = 256,
      caches = [!sluice.cache<kv_heads = 2, head_dim = 32>],
      rope_tables = [#sluice.rope_table<inverse = [...], factor = 1.0>],
      weights = [#sluice.weight_use<@token_embd.weight, rows>, ...]}
    ```

    ```mlir
    sluice.program @main.s1 step @main.s1_step cpu avx2 {
      rank = @rank1, first_layer = 4, layers = 4, has_embedding = false,
      checkpoints = 3, step_rows = 64,
      costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>, ...}
    ```

    ```mlir
    sluice.program @main.s1.cuda step @main.s1.cuda_step cuda {
      counterpart = @main.s1, row_floats = 1040, ...}
    ```

    Constraints:
    - (C1) `step` names a `sluice.step` with an arena, all of whose tasks have
      their generated kernels, for the program's target.
    - (C2) every weight use names a `sluice.weight` or `sluice.slice` of the
      module; a `vector` has rank 1, the others rank 2; only `linear` is
      transposed, and `rows` are those of a weight; a weight whose scales lie
      apart is `linear`, and not transposed.
    - (C3) `vocab_size`, `context_length` and `hidden_size` are positive,
      `layers` and the sizes of the arena are not negative.
    - (C4) the logits lie inside the output part of the arena; without
      `has_output` `logits_offset` is 0.
    - (C5) every cache is a `!sluice.cache`.
    - (C6) sizes and offsets of the arena are multiples of 16 floats.
    - (C7) `first_layer` and `checkpoints` are not negative; with
      `has_embedding` the former is 0.
    - (C8) `costs` are as many as the row counts, positive, and never fall;
      `step_rows` is positive.
    - (C9) `rank`, where given, names a `sluice.rank`.
    - (C10) `counterpart`, of a program for `cuda` only, names a program for a
      CPU, or what will become one, and has the same rank.
    - (C11) `members` is 1 to 256.
    - (C12) `weights` has all uses of weights by the tasks of the step, and no
      task multiplies by a weight alone that is the partner of another one.
    - (C13) a partner is another weight of the same type, stored in the same
      format, whose own use in the list is the same, but has no partner; it is
      that of one weight. Only `linear` uses of a program for `cuda` have one.
    - (C14) the program has the target, arena, members, checkpoints, output,
      place of the logits, caches and rope tables of its step.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$step,
                       OptionalAttr<Sluice_CpuLevel>:$cpu, StrAttr:$architecture,
                       StrAttr:$model_name, I64Attr:$vocab_size,
                       I64Attr:$context_length,
                       DenseI64ArrayAttr:$eos_tokens, I64Attr:$hidden_size,
                       I64Attr:$layers, I64Attr:$row_floats,
                       I64Attr:$output_floats, I64Attr:$logits_offset,
                       TypeArrayAttr:$caches,
                       Sluice_RopeTableArray:$rope_tables,
                       Sluice_WeightUseArray:$weights,
                       DefaultValuedAttr<I64Attr, "0">:$first_layer,
                       DefaultValuedAttr<BoolAttr, "true">:$has_embedding,
                       DefaultValuedAttr<BoolAttr, "true">:$has_output,
                       DefaultValuedAttr<I64Attr, "0">:$checkpoints,
                       OptionalAttr<I64Attr>:$step_rows,
                       OptionalAttr<DenseI64ArrayAttr>:$costs,
                       OptionalAttr<FlatSymbolRefAttr>:$rank,
                       OptionalAttr<FlatSymbolRefAttr>:$counterpart,
                       DefaultValuedAttr<I64Attr, "1">:$members);
  let assemblyFormat =
      "$sym_name `step` $step (`cpu` $cpu^) : (`cuda`)? attr-dict";
  let hasVerifier = 1;
}

def Sluice_DeploymentOp : Sluice_Op<"deployment", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how the programs work together";
  let description = [{
    What became of `sluice.generate` and its pipeline: the head's rank, the
    programs of the stages in order, and the draft's with its limits, as in
    `sluice.speculate`. With the module's ranks and channels this becomes the
    plan in the executable's descriptor.

    ```mlir
    sluice.deployment head(@rank0) stages [@main.s0, @main.s1] {
      max_latency_us = 500 : i64}
    ```

    ```mlir
    sluice.deployment head(@rank0) stages [@main.s0, @main.s1]
      draft(@draft.s0) placement(own) depth 32 width 4
    ```

    Where stages are computed by groups, `stages` are the first members, which
    channels lead to and from, and `groups` has all members of each stage.

    ```mlir
    sluice.deployment head(@rank0) stages [@main.s0.m0] {
      groups = [[@main.s0.m0, @main.s0.m1]]}
    ```

    Constraints:
    - (C1) `head` names a `sluice.rank`.
    - (C2) there are stages, each a `sluice.program` with a rank, none twice; in
      the phase `plan` each is a `sluice.step` with a rank, and (C3) to (C6) hold
      when these have become programs.
    - (C3) the first stage has the embedding, the last one the output, no other
      has either; their layers are numbered 0, 1, 2, ... in order; all are of
      one vocabulary, context and hidden size.
    - (C4) `draft`, where given, names a `sluice.program` at the head's rank
      with embedding and output.
    - (C5) `depth` and `width` are as in `sluice.speculate`, `max_latency_us`
      as in `sluice.pipeline`.
    - (C6) `groups`, where given, has a list for each stage that begins with
      it; its programs have as many `members` as the list, other ranks each, and
      the stage's ends and layers.
  }];
  let arguments = (ins FlatSymbolRefAttr:$head,
                       TypedArrayAttrBase<FlatSymbolRefAttr,
                                          "names of programs">:$stages,
                       OptionalAttr<FlatSymbolRefAttr>:$draft,
                       OptionalAttr<Sluice_Placement>:$placement,
                       OptionalAttr<I64Attr>:$depth,
                       OptionalAttr<I64Attr>:$width,
                       OptionalAttr<I64Attr>:$max_latency_us,
                       OptionalAttr<TypedArrayAttrBase<
                         TypedArrayAttrBase<FlatSymbolRefAttr,
                                            "names of programs">,
                         "groups of programs">>:$groups);
  let assemblyFormat = [{
    `head` `(` $head `)` `stages` $stages
    (`draft` `(` $draft^ `)` `placement` `(` $placement `)` `depth` $depth
     `width` $width)? attr-dict
  }];
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

//===- SluicePlanOps.td - a step as tasks over buffers --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEPLANOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEPLANOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"
include "sluice/Dialect/Sluice/IR/SluiceProgramOps.td"

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

def Sluice_CpuTargetAttr : Sluice_Attr<"CpuTarget", "cpu"> {
  let summary = "plans a step for the threads of a CPU";
  let description = [{
    `level` says which instructions the code uses.

    ```mlir
    #sluice.cpu<avx2>
    ```
  }];
  let parameters = (ins EnumParameter<Sluice_CpuLevel>:$level);
  let assemblyFormat = "`<` $level `>`";
}

def Sluice_CudaTargetAttr : Sluice_Attr<"CudaTarget", "cuda"> {
  let summary = "plans a step for a GPU";
  let description = [{
    A plan is the same for all chips.

    ```mlir
    #sluice.cuda
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

let opDocGroup = Sluice_PlanOps in {

def Sluice_StepOp : Sluice_Op<"step", [
    Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "what a stage executes at once, as a list of tasks";
  let description = [{
    Stands for a `sluice.worker`, or a whole `sluice.model`, whose layers have
    become tasks over buffers. The tasks are executed in their order, all of
    them for all rows of the step; the batch is what it is at that moment, with
    fewer rows behind a `sluice.task.checkpoint`. Passes that plan the step ask
    its `target` where targets differ.

    Its body declares the step's memory first (`sluice.buffer`, `sluice.cache`,
    `sluice.param`, `sluice.rope_table`), then holds the tasks, and ends with
    `sluice.results`. With its arena assigned, each buffer has a place in it, and
    `row_floats` and `output_floats` say how many floats the arena has for each
    row and for each output of capacity.

    The attributes that describe the model, the pipeline and the rank are those
    of `sluice.program`, which the step becomes.

    ```mlir
    sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
        architecture = "llama", model_name = "tiny", vocab_size = 100,
        context_length = 128, eos_tokens = array<i64: 2>, hidden_size = 64,
        layers = 1, row_floats = 640, output_floats = 112} {
      %h = sluice.buffer at 0 : !sluice.buffer<rows, 64>
      ...
      sluice.results %logits : !sluice.buffer<outputs, 64>
    }
    ```

    Constraints:
    - (C1) the region takes one `!sluice.batch`, and the target is one that
      steps can be planned for.
    - (C2) a buffer is written by one task beside checkpoints, and read behind
      it only; results are written.
    - (C3) where the arena is assigned each buffer that is accessed has a place,
      a multiple of 16 floats, inside of the part of its domain.
    - (C4) where the arena is assigned no two buffers that are in use at once
      overlap. A buffer is in use from its first access to its last one, results
      to the end. On a target with barriers that is counted from barrier to
      barrier, else from task to task.
    - (C5) where the arena is assigned and the target has barriers, one stands
      between two tasks of which one writes what the other accesses, unless each
      thread accesses the same records of it in both; checkpoints are barriers.
    - (C6) where the arena is assigned, what is written before a checkpoint and
      accessed behind it is moved by the checkpoint, but for outputs on a target
      whose checkpoints leave them where they are.
    - (C7) rows are looked up and received before the first checkpoint: tokens
      and what is received do not move with the rows.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AnyAttr:$target,
                       StrAttr:$architecture, StrAttr:$model_name,
                       I64Attr:$vocab_size, I64Attr:$context_length,
                       DenseI64ArrayAttr:$eos_tokens, I64Attr:$hidden_size,
                       I64Attr:$layers,
                       DefaultValuedAttr<I64Attr, "0">:$first_layer,
                       DefaultValuedAttr<I64Attr, "1">:$members,
                       OptionalAttr<I64Attr>:$step_rows,
                       OptionalAttr<DenseI64ArrayAttr>:$costs,
                       OptionalAttr<FlatSymbolRefAttr>:$rank,
                       OptionalAttr<FlatSymbolRefAttr>:$counterpart,
                       OptionalAttr<I64Attr>:$row_floats,
                       OptionalAttr<I64Attr>:$output_floats);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The target, of which the passes that plan the step ask.
    ::sluice::ir::PlanTargetInterface getPlanTarget();
    ::mlir::Value getBatch() { return getBody().getArgument(0); }
    ResultsOp getResults();
    /// The buffer of the logits; null where the step sends rows on.
    ::mlir::Value getLogits();
    /// Whether the arena is assigned.
    bool isAssigned() { return getRowFloats().has_value(); }
    int64_t countCheckpoints();
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
  }];
}

def Sluice_ResultsOp : Sluice_Op<"results", [
    Terminator, HasParent<"StepOp">]> { // results_c1
  let summary = "ends a step with the buffers that outlive its tasks";
  let description = [{
    A buffer of outputs holds the logits, which the runtime reads when the step
    is over; a buffer of rows what is sent on.

    ```mlir
    sluice.results %logits : !sluice.buffer<outputs, 64>
    ```

    Constraints:
    - (C1) it ends a `sluice.step`.
  }];
  let arguments = (ins Sluice_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer))";
}

class Sluice_InStepOp<string mnemonic, list<Trait> traits = []>
    : Sluice_Op<mnemonic, !listconcat(traits, [HasParent<"StepOp">])>;

def Sluice_BufferOp : Sluice_InStepOp<"buffer", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "memory for one record of each row or output";
  let description = [{
    A buffer lies in the step's arena. `place` says where its records begin, in
    floats for each row (or output) of capacity: with a capacity of R rows the
    buffer takes R records from float `place * R` on.

    ```mlir
    %h = sluice.buffer at 0 : !sluice.buffer<rows, 64>
    %n = sluice.buffer at 64 : !sluice.buffer<rows, 64>
    %nq = sluice.buffer at 128 : !sluice.buffer<rows, 64, <q8, floats = 48>>
    ```

    Constraints:
    - (C1) a place is a multiple of 16 and not negative.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$place);
  let results = (outs Sluice_BufferType:$buffer);
  let assemblyFormat = [{
    (`at` $place^)? attr-dict `:` qualified(type($buffer))
  }];
  let hasVerifier = 1;
}

def Sluice_CacheOp : Sluice_InStepOp<"cache", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the cache of a layer, which outlives steps";
  let description = [{
    `index` is its number among the caches of the program.

    ```mlir
    %c0 = sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 16>
    ```

    Constraints:
    - (C1) caches are numbered 0, 1, 2, ... in order.
  }];
  let arguments = (ins I64Attr:$index);
  let results = (outs Sluice_CacheType:$cache);
  let assemblyFormat = "$index attr-dict `:` qualified(type($cache))";
  let hasVerifier = 1;
}

def Sluice_RopeTableOp : Sluice_InStepOp<"rope_table", [
    Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "cosines and sines of all positions";
  let description = [{
    Tables are numbered in their order.

    ```mlir
    %table = sluice.rope_table <inverse = [1.0, 0.5, 0.25, 0.125, 0.1, 0.05, 0.02,
                                           0.01], factor = 1.0>
      : !sluice.rope_table<16>
    ```

    Constraints:
    - (C1) the type has two numbers for each inverse frequency.
  }];
  let arguments = (ins Sluice_RopeTableAttr:$parameters);
  let results = (outs Sluice_RopeTableType:$table);
  let assemblyFormat = "$parameters attr-dict `:` qualified(type($table))";
  let hasVerifier = 1;
}

def Sluice_BarrierOp : Sluice_InStepOp<"barrier"> {
  let summary = "all threads wait for each other";
  let description = [{
    What a thread wrote before it the others see behind it. Only targets whose
    threads run all tasks side by side have barriers.

    ```mlir
    sluice.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

} // opDocGroup

//===----------------------------------------------------------------------===//
// Row-wise ops that only steps have
//===----------------------------------------------------------------------===//

let opDocGroup = Sluice_PlanOps in {

def Sluice_ReceivedRowsOp : Sluice_RowWiseOp<"received_rows"> {
  let summary = "the activations that came with the batch";
  let description = [{
    ```mlir
    %x = sluice.received_rows %batch : tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Sluice_BatchType:$batch);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = "$batch attr-dict `:` type($result)";
}

def Sluice_SendRowsOp : Sluice_Op<"send_rows", [
    DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>,
    DeclareOpInterfaceMethods<Sluice_CostInterface>,
    MemoryEffects<[MemWrite<Sluice_RunResource>]>]> {
  let summary = "gives activations to the stage behind";
  let description = [{
    ```mlir
    sluice.send_rows %r, %batch : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_BatchType:$batch);
  let assemblyFormat = "$input `,` $batch attr-dict `:` type($input)";
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::RowWise;
    }
  }];
}

def Sluice_RotationsOp : Sluice_RowWiseOp<"rotations"> {
  let summary = "the cosines and sines of each row's position";
  let description = [{
    A row has the cosines of all pairs, then their sines.

    ```mlir
    %r = sluice.rotations %batch, %f
      : !sluice.rope_table<16> -> tensor<?x16xf32>
    ```

    Constraints:
    - (C1) the result is as wide as the table.
  }];
  let arguments = (ins Sluice_BatchType:$batch, Sluice_RopeTableType:$table);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $batch `,` $table attr-dict `:` qualified(type($table)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sluice_RotateOp : Sluice_RowWiseOp<"rotate", [
    AllTypesMatch<["input", "result"]>]> { // rotate_c3
  let summary = "rotates pairs of features";
  let description = [{
    A `sluice.rope` whose cosines and sines are given: `rotations` has them for
    each pair of the first features of each head, as many as it is wide; the
    other features stay.

    Shapes: `input` and `result` are [rows, heads * head_dim], `rotations`
    [rows, rotary_dim].

    ```mlir
    %y = sluice.rotate %x by %t1 half heads 4 head_dim 16
      : tensor<?x64xf32>, tensor<?x16xf32>
    ```

    Constraints:
    - (C1) `heads` and `head_dim` are positive and a row is `heads * head_dim`
      wide.
    - (C2) `rotations` is even and at most `head_dim` wide.
    - (C3) the result has the input's type.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_Rows:$rotations,
                       Sluice_RopeStyle:$style, I64Attr:$heads,
                       I64Attr:$head_dim);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `by` $rotations $style `heads` $heads `head_dim` $head_dim attr-dict
    `:` type($input) `,` type($rotations)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many features of each head are rotated.
    int64_t getRotaryDim() {
      return ::sluice::ir::getWidth(getRotations().getType());
    }
  }];
}

def Sluice_AddBiasOp : Sluice_RowWiseOp<"add_bias", [
    AllTypesMatch<["input", "result"]>, // add_bias_c1
    DeclareOpInterfaceMethods<Sluice_ColumnOpInterface>],
    ["getWeightBytes"]> {
  let summary = "adds vectors to each row";
  let description = [{
    `result[r, i] = input[r, i] + biases[0][i] + biases[1][i] + ...`, from the
    left.

    ```mlir
    %z = sluice.add_bias %r, %v
      : tensor<?x256xf32>, tensor<256xf32>
    ```

    Constraints:
    - (C1) the result has the input's type.
    - (C2) each bias is as long as a row.
  }];
  let arguments = (ins Sluice_Rows:$input,
                       Variadic<Sluice_VectorWeight>:$biases);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = [{
    $input `,` $biases attr-dict `:` type($input) `,` type($biases)
  }];
  let hasVerifier = 1;
}

def Sluice_ToOperandOp : Sluice_RowWiseOp<"to_operand", [
    AllTypesMatch<["input", "result"]>]> { // to_operand_c1
  let summary = "rounds rows to what products take";
  let description = [{
    The result stands for the same features, rounded as the format says. Only
    products take it.

    ```mlir
    %y = sluice.to_operand %x as <q8, floats = 48> : tensor<?x64xf32>
    ```

    Constraints:
    - (C1) the result has the input's type.
  }];
  let arguments = (ins Sluice_Rows:$input, Sluice_OperandAttr:$operand);
  let results = (outs Sluice_Rows:$result);
  let assemblyFormat = "$input `as` $operand attr-dict `:` type($input)";
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEPLANOPS_TD

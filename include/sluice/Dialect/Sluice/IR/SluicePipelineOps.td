//===- SluicePipelineOps.td - stages, and what a request does -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEPIPELINEOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEPIPELINEOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

let opDocGroup = Sluice_PipelineOps in {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

def Sluice_StageOp : Sluice_Op<"stage", [
    Symbol, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
                              ["getAsmBlockArgumentNames"]>]> {
  let summary = "consecutive layers on a device or a group of devices";
  let description = [{
    What one device does with the rows of one step. The first stage of a
    pipeline takes them and looks their tokens up; each later one also takes
    what the stage before forwarded; the last one forwards logits. With the same
    ops as a `sluice.model`; a layer keeps its number. Stages are cut for the
    chunk of one request; `--sluice-fuse-decode` makes that a batch.

    `costs`, where given, are the nanoseconds that a step is predicted to take,
    one for each row count of `StepTimes::rowCounts`
    (`runtime/core/Speculation.h`). `step_rows`, where given, is how many rows
    of prompts a step can have at most, so that no stretch between two
    checkpoints takes longer than it may. The head cuts prompts by the least of
    all stages and the draft. Guesses that join can make a step wider.

    ```mlir
    sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
        (%batch: !sluice.batch, %h: tensor<?x256xf32>) -> tensor<?x4096xf32>
        attributes {costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>,
                    step_rows = 64 : i64} {
      ...
      sluice.forward %logits : tensor<?x4096xf32>
    }
    ```

    On several places it is what each member of a tensor-parallel group does, in
    the order of the places: the same ops, with parts of the weights
    (`sluice.shard`). All members have the same rows in a step, and drop the
    same ones at a checkpoint: what the first decides.

    ```mlir
    sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>,
                             #sluice.place<node = "n0", device = 1>)
        (%batch: !sluice.batch, %h: tensor<?x256xf32>) -> tensor<?x4096xf32> {
      ...
      %y = sluice.all_reduce %x : tensor<?x256xf32>
      ...
    }
    ```

    Constraints:
    - (C1) the body takes one `!sluice.chunk` or `!sluice.batch`, and at most
      one value of rows.
    - (C2) it ends with `sluice.forward` of the result type.
    - (C3) layers are numbered consecutively.
    - (C4) `costs` are as many as the row counts, positive, and never fall.
    - (C5) `step_rows` is positive.
    - (C6) it is on 1 to 256 places, none of them twice.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypedArrayAttrBase<Sluice_PlaceAttr, "places">:$places,
                       TypeAttrOf<Sluice_Rows>:$output,
                       OptionalAttr<DenseI64ArrayAttr>:$costs,
                       OptionalAttr<I64Attr>:$step_rows);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The device, or that of the group's first member.
    ::sluice::ir::PlaceAttr getFirstPlace() {
      return ::llvm::cast<::sluice::ir::PlaceAttr>(getPlaces()[0]);
    }
    /// The rows of a step: a chunk or a batch.
    ::mlir::BlockArgument getBatch() { return getBody().getArgument(0); }
    /// The rows that come in; null in the first stage.
    ::mlir::Value getInput() {
      return getBody().getNumArguments() > 1 ? getBody().getArgument(1)
                                             : ::mlir::Value();
    }
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
  }];
}

def Sluice_ForwardOp : Sluice_StructureOp<"forward", [
    Pure, Terminator,
    HasParent<"StageOp">]> { // forward_c1
  let summary = "ends a stage with the rows that go on";
  let description = [{
    To the next stage, with the batch that is left; the last stage's rows are
    logits.

    Shapes: `rows` is [rows, N], in the last stage [outputs, vocab_size].

    ```mlir
    sluice.forward %logits : tensor<?x4096xf32>
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.stage`.
  }];
  let arguments = (ins Sluice_Rows:$rows);
  let assemblyFormat = "$rows attr-dict `:` type($rows)";
}

def Sluice_CheckpointOp : Sluice_Op<"checkpoint", [
    ParentOneOf<["LayerOp", "ModelOp", "StageOp", "WorkerOp"]>, // checkpoint_c1
    DeclareOpInterfaceMethods<Sluice_RowSemanticsInterface>,
    DeclareOpInterfaceMethods<Sluice_CostInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemRead<Sluice_RunResource>,
                   MemWrite<Sluice_RunResource>]>]> {
  let summary = "dead rows leave the step";
  let description = [{
    Rows that have died since the last look leave: the results are the batch and
    the rows that remain, moved together. A step with none left ends here. Only
    here does a step get fewer rows, so how long a cancelled row is computed on
    is the longest stretch between two of these.

    Row-wise: whether a row stays depends on nothing but its own request. What
    is computed from `sluice.select_outputs` can be passed too; then the outputs
    of dead rows leave.

    Shapes: `inputs` are [rows, N0], [rows, N1], ...; each result is [rows', Ni]
    with rows' <= rows.

    ```mlir
    %b1, %h1 = sluice.checkpoint %b0, %h0 : tensor<?x256xf32>
    ```

    ```mlir
    %b2 = sluice.checkpoint %b1
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.layer`, `sluice.model`,
      `sluice.stage` or `sluice.worker`.
    - (C2) its results have its operands' types.
    - (C3) behind it nothing uses the batch, or rows, from before it: what is
      used later goes through it.
  }];
  let arguments = (ins Sluice_BatchType:$batch, Variadic<Sluice_Rows>:$inputs);
  let results = (outs Sluice_BatchType:$result_batch,
                      Variadic<Sluice_Rows>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$batch, "::mlir::ValueRange":$inputs), [{
      build($_builder, $_state, batch.getType(), inputs.getTypes(), batch,
            inputs);
    }]>
  ];
  let extraClassDefinition = [{
    ::sluice::ir::RowSemantics $cppClass::getRowSemantics() {
      return ::sluice::ir::RowSemantics::RowWise;
    }
    int64_t $cppClass::getFlopsPerRow() { return 0; }
  }];
}

def Sluice_PipelineOp : Sluice_Op<"pipeline", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a model as stages, one behind the other";
  let description = [{
    Stands for a `sluice.model` that was cut into stages, or into what became of
    them, `sluice.worker`s or `sluice.group`s of workers. The attributes are the
    model's. `max_latency_us`, where given, is the limit that was asked for: the
    longest that a stretch between two checkpoints may take by the cost model.
    An op that takes longer by itself and cannot be cut exceeds it, and
    `--sluice-insert-checkpoints` warns of that.

    ```mlir
    sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
        architecture = "llama", model_name = "demo", vocab_size = 4096,
        context_length = 1024, eos_tokens = array<i64: 2>,
        max_latency_us = 500}
    ```

    Constraints:
    - (C1) it has stages, each a `sluice.stage` or each a `sluice.worker` or
      `sluice.group`, none of them twice.
    - (C2) `vocab_size` and `context_length` are positive; `max_latency_us`,
      where given, is 1 to 86400000000, a day.
    - (C3) every token of `eos_tokens` is in the vocabulary.
    - (C4) the stages' layers are numbered 0, 1, 2, ... in order.
    - (C5) the first stage takes no rows; each other takes rows of the type that
      the one before it forwards.
    - (C6) the last stage's rows are as wide as the vocabulary.
    - (C7) only the last stage forwards what is computed from
      `sluice.select_outputs`.
    - (C8) its stages all take a chunk, or all a batch.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypedArrayAttrBase<FlatSymbolRefAttr,
                                          "names of stages">:$stages,
                       StrAttr:$architecture, StrAttr:$model_name,
                       I64Attr:$vocab_size, I64Attr:$context_length,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$eos_tokens,
                       OptionalAttr<I64Attr>:$max_latency_us);
  let assemblyFormat = "$sym_name `stages` $stages attr-dict-with-keyword";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// A request
//===----------------------------------------------------------------------===//

def Sluice_GenerateOp : Sluice_Op<"generate", [
    Symbol, IsolatedFromAbove, SingleBlock, OpAsmOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what the head does for one token of one request";
  let description = [{
    The head launches the row whose token is known, has the draft guess on
    behind it, verifies, and gives the user what has come true; then again,
    until the request ends. `on` is the head's place where that is not the first
    stage's; in the phase `program`, `at` is its rank.

    ```mlir
    sluice.generate @generate target(@main)
        on(#sluice.place<node = "n0", device = 0>) {
      %run = sluice.launch @main : !sluice.run
      %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
        depth 32 width 4 : !sluice.guesses
      %n = sluice.verify %run, %guesses : index
      sluice.commit %run, %n
      sluice.emit %n
      sluice.end
    }
    ```

    Constraints:
    - (C1) `target` names a `sluice.pipeline`.
    - (C2) it ends with `sluice.end`.
    - (C3) it holds one `sluice.launch`, one `sluice.verify`, one
      `sluice.commit`, one `sluice.emit` and at most one `sluice.speculate`.
    - (C4) `at`, where given, names a `sluice.rank`.
    - (C5) `sluice.emit` stands behind `sluice.commit`.
    - (C6) its region takes no arguments.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$target,
                       OptionalAttr<Sluice_PlaceAttr>:$place,
                       OptionalAttr<FlatSymbolRefAttr>:$rank);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `target` `(` $target `)` (`on` `(` qualified($place)^ `)`)?
    (`at` `(` $rank^ `)`)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::sluice::ir::LaunchOp getLaunch();
    /// Null without a draft.
    ::sluice::ir::SpeculateOp getSpeculate();
    ::sluice::ir::VerifyOp getVerify();
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
  }];
}

def Sluice_LaunchOp : Sluice_Op<"launch", [
    HasParent<"GenerateOp">, // launch_c1
    MemoryEffects<[MemWrite<Sluice_RunResource>]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "sends the certain rows into a pipeline";
  let description = [{
    The row whose token is known leaves at once and alone; at a request's start,
    its prompt in chunks. In the phase `program`, `via` is the channel to the
    first stage, on which guesses follow, and `results` the one on which the
    last stage answers.

    ```mlir
    %run = sluice.launch @main : !sluice.run
    ```

    ```mlir
    %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.generate`.
    - (C2) it launches the target of its `sluice.generate`.
    - (C3) `via` and `results` are both given, or neither.
    - (C4) `via` names a channel of `!sluice.frame<rows>` that comes from the
      rank of its `sluice.generate`, `results` one of `!sluice.frame<tokens>`
      that goes there.
  }];
  let arguments = (ins FlatSymbolRefAttr:$pipeline,
                       OptionalAttr<FlatSymbolRefAttr>:$via,
                       OptionalAttr<FlatSymbolRefAttr>:$results);
  let results = (outs Sluice_RunType:$run);
  let assemblyFormat = [{
    $pipeline (`via` `(` $via^ `)`)? (`results` `(` $results^ `)`)? attr-dict
    `:` qualified(type($run))
  }];
  let hasVerifier = 1;
}

def Sluice_SpeculateOp : Sluice_Op<"speculate", [
    HasParent<"GenerateOp">, // speculate_c1
    MemoryEffects<[MemWrite<Sluice_RunResource>]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "has the draft guess on behind a run";
  let description = [{
    While the run's answer is outstanding, a draft model goes on guessing beyond
    the last guess, and every guess worth it leaves behind the run at once. The
    guesses form a tree of at most `depth` rows from the run to a leaf, with at
    most `width` guesses for one row's next token. The draft runs on a rank that
    it shares with the head, of its `own` or that of the first stage (`head`).
    An id means the same token to the draft and to the run's pipeline, but one
    may have more of them: ids that either lacks are not guessed.

    Until `sluice.commit` the guesses may be wrong, so what comes before it must
    be possible to undo. Rejected rows are dropped from the caches and from
    what is in flight; but nothing may be shown to the user.

    `costs` and `step_rows` are the draft's, as in `sluice.stage`. In the phase
    `program`, the draft takes rows from the channel `via` and answers on
    `results`.

    ```mlir
    %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
      depth 32 width 4 : !sluice.guesses
    ```

    ```mlir
    %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
      depth 8 width 1 via(@d0) results(@d1) : !sluice.guesses
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.generate`.
    - (C2) `draft` names a `sluice.model` or, in the phase `program`, a
      `sluice.pipeline` that is not the run's.
    - (C3) `depth` is 1 to 1024, `width` 1 to 64.
    - (C4) a `sluice.verify` in the same block takes the guesses, and a
      `sluice.commit` behind it its count.
    - (C5) between it and that `sluice.commit` no op has an effect on anything
      but caches and runs.
    - (C6) `via` and `results` are both given, or neither.
    - (C7) `via` names a channel of `!sluice.frame<rows>` that comes from the
      rank of its `sluice.generate`, `results` one of `!sluice.frame<guesses>`
      that goes there.
    - (C8) `costs` are as many as the row counts, positive, and never fall;
      `step_rows` is positive.
  }];
  let arguments = (ins FlatSymbolRefAttr:$draft, Sluice_RunType:$run,
                       Sluice_Placement:$placement, I64Attr:$depth,
                       I64Attr:$width, OptionalAttr<FlatSymbolRefAttr>:$via,
                       OptionalAttr<FlatSymbolRefAttr>:$results,
                       OptionalAttr<DenseI64ArrayAttr>:$costs,
                       OptionalAttr<I64Attr>:$step_rows);
  let results = (outs Sluice_GuessesType:$guesses);
  let assemblyFormat = [{
    `draft` `(` $draft `)` `behind` `(` $run `)` `placement` `(` $placement `)`
    `depth` $depth `width` $width (`via` `(` $via^ `)`)?
    (`results` `(` $results^ `)`)? attr-dict `:` qualified(type($guesses))
  }];
  let hasVerifier = 1;
}

def Sluice_VerifyOp : Sluice_Op<"verify", [
    HasParent<"GenerateOp">, // verify_c1
    MemoryEffects<[MemRead<Sluice_RunResource>,
                   MemWrite<Sluice_RunResource>]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "how many tokens have come true";
  let description = [{
    Takes the answers to the run's rows and counts the tokens that are now
    known: the one behind the run's last row, and each guess that agrees with
    the answer to the row before it. Token ids are compared, never
    probabilities.

    ```mlir
    %n = sluice.verify %run : index
    ```

    ```mlir
    %n = sluice.verify %run, %guesses : index
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.generate`.
    - (C2) the guesses, where given, are behind this run.
  }];
  let arguments = (ins Sluice_RunType:$run,
                       Optional<Sluice_GuessesType>:$guesses);
  let results = (outs Index:$count);
  let assemblyFormat = [{
    $run (`,` $guesses^)? attr-dict `:` type($count)
  }];
  let hasVerifier = 1;
}

def Sluice_CommitOp : Sluice_Op<"commit", [
    HasParent<"GenerateOp">, // commit_c1
    MemoryEffects<[MemWrite<Sluice_RunResource>,
                   MemWrite<Sluice_CacheResource>]>]> {
  let summary = "keeps what has come true, ends its epoch";
  let description = [{
    The first `count` tokens are kept; rows in flight that do not descend from
    the last of them are dead from now on: the epoch is over.

    ```mlir
    sluice.commit %run, %n
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.generate`.
    - (C2) the count is what a `sluice.verify` of this run found.
  }];
  let arguments = (ins Sluice_RunType:$run, Index:$count);
  let assemblyFormat = "$run `,` $count attr-dict";
  let hasVerifier = 1;
}

def Sluice_EmitOp : Sluice_Op<"emit", [
    HasParent<"GenerateOp">, // emit_c1
    MemoryEffects<[MemWrite<Sluice_UserResource>]>]> {
  let summary = "gives tokens to the user";
  let description = [{
    An effect on the user: it cannot be undone, so it may not stand between
    `sluice.speculate` and `sluice.commit`.

    ```mlir
    sluice.emit %n
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.generate`.
    - (C2) the count is what a `sluice.verify` found.
  }];
  let arguments = (ins Index:$count);
  let assemblyFormat = "$count attr-dict";
  let hasVerifier = 1;
}

def Sluice_EndOp : Sluice_Op<"end", [
    Pure, Terminator,
    HasParent<"GenerateOp">]> { // end_c1
  let summary = "ends what is done for one token";
  let description = [{
    ```mlir
    sluice.end
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.generate`.
  }];
  let assemblyFormat = "attr-dict";
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEPIPELINEOPS_TD

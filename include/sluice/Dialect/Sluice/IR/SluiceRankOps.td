//===- SluiceRankOps.td - ranks, channels, workers ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICERANKOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICERANKOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceOpBase.td"

let opDocGroup = Sluice_RankOps in {

def Sluice_RankOp : Sluice_Op<"rank", [Symbol]> {
  let summary = "a process of its own";
  let description = [{
    Ranks are processes or, where all of them run in one, sets of threads. What
    a rank does is what says that it is `at` the rank: the `sluice.generate` of
    the head, and `sluice.worker`s. `index` is its number among the processes.

    ```mlir
    sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
    ```

    Constraints:
    - (C1) `index` is not negative.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$index,
                       Sluice_PlaceAttr:$place);
  let assemblyFormat = [{
    $sym_name `index` $index `on` `(` qualified($place) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Sluice_ChannelOp : Sluice_Op<"channel", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a bounded queue of frames between two ranks";
  let description = [{
    First in, first out. It holds at most `capacity` frames; who sends into a
    full one waits, and who receives from an empty one waits. Both ends may be
    at one rank. Marks of new epochs and errors go past the channels.

    An end can be a `sluice.group`. What is sent is then the same at all
    members, and the first sends it; what is received as one step, all members
    receive, and the first decides what that is.

    ```mlir
    sluice.channel @c0 from @rank0 to @rank1 capacity 256 : !sluice.frame<rows>
    ```

    Constraints:
    - (C1) `from` and `to` name a `sluice.rank` or a `sluice.group` each.
    - (C2) `capacity` is 1 to 65536.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$from,
                       FlatSymbolRefAttr:$to, I64Attr:$capacity,
                       TypeAttrOf<Sluice_FrameType>:$type);
  let assemblyFormat = [{
    $sym_name `from` $from `to` $to `capacity` $capacity `:` $type attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::sluice::ir::FrameType getFrame() {
      return ::llvm::cast<::sluice::ir::FrameType>(getType());
    }
  }];
}

def Sluice_WorkerOp : Sluice_Op<"worker", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, OpAsmOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the program of a stage or draft";
  let description = [{
    What its rank does again and again: receives what is queued as one step,
    computes it, sends on. `costs` and `step_rows` are as in `sluice.stage`.
    `of` is the group of which it is a member.

    ```mlir
    sluice.worker @main.s1 at(@rank1) attributes {step_rows = 64 : i64} {
      %b, %h = sluice.receive @c1 : tensor<?x256xf32>
      ...
      sluice.send @c2 %b, %logits : tensor<?x4096xf32>
    }
    ```

    Constraints:
    - (C1) `at` names a `sluice.rank`.
    - (C2) it begins with `sluice.receive` and ends with `sluice.send`, and has
      no other of either.
    - (C3) layers are numbered consecutively.
    - (C4) `costs` are as many as the row counts, positive, and never fall.
    - (C5) `step_rows` is positive.
    - (C6) its region takes no arguments: rows come in by `sluice.receive`.
    - (C7) `of`, where given, names a `sluice.group` that has the worker.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$rank,
                       OptionalAttr<FlatSymbolRefAttr>:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$costs,
                       OptionalAttr<I64Attr>:$step_rows);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `at` `(` $rank `)` (`of` `(` $group^ `)`)? attr-dict-with-keyword
    $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::sluice::ir::ReceiveOp getReceive();
    ::sluice::ir::SendOp getSend();
    static ::llvm::StringRef getDefaultDialect() { return "sluice"; }
  }];
}

def Sluice_GroupOp : Sluice_Op<"group", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the workers of a stage that a group of devices executes";
  let description = [{
    A tensor-parallel group, in the order of its members. They take the same
    steps, and meet at what they receive and send, at checkpoints and at
    collectives, each the same number of times in the same order: whoever comes
    first waits.

    ```mlir
    sluice.group @main.s0 of [@main.s0.m0, @main.s0.m1]
    ```

    Constraints:
    - (C1) it names 2 to 256 `sluice.worker`s that say they are `of` it, none of
      them twice.
    - (C2) they are at different ranks.
    - (C3) op by op, they do the same with the same types: what differs is only
      which weights and which heads are theirs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypedArrayAttrBase<FlatSymbolRefAttr,
                                          "names of workers">:$workers);
  let assemblyFormat = "$sym_name `of` $workers attr-dict";
}

def Sluice_ReceiveOp : Sluice_StructureOp<"receive", [
    HasParent<"WorkerOp">, // receive_c1
    MemoryEffects<[MemRead<Sluice_RunResource>,
                   MemWrite<Sluice_RunResource>]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "takes what a channel holds as one step";
  let description = [{
    Waits for a frame. Whatever else is queued joins: the rows of all of it that
    are alive are the batch.

    Shapes: `rows` is [rows, N].

    ```mlir
    %b = sluice.receive @c0
    ```

    ```mlir
    %b, %h = sluice.receive @c1 : tensor<?x256xf32>
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.worker`.
    - (C2) the channel goes to the worker's group or, where it is of none, to
      its rank.
    - (C3) the channel's frames are rows, with activations of the result's type
      or, without one, with none.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel);
  let results = (outs Sluice_BatchType:$batch, Optional<Sluice_Rows>:$rows);
  let assemblyFormat = "$channel attr-dict (`:` type($rows)^)?";
}

def Sluice_SendOp : Sluice_StructureOp<"send", [
    HasParent<"WorkerOp">, // send_c1
    MemoryEffects<[MemRead<Sluice_RunResource>,
                   MemWrite<Sluice_RunResource>]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sends a step's rows on";
  let description = [{
    As one frame; waits where the channel is full. What goes depends on the
    channel: the rows; or of logits the token that is sampled from each
    (`tokens`), or the likeliest ones (`guesses`).

    Shapes: `rows` is [rows, N], logits are [outputs, vocab_size].

    ```mlir
    sluice.send @c1 %b, %h : tensor<?x256xf32>
    ```

    Constraints:
    - (C1) it stands directly in a `sluice.worker`.
    - (C2) the channel comes from the worker's group or, where it is of none,
      from its rank.
    - (C3) where the channel's frames are rows, their activations have the type
      of `rows`.
    - (C4) rows that `sluice.select_outputs` picked are not sent as rows.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Sluice_BatchType:$batch,
                       Sluice_Rows:$rows);
  let assemblyFormat = "$channel $batch `,` $rows attr-dict `:` type($rows)";
}

} // opDocGroup

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICERANKOPS_TD

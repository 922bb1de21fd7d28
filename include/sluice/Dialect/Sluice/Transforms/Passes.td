//===- Passes.td - passes inside the dialect sluice -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_TD
#define SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPhase : Pass<"sluice-verify-phase", "::mlir::ModuleOp"> {
  let summary = "checks that a module is in a phase";
  let description = [{
    Each phase names the IR that is legal in it. Whoever makes a phase ends with
    this pass, so that whoever reads it need not expect anything else.

    - `model`: one `sluice.model`, or two where a draft was merged in, with the
      files and weights they refer to and at most one tokenizer each. A step is
      that of one request: models take a `!sluice.chunk`. Only ops of the
      dialect `sluice`.
    - `pipeline`: one `sluice.generate`, and the `sluice.pipeline` it launches
      with its stages. A `sluice.model` is the draft. Steps are fused: stages
      and draft take a `!sluice.batch`. One tokenizer at most.
    - `program`: the same as `sluice.rank`s, `sluice.channel`s and
      `sluice.worker`s; the draft is a `sluice.pipeline` of one worker at the
      head's rank. Ranks are numbered 0, 1, 2, ... in order, the head is at the
      first, and something is at each. Each channel has one end that sends and
      one that receives; they lead from the head through the stages in order and
      back; and nobody waits in a cycle.
    - `plan`: `sluice.step`s whose arenas are assigned and, where there are
      several programs, the `sluice.deployment` that names them, with channels,
      ranks, files, weights and tokenizer.
    - `kernels`: `sluice.program`s and, where there are several, the
      `sluice.deployment` that names them, with channels and with ranks as in
      `program`, files, weights and tokenizer, and code in the dialects `arith`,
      `cf`, `func`, `llvm`, `math`, `memref`, `scf` and `vector`, with
      `sluice.view` between them. No other op of the dialect `sluice`.

    In the phase `program` waiting is found by executing what ranks send and
    receive, without computing anything. The head is taken at its worst: it
    sends a run and every guess that may be behind it, as far as it ever has
    frames in flight, before it looks at an answer. Channels hold as many frames
    as their capacity says. Where nobody can go on, the cycle is printed.

    It changes nothing; an op that is not legal is an error at that op.
  }];
  let options = [
    Option<"phase", "phase", "std::string", "\"model\"",
           "The phase to check for: model, pipeline, program, plan or "
           "kernels">
  ];
  let statistics = [
    Statistic<"opsChecked", "ops-checked", "Ops that were checked">
  ];
}

def ShardTensors : Pass<"sluice-shard-tensors", "::mlir::ModuleOp"> {
  let summary = "splits a model over a group of devices";
  let description = [{
    Tensor parallelism: each step is computed by all members of a group of
    devices at once, each with a part of the weights. For a model whose step
    takes too long, or whose stage does not fit, on one device. Shoeybi et al.,
    *Megatron-LM*, arXiv 1909.08053.

    What is split: attention by heads, with the key heads that they read; what
    stands between the two products of a feed-forward layer, by features; logits
    by tokens. The products that make these rows are computed by columns, each
    member having its rows of the weight and its part of the bias; a product that
    takes them has its columns of the weight, and gives a part of a sum, which
    `sluice.all_reduce` adds up, with the bias; one for both parts of a parallel
    residual. `sluice.all_gather` puts the logits together. Embedding, norms and residuals are whole at each member.

    The model then says what each member does, in one body: members differ in
    which part of a weight is theirs (`sluice.shard`), and with alibi in which
    heads. Parts are `sluice.slice`s, references into the model's files as the
    weights are. Fewer key heads than members are kept by several of them, and a
    vocabulary that does not divide is split into parts that overlap; heads and
    feed-forward columns have to divide. `docs/RationaleTensorParallel.md` says
    why it is so.

    It stands before `--sluice-partition-stages`, which puts each stage on a
    group of devices. What was split is said in a remark (category
    `sluice-shard-tensors`). With `tensor-parallel=1` nothing changes.

    Errors, with the op: heads, key heads or feed-forward columns that cannot be
    split; a cut inside a block of a quantised weight; rows that are split in an
    op that needs whole ones. Then nothing is changed.

    ```mlir
    %g = sluice.linear %x, %w : tensor<?x256xf32>, tensor<768x256xf32>
      -> tensor<?x768xf32>
    %a = sluice.activation silu %g : tensor<?x768xf32>
    %y = sluice.linear %a, %v : tensor<?x768xf32>, tensor<256x768xf32>
      -> tensor<?x256xf32>
    ```

    becomes

    ```mlir
    %g = sluice.linear %x, %w : tensor<?x256xf32>, tensor<384x256xf32>
      -> tensor<?x384xf32>
    %a = sluice.activation silu %g : tensor<?x384xf32>
    %p = sluice.linear %a, %v : tensor<?x384xf32>, tensor<256x384xf32>
      -> tensor<?x256xf32>
    %y = sluice.all_reduce %p : tensor<?x256xf32>
    ```
  }];
  let options = [
    Option<"tensorParallel", "tensor-parallel", "int64_t", "1",
           "Members of the group, 256 at most">,
    Option<"target", "target", "std::string", "\"main\"",
           "The name of the sluice.model that is split">
  ];
  let statistics = [
    Statistic<"productsSplit", "products-split",
              "Matrix products of which each member computes a part">,
    Statistic<"allReducesInserted", "all-reduces", "Sums over the members">,
    Statistic<"allGathersInserted", "all-gathers",
              "Rows put together from the members'">,
    Statistic<"slicesMade", "slices", "Parts of weights">
  ];
  let dependentDialects = ["::sluice::ir::SluiceDialect"];
}

def PartitionStages : Pass<"sluice-partition-stages", "::mlir::ModuleOp"> {
  let summary = "cuts a model into stages on devices";
  let description = [{
    The first pass from the phase `model` to the phase `pipeline`. A model that
    is too large or too slow for one machine is cut between layers into
    `sluice.stage`s, each placed on a device of a described cluster; a
    `sluice.pipeline` puts them in order and a `sluice.generate` says what is
    done with it for each token.

    Of all ways to cut, the one whose slowest stage is the fastest is found
    exactly, by dynamic programming (`runtime/cluster/Partition.h`). Steps are
    costed by what the ops' `CostInterface` reports on a device's bandwidth and
    FLOP/s, links by their bandwidth and latency; the embedding counts for the
    first stage, the output layer for the last. A stage's weights and the cache
    of its layers, for the whole context, fit its device. So does a draft, the
    second `sluice.model` where there is one: with `placement=own` the node that
    is kept for it, with `placement=head` the first stage's beside the stage.
    The head is with the draft, or without one with the first stage; there must
    be ways between it and every stage, and from each stage to the next. Devices
    are used in the order of the description. The simulator and emulated runs place
    a pipeline in the same way (`runtime/cluster/PipelinePlan.h`).

    How many stages there are, where `stages` does not say, is what a single
    request is served fastest with: by the planning model (R + 1) / (trip + R
    slowest), R = a / (1 - a), a the `acceptance` where the module has a draft
    and 0 where it has none: without guesses nothing follows the certain row
    through the pipeline, and every stage more is a hop more.

    A model that `--sluice-shard-tensors` has split over N members is cut for
    groups of N devices: each stage is on as many places, and a group counts as
    one device (`runtime/cluster/DeviceGroups.h`).

    The cluster becomes the module's `dlti.target_system_spec`. Each stage gets
    its predicted `costs`. Why a cut is where it is, is said in a remark
    (category `sluice-partition-stages`).

    Where a stage lies does not decide what its code is for: see
    `--convert-sluice-to-cuda`.

    Errors: too little memory, with what is missing; fewer layers or devices
    than stages; no node for the draft; a third model; symbols that have the
    names of stages already; a description that cannot be read.

    ```mlir
    sluice.model @main(%chunk: !sluice.chunk) {...} {
      %h = sluice.embed ...
      %h0 = sluice.layer 0 (%x = %h) ...
      %h1 = sluice.layer 1 (%x = %h0) ...
      ...
      sluice.return %logits
    }
    ```

    becomes

    ```mlir
    sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
        (%chunk: !sluice.chunk) -> tensor<?x256xf32> {
      %h = sluice.embed ...
      %h0 = sluice.layer 0 (%x = %h) ...
      sluice.forward %h0
    }
    sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>)
        (%chunk: !sluice.chunk, %h: tensor<?x256xf32>) -> tensor<?x4096xf32> {
      %h1 = sluice.layer 1 (%x = %h) ...
      ...
      sluice.forward %logits
    }
    sluice.pipeline @main stages [@main.s0, @main.s1] attributes {...}
    sluice.generate @generate target(@main) {
      %run = sluice.launch @main : !sluice.run
      %n = sluice.verify %run : index
      sluice.commit %run, %n
      sluice.emit %n
      sluice.end
    }
    ```
  }];
  let options = [
    Option<"clusterFile", "cluster", "std::string", "\"\"",
           "The file that describes the cluster; none: the module's "
           "dlti.target_system_spec, or as many equal nodes as stages">,
    Option<"stages", "stages", "int64_t", "0",
           "Exactly so many stages; 0: as many as serve a request fastest, or one "
           "where no cluster is described">,
    Option<"context", "context", "int64_t", "::sluice::predictedContext",
           "Positions that a row attends to in predicted times, the model's "
           "context at most">,
    Option<"acceptance", "acceptance", "double", "0.8",
           "The chance that a guess of the draft comes true">,
    Option<"placement", "placement", "::sluice::ir::Placement",
           "::sluice::ir::Placement::Own",
           "Where the draft will run, as in insert-speculation",
           [{::llvm::cl::values(
             clEnumValN(::sluice::ir::Placement::Own, "own",
                        "on the node that is kept for it, with the head"),
             clEnumValN(::sluice::ir::Placement::Head, "head",
                        "on the first stage's rank, with the head"))}]>,
    Option<"target", "target", "std::string", "\"main\"",
           "The name of the sluice.model that is cut">
  ];
  let statistics = [
    Statistic<"stagesCut", "stages-cut", "Stages that were made">
  ];
  let dependentDialects = ["::sluice::ir::SluiceDialect",
                           "::mlir::DLTIDialect"];
}

def FuseDecode : Pass<"sluice-fuse-decode", "::mlir::ModuleOp"> {
  let summary = "makes a request's step one of rows of any requests";
  let description = [{
    A step reads every weight once, so a step of eight rows costs about what a
    step of one does. The phase `model` says what one request does in a step:
    its rows are a `!sluice.chunk`, of one sequence. This pass makes a
    `!sluice.batch` of it, a table that says of each row its sequence and
    position, in every `sluice.stage` and `sluice.model` of the module. From
    then on the rows of several requests, and their guesses, can share a step.
    Temporal fusion as in Flover, arXiv 2305.13484.

    That it gives the same tokens is a matter of every op, so every op is asked
    (`RowSemanticsInterface`). The rows of a *row-wise* op are concatenated with
    anybody's. A *per-sequence* op is given the batch and takes each row to its
    sequence's cache. How many there are of either is said in a remark (category
    `sluice-fuse-decode`).

    It stands between `--sluice-insert-speculation` and
    `--sluice-insert-checkpoints`: only of a batch may rows leave. Checkpoints,
    ranks and native code need it.

    Errors, with the op: one that does not say what its rows depend on; a tensor
    whose rows are not its first dimension, the only dynamic one; a per-sequence
    op that is not given the rows' sequences; a row-wise op that takes a cache;
    a stage or model that is fused already. Then nothing is changed.

    ```mlir
    sluice.stage @main.s0 on(...) (%chunk: !sluice.chunk) -> tensor<?x256xf32> {
      %h = sluice.embed chunk %chunk, %table by token
      ...
      %a = sluice.attend %q, %k, %v, %cache, chunk %chunk heads 8 ...
    ```

    becomes

    ```mlir
    sluice.stage @main.s0 on(...) (%batch: !sluice.batch) -> tensor<?x256xf32> {
      %h = sluice.embed %batch, %table by token
      ...
      %a = sluice.attend %q, %k, %v, %cache, %batch heads 8 ...
    ```
  }];
  let statistics = [
    Statistic<"stepsFused", "steps-fused",
              "Stages and models whose steps were fused">,
    Statistic<"rowWiseOps", "row-wise-ops",
              "Ops whose rows are concatenated with any others">,
    Statistic<"perSequenceOps", "per-sequence-ops",
              "Ops that take each row to its sequence's cache">
  ];
  let dependentDialects = ["::sluice::ir::SluiceDialect"];
}

def InsertCheckpoints : Pass<"sluice-insert-checkpoints", "::mlir::ModuleOp"> {
  let summary = "bounds how long cancelled rows are computed";
  let description = [{
    A row that has died is computed on to the next `sluice.checkpoint`. This
    pass puts checkpoints into the stages, and into the draft, so that by the
    cost model no stretch between two takes longer than `max-latency-us`.
    PipeInfer's early inference cancellation, arXiv 2407.11798, section III.

    It comes after `--sluice-fuse-decode`: only of a batch may rows leave. It
    goes through a stage's ops in the order of their execution, into layers, and
    ends a stretch before the op that would make it too long. A matrix product
    that is too long by itself is computed in columns, with checkpoints between;
    their bits are those of the whole product. Each stretch goes as far as it
    can, so these are the fewest checkpoints with which only such products are
    split. (Splitting others as well could save some, for more kernels.) What
    else is too long by itself is said in a remark, and a warning says how long
    the longest stretch is then.

    Stretches are measured with as many rows as a prompt needs to be computed at
    full speed: the fewest with which a row takes at most 5 % longer than with
    any number up to `rows`. Where something that cannot be split, such as
    attention, would be too long for so many rows, it is fewer. `step_rows` says
    how many rows a step can have before a stretch takes too long. The head cuts
    prompts, for the stages and for the draft alike, by the least `step_rows` of
    them all. Guesses that join can make a step wider.

    With `max-latency-us=0` nothing is inserted and `step_rows` is `rows`.
    `sluice-compile` takes that for one stage without a draft, unless told
    otherwise: nothing follows the certain row there, so no row dies in a step.
    A draft's `costs` are set as well, at its own context. How many checkpoints a
    stage got is said in a remark (category `sluice-insert-checkpoints`).

    ```mlir
    %y = sluice.linear %x, %w : ...
    %z = sluice.linear %y, %v : ...
    ```

    becomes

    ```mlir
    %y = sluice.linear %x, %w : ...
    %b1, %y1 = sluice.checkpoint %b0, %y : ...
    %z = sluice.linear %y1, %v : ...
    ```
  }];
  let options = [
    Option<"maxLatency", "max-latency-us", "int64_t", "500",
           "The longest that a stretch may take, in microseconds, a day at "
           "most; 0: no limit">,
    Option<"rows", "rows", "int64_t", "512", "Rows of a step, 65536 at most">,
    Option<"context", "context", "int64_t", "::sluice::predictedContext",
           "Positions that a row attends to in predicted times, the model's "
           "context at most">
  ];
  let statistics = [
    Statistic<"checkpointsInserted", "checkpoints-inserted",
              "Checkpoints that were inserted">,
    Statistic<"productsSplit", "products-split",
              "Matrix products that are computed in columns">
  ];
  let dependentDialects = ["::sluice::ir::SluiceDialect"];
}

def InsertSpeculation : Pass<"sluice-insert-speculation", "::mlir::ModuleOp"> {
  let summary = "adds a draft and its guesses to a pipeline";
  let description = [{
    A pipeline that serves one request is idle most of the time: a token must
    come out at its end before the next one can go in. This pass adds a
    `sluice.speculate` to the `sluice.generate`: while the certain row is on its
    way, the draft keeps guessing and its guesses follow. PipeInfer, arXiv
    2407.11798.

    Verification compares token ids, so draft and target must mean the same by
    them. The pass refuses a draft that has another token than the target by an
    id that both have, and names the first one. How many tokens there are may
    differ: tables of one vocabulary are padded to different numbers of rows
    (151936 and 152064 in models of one family), and one model may have been
    given tokens that the other has not. Only ids that both tables have are
    guessed. A draft that lacks tokens of the target's is a warning, for which
    placeholders are no tokens. Without tokenizers there is nothing to compare
    but the numbers of rows: tables that differ by more than 128 are refused, and
    whether others mean the same is for the user to know.

    Where only the rules differ by which a tokenizer cuts a text (merges, scores,
    normalizer, flags), ids mean the same and guesses may be poor: the first such
    difference is a warning. The draft's tokenizer, the one whose name begins
    with the draft's and a dot, is then dropped. Where the draft's context is
    shorter than the target's, positions beyond it are not guessed, which is a
    warning as well.

    It stands between `--sluice-partition-stages`, with the same `placement`,
    and `--sluice-insert-checkpoints`, which puts checkpoints into the draft as
    well: stages that were cut for another placement, or that have their
    checkpoints already, are refused. So, on a described cluster, is
    `placement=own` where no node is kept for the draft.

    ```mlir
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    ```

    becomes

    ```mlir
    %run = sluice.launch @main : !sluice.run
    %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
      depth 32 width 8 : !sluice.guesses
    %n = sluice.verify %run, %guesses : index
    sluice.commit %run, %n
    ```
  }];
  let options = [
    Option<"draft", "draft", "std::string", "\"draft\"",
           "The name of the draft's sluice.model">,
    Option<"placement", "placement", "::sluice::ir::Placement",
           "::sluice::ir::Placement::Own", "Where the draft runs",
           [{::llvm::cl::values(
             clEnumValN(::sluice::ir::Placement::Own, "own",
                        "on a rank of its own, with the head"),
             clEnumValN(::sluice::ir::Placement::Head, "head",
                        "on the first stage's rank, with the head"))}]>,
    Option<"depth", "depth", "int64_t", "32",
           "Guesses on a path beyond the last known token, at most">,
    Option<"width", "width", "int64_t", "8",
           "Guesses for one row's next token, at most">
  ];
  let statistics = [
    Statistic<"draftsAdded", "drafts-added", "Drafts that were added">,
    Statistic<"tokensCompared", "tokens-compared",
              "Tokens of the two tokenizers that were compared">
  ];
  let dependentDialects = ["::sluice::ir::SluiceDialect"];
}

def SplitRanks : Pass<"sluice-split-ranks", "::mlir::ModuleOp"> {
  let summary = "makes one program for each rank";
  let description = [{
    Takes a module from the phase `pipeline` to the phase `program`. Stages run
    on different devices and send each other rows: from here on the IR says who
    sends what to whom, with a bound on how much can lie between them, so that
    what could wait for ever is found while compiling.

    Each stage becomes a `sluice.worker` that receives, computes and sends; the
    draft becomes one as well. Ranks are numbered in the order of the stages, and
    rank 0 has the head; with a draft on a rank of its own that is rank 0, with
    the head, and the stages' come after it. There is a
    `sluice.channel` from the head to the first stage, from each stage to the
    next, and from the last back to the head; and two between head and draft,
    which are at one rank.

    ```mlir
    sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>)
        (%batch: !sluice.batch, %h: tensor<?x256xf32>) -> tensor<?x256xf32> {
      ...
      sluice.forward %y : tensor<?x256xf32>
    }
    ```

    becomes

    ```mlir
    sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
    sluice.channel @c1 from @rank0 to @rank1 capacity 256
      : !sluice.frame<rows, tensor<?x256xf32>>
    sluice.worker @main.s1 at(@rank1) {
      %b, %h = sluice.receive @c1 : tensor<?x256xf32>
      ...
      sluice.send @c2 %b, %y : tensor<?x256xf32>
    }
    ```

    A stage on several places becomes a `sluice.group` of its name: a worker for
    each member at a rank of its own, with its parts of the weights. Channels
    then lead to and from the group.

    Capacities with which the ranks would wait for each other in a cycle are an
    error that prints the cycle, as in `--sluice-verify-phase`.
  }];
  let options = [
    Option<"capacity", "capacity", "int64_t", "256",
           "Frames that each channel holds, at most">
  ];
  let statistics = [
    Statistic<"ranksMade", "ranks", "Ranks that were made">,
    Statistic<"channelsMade", "channels", "Channels between and in ranks">,
    Statistic<"workersMade", "workers", "Workers of stages and drafts">,
    Statistic<"groupsMade", "groups", "Stages made groups of workers">
  ];
  let dependentDialects = ["::sluice::ir::SluiceDialect"];
}

#endif // SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_TD

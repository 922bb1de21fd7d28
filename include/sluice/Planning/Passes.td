//===- Passes.td - plans steps as tasks over buffers ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_PLANNING_PASSES_TD
#define SLUICE_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanStep : Pass<"sluice-plan-step", "::mlir::ModuleOp"> {
  let summary = "Turn programs into steps, one task for each op";
  let description = [{
    Takes a module of the phase `program` to the phase `plan`. Each
    `sluice.worker` becomes a `sluice.step` of the same name, and so does the one
    fused `sluice.model` of a module with no workers. `sluice.generate` and the
    pipelines become one `sluice.deployment`. Files, weights, the tokenizer,
    ranks and channels stay, but for those between head and draft.

    Layers are flattened, and every tensor becomes a buffer with one record for
    each row. What the ops only imply is spelled out: rotations read cosines and
    sines, attention first appends to the cache. Nothing is decided but names.

    With `beside-cpu` the workers stay, for a plan for a CPU to be made of them
    later; steps are then named with `.cuda` behind and have the CPU's programs
    as their counterparts.

    Example:

    ```mlir
    %y = sluice.rms_norm %x, %w epsilon 1.0e-05
      : tensor<?x256xf32>, tensor<256xf32>
    ```

    becomes

    ```mlir
    sluice.task.rows rows reads(%x = %x0 : !sluice.buffer<rows, 256>)
        weights(%w = %w0 : tensor<256xf32>)
        writes(%x1 : !sluice.buffer<rows, 256>) {
      %y = sluice.rms_norm %x, %w epsilon 1.0e-05
        : tensor<?x256xf32>, tensor<256xf32>
      sluice.task.yield %y : tensor<?x256xf32>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"#sluice.cpu<avx2>\"",
           "What to plan for: #sluice.cpu<LEVEL> or #sluice.cuda.">,
    Option<"besideCpu", "beside-cpu", "bool", "false",
           "Leave the workers for a plan for a CPU.">
  ];
  let statistics = [
    Statistic<"steps", "steps", "Programs that became steps">,
    Statistic<"tasks", "tasks", "Tasks in the steps">
  ];
}

def ChooseOperands : Pass<"sluice-choose-operands", "::sluice::ir::StepOp"> {
  let summary = "Give products the operands that their kernels take";
  let description = [{
    Where the target's kernel for a weight takes other records than rows of
    floats, a `sluice.to_operand` before the product makes them. Products that
    read the same rows in the same format share them, up to a checkpoint that
    does not move them.

    Example, for a CPU and a weight of q8_0:

    ```mlir
    sluice.task.product rows %x, %w into %y
    ```

    becomes

    ```mlir
    sluice.task.rows rows reads(%r = %x : !sluice.buffer<rows, 64>)
        writes(%q : !sluice.buffer<rows, 64, <q8, floats = 24>>) {
      %o = sluice.to_operand %r as <q8, floats = 24> : tensor<?x64xf32>
      sluice.task.yield %o : tensor<?x64xf32>
    }
    sluice.task.product rows %q, %w into %y
    ```
  }];
  let statistics = [
    Statistic<"operands", "operands", "Operands that products read">
  ];
}

def CarryRows : Pass<"sluice-carry-rows", "::sluice::ir::StepOp"> {
  let summary = "Let checkpoints move what is used behind them";
  let description = [{
    Gives each `sluice.task.checkpoint` the buffers that are written before it
    and used behind it, if the target moves such buffers.

    Example:

    ```mlir
    sluice.task.checkpoint
    ```

    becomes

    ```mlir
    sluice.task.checkpoint %x, %t
      : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 16>
    ```
  }];
  let statistics = [
    Statistic<"buffersMoved", "buffers-moved", "Buffers that checkpoints move">
  ];
}

def FuseProducts : Pass<"sluice-fuse-products", "::sluice::ir::StepOp"> {
  let summary = "Let products compute gates and residuals themselves";
  let description = [{
    Two products and the gate behind them become one product with a gate, if
    nothing else reads what the two compute; a product and the sum behind it
    become a product with a residual. Operands of products are made by the row
    loops that make their rows. All of this as far as the target's kernels can.

    Example, for a GPU:

    ```mlir
    sluice.task.product rows %q, %w into %y
    sluice.task.rows rows reads(%a = %x : !sluice.buffer<rows, 64>,
                                %b = %y : !sluice.buffer<rows, 64>)
        writes(%z : !sluice.buffer<rows, 64>) {
      %s = sluice.add %a, %b : tensor<?x64xf32>
      sluice.task.yield %s : tensor<?x64xf32>
    }
    ```

    becomes

    ```mlir
    sluice.task.product rows %q, %w residual %x into %z
    ```
  }];
  let statistics = [
    Statistic<"gatesFused", "gates-fused-into-products",
              "Gates that are computed with the products before them">,
    Statistic<"residualsFused", "residuals-fused-into-products",
              "Sums that products add themselves">,
    Statistic<"operandsJoined", "operands-made-by-row-loops",
              "Operands that generated row loops write">
  ];
}

def OrderTasks : Pass<"sluice-order-tasks", "::sluice::ir::StepOp"> {
  let summary = "Do tasks as early as their inputs allow, in turns";
  let description = [{
    Going from row loops to products or attention takes a barrier of threads on a
    CPU, a launch on a GPU. So tasks are done in two turns: all row loops that
    are ready, then all other tasks that are ready, and so on. For a serial layer
    that is the order of its ops; of parallel branches it overlaps the halves
    between the same barriers. No task goes past a checkpoint.
  }];
  let statistics = [
    Statistic<"tasksMoved", "tasks-moved", "Tasks that stand elsewhere than before">
  ];
}

def FuseRowLoops : Pass<"sluice-fuse-row-loops", "::sluice::ir::StepOp"> {
  let summary = "Merge row loops that follow each other";
  let description = [{
    Neighbouring row loops over one domain become one, unless the target wants
    the sums of a loop to be of rows of one width. What the second one reads of
    the first is then a value of the body.

    Example:

    ```mlir
    sluice.task.rows rows ... { sluice.add ... }
    sluice.task.rows rows ... { sluice.rms_norm ... }
    ```

    becomes

    ```mlir
    sluice.task.rows rows reads(%a = %x : ..., %b = %y : ...)
        weights(%w = %w0 : ...) writes(%z : ..., %n : ...) {
      %s = sluice.add %a, %b : tensor<?x64xf32>
      %m = sluice.rms_norm %s, %w epsilon 1.0e-05
        : tensor<?x64xf32>, tensor<64xf32>
      sluice.task.yield %s, %m : tensor<?x64xf32>, tensor<?x64xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"rowLoopsFused", "row-loops-fused", "Row loops that joined another">
  ];
}

def FormColumns : Pass<"sluice-form-columns", "::sluice::ir::StepOp"> {
  let summary = "Keep in registers what only the next columns read";
  let description = [{
    Inside a row loop, ops over the columns of rows of one width share a loop
    over the columns. A value whose readers are all in the column loop that makes
    it is not written to memory, and neither is one that the target's code holds
    in registers from loop to loop.
  }];
  let statistics = [
    Statistic<"valuesKept", "values-kept-in-registers",
              "Values that have no memory any more">
  ];
}

def PlaceBarriers : Pass<"sluice-place-barriers", "::sluice::ir::StepOp"> {
  let summary = "Let threads wait for each other where they must";
  let description = [{
    All threads run the same tasks in the same order; what one wrote is seen by
    the others after the next barrier. So two tasks need a barrier between them
    when one writes a buffer that the other accesses, and a thread's records of
    the buffer in the two tasks are not the same. Barriers are put as late as
    possible, each before the first task that needs one since the last barrier;
    in a straight line of tasks no placement has fewer. On a target without
    barriers nothing is done.
  }];
  let statistics = [
    Statistic<"barriers", "barriers", "Barriers in the steps">
  ];
}

def AssignArena : Pass<"sluice-assign-arena", "::sluice::ir::StepOp"> {
  let summary = "Give each buffer a place in the step's arena";
  let description = [{
    A step allocates nothing: its buffers lie in one arena, at offsets that are
    constants but for the capacities, which the runtime chooses when it starts.
    Buffers that are not in use at once share memory. Buffers that nothing
    accesses go.

    Example:

    ```mlir
    %x = sluice.buffer : !sluice.buffer<rows, 64>
    ```

    becomes

    ```mlir
    %x = sluice.buffer at 128 : !sluice.buffer<rows, 64>
    ```
  }];
  let statistics = [
    Statistic<"buffers", "buffers", "Buffers with a place">
  ];
}

#endif // SLUICE_PLANNING_PASSES_TD

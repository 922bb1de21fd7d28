//===- Passes.td - conversions out of the dialect sluice ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_CONVERSION_PASSES_TD
#define SLUICE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertSluiceToCPU : Pass<"convert-sluice-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Generate the code of row loops for a CPU";
  let description = [{
    Takes a module of the phase `plan` to the phase `kernels`. The body of each
    row loop of a `sluice.step` that is planned for a CPU becomes generated vector
    code in a function of its own, which equal row loops share: ops that follow
    each other over the same columns share a loop over the columns. The step,
    which gets `_step` behind its name, stays: it becomes a part of the
    executable, and the runtime runs its tasks. A `sluice.program` describes it.

    A sum's order depends on its length alone, so that a row's results have the
    same bits alone and beside other rows.

    Example:

    ```mlir
    sluice.task.rows rows reads(%r = %x : !sluice.buffer<rows, 256>)
        weights(%v = %w : tensor<256xf32>)
        writes(%n : !sluice.buffer<rows, 256>) {
      %s = sluice.rms_norm %r, %v epsilon 1.0e-05
        : tensor<?x256xf32>, tensor<256xf32>
      sluice.task.yield %s : tensor<?x256xf32>
    }
    ```

    becomes

    ```mlir
    sluice.task.rows rows kernel @rows_rms_norm reads(...) ...

    func.func @rows_rms_norm(%step: !llvm.ptr, %arguments: !llvm.ptr,
                             %begin: index, %end: index) {
      %x = llvm.load %arguments : !llvm.ptr -> !llvm.ptr
      ...
      scf.for %row = %begin to %end step %c1 {
        ...
      }
      return
    }
    ```
  }];
  let statistics = [
    Statistic<"programs", "programs", "Steps that became programs">,
    Statistic<"rowLoops", "row-loops", "Loops over rows in the steps">,
    Statistic<"rowKernels", "row-kernels",
              "Distinct functions that the row loops share">,
    Statistic<"fusedOps", "ops-fused-into-row-loops",
              "Row-wise ops and runtime calls in row loops">,
    Statistic<"microKernelTasks", "micro-kernel-tasks",
              "Matrix products, cache appends, attentions and exchanges">,
    Statistic<"barriers", "barriers", "Barriers in the steps">,
    Statistic<"checkpoints", "checkpoints", "Checkpoints in the steps">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ConvertSluiceToCUDA : Pass<"convert-sluice-to-cuda", "::mlir::ModuleOp"> {
  let summary = "Generate the kernels of steps that are planned for a GPU";
  let description = [{
    As `--convert-sluice-to-cpu`, for a GPU: each `sluice.step` that is planned
    for a GPU gets its generated kernels and a `sluice.program` for `cuda`, which
    takes its name; the step's own name then ends with `_step`. The runtime makes
    a CUDA graph of the step's tasks when it starts, and a step is one launch of
    the graph.

    Row loops become kernels in one `gpu.module`. A row has one block, whose
    threads share its columns; or several blocks if no thread needs another
    one's results. Equal kernels are one. The runtime itself has kernels for
    products, their operands, attention, table look-ups and checkpoints. One
    generated kernel finds the token of the greatest logit of each output, or two
    do for a wide vocabulary.

    Kernels read from memory how many rows there are: checkpoints lower the
    number, and blocks beyond it return at once. No sum depends on it, so a row's
    results have the same bits in any company. Each launch waits for the one
    before, so values share memory from launch to launch.

    Example:

    ```mlir
    sluice.task.rows rows reads(%r = %x : !sluice.buffer<rows, 256>)
        weights(%v = %w : tensor<256xf32>)
        writes(%n : !sluice.buffer<rows, 256>) {
      %s = sluice.rms_norm %r, %v epsilon 1.0e-05
        : tensor<?x256xf32>, tensor<256xf32>
      sluice.task.yield %s : tensor<?x256xf32>
    }
    ```

    becomes

    ```mlir
    sluice.task.rows rows kernel @kernels::@rows_rms_norm threads 32 blocks 1
        reads(%r = %x : !sluice.buffer<rows, 256>)
        weights(%v = %w : tensor<256xf32>)
        writes(%n : !sluice.buffer<rows, 256>) {
      ...
    }
    ```
  }];
  let options = [
    ListOption<"arch", "arch", "std::string",
               "Chips to make kernels for, as sm_90a (default: sm_80, sm_90a, "
               "sm_100 and sm_120); or emulator, for tests without a GPU.">
  ];
  let statistics = [
    Statistic<"programs", "programs", "Steps that became programs">,
    Statistic<"generatedLaunches", "generated-launches",
              "Launches of generated kernels, at most; calls are launches, too">,
    Statistic<"generatedKernels", "generated-kernels",
              "Distinct kernels that the launches share">,
    Statistic<"fusedOps", "ops-fused-into-kernels",
              "Row-wise ops in generated kernels">,
    Statistic<"calls", "runtime-calls",
              "Products, their operands, attention, look-ups and the like">,
    Statistic<"checkpoints", "checkpoints", "Checkpoints in the steps">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ApproximateMath : Pass<"sluice-approximate-math"> {
  let summary = "Replace exp, tanh and erf by polynomials";
  let description = [{
    A call of the C library for each lane would cost more than everything around
    it, and its results would depend on which C library runs. Upstream's
    polynomial approximations of `math.exp`, `math.tanh` and `math.erf` in
    float32, on vectors and on scalars, take their place; so a GPU computes the
    same bits. Their errors, which this project's tests measure
    over [-20, 20]: `exp` at most 1 and `tanh` at most 5 units in the last
    place, `erf` at most 3e-7. Results of `exp` below the normal range are 0.

    Example:

    ```mlir
    %y = math.tanh %x : vector<16xf32>
    ```

    becomes `arith` and `math.fma` ops.
  }];
  let statistics = [
    Statistic<"approximated", "ops-approximated",
              "Ops that a polynomial has replaced">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def LowerViews : Pass<"sluice-lower-views"> {
  let summary = "Turn sluice.view into a memref descriptor";
  let description = [{
    Builds the descriptor that the LLVM dialect has for a memref around the
    pointer. The casts that this leaves go away once memrefs are converted.

    Example:

    ```mlir
    %x = sluice.view %p[%n] : !llvm.ptr to memref<?x256xf32>
    ```

    becomes

    ```mlir
    %0 = llvm.mlir.poison
      : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %1 = llvm.insertvalue %p, %0[0] : ...
    ...
    %x = builtin.unrealized_conversion_cast %7 : ... to memref<?x256xf32>
    ```
  }];
  let statistics = [
    Statistic<"lowered", "views-lowered", "Views that became descriptors">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerDeviceOps : Pass<"sluice-lower-device-ops",
                          "::mlir::gpu::GPUModuleOp"> {
  let summary = "Let kernels overlap on chips that can";
  let description = [{
    `sluice.start_dependents` and `sluice.wait_for_prior` become instructions
    where all chips that the module is for have them (sm_90 and later). On
    others a kernel starts when the one before has ended, and they go.

    Example, on sm_90a:

    ```mlir
    sluice.wait_for_prior
    ```

    becomes

    ```mlir
    nvvm.griddepcontrol wait
    ```
  }];
  let statistics = [
    Statistic<"lowered", "ops-lowered", "Ops that are gone">
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def EmulateKernels : Pass<"sluice-emulate-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions of the host, for tests";
  let description = [{
    Kernels of a `gpu.module` without chips are for the runtime's emulator: each
    becomes a function which every emulated thread calls with the words of the
    launch, and asks the emulator who it is. So whole executables are tested
    where there is no GPU.

    Example:

    ```mlir
    %block = gpu.block_id x
    ```

    becomes

    ```mlir
    %0 = call @sluice_emulated_block() : () -> i32
    %block = arith.index_castui %0 : i32 to index
    ```
  }];
  let statistics = [
    Statistic<"emulated", "kernels-emulated", "Kernels that became functions">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
}

#endif // SLUICE_CONVERSION_PASSES_TD

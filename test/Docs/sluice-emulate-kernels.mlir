// RUN: sluice-opt %s --sluice-emulate-kernels | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: func.func private @emulated.rows_add(%{{.*}}: !llvm.ptr)
// CHECK-NOT: gpu.
gpu.module @kernels {
  gpu.func @rows_add(%count: !llvm.ptr) kernel {
    sluice.start_dependents
    %block = gpu.block_id x
    sluice.wait_for_prior
    gpu.return
  }
}

// RUN: sluice-opt %s --pass-pipeline="builtin.module(gpu.module(sluice-lower-device-ops))" | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: nvvm.griddepcontrol wait
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @rows_add(%count: !llvm.ptr) kernel {
    sluice.start_dependents
    %block = gpu.block_id x
    sluice.wait_for_prior
    gpu.return
  }
}

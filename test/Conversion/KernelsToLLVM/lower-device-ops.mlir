// RUN: sluice-opt %s --pass-pipeline="builtin.module(gpu.module(sluice-lower-device-ops))" | FileCheck %s

// Only where all chips can start a kernel early do kernels say when; square
// roots are the instruction that rounds to nearest.

// CHECK-LABEL: gpu.module @both
// CHECK-NOT:     griddepcontrol
// CHECK:         gpu.return
gpu.module @both [#nvvm.target<chip = "sm_80">, #nvvm.target<chip = "sm_90a">] {
  gpu.func @k() kernel {
    sluice.start_dependents
    sluice.wait_for_prior
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @new
// CHECK:         nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK-NEXT:    llvm.call_intrinsic "llvm.nvvm.sqrt.rn.f"(%{{.*}})
gpu.module @new [#nvvm.target<chip = "sm_100">, #nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%x: f32) kernel {
    sluice.start_dependents
    sluice.wait_for_prior
    %y = math.sqrt %x : f32
    gpu.return
  }
}

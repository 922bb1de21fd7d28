// RUN: sluice-opt %s --verify-roundtrip | FileCheck %s

// A step as work of a GPU: each op of a sluice.graph, and those of kernels.

llvm.mlir.global internal constant @attention(0 : i64) : i64
gpu.module @kernels {
  gpu.func @rows_add(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // CHECK: sluice.start_dependents
    sluice.start_dependents
    // CHECK: sluice.wait_for_prior
    sluice.wait_for_prior
    gpu.return
  }
  gpu.func @rows_gate(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                         sluice.row_blocks = 4 : i64} {
    sluice.wait_for_prior
    gpu.return
  }
}

// CHECK-LABEL: sluice.graph @main_step {
sluice.graph @main_step {
  %x = sluice.graph_value rows 0
  sluice.graph_embed 0 by token into %x cols 256
  %rows = sluice.graph_address row_count
  sluice.launch_kernel @kernels::@rows_add rows threads 64 (%rows, %x, %x)
}

// CHECK-LABEL: sluice.graph @all {
// CHECK:         sluice.graph_value rows 256
// CHECK:         sluice.graph_address rope_table 0
// CHECK:         sluice.graph_address greedy_tokens
// CHECK:         sluice.graph_receive into
// CHECK-NEXT:    sluice.graph_embed 0 by position into
// CHECK-NEXT:    sluice.launch_kernel @kernels::@rows_add rows threads 64(%{{.*}}, %{{.*}}, %{{.*}}){{$}}
// CHECK-NEXT:    sluice.launch_kernel @kernels::@rows_gate rows threads 64 blocks 4(
// CHECK:         sluice.graph_linear rows weight 4 columns 0 to 256 of %{{.*}} bias %{{.*}} residual %{{.*}} into %{{.*}}
// CHECK-NEXT:    sluice.graph_linear rows weight 5 columns 0 to 256 of %{{.*}} gate silu into %{{.*}}
// CHECK-NEXT:    sluice.graph_linear rows weight 5 columns 0 to 256 of %{{.*}} gate gelu_tanh bias %{{.*}} partner_bias %{{.*}} into %{{.*}}
// CHECK-NEXT:    sluice.graph_layer 3
// CHECK-NEXT:    sluice.graph_layer{{$}}
// CHECK:         sluice.graph_all_reduce rows %{{.*}} into %{{.*}} cols 256 scratch %{{.*}}
// CHECK:         sluice.graph_checkpoint(%{{.*}}, %{{.*}}) {floats = array<i64: 256, 64>}
// CHECK:         sluice.graph_linear outputs weight 4 columns 16 to 32 of %{{.*}} into %{{.*}}
// CHECK:         sluice.graph_all_gather outputs %{{.*}} cols 128 into %{{.*}} cols 256 scratch %{{.*}}
sluice.graph @all {
  %x = sluice.graph_value rows 256
  %y = sluice.graph_value rows 512
  %q = sluice.graph_value rows 768
  %k = sluice.graph_value rows 1024
  %v = sluice.graph_value rows 1280
  %z = sluice.graph_value rows 1536
  %o = sluice.graph_value outputs 16
  %b = sluice.graph_address vector 1
  %weight = sluice.graph_address vector 3
  %table = sluice.graph_address rope_table 0
  %rows = sluice.graph_address row_count
  %outputs = sluice.graph_address output_count
  %positions = sluice.graph_address positions
  %output_rows = sluice.graph_address output_rows
  %tokens = sluice.graph_address greedy_tokens
  %seven = arith.constant 7 : i64
  sluice.graph_receive into %x cols 256
  sluice.graph_embed 0 by position into %y cols 256
  sluice.launch_kernel @kernels::@rows_add rows threads 64 (%rows, %x, %y)
  sluice.launch_kernel @kernels::@rows_gate rows threads 64 blocks 4
    (%rows, %x, %y)
  sluice.graph_operand rows f16 %x into %q cols 256
  sluice.graph_linear rows weight 4 columns 0 to 256 of %q bias %b
    residual %x into %y
  sluice.graph_linear rows weight 5 columns 0 to 256 of %q gate silu into %z
  sluice.graph_linear rows weight 5 columns 0 to 256 of %q gate gelu_tanh
    bias %b partner_bias %b into %y
  sluice.graph_layer 3
  sluice.graph_layer
  sluice.graph_append 0 %k, %v
  sluice.graph_attend 0 %q into %y with @attention
  %s = sluice.graph_value rows 1536
  sluice.graph_all_reduce rows %x into %y cols 256 scratch %s
  sluice.graph_checkpoint (%x, %y) {floats = array<i64: 256, 64>}
  sluice.graph_select_outputs
  sluice.graph_linear outputs weight 4 columns 16 to 32 of %q into %o
  sluice.graph_all_gather outputs %x cols 128 into %y cols 256 scratch %s
  sluice.graph_send %x cols 256
}

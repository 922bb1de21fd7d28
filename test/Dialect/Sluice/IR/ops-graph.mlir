// RUN: sluice-opt %s --verify-roundtrip | FileCheck %s

// A step as work of a GPU: each op of a sluice.graph, and those of kernels.

llvm.mlir.global internal constant @attention(0 : i64) : i64
gpu.module @kernels {
  gpu.func @rows_add(%count: !llvm.ptr, %x: !llvm.ptr, %n: i64) kernel {
    // CHECK: sluice.start_dependents
    sluice.start_dependents
    // CHECK: sluice.wait_for_prior
    sluice.wait_for_prior
    gpu.return
  }
}

// CHECK-LABEL: sluice.graph @main_step {
// CHECK:         sluice.graph_value rows 16
// CHECK:         sluice.graph_address rope_table 0
// CHECK:         sluice.launch_kernel @kernels::@rows_add rows threads 64(
// CHECK:         sluice.graph_linear rows weight 4 columns 0 to 64 of %{{.*}} bias %{{.*}} residual %{{.*}} into %{{.*}}
// CHECK:         sluice.graph_checkpoint(%{{.*}}, %{{.*}}) {floats = array<i64: 64, 16>}
sluice.graph @main_step {
  %x = sluice.graph_value rows 16
  %o = sluice.graph_value outputs 32
  sluice.graph_receive into %x cols 64
  %bias = sluice.graph_address vector 3
  %table = sluice.graph_address rope_table 0
  %rows = sluice.graph_address row_count
  %outputs = sluice.graph_address output_count
  %positions = sluice.graph_address positions
  %output_rows = sluice.graph_address output_rows
  %tokens = sluice.graph_address greedy_tokens
  %seven = arith.constant 7 : i64
  sluice.launch_kernel @kernels::@rows_add rows threads 64 (%rows, %x, %seven) : !llvm.ptr, !llvm.ptr, i64
  sluice.graph_embed 0 by position into %x cols 64
  sluice.graph_operand rows f16 %x into %x cols 64
  sluice.graph_linear rows weight 4 columns 16 to 48 of %x into %x
  sluice.graph_linear rows weight 4 columns 0 to 64 of %x bias %bias residual %x into %o
  sluice.graph_append 1 %x, %o
  sluice.graph_attend 1 %x into %o with @attention
  sluice.graph_checkpoint (%x, %o) {floats = array<i64: 64, 16>}
  sluice.graph_select_outputs
  sluice.graph_send %x cols 64
}

sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// CHECK: sluice.program @main step @main_step cuda {

// RUN: sluice-opt %s --sluice-lower-graphs --canonicalize | FileCheck %s

// A graph becomes a function whose calls say what it consists of, in order, as
// runtime/device/cuda/CudaProgramABI.h has them. The words of launches and the
// lists of checkpoints lie on the stack; a kernel's name is there once in a module.
// Marks of layers leave nothing.

llvm.mlir.global internal constant @attention(0 : i64) : i64
gpu.module @kernels {
  gpu.func @rows_add(%count: !llvm.ptr, %x: !llvm.ptr, %n: !llvm.ptr) kernel {
    sluice.wait_for_prior
    gpu.return
  }
  gpu.func @rows_gate(%count: !llvm.ptr, %x: !llvm.ptr, %n: !llvm.ptr) kernel attributes {sluice.row_blocks = 4 : i64} {
    sluice.wait_for_prior
    gpu.return
  }
}

// CHECK-DAG:   llvm.mlir.global internal constant @{{kernel_name.*}}("rows_gate\00")
// CHECK-DAG:   llvm.mlir.global internal constant @[[ADD:kernel_name.*]]("rows_add\00")
// CHECK-NOT:   llvm.mlir.global internal constant @kernel_name
// CHECK-LABEL: func.func @main_step(
// CHECK-SAME:    %[[GRAPH:.*]]: !llvm.ptr)
// CHECK-DAG:     %[[ROWS:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[OUTPUTS:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK:         %[[X:.*]] = call @sluice_graph_value(%[[GRAPH]], %[[ROWS]], %c16_i64)
// CHECK:         %[[O:.*]] = call @sluice_graph_value(%[[GRAPH]], %[[OUTPUTS]], %c32_i64)
// CHECK:         call @sluice_graph_receive(%[[GRAPH]], %[[X]], %c64_i64)
// CHECK:         %[[BIAS:.*]] = call @sluice_graph_vector(%[[GRAPH]], %c3_i64)
// CHECK:         call @sluice_graph_rope_table(%[[GRAPH]], %c0_i64)
// CHECK:         %[[COUNT:.*]] = call @sluice_graph_count(%[[GRAPH]], %[[ROWS]])
// CHECK:         call @sluice_graph_count(%[[GRAPH]], %[[OUTPUTS]])
// CHECK:         call @sluice_graph_positions(%[[GRAPH]])
// CHECK:         call @sluice_graph_output_rows(%[[GRAPH]])
// CHECK:         call @sluice_graph_greedy_tokens(%[[GRAPH]])
// CHECK:         call @sluice_graph_embed(%[[GRAPH]], %c0_i64, %{{.*}}, %[[X]], %c64_i64)
// CHECK:         llvm.store %[[COUNT]], %[[WORDS:.*]] :
// CHECK:         %[[WORD1:.*]] = llvm.getelementptr %[[WORDS]][1]
// CHECK:         llvm.store %[[X]], %[[WORD1]]
// CHECK:         %[[WORD2:.*]] = llvm.getelementptr %[[WORDS]][2]
// CHECK:         llvm.store %[[BIAS]], %[[WORD2]]
// CHECK:         call @sluice_graph_launch(%[[GRAPH]], %{{.*}}, %[[ROWS]], %c64_i32, %c4_i32, %[[WORDS]], %c3_i64)
// CHECK:         call @sluice_graph_operand(%[[GRAPH]], %[[ROWS]], %[[X]], %[[X]], %c64_i64, %c2_i32)
// CHECK:         call @sluice_graph_linear(%[[GRAPH]], %[[ROWS]], %c4_i64, %[[X]], %[[NULL]], %[[NULL]], %[[NULL]], %[[X]], %[[ROWS]], %c16_i64, %c48_i64)
// CHECK:         call @sluice_graph_linear(%[[GRAPH]], %[[ROWS]], %c4_i64, %[[X]], %[[BIAS]], %[[NULL]], %[[X]], %[[O]], %[[ROWS]], %c0_i64, %c64_i64)
// CHECK:         call @sluice_graph_linear(%[[GRAPH]], %[[ROWS]], %c5_i64, %[[X]], %[[BIAS]], %[[BIAS]], %[[NULL]], %[[O]], %c2_i32, %c0_i64, %c64_i64)
// CHECK:         call @sluice_graph_append(%[[GRAPH]], %c1_i64, %[[X]], %[[O]])
// CHECK:         call @sluice_graph_attend(%[[GRAPH]], %c1_i64, %[[X]], %[[O]], %{{.*}})
// CHECK:         call @sluice_graph_all_reduce(%[[GRAPH]], %[[ROWS]], %[[X]], %[[Y:.*]], %[[S:.*]], %c64_i64)
// CHECK:         call @sluice_graph_all_gather(%[[GRAPH]], %[[ROWS]], %[[X]], %[[Y]], %[[S]], %c48_i64, %c64_i64)
// CHECK:         llvm.store %c64_i64, %[[SIZES:.*]] :
// CHECK:         call @sluice_graph_checkpoint(%[[GRAPH]], %[[WORDS]], %[[SIZES]], %c2_i64)
// CHECK:         call @sluice_graph_select_outputs(%[[GRAPH]])
// CHECK-NEXT:    call @sluice_graph_send(%[[GRAPH]], %[[X]], %c64_i64)
// CHECK-NEXT:    return
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
  sluice.graph_embed 0 by position into %x cols 64
  sluice.launch_kernel @kernels::@rows_gate rows threads 64 blocks 4 (%rows, %x, %bias)
  sluice.graph_operand rows f16 %x into %x cols 64
  sluice.graph_linear rows weight 4 columns 16 to 48 of %x into %x
  sluice.graph_linear rows weight 4 columns 0 to 64 of %x bias %bias residual %x into %o
  sluice.graph_linear rows weight 5 columns 0 to 64 of %x gate gelu_tanh bias %bias partner_bias %bias into %o
  sluice.graph_append 1 %x, %o
  sluice.graph_attend 1 %x into %o with @attention
  %y = sluice.graph_value rows 80
  %s = sluice.graph_value rows 144
  sluice.graph_all_reduce rows %x into %y cols 64 scratch %s
  sluice.graph_all_gather rows %x cols 48 into %y cols 64 scratch %s
  sluice.graph_checkpoint (%x, %o) {floats = array<i64: 64, 16>}
  sluice.graph_select_outputs
  sluice.graph_layer 1
  sluice.graph_send %x cols 64
}

// CHECK-LABEL: func.func @again_step(
// CHECK:         %[[NAME:.*]] = llvm.mlir.addressof @[[ADD]]
// CHECK:         call @sluice_graph_launch(%{{.*}}, %[[NAME]], %{{.*}}, %c64_i32, %c1_i32,
// CHECK:         call @sluice_graph_launch(%{{.*}}, %{{.*}}, %{{.*}}, %c64_i32, %c1_i32,
sluice.graph @again_step {
  %x = sluice.graph_value rows 16
  sluice.launch_kernel @kernels::@rows_add rows threads 64 (%x, %x, %x)
  sluice.launch_kernel @kernels::@rows_add rows threads 64 (%x, %x, %x)
}

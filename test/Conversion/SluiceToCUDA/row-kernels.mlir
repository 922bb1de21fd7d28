// RUN: sluice-opt %s --convert-sluice-to-cuda=arch=sm_90a | FileCheck %s

// Row-wise ops that follow each other are one kernel. A block does a row, if
// there is one with its number. The sum and the first reduction of the norm share
// a loop over the columns, and so do the norm's scaling, the activation and the
// last sum; what only they pass to each other stays in registers. 300 columns
// take 128 threads: four warps, whose sums meet in shared memory, in places of
// their own for each of the layer norm's two reductions.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @tokens in @f at 0 stored f32 : tensor<300x300xf32>
sluice.weight @positions in @f at 0 stored f32 : tensor<64x300xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<300xf32>

// CHECK-LABEL: gpu.func @rows_add_layer_norm_activation_add(
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: !llvm.ptr,
// CHECK-SAME:    workgroup(%[[SHARED:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>
// CHECK:         sluice.start_dependents
// CHECK-NEXT:    %[[ROW:.*]] = gpu.block_id x
// CHECK-NEXT:    %[[THREAD:.*]] = gpu.thread_id x
// CHECK-NEXT:    sluice.wait_for_prior
// CHECK-NEXT:    %[[COUNTS:.*]] = sluice.view %[[COUNT]] : !llvm.ptr to memref<1xi32>
// CHECK:         %[[ROWS:.*]] = arith.index_castui
// CHECK-NEXT:    %[[LIVES:.*]] = arith.cmpi ult, %[[ROW]], %[[ROWS]]
// CHECK-NEXT:    scf.if %[[LIVES]] {
// CHECK:           scf.for %[[C:.*]] = %[[THREAD]] to %{{.*}} step %{{.*}} iter_args
// CHECK:             %[[SUM:.*]] = arith.addf
// CHECK-NEXT:        memref.store %[[SUM]]
// CHECK-NEXT:        arith.addf %{{.*}}, %[[SUM]]
// CHECK-COUNT-5:   gpu.shuffle xor
// CHECK:           scf.if
// CHECK:             memref.store %{{.*}}, %[[SHARED]]
// CHECK:           gpu.barrier
// CHECK-COUNT-2:   gpu.shuffle xor
// CHECK:           scf.for
// CHECK:             arith.subf
// CHECK-NEXT:        math.fma
// CHECK:           gpu.barrier
// CHECK:           math.sqrt
// CHECK:           scf.for
// CHECK-NOT:         memref.store
// CHECK:             math.exp
// CHECK-NOT:         memref.store
// CHECK:             arith.divf
// CHECK:             %[[RESULT:.*]] = arith.addf
// CHECK-NEXT:        memref.store %[[RESULT]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return

// A narrow block is one warp, and needs no shared memory.
// CHECK-LABEL: gpu.func @rows_select_outputs(
// CHECK-NOT:     workgroup
// CHECK:         memref.load
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 300,
    context_length = 64} {
  %tokens = sluice.param @tokens : tensor<300x300xf32>
  %positions = sluice.param @positions : tensor<64x300xf32>
  %norm = sluice.param @norm : tensor<300xf32>
  %x = sluice.embed %batch, %tokens by token : tensor<300x300xf32> -> tensor<?x300xf32>
  %p = sluice.embed %batch, %positions by position : tensor<64x300xf32> -> tensor<?x300xf32>
  %s = sluice.add %x, %p : tensor<?x300xf32>
  %n = sluice.layer_norm %s, %norm epsilon 1.0e-05 : tensor<?x300xf32>, tensor<300xf32>
  %a = sluice.activation silu %n : tensor<?x300xf32>
  %y = sluice.add %a, %s : tensor<?x300xf32>
  sluice.return %y : tensor<?x300xf32>
}

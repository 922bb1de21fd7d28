// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a | FileCheck %s

// Row-wise ops that follow each other are one kernel. A block does a row, if
// there is one with its number. The sum and the first reduction of the norm share
// a loop over the columns, and so do the norm's scaling, the activation and the
// last sum; what only they pass to each other stays in registers and has no memory,
// and so do the columns that a thread needs again; weights are asked for before the rows are there.
// 300 columns are 75 vectors for 64 threads: all
// have one, and some a second. Nothing is computed before all loads of a loop.
// Two warps' sums meet in shared memory, in places of their own for each of the
// layer norm's two reductions.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @tokens in @f at 0 stored f32 : tensor<300x300xf32>
sluice.weight @positions in @f at 0 stored f32 : tensor<64x300xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<300xf32>

// CHECK-LABEL: gpu.func @rows_add_layer_norm_activation_add(
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: !llvm.ptr,
// CHECK-SAME:    workgroup(%[[SHARED:.*]] : memref<4xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>
// CHECK:         sluice.start_dependents
// CHECK-NEXT:    %[[ROW:.*]] = gpu.block_id x
// CHECK-NEXT:    %[[THREAD:.*]] = gpu.thread_id x
// CHECK-NOT:     memref<?x
// CHECK-COUNT-2: vector.load {{.*}} : memref<300xf32>, vector<4xf32>
// CHECK-NOT:     load
// CHECK:         sluice.wait_for_prior
// CHECK-NEXT:    %[[COUNTS:.*]] = sluice.view %[[COUNT]] : !llvm.ptr to memref<1xi32>
// CHECK:         %[[ROWS:.*]] = arith.index_castui
// CHECK-NEXT:    %[[LIVES:.*]] = arith.cmpi ult, %[[ROW]], %[[ROWS]]
// CHECK-NEXT:    scf.if %[[LIVES]] {
// CHECK:           %[[SECOND:.*]] = arith.addi %[[THREAD]], %c64
// CHECK:           %[[THERE:.*]] = arith.cmpi ult, %[[SECOND]], %c75
// CHECK-NEXT:      %{{.*}} = arith.constant 0 : index
// CHECK-NEXT:      arith.select %[[THERE]], %[[SECOND]],
// CHECK-COUNT-4:   vector.load {{.*}} {alignment = 16 : i64} : memref<?x300xf32>, vector<4xf32>
// CHECK-NOT:       vector.load
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK-NOT:       vector.store
// CHECK:           arith.addf %{{.*}}, %[[SUM]] : vector<4xf32>
// CHECK:           %[[SUM2:.*]] = arith.addf
// CHECK-NOT:       vector.store
// CHECK:           %[[ALL:.*]] = arith.addf %{{.*}}, %[[SUM2]] : vector<4xf32>
// CHECK-NEXT:      arith.select %[[THERE]], %[[ALL]],
// CHECK-COUNT-4:   vector.extract
// CHECK-COUNT-3:   arith.addf %{{.*}} : f32
// CHECK-COUNT-5:   gpu.shuffle xor
// CHECK:           scf.if
// CHECK:             memref.store %{{.*}}, %[[SHARED]]
// CHECK:           gpu.barrier
// CHECK-COUNT-1:   gpu.shuffle xor
// CHECK-NOT:       vector.load
// CHECK:           arith.subf %[[SUM]],
// CHECK-NEXT:      math.fma
// CHECK-NOT:       vector.load
// CHECK:           gpu.barrier
// CHECK:           math.sqrt
// CHECK-NOT:       {{(load|store)}}
// CHECK:           math.exp
// CHECK-NOT:       {{(load|store)}}
// CHECK:           arith.divf
// CHECK:           %[[RESULT:.*]] = arith.addf %{{.*}}, %[[SUM]]
// CHECK:           vector.store %[[RESULT]]
// CHECK:           math.exp
// CHECK-NOT:       vector.load
// CHECK:           scf.if
// CHECK-NEXT:        vector.store {{.*$}}
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return

// Where no thread needs another one there is no shared memory.
// CHECK-LABEL: gpu.func @rows_select_outputs(
// CHECK-NOT:     workgroup
// CHECK:         memref.load
// CHECK:         vector.load
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

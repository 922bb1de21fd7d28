// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a | FileCheck %s

// Who computes a row, and who waits for whom. Where threads need nothing of each
// other some blocks share a row, each thread with four columns; with a sum over the
// row it is one block, and with columns that other threads wrote. What a thread
// selects it has in registers in the norm behind; what it splits others rotate.

!w = tensor<2048x2048xf32>
sluice.file @f path "m" size 100000000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored f32 : tensor<5000x2048xf32>
sluice.weight @w in @f at 0 stored f32 : !w
sluice.weight @g in @f at 0 stored f32 : tensor<2048xf32>

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_activation threads 128 blocks 4 reads
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_split_qkv_rotate threads 128 blocks 1 reads
// CHECK:         sluice.task.sample %{{.*}} parts %{{.*}} kernels [#sluice.kernel<@kernels::@greedy_search, threads = 128, blocks = 3>, #sluice.kernel<@kernels::@greedy_tokens, threads = 32, blocks = 1>] : {{.*}}, !sluice.buffer<outputs, 6>

// CHECK-LABEL: gpu.func @rows_activation(
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: !llvm.ptr, %[[X:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64}, %[[Y:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias})
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>
// CHECK:         %[[BLOCK:.*]] = gpu.block_id
// CHECK:         %[[BLOCKS:.*]] = arith.constant 4 : index
// CHECK:         arith.remui %[[BLOCK]], %[[BLOCKS]]
// CHECK-NEXT:    %[[ROW:.*]] = arith.divui %[[BLOCK]], %[[BLOCKS]]
// CHECK:         %[[WORKER:.*]] = arith.addi
// CHECK:         %[[COLUMN:.*]] = arith.muli %[[WORKER]], %c4
// CHECK-NEXT:    vector.load %{{.*}}[%[[ROW]], %[[COLUMN]]] {alignment = 16 : i64} : memref<?x2048xf32>, vector<4xf32>
// CHECK-NOT:     gpu.barrier
// CHECK-NOT:     scf.for
// CHECK:         gpu.return

// CHECK-LABEL: gpu.func @rows_split_qkv_rotate(
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>
// CHECK:         vector.store
// CHECK:         gpu.barrier
// CHECK:         vector.shuffle %[[A:.*]], %[[B:.*]] [0, 2, 4, 6]
// CHECK-NEXT:    vector.shuffle %[[A]], %[[B]] [1, 3, 5, 7]
// CHECK:         vector.shuffle %[[C:.*]], %[[D:.*]] [0, 4, 1, 5]
// CHECK-NEXT:    vector.shuffle %[[C]], %[[D]] [2, 6, 3, 7]
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return

// Of a sum's threads its own width says how many there are, not that of the ops
// beside it.
// CHECK-LABEL: gpu.func @rows_select_outputs_rms_norm_concat(
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// CHECK:         sluice.wait_for_prior
// CHECK:         %[[SELECTED:.*]] = vector.load
// CHECK:         vector.store %[[SELECTED]]
// CHECK:         math.fma %[[SELECTED]], %[[SELECTED]]
// CHECK:         gpu.barrier
// CHECK-NOT:     gpu.barrier
// CHECK:         arith.mulf %[[SELECTED]],
// CHECK:         gpu.barrier
// CHECK:         gpu.return

// The token of greatest logit, of a wide vocabulary in two steps: what blocks found
// lies in memory of the arena between them.
// CHECK-LABEL: gpu.func @greedy_search(
// CHECK-LABEL: gpu.func @greedy_tokens(
// CHECK-SAME:    known_block_size = array<i32: 32, 1, 1>

sluice.weight @o in @f at 0 stored f32 : tensor<2048x1024xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<5000x4096xf32>
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 5000,
    context_length = 8} {
  %e = sluice.param @e : tensor<5000x2048xf32>
  %w = sluice.param @w : !w
  %g = sluice.param @g : tensor<2048xf32>
  %o = sluice.param @o : tensor<2048x1024xf32>
  %v = sluice.param @v : tensor<5000x4096xf32>
  %x = sluice.embed %batch, %e by token : tensor<5000x2048xf32> -> tensor<?x2048xf32>
  %a = sluice.activation silu %x : tensor<?x2048xf32>
  %y = sluice.linear %a, %w : tensor<?x2048xf32>, !w -> tensor<?x2048xf32>
  %q, %k, %u = sluice.split_qkv %y concat heads 8 kv_heads 4 head_dim 128 : tensor<?x2048xf32> -> tensor<?x1024xf32>, tensor<?x512xf32>, tensor<?x512xf32>
  %r = sluice.rope %q, %batch interleaved heads 8 head_dim 128 rotary_dim 128 base 10000.0 : tensor<?x1024xf32>
  %c = sluice.linear %r, %o : tensor<?x1024xf32>, tensor<2048x1024xf32> -> tensor<?x2048xf32>
  %s = sluice.select_outputs %c, %batch : tensor<?x2048xf32>
  %n = sluice.rms_norm %s, %g epsilon 1.0e-5 : tensor<?x2048xf32>, tensor<2048xf32>
  %d = sluice.concat %n, %s : tensor<?x2048xf32>, tensor<?x2048xf32> -> tensor<?x4096xf32>
  %z = sluice.linear %d, %v : tensor<?x4096xf32>, tensor<5000x4096xf32> -> tensor<?x5000xf32>
  sluice.return %z : tensor<?x5000xf32>
}

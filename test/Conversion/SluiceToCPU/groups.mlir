// RUN: sluice-opt %s --sluice-shard-tensors=tensor-parallel=2 \
// RUN:   --sluice-partition-stages=stages=1 --sluice-fuse-decode \
// RUN:   --sluice-split-ranks --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A layer whose two halves both start from its input, over a group of two. The
// members meet once for both halves and once for the logits: in calls between
// barriers, with scratch memory. The biases of products that are summed up are
// added in the loop behind the meeting, once.

!cache = !sluice.cache<kv_heads = 2, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<64x32xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<32xf32>
sluice.weight @q in @f at 0 stored f32 : tensor<32x32xf32>
sluice.weight @o in @f at 0 stored f32 : tensor<32x32xf32>
sluice.weight @o.bias in @f at 0 stored f32 : tensor<32xf32>
sluice.weight @up in @f at 0 stored f32 : tensor<128x32xf32>
sluice.weight @up.bias in @f at 0 stored f32 : tensor<128xf32>
sluice.weight @down in @f at 0 stored f32 : tensor<32x128xf32>
sluice.weight @down.bias in @f at 0 stored f32 : tensor<32xf32>

// CHECK-LABEL: func.func @main.s0.m0_step(
// The first half of the outputs' columns, with half of the bias.
// CHECK:         call @sluice_linear(%arg0, %{{[^,]*}}, %{{[^,]*}}, %[[NONE:[^,]*]], %{{[^,]*}}, %c0_i64, %c16_i64,
// CHECK:         %[[HALF:.*]] = call @sluice_vector
// CHECK:         call @sluice_linear(%arg0, %{{[^,]*}}, %{{[^,]*}}, %[[HALF]], %{{[^,]*}}, %c0_i64, %c64_i64,
// Parts of two sums, of all columns and without a bias, are added up first.
// CHECK:         %[[P2:.*]] = llvm.getelementptr
// CHECK-NEXT:    call @sluice_linear(%arg0, %{{[^,]*}}, %{{[^,]*}}, %[[NONE]], %[[P2]], %c0_i64, %c32_i64,
// CHECK:         call @sluice_attend(
// CHECK:         call @sluice_linear(%arg0, %{{[^,]*}}, %{{[^,]*}}, %[[NONE]], %[[P1:[^,]*]], %c0_i64, %c32_i64,
// CHECK:         call @rows_add(%[[P1]], %[[P2]], %[[PART:[^,]*]],
// CHECK-NEXT:    call @sluice_barrier
// CHECK:         %[[SUM:.*]] = llvm.getelementptr
// CHECK-NEXT:    call @sluice_all_reduce(%arg0, %[[PART]], %[[SUM]], %{{[^,]*}}, %c32_i64, %arg1, %arg6)
// CHECK-NEXT:    call @sluice_barrier
// CHECK:         %[[BIAS1:.*]] = call @sluice_vector
// CHECK:         %[[BIAS2:.*]] = call @sluice_vector
// CHECK-NEXT:    call @rows_add_bias_add(%[[BIAS1]], %[[BIAS2]], %[[SUM]],
// CHECK-NEXT:    call @sluice_barrier
// CHECK:         call @sluice_linear({{.*}}, %[[TOKENS:[^,]*]], %c0_i64, %c32_i64,
// CHECK-NEXT:    call @sluice_barrier
// CHECK-NEXT:    call @sluice_all_gather(%arg0, %[[TOKENS]], %[[LOGITS:[^,]*]], %{{[^,]*}}, %c32_i64, %c64_i64, %arg1, %arg6)
// CHECK-NEXT:    call @sluice_barrier
// CHECK-NOT:     call @sluice_all
// CHECK:         call @rows_select_outputs(%arg0, %[[LOGITS]],

// CHECK-LABEL: func.func private @rows_add_bias_add(
// CHECK-DAG:     %[[ALL:.*]] = sluice.view %arg2[
// CHECK-DAG:     %[[B1:.*]] = sluice.view %arg0 :
// CHECK-DAG:     %[[B2:.*]] = sluice.view %arg1 :
// CHECK:         %[[X:.*]] = vector.load %[[ALL]]
// CHECK-NEXT:    %[[V1:.*]] = vector.load %[[B1]]
// CHECK-NEXT:    %[[X1:.*]] = arith.addf %[[X]], %[[V1]]
// CHECK-NEXT:    %[[V2:.*]] = vector.load %[[B2]]
// CHECK-NEXT:    arith.addf %[[X1]], %[[V2]]

// CHECK-LABEL: func.func @main.s0.m1_step(
// CHECK:         call @sluice_all_reduce
// CHECK:         call @sluice_all_gather

sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "test", model_name = "test", vocab_size = 64,
    context_length = 64} {
  %embd = sluice.param @embd : tensor<64x32xf32>
  %h = sluice.embed chunk %chunk, %embd by token : tensor<64x32xf32> -> tensor<?x32xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x32xf32> {
    %norm = sluice.param @norm : tensor<32xf32>
    %wq = sluice.param @q : tensor<32x32xf32>
    %wo = sluice.param @o : tensor<32x32xf32>
    %bo = sluice.param @o.bias : tensor<32xf32>
    %wup = sluice.param @up : tensor<128x32xf32>
    %bup = sluice.param @up.bias : tensor<128xf32>
    %wdown = sluice.param @down : tensor<32x128xf32>
    %bdown = sluice.param @down.bias : tensor<32xf32>
    %c = sluice.layer_cache : !cache
    %n = sluice.rms_norm %x, %norm epsilon 1.0e-05 : tensor<?x32xf32>, tensor<32xf32>
    %q = sluice.linear %n, %wq : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    %a = sluice.attend %q, %q, %q, %c, chunk %chunk heads 2 scale 0.25 : tensor<?x32xf32>, tensor<?x32xf32>, !cache
    %o = sluice.linear %a, %wo bias %bo : tensor<?x32xf32>, tensor<32x32xf32>, tensor<32xf32> -> tensor<?x32xf32>
    %u = sluice.linear %n, %wup bias %bup : tensor<?x32xf32>, tensor<128x32xf32>, tensor<128xf32> -> tensor<?x128xf32>
    %g = sluice.activation gelu_tanh %u : tensor<?x128xf32>
    %d = sluice.linear %g, %wdown bias %bdown : tensor<?x128xf32>, tensor<32x128xf32>, tensor<32xf32> -> tensor<?x32xf32>
    %r = sluice.add %x, %o : tensor<?x32xf32>
    %y = sluice.add %r, %d : tensor<?x32xf32>
    sluice.yield %y : tensor<?x32xf32>
  }
  %logits = sluice.linear %h1, %embd : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

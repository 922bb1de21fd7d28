// RUN: sluice-opt %s --sluice-shard-tensors=tensor-parallel=2 \
// RUN:   --sluice-partition-stages=stages=1 --sluice-fuse-decode \
// RUN:   --sluice-split-ranks --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A layer whose two halves both start from its input, over a group of two. The
// members exchange rows once for both halves and once for the logits, between
// barriers and with scratch memory. The biases of products that are summed up are
// added in the loop behind the exchange, once.

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

// CHECK-LABEL: sluice.step @main.s0.m0_step(
// CHECK-DAG:     %[[B1:.*]] = sluice.param @o.bias
// CHECK-DAG:     %[[B2:.*]] = sluice.param @down.bias
// CHECK:         sluice.task.product rows %{{.*}}, %{{.*}} into
// With half of the bias.
// CHECK:         sluice.task.product rows %{{.*}}, %{{.*}} bias %{{.*}} into
// Parts of two sums, of all columns and without a bias, are added up first.
// CHECK:         sluice.task.product rows %{{.*}}, %{{[a-z0-9_]+}} into %[[P2:[a-z0-9_]+]]
// CHECK:         sluice.task.attend
// CHECK:         sluice.task.product rows %{{.*}}, %{{[a-z0-9_]+}} into %[[P1:[a-z0-9_]+]]
// CHECK:         sluice.task.rows rows kernel @rows_add reads(%{{.*}} = %[[P1]] : {{.*}}, %{{.*}} = %[[P2]] : {{.*}}) writes(%[[PART:[a-z0-9_]+]] :
// CHECK:         sluice.barrier
// CHECK-NEXT:    sluice.task.exchange sum rows %[[PART]] into %[[SUM:[a-z0-9_]+]] scratch
// CHECK-NEXT:    sluice.barrier
// CHECK-NEXT:    sluice.task.rows rows kernel @rows_add_bias_add reads({{.*}}%[[SUM]]{{.*}}) weights(%{{.*}} = %[[B1]] : {{.*}}, %{{.*}} = %[[B2]] :
// CHECK:         sluice.barrier
// CHECK-NEXT:    sluice.task.product {{.*}} into %[[TOKENS:[a-z0-9_]+]]
// CHECK-NEXT:    sluice.barrier
// CHECK-NEXT:    sluice.task.exchange gather rows %[[TOKENS]] into %[[LOGITS:[a-z0-9_]+]]
// CHECK-NEXT:    sluice.barrier
// CHECK-NOT:     sluice.task.exchange
// CHECK:         sluice.task.rows outputs kernel @rows_select_outputs reads(%{{.*}} = %[[LOGITS]]

// CHECK-LABEL: sluice.step @main.s0.m1_step(
// CHECK:         sluice.task.exchange sum
// CHECK:         sluice.task.exchange gather

// CHECK-LABEL: func.func @rows_add_bias_add(
// CHECK:         %[[X:.*]] = vector.load
// CHECK-NEXT:    %[[V1:.*]] = vector.load
// CHECK-NEXT:    %[[V2:.*]] = vector.load
// CHECK-NEXT:    %[[X1:.*]] = arith.addf %[[X]], %[[V1]]
// CHECK-NEXT:    arith.addf %[[X1]], %[[V2]]

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

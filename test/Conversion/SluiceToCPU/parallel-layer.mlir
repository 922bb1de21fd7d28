// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A layer whose attention and feed-forward both start from its input: the two
// branches go through the same row loops and share their barriers. The weights
// are float32, so nothing is quantised.

!cache = !sluice.cache<kv_heads = 1, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<64x32xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<32xf32>
sluice.weight @qkv in @f at 0 stored f32 : tensor<64x32xf32>
sluice.weight @o in @f at 0 stored f32 : tensor<32x32xf32>
sluice.weight @up in @f at 0 stored f32 : tensor<64x32xf32>
sluice.weight @down in @f at 0 stored f32 : tensor<32x64xf32>

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_embed_rms_norm_rotations
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.product
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_split_qkv_rotate_rotate_activation
// CHECK:         sluice.barrier
// CHECK:         sluice.task.append
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.product
// CHECK:         sluice.barrier
// CHECK:         sluice.task.attend
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_add_add
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_select_outputs
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 64,
    context_length = 64} {
  %embd = sluice.param @embd : tensor<64x32xf32>
  %h = sluice.embed %batch, %embd by token : tensor<64x32xf32> -> tensor<?x32xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x32xf32> {
    %norm = sluice.param @norm : tensor<32xf32>
    %wqkv = sluice.param @qkv : tensor<64x32xf32>
    %wo = sluice.param @o : tensor<32x32xf32>
    %wup = sluice.param @up : tensor<64x32xf32>
    %wdown = sluice.param @down : tensor<32x64xf32>
    %c = sluice.layer_cache : !cache
    %n = sluice.rms_norm %x, %norm epsilon 1.0e-05 : tensor<?x32xf32>, tensor<32xf32>
    %qkv = sluice.linear %n, %wqkv : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    %q, %k, %v = sluice.split_qkv %qkv concat heads 2 kv_heads 1 head_dim 16
      : tensor<?x64xf32> -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
    %qr = sluice.rope %q, %batch half heads 2 head_dim 16 rotary_dim 16 base 10000.0 : tensor<?x32xf32>
    %kr = sluice.rope %k, %batch half heads 1 head_dim 16 rotary_dim 16 base 10000.0 : tensor<?x16xf32>
    %a = sluice.attend %qr, %kr, %v, %c, %batch heads 2 scale 0.25 : tensor<?x32xf32>, tensor<?x16xf32>, !cache
    %o = sluice.linear %a, %wo : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    %u = sluice.linear %n, %wup : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    %f = sluice.activation gelu_tanh %u : tensor<?x64xf32>
    %d = sluice.linear %f, %wdown : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    %s = sluice.add %o, %d : tensor<?x32xf32>
    %y = sluice.add %x, %s : tensor<?x32xf32>
    sluice.yield %y : tensor<?x32xf32>
  }
  %e = sluice.select_outputs %h1, %batch : tensor<?x32xf32>
  %logits = sluice.linear %e, %embd : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

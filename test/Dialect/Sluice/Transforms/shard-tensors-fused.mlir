// RUN: sluice-opt %s --split-input-file --sluice-shard-tensors=tensor-parallel=2 | FileCheck %s

// Weights that hold queries, keys and values together are cut into a range for
// each: of columns where the weight is transposed, and of part of a key head's
// group where several members share the head. With alibi each member has the
// slopes of its own heads. Logits that no product makes stay whole.

// CHECK: sluice.slice @qkv.m1 of @qkv columns 16 to 32, 48 to 64, 80 to 96 : tensor<32x48xf32>
// CHECK: sluice.slice @bias.m0 of @bias columns 0 to 16, 32 to 48, 64 to 80 : tensor<48xf32>
// CHECK: sluice.slice @out.m1 of @out rows 16 to 32 : tensor<16x32xf32>
// CHECK-LABEL: sluice.model @main
// CHECK: linear {{.*}} transposed : tensor<?x32xf32>, tensor<32x48xf32>, tensor<48xf32> -> tensor<?x48xf32>
// CHECK: split_qkv %{{.*}} concat heads 2 kv_heads 2 head_dim 8
// CHECK: attend {{.*}} heads 2 scale 2.500000e-01 alibi 5.000000e-01 of 4 from [0, 2]
// CHECK: linear {{.*}} transposed : tensor<?x16xf32>, tensor<16x32xf32> -> tensor<?x32xf32>
// CHECK-NEXT: all_reduce
// CHECK-NOT: all_gather
sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<32x32xf32>
sluice.weight @qkv in @f0 at 0 stored f32 : tensor<32x96xf32>
sluice.weight @bias in @f0 at 0 stored f32 : tensor<96xf32>
sluice.weight @out in @f0 at 0 stored f32 : tensor<32x32xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "gpt2",
    model_name = "m", vocab_size = 32, context_length = 8} {
  %table = sluice.param @table : tensor<32x32xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x32xf32> -> tensor<?x32xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x32xf32> {
    %w = sluice.param @qkv : tensor<32x96xf32>
    %b = sluice.param @bias : tensor<96xf32>
    %qkv = sluice.linear %x, %w bias %b transposed
      : tensor<?x32xf32>, tensor<32x96xf32>, tensor<96xf32> -> tensor<?x96xf32>
    %q, %k, %v = sluice.split_qkv %qkv concat heads 4 kv_heads 4 head_dim 8
      : tensor<?x96xf32> -> tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 4, head_dim = 8>
    %a = sluice.attend %q, %k, %v, %cache, chunk %chunk heads 4 scale 0.25 alibi 0.5
      : tensor<?x32xf32>, tensor<?x32xf32>,
        !sluice.cache<kv_heads = 4, head_dim = 8>
    %wo = sluice.param @out : tensor<32x32xf32>
    %o = sluice.linear %a, %wo transposed
      : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    sluice.yield %o : tensor<?x32xf32>
  }
  sluice.return %h0 : tensor<?x32xf32>
}

// -----

// CHECK: sluice.slice @qkv.m0 of @qkv rows 0 to 16, 32 to 48 : tensor<32x32xf32>
// CHECK-NEXT: sluice.slice @qkv.m1 of @qkv rows 16 to 48 : tensor<32x32xf32>
// CHECK-LABEL: sluice.model @main
// CHECK: split_qkv %{{.*}} grouped heads 2 kv_heads 1 head_dim 8
sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<32x32xf32>
sluice.weight @qkv in @f0 at 0 stored f32 : tensor<48x32xf32>
sluice.weight @out in @f0 at 0 stored f32 : tensor<32x32xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "falcon",
    model_name = "m", vocab_size = 32, context_length = 8} {
  %table = sluice.param @table : tensor<32x32xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x32xf32> -> tensor<?x32xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x32xf32> {
    %w = sluice.param @qkv : tensor<48x32xf32>
    %qkv = sluice.linear %x, %w
      : tensor<?x32xf32>, tensor<48x32xf32> -> tensor<?x48xf32>
    %q, %k, %v = sluice.split_qkv %qkv grouped heads 4 kv_heads 1 head_dim 8
      : tensor<?x48xf32> -> tensor<?x32xf32>, tensor<?x8xf32>, tensor<?x8xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %a = sluice.attend %q, %k, %v, %cache, chunk %chunk heads 4 scale 0.25
      : tensor<?x32xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    %wo = sluice.param @out : tensor<32x32xf32>
    %o = sluice.linear %a, %wo
      : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    sluice.yield %o : tensor<?x32xf32>
  }
  sluice.return %h0 : tensor<?x32xf32>
}

// -----

// Attention and feed-forward beside each other: their parts are added up at each
// member, and then once over all of them, with both biases.

// CHECK-LABEL: sluice.model @main
// CHECK: layer 0 (%[[X:.*]] =
// CHECK: %[[BO:.*]] = param @bias
// CHECK: %[[O:.*]] = linear {{.*}} tensor<8x4xf32> -> tensor<?x8xf32>
// CHECK: %[[BD:.*]] = param @bias
// CHECK: %[[D:.*]] = linear {{.*}} tensor<8x8xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[P:.*]] = add %[[O]], %[[D]]
// CHECK-NEXT: %[[S:.*]] = all_reduce %[[P]] bias %[[BO]], %[[BD]]
// CHECK-NEXT: %[[Y:.*]] = add %[[X]], %[[S]]
// CHECK-NEXT: yield %[[Y]]
sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @up in @f0 at 0 stored f32 : tensor<16x8xf32>
sluice.weight @down in @f0 at 0 stored f32 : tensor<8x16xf32>
sluice.weight @bias in @f0 at 0 stored f32 : tensor<8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "gptneox",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %w = sluice.param @table : tensor<8x8xf32>
    %q = sluice.linear %x, %w
      : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 4>
    %a = sluice.attend %q, %q, %q, %cache, chunk %chunk heads 2 scale 0.5
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 4>
    %bo = sluice.param @bias : tensor<8xf32>
    %o = sluice.linear %a, %w bias %bo
      : tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
    %up = sluice.param @up : tensor<16x8xf32>
    %u = sluice.linear %x, %up
      : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %act = sluice.activation gelu %u : tensor<?x16xf32>
    %down = sluice.param @down : tensor<8x16xf32>
    %bd = sluice.param @bias : tensor<8xf32>
    %d = sluice.linear %act, %down bias %bd
      : tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf32> -> tensor<?x8xf32>
    %s = sluice.add %x, %o : tensor<?x8xf32>
    %y = sluice.add %s, %d : tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  sluice.return %h0 : tensor<?x8xf32>
}

// RUN: sluice-opt %s --split-input-file | sluice-opt --split-input-file | FileCheck %s
// RUN: sluice-opt %s --split-input-file --mlir-print-op-generic | sluice-opt --split-input-file | FileCheck %s
// RUN: sluice-opt %s --split-input-file --emit-bytecode -o /dev/null
// RUN: sluice-opt %s --split-input-file --verify-roundtrip -o /dev/null

// What a tensor-parallel group needs goes through text and generic text
// unchanged: slices of weights, what members do together, stages on several
// places, and groups of workers.

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @blk.0.attn_q.weight in @f0 at 4096 stored q8_0
  : tensor<256x256x!sluice.block<q8_0>>
sluice.weight @blk.0.attn_qkv.bias in @f0 at 4096 stored f32 : tensor<512xf32>
// CHECK: sluice.slice @blk.0.attn_q.weight.m0 of @blk.0.attn_q.weight rows 0 to 128 : tensor<128x256x!sluice.block<q8_0>>
sluice.slice @blk.0.attn_q.weight.m0 of @blk.0.attn_q.weight
  rows 0 to 128 : tensor<128x256x!sluice.block<q8_0>>
sluice.slice @blk.0.attn_q.weight.m1 of @blk.0.attn_q.weight
  rows 128 to 256 : tensor<128x256x!sluice.block<q8_0>>
// CHECK: sluice.slice @blk.0.attn_qkv.bias.m0 of @blk.0.attn_qkv.bias columns 0 to 128, 256 to 320, 384 to 448 : tensor<256xf32>
sluice.slice @blk.0.attn_qkv.bias.m0 of @blk.0.attn_qkv.bias
  columns 0 to 128, 256 to 320, 384 to 448 : tensor<256xf32>
sluice.weight @table in @f0 at 0 stored f32 : tensor<512x256xf32>
// CHECK: sluice.slice @table.m0 of @table columns 0 to 128 : tensor<512x128xf32>
sluice.slice @table.m0 of @table columns 0 to 128 : tensor<512x128xf32>
sluice.slice @table.m1 of @table columns 128 to 256 : tensor<512x128xf32>

// CHECK-LABEL: sluice.model @main
// CHECK-SAME: tensor_parallel = 2 : i64
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 512, context_length = 8,
    tensor_parallel = 2 : i64} {
  %t = sluice.param @table : tensor<512x256xf32>
  %h = sluice.embed chunk %chunk, %t by token
    : tensor<512x256xf32> -> tensor<?x256xf32>
  // CHECK: %[[W:.*]] = shard [@blk.0.attn_q.weight.m0, @blk.0.attn_q.weight.m1] : tensor<128x256x!sluice.block<q8_0>>
  %w = sluice.shard [@blk.0.attn_q.weight.m0, @blk.0.attn_q.weight.m1]
    : tensor<128x256x!sluice.block<q8_0>>
  // CHECK: %[[X:.*]] = linear %{{.*}}, %[[W]]
  %x = sluice.linear %h, %w
    : tensor<?x256xf32>, tensor<128x256x!sluice.block<q8_0>>
    -> tensor<?x128xf32>
  // CHECK: all_gather %[[X]] : tensor<?x128xf32> -> tensor<?x256xf32>
  %y = sluice.all_gather %x : tensor<?x128xf32> -> tensor<?x256xf32>
  %out = sluice.shard [@table.m0, @table.m1] : tensor<512x128xf32>
  %p = sluice.linear %x, %out
    : tensor<?x128xf32>, tensor<512x128xf32> -> tensor<?x512xf32>
  %logits = sluice.all_reduce %p : tensor<?x512xf32>
  sluice.return %logits : tensor<?x512xf32>
}

// CHECK-LABEL: sluice.stage @other.s0 on(#sluice.place<node = "n0", device = 0>) (%chunk
sluice.stage @other.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x256xf32> {
  %t = sluice.param @table : tensor<512x256xf32>
  %h = sluice.embed chunk %chunk, %t by token
    : tensor<512x256xf32> -> tensor<?x256xf32>
  sluice.forward %h : tensor<?x256xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @bias in @f0 at 0 stored f32 : tensor<256xf32>
sluice.weight @out in @f0 at 0 stored f32 : tensor<4096x256xf32>
// CHECK-LABEL: sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>, #sluice.place<node = "n0", device = 1>) (%batch
sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>,
                         #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch, %h: tensor<?x256xf32>) -> tensor<?x4096xf32> {
  %x = sluice.add %h, %h : tensor<?x256xf32>
  %b = sluice.param @bias : tensor<256xf32>
  %c = sluice.param @bias : tensor<256xf32>
  // CHECK: all_reduce %[[X:.*]] : tensor<?x256xf32>
  %y = sluice.all_reduce %x : tensor<?x256xf32>
  // CHECK: all_reduce %[[X]] bias %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>
  %z = sluice.all_reduce %x bias %b, %c
    : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>
  %w = sluice.param @out : tensor<4096x256xf32>
  %logits = sluice.linear %z, %w
    : tensor<?x256xf32>, tensor<4096x256xf32> -> tensor<?x4096xf32>
  sluice.forward %logits : tensor<?x4096xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.slice @table.m0 of @table rows 0 to 32 : tensor<32x64xf32>
sluice.slice @table.m1 of @table rows 32 to 64 : tensor<32x64xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n0", device = 1>)
// CHECK: sluice.channel @c0 from @rank0 to @main.s0 capacity 256 : !sluice.frame<rows>
sluice.channel @c0 from @rank0 to @main.s0 capacity 256 : !sluice.frame<rows>
sluice.channel @c1 from @main.s0 to @rank0 capacity 256 : !sluice.frame<tokens>
// CHECK: sluice.worker @main.s0.m0 at(@rank0) of(@main.s0) {
sluice.worker @main.s0.m0 at(@rank0) of(@main.s0) {
  %batch = sluice.receive @c0
  %t = sluice.param @table : tensor<64x64xf32>
  %q = sluice.embed %batch, %t by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %w = sluice.param @table.m0 : tensor<32x64xf32>
  %k = sluice.linear %q, %w
    : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %v = sluice.activation relu %k : tensor<?x32xf32>
  %h = sluice.layer 0 (%x = %q) : tensor<?x64xf32> {
    sluice.yield %x : tensor<?x64xf32>
  }
  // CHECK: all_gather
  %y = sluice.all_gather %v : tensor<?x32xf32> -> tensor<?x64xf32>
  sluice.send @c1 %batch, %y : tensor<?x64xf32>
}
// CHECK: sluice.worker @main.s0.m1 at(@rank1) of(@main.s0) attributes {step_rows = 64 : i64} {
sluice.worker @main.s0.m1 at(@rank1) of(@main.s0)
    attributes {step_rows = 64 : i64} {
  %batch = sluice.receive @c0
  %t = sluice.param @table : tensor<64x64xf32>
  %q = sluice.embed %batch, %t by token : tensor<64x64xf32> -> tensor<?x64xf32>
  // CHECK: param @table.m1 : tensor<32x64xf32>
  %w = sluice.param @table.m1 : tensor<32x64xf32>
  %k = sluice.linear %q, %w
    : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %v = sluice.activation relu %k : tensor<?x32xf32>
  %h = sluice.layer 0 (%x = %q) : tensor<?x64xf32> {
    sluice.yield %x : tensor<?x64xf32>
  }
  %y = sluice.all_gather %v : tensor<?x32xf32> -> tensor<?x64xf32>
  sluice.send @c1 %batch, %y : tensor<?x64xf32>
}
// CHECK: sluice.group @main.s0 of [@main.s0.m0, @main.s0.m1]
sluice.group @main.s0 of [@main.s0.m0, @main.s0.m1]
// CHECK: sluice.pipeline @main stages [@main.s0]
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "demo", vocab_size = 64,
    context_length = 1024}

// -----

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @key in @f0 at 0 stored f32 : tensor<32x64xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "falcon",
    model_name = "demo", vocab_size = 64, context_length = 8} {
  %t = sluice.param @table : tensor<64x64xf32>
  %h = sluice.embed %batch, %t by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %h1 = sluice.layer 0 (%q = %h) : tensor<?x64xf32> {
    %w = sluice.param @key : tensor<32x64xf32>
    %k = sluice.linear %q, %w
      : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    %v = sluice.activation relu %k : tensor<?x32xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 32>
    // CHECK: attend {{.*}} heads 2 scale 0.17677669529663687 alibi 0.17677669529663687 of 6 from [4] :
    %a = sluice.attend %q, %k, %v, %cache, %batch heads 2
      scale 0.17677669529663687 alibi 0.17677669529663687 of 6 from [4]
      : tensor<?x64xf32>, tensor<?x32xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 32>
    sluice.yield %a : tensor<?x64xf32>
  }
  sluice.return %h1 : tensor<?x64xf32>
}

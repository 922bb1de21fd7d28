// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// A step of one request: the ops that take a batch take a chunk as well, and say
// so.

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored q8_0
  : tensor<4096x256x!sluice.block<q8_0>>
sluice.weight @k in @f0 at 4096 stored f32 : tensor<64x256xf32>

// CHECK: sluice.model @main(%[[C:.*]]: !sluice.chunk)
sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "demo", vocab_size = 4096,
    context_length = 1024, eos_tokens = array<i64: 2>} {
  %table = sluice.param @table : tensor<4096x256x!sluice.block<q8_0>>
  // CHECK: %[[H:.*]] = embed chunk %[[C]], %{{.*}} by token
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x256xf32> {
    %w = sluice.param @k : tensor<64x256xf32>
    // CHECK: %[[R:.*]] = rope %{{.*}}, chunk %[[C]] half heads 8
    %r = sluice.rope %x, chunk %chunk half heads 8 head_dim 32 rotary_dim 32
      base 10000.0 : tensor<?x256xf32>
    %k = sluice.linear %x, %w
      : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    // CHECK: attend %[[R]], %[[K:.*]], %[[K]], %{{.*}}, chunk %[[C]] heads 8 scale
    %a = sluice.attend %r, %k, %k, %cache, chunk %chunk heads 8
      scale 0.17677669529663687
      : tensor<?x256xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    sluice.yield %a : tensor<?x256xf32>
  }
  %last = sluice.select_outputs %h1, chunk %chunk : tensor<?x256xf32>
  // CHECK: select_outputs %{{.*}}, chunk %[[C]] :
  %logits = sluice.linear %last, %table
    : tensor<?x256xf32>, tensor<4096x256x!sluice.block<q8_0>>
    -> tensor<?x4096xf32>
  sluice.return %logits : tensor<?x4096xf32>
}

// CHECK-LABEL: @ops
func.func @ops(%h: tensor<?x256xf32>, %k: tensor<?x64xf32>,
    %v: tensor<?x64xf32>, %q: tensor<?x256xf32>, %chunk: !sluice.chunk,
    %cache: !sluice.cache<kv_heads = 2, head_dim = 32>) {
  // CHECK: sluice.attend {{.*}}, chunk %{{.*}} heads 8
  %a = sluice.attend %q, %k, %v, %cache, chunk %chunk heads 8
    scale 0.17677669529663687
    : tensor<?x256xf32>, tensor<?x64xf32>,
      !sluice.cache<kv_heads = 2, head_dim = 32>
  // CHECK: sluice.select_outputs %{{.*}}, chunk
  %last = sluice.select_outputs %h, chunk %chunk : tensor<?x256xf32>
  return
}

// CHECK-LABEL: sluice.stage @s0
// CHECK-SAME: (%chunk: !sluice.chunk)
sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%c: !sluice.chunk) -> tensor<?x256xf32> {
  %table = sluice.param @table : tensor<4096x256x!sluice.block<q8_0>>
  %h = sluice.embed chunk %c, %table by token
    : tensor<4096x256x!sluice.block<q8_0>> -> tensor<?x256xf32>
  sluice.forward %h : tensor<?x256xf32>
}

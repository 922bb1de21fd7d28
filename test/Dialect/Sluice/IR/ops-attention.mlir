// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// A layer with attention over its own cache, with each option of it.

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @token_embd.weight in @f0 at 0 stored f32 : tensor<64x256xf32>
sluice.weight @blk.0.attn_k.weight in @f0 at 0 stored f32 : tensor<64x256xf32>

// CHECK-LABEL: sluice.model @main
// CHECK-SAME: (%[[BATCH:.*]]: !sluice.batch)
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "demo", vocab_size = 64,
    context_length = 1024} {
  %table = sluice.param @token_embd.weight : tensor<64x256xf32>
  // CHECK: %[[H0:.*]] = embed
  %h0 = sluice.embed %batch, %table by token
    : tensor<64x256xf32> -> tensor<?x256xf32>
  // CHECK: %[[H1:.*]] = layer 0 (%[[X:.*]] = %[[H0]]) : tensor<?x256xf32> {
  %h1 = sluice.layer 0 (%x = %h0) : tensor<?x256xf32> {
    // CHECK: %[[W:.*]] = param @blk.0.attn_k.weight
    %w = sluice.param @blk.0.attn_k.weight : tensor<64x256xf32>
    // CHECK: %[[K:.*]] = linear %[[X]], %[[W]]
    %k = sluice.linear %x, %w
      : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
    // CHECK: %[[CACHE:.*]] = layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    // CHECK: %[[A:.*]] = attend %[[X]], %[[K]], %[[K]], %[[CACHE]], %[[BATCH]] heads 8 scale 0.17677669529663687 : tensor<?x256xf32>, tensor<?x64xf32>, !sluice.cache<kv_heads = 2, head_dim = 32>
    %y = sluice.attend %x, %k, %k, %cache, %batch heads 8
      scale 0.17677669529663687
      : tensor<?x256xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    // CHECK: yield %[[A]] : tensor<?x256xf32>
    sluice.yield %y : tensor<?x256xf32>
  }
  // CHECK: %[[H2:.*]] = layer 1 (%{{.*}} = %[[H1]]) {note = "kept"} : tensor<?x256xf32> {
  %h2 = sluice.layer 1 (%x = %h1) {note = "kept"} : tensor<?x256xf32> {
    sluice.yield %x : tensor<?x256xf32>
  }
  // CHECK: %[[LOGITS:.*]] = linear %[[H2]]
  %logits = sluice.linear %h2, %table
    : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

// CHECK-LABEL: @attend
func.func @attend(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>,
    %v: tensor<?x64xf32>, %batch: !sluice.batch,
    %cache: !sluice.cache<kv_heads = 2, head_dim = 32>) {
  // CHECK: sluice.attend %{{.*}} heads 8 scale 0.17677669529663687 window 512 : tensor
  %a = sluice.attend %q, %k, %v, %cache, %batch heads 8
    scale 0.17677669529663687 window 512
    : tensor<?x256xf32>, tensor<?x64xf32>,
      !sluice.cache<kv_heads = 2, head_dim = 32>
  // CHECK: sluice.attend %{{.*}} heads 8 scale 1.000000e+00 softcap 5.000000e+01 : tensor
  %b = sluice.attend %q, %k, %v, %cache, %batch heads 8 scale 1.0 softcap 50.0
    : tensor<?x256xf32>, tensor<?x64xf32>,
      !sluice.cache<kv_heads = 2, head_dim = 32>
  // CHECK: sluice.attend %{{.*}} heads 8 scale 1.000000e+00 window 7 softcap 5.000000e+01 alibi 5.000000e-01 : tensor
  %c = sluice.attend %q, %k, %v, %cache, %batch heads 8 scale 1.0 window 7
    softcap 50.0 alibi 0.5
    : tensor<?x256xf32>, tensor<?x64xf32>,
      !sluice.cache<kv_heads = 2, head_dim = 32>
  return
}

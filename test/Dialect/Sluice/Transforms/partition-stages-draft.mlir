// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml" | FileCheck %s
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml acceptance=0.05" | FileCheck %s --check-prefix=FEW
// RUN: sluice-opt %s --sluice-partition-stages="stages=2" | FileCheck %s --check-prefix=EQUAL

// A second model is the draft: guesses then follow the certain row, and as many
// stages are made as let them follow fastest. The head goes to the node that is
// kept for the draft.

// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1, @main.s2]
// CHECK: sluice.generate @generate target(@main) on(#sluice.place<node = "head", device = 0>)
// CHECK: sluice.model @draft

// FEW: sluice.pipeline @main stages [@main.s0, @main.s1]

// EQUAL: "draft" = #dlti.target_device_spec<
// EQUAL: sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>)
// EQUAL: sluice.generate @generate target(@main) on(#sluice.place<node = "draft", device = 0>)

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<32x64xf32>
sluice.weight @w in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @norm in @f0 at 0 stored f32 : tensor<64xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 32, context_length = 8,
    eos_tokens = array<i64: 2>} {
  %table = sluice.param @table : tensor<32x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x64xf32> -> tensor<?x64xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h1 = sluice.layer 1 (%x = %h0) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h2 = sluice.layer 2 (%x = %h1) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h3 = sluice.layer 3 (%x = %h2) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h4 = sluice.layer 4 (%x = %h3) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %norm = sluice.param @norm : tensor<64xf32>
  %last = sluice.select_outputs %h4, chunk %chunk : tensor<?x64xf32>
  %n = sluice.rms_norm %last, %norm epsilon 1.0e-05
    : tensor<?x64xf32>, tensor<64xf32>
  %logits = sluice.linear %n, %table
    : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  sluice.return %logits : tensor<?x32xf32>
}
sluice.weight @draft.table in @f0 at 0 stored f32 : tensor<32x64xf32>
sluice.model @draft(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "d", vocab_size = 32, context_length = 8} {
  %table = sluice.param @draft.table : tensor<32x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x64xf32> -> tensor<?x64xf32>
  %last = sluice.select_outputs %h, chunk %chunk : tensor<?x64xf32>
  %logits = sluice.linear %last, %table
    : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  sluice.return %logits : tensor<?x32xf32>
}

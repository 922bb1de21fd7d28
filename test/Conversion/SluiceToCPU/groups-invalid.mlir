// RUN: sluice-opt %s --split-input-file --verify-diagnostics --convert-sluice-to-cpu

// There is no code as yet for what a tensor-parallel group does, nor for parts of
// weights and of heads: each is refused in one line.

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{is computed by a tensor-parallel group, for which there is no code as yet: sluice-run executes it}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8, tensor_parallel = 2} {
  %w = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %y = sluice.all_reduce %h : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<16x8xf32>
// expected-error @+1 {{is a part of a weight, for which there is no code as yet: sluice-run executes it}}
sluice.slice @s of @w rows 0 to 8 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %w = sluice.param @s : tensor<8x8xf32>
  %h = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    // expected-error @+1 {{attends with heads of a tensor-parallel group, for which there is no code as yet: sluice-run executes it}}
    %a = sluice.attend %x, %x, %x, %cache, %batch heads 1 scale 1.0
      alibi 1.0 of 2 from [1]
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %a : tensor<?x8xf32>
  }
  sluice.return %h1 : tensor<?x8xf32>
}

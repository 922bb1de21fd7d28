// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-plan --convert-sluice-to-cpu

// What a group computes becomes code once it is split into ranks, and rows are
// looked up in whole tables alone.

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{is computed by a group of devices: cut it into stages and split them into ranks first}}
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
sluice.slice @s of @w rows 0 to 8 : tensor<8x8xf32>
// expected-error @+1 {{looks rows up in @s, which is a part of a weight}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %w = sluice.param @s : tensor<8x8xf32>
  %h = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

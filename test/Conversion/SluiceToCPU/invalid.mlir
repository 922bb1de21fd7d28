// RUN: sluice-opt %s --convert-sluice-to-cpu --split-input-file --verify-diagnostics

// Modules that are valid in the phase model and that the conversion refuses.

// expected-error @+1 {{expected one sluice.model, found 0}}
module {
}

// -----

// expected-error @+1 {{expected one sluice.model, found 2}}
module {
  sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
  sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
  sluice.model @a(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
    %w = sluice.param @w : tensor<8x8xf32>
    %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %x : tensor<?x8xf32>
  }
  sluice.model @b(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
    %w = sluice.param @w : tensor<8x8xf32>
    %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %x : tensor<?x8xf32>
  }
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %x : tensor<?x8xf32>
}
// expected-error @+1 {{takes the name of the step function}}
func.func private @sluice_program_step()

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'arith.addf' has no lowering to a CPU}}
  %y = arith.addf %x, %x : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.file @f path "no/such/model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.weight @factors in @f at 0 stored f32 : tensor<4xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %f = sluice.param @factors : tensor<4xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{no/such/model.gguf}}
  %y = sluice.rope %x, %batch factors %f half heads 1 head_dim 8 rotary_dim 8 base 10000.0 : tensor<?x8xf32>, tensor<4xf32>
  sluice.return %y : tensor<?x8xf32>
}

// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a --split-input-file --verify-diagnostics

// What is refused because there is no kernel for it on a GPU.

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored f32 : tensor<8x32xf32>
sluice.weight @w in @f at 0 stored q5_0 : tensor<8x32x!sluice.block<q5_0>>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %e = sluice.param @e : tensor<8x32xf32>
  %w = sluice.param @w : tensor<8x32x!sluice.block<q5_0>>
  %x = sluice.embed %batch, %e by token : tensor<8x32xf32> -> tensor<?x32xf32>
  // expected-error @+1 {{has the weight @w in q5_0, for which there is no kernel on CUDA}}
  %y = sluice.linear %x, %w : tensor<?x32xf32>, tensor<8x32x!sluice.block<q5_0>> -> tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %x : tensor<?x8xf32>
}
// expected-error @+1 {{takes the name of the code of a step}}
func.func private @main_step()

// -----

// expected-error @+1 {{expected one sluice.model, found 0}}
module {
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<320x320xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 320, context_length = 8} {
  %w = sluice.param @w : tensor<320x320xf32>
  %x = sluice.embed %batch, %w by token : tensor<320x320xf32> -> tensor<?x320xf32>
  %y = sluice.layer 0 (%h = %x) : tensor<?x320xf32> {
    %c = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 320>
    // expected-error @+1 {{has heads of 320 features, for which there is no kernel on CUDA}}
    %a = sluice.attend %h, %h, %h, %c, %batch heads 1 scale 1.0 : tensor<?x320xf32>, tensor<?x320xf32>, !sluice.cache<kv_heads = 1, head_dim = 320>
    sluice.yield %a : tensor<?x320xf32>
  }
  sluice.return %y : tensor<?x320xf32>
}

// -----

// Outputs are numbered once: behind a checkpoint rows have other places.
sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<64x64xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 64, context_length = 8} {
  %w = sluice.param @w : tensor<64x64xf32>
  %x = sluice.embed %batch, %w by token : tensor<64x64xf32> -> tensor<?x64xf32>
  %s = sluice.select_outputs %x, %batch : tensor<?x64xf32>
  %b, %x1, %s1 = sluice.checkpoint %batch, %x, %s : tensor<?x64xf32>, tensor<?x64xf32>
  // expected-error @+1 {{selects outputs behind a checkpoint, and so do ops before it: there is no code for that on CUDA}}
  %y = sluice.select_outputs %x1, %b : tensor<?x64xf32>
  %z = sluice.add %s1, %y : tensor<?x64xf32>
  sluice.return %z : tensor<?x64xf32>
}

// RUN: sluice-opt %s --sluice-verify-phase | FileCheck %s
// RUN: sluice-opt %s --sluice-verify-phase=phase=model | FileCheck %s

// A module of the phase `model`, which is the one that is checked for where
// none is named, goes through unchanged.

// CHECK: sluice.file @f0
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
// CHECK: sluice.weight @table
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
// CHECK: sluice.model @main
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  // CHECK: embed
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

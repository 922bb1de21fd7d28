// RUN: sluice-opt %s --sluice-partition-stages=stages=2 | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: sluice.stage @main.s0
// CHECK: layer 0
// CHECK: sluice.stage @main.s1
// CHECK: layer 1
// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1]
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @w in @f0 at 256 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %w = sluice.param @w : tensor<8x8xf32>
    %y = sluice.linear %x, %w
      : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  %h1 = sluice.layer 1 (%x = %h0) : tensor<?x8xf32> {
    %w = sluice.param @w : tensor<8x8xf32>
    %y = sluice.linear %x, %w
      : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  %logits = sluice.linear %h1, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// RUN: sluice-opt %s --sluice-shard-tensors=tensor-parallel=2 | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: sluice.slice @up.m0 of @up rows 0 to 8
// CHECK: sluice.slice @down.m1 of @down columns 8 to 16
// CHECK: tensor_parallel = 2
// CHECK: all_reduce
// CHECK: all_gather
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @up in @f0 at 256 stored f32 : tensor<16x8xf32>
sluice.weight @down in @f0 at 768 stored f32 : tensor<8x16xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %up = sluice.param @up : tensor<16x8xf32>
    %u = sluice.linear %x, %up
      : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %a = sluice.activation relu %u : tensor<?x16xf32>
    %down = sluice.param @down : tensor<8x16xf32>
    %d = sluice.linear %a, %down
      : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
    %y = sluice.add %x, %d : tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  %logits = sluice.linear %h0, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/two-boxes.yaml stages=2" | FileCheck %s
// RUN: sluice-opt %s --sluice-partition-stages="stages=2" | FileCheck %s --check-prefix=EQUAL
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/two-boxes.yaml stages=2" --sluice-fuse-decode --sluice-insert-checkpoints --sluice-verify-phase=phase=pipeline -o /dev/null
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml stages=2" 2>&1 | FileCheck %s --check-prefix=FEW

// Stages of a tensor-parallel model go to groups: of the devices of one node, as
// many as the model has members, the third one of a node left out. Each member
// has the same ops, and weights that are not of the stage before. Without a
// cluster each stage has a node with as many devices. A stage of three nodes'
// devices would need four for two groups.

// CHECK-LABEL: sluice.stage @main.s0 on(#sluice.place<node = "a", device = 0>, #sluice.place<node = "a", device = 1>) (%chunk
// CHECK: %[[T:.*]] = param @table
// CHECK: embed chunk %chunk, %[[T]]
// CHECK: shard [@up.m0, @up.m1]
// CHECK: all_reduce
// CHECK-LABEL: sluice.stage @main.s1 on(#sluice.place<node = "b", device = 0>, #sluice.place<node = "b", device = 1>) (%chunk
// CHECK-NOT: param @table
// CHECK: shard [@table.m0, @table.m1]
// CHECK: all_gather

// EQUAL: sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>, #sluice.place<node = "n0", device = 1>)
// EQUAL: sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>, #sluice.place<node = "n1", device = 1>)

// FEW: error: 2 stages

sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.slice @table.m0 of @table rows 0 to 4 : tensor<4x8xf32>
sluice.slice @table.m1 of @table rows 4 to 8 : tensor<4x8xf32>
sluice.weight @up in @f0 at 256 stored f32 : tensor<16x8xf32>
sluice.slice @up.m0 of @up rows 0 to 8 : tensor<8x8xf32>
sluice.slice @up.m1 of @up rows 8 to 16 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 8, context_length = 4,
    tensor_parallel = 2} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %up = sluice.shard [@up.m0, @up.m1] : tensor<8x8xf32>
    %u = sluice.linear %x, %up
      : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %y = sluice.all_reduce %u : tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  %h1 = sluice.layer 1 (%x = %h0) : tensor<?x8xf32> {
    %up = sluice.shard [@up.m0, @up.m1] : tensor<8x8xf32>
    %u = sluice.linear %x, %up
      : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %y = sluice.all_reduce %u : tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  %out = sluice.shard [@table.m0, @table.m1] : tensor<4x8xf32>
  %part = sluice.linear %h1, %out
    : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %logits = sluice.all_gather %part : tensor<?x4xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

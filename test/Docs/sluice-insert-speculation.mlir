// RUN: sluice-opt %s --sluice-insert-speculation="depth=16 width=2" | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: speculate draft(@draft) behind(%{{.*}}) placement(own) depth 16 width 2
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "demo", vocab_size = 8,
    context_length = 4}
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<8x4xf32>
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "small", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @draft.table : tensor<8x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// RUN: sluice-opt %s --sluice-fuse-decode | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: sluice.stage @main.s0 {{.*}}(%batch: !sluice.batch)
// CHECK: attend {{.*}}, %batch heads 1
// CHECK-NOT: chunk
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %a = sluice.attend %x, %x, %x, %cache, chunk %chunk heads 1 scale 0.5
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    %y = sluice.add %x, %a : tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  %last = sluice.select_outputs %h0, chunk %chunk : tensor<?x8xf32>
  %logits = sluice.linear %last, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %logits : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {architecture = "llama",
    model_name = "demo", vocab_size = 8, context_length = 4}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// RUN: sluice-opt %s --sluice-fuse-decode --sluice-verify-phase=phase=pipeline | FileCheck %s
// RUN: sluice-opt %s --sluice-fuse-decode --remarks-filter="sluice-fuse.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not sluice-opt %s --sluice-fuse-decode --sluice-fuse-decode 2>&1 | FileCheck %s --check-prefix=TWICE

// The stages and the draft take a batch where they took a chunk, and all that
// asks which rows there are is given it: what looks tokens up, rope, attention,
// and what picks outputs. Layers count for what they hold. A module that is fused
// already is refused.

// CHECK-NOT: chunk
// CHECK-LABEL: sluice.stage @main.s0
// CHECK-SAME: (%batch: !sluice.batch) -> tensor<?x8xf32>
// CHECK: %[[H:.*]] = embed %batch, %{{.*}} by token
// CHECK: %[[P:.*]] = embed %batch, %{{.*}} by position
// CHECK: %[[S:.*]] = add %[[H]], %[[P]]
// CHECK: layer 0 (%[[X:.*]] = %[[S]]) : tensor<?x8xf32> {
// CHECK: %[[Q:.*]] = rope %[[X]], %batch half
// CHECK: attend %[[Q]], %{{.*}}, %{{.*}}, %{{.*}}, %batch heads 1
// CHECK-LABEL: sluice.stage @main.s1
// CHECK-SAME: (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK: select_outputs %h, %batch
// CHECK-LABEL: sluice.model @draft
// CHECK-SAME: (%[[B:.*]]: !sluice.batch)
// CHECK: embed %[[B]]

// REMARK-DAG: [Passed] fused | Category:sluice-fuse-decode | in=main.s0, per-sequence=1, row-wise=5
// REMARK-DAG: [Passed] fused | Category:sluice-fuse-decode | in=main.s1, per-sequence=0, row-wise=2
// REMARK-DAG: [Passed] fused | Category:sluice-fuse-decode | in=draft, per-sequence=0, row-wise=1

// TWICE: error: is fused already: it takes a !sluice.batch

sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %t = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  %p = sluice.embed chunk %chunk, %table by position
    : tensor<8x8xf32> -> tensor<?x8xf32>
  %h = sluice.add %t, %p : tensor<?x8xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %q = sluice.rope %x, chunk %chunk half heads 1 head_dim 8 rotary_dim 8
      base 10000.0 : tensor<?x8xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %a = sluice.attend %q, %x, %x, %cache, chunk %chunk heads 1 scale 0.5
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    %y = sluice.add %x, %a : tensor<?x8xf32>
    sluice.yield %y : tensor<?x8xf32>
  }
  sluice.forward %h0 : tensor<?x8xf32>
}
sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>)
    (%chunk: !sluice.chunk, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %last = sluice.select_outputs %h, chunk %chunk : tensor<?x8xf32>
  %table = sluice.param @table : tensor<8x8xf32>
  %logits = sluice.linear %last, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %logits : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 8}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 8} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

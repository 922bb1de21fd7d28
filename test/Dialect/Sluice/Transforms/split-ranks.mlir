// RUN: sluice-opt %s --sluice-split-ranks --sluice-verify-phase=phase=program | FileCheck %s
// RUN: sluice-opt %s --sluice-split-ranks=capacity=64 --remarks-filter="sluice-split.*" 2>&1 | FileCheck %s --check-prefix=REMARK

// Two stages and a draft of its own become three ranks, head and draft at the
// first. What a stage was told about its step times and checkpoints stays with
// its worker; the batch that is sent on is the one that the last checkpoint
// left.

// REMARK: [Passed] ranks | Category:sluice-split-ranks | capacity=64, channels=5, groups=0, ranks=3, workers=3
// REMARK: sluice.channel @c0 from @rank0 to @rank1 capacity 64 : !sluice.frame<rows>

// CHECK: sluice.rank @rank0 index 0 on(#sluice.place<node = "head", device = 0>)
// CHECK-NEXT: sluice.rank @rank1 index 1 on(#sluice.place<node = "n0", device = 0>)
// CHECK-NEXT: sluice.rank @rank2 index 2 on(#sluice.place<node = "n1", device = 0>)
// CHECK-NEXT: sluice.channel @c0 from @rank0 to @rank1 capacity 256 : !sluice.frame<rows>
// CHECK-NEXT: sluice.channel @c1 from @rank1 to @rank2 capacity 256 : !sluice.frame<rows, tensor<?x8xf32>>
// CHECK-NEXT: sluice.channel @c2 from @rank2 to @rank0 capacity 256 : !sluice.frame<tokens>

// CHECK-LABEL: sluice.worker @main.s0 at(@rank1) attributes {step_rows = 16 : i64} {
// CHECK-NEXT: %[[B:.*]] = receive @c0
// CHECK: %[[H:.*]] = embed %[[B]]
// CHECK: %[[B1:.*]], %[[H1:.*]] = checkpoint %[[B]], %[[H]]
// CHECK-NEXT: send @c1 %[[B1]], %[[H1]] : tensor<?x8xf32>

// CHECK-LABEL: sluice.worker @main.s1 at(@rank2) {
// CHECK-NEXT: %[[B:.*]], %[[H:.*]] = receive @c1 : tensor<?x8xf32>
// CHECK-NEXT: %[[H1:.*]], %[[B1:.*]] = layer 0 (%{{.*}} = %[[H]])
// CHECK: attend %{{.*}}, %[[B]] heads
// CHECK: %[[LOGITS:.*]] = linear %[[H1]]
// CHECK-NEXT: send @c2 %[[B1]], %[[LOGITS]] : tensor<?x8xf32>

// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1]
// CHECK: sluice.channel @d0 from @rank0 to @rank0 capacity 256 : !sluice.frame<rows>
// CHECK: sluice.channel @d1 from @rank0 to @rank0 capacity 256 : !sluice.frame<guesses>
// CHECK-LABEL: sluice.worker @draft.s0 at(@rank0)
// CHECK-SAME: costs = array<i64: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>, step_rows = 8
// CHECK-NEXT: %[[B:.*]] = receive @d0
// CHECK: send @d1 %[[B]], %{{.*}} : tensor<?x8xf32>
// CHECK: sluice.pipeline @draft stages [@draft.s0]
// CHECK-SAME: max_latency_us = 500
// CHECK-SAME: model_name = "d"

// CHECK-LABEL: sluice.generate @generate target(@main) at(@rank0) {
// CHECK-NEXT: %[[LAUNCHED:.*]] = launch @main via(@c0) results(@c2) : !sluice.run
// CHECK-NEXT: speculate draft(@draft) behind(%[[LAUNCHED]]) placement(own) depth 4 width 2 via(@d0) results(@d1) : !sluice.guesses

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> attributes {step_rows = 16 : i64} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %b1, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  sluice.forward %h1 : tensor<?x8xf32>
}
sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %h1, %b1 = sluice.layer 0 (%x = %h) : tensor<?x8xf32>, !sluice.batch {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %a = sluice.attend %x, %x, %x, %cache, %batch heads 1 scale 1.0
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    %b, %a1 = sluice.checkpoint %batch, %a : tensor<?x8xf32>
    sluice.yield %a1, %b : tensor<?x8xf32>
  }
  %table = sluice.param @table : tensor<8x8xf32>
  %logits = sluice.linear %h1, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %logits : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4, max_latency_us = 500}
sluice.model @draft(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) on(#sluice.place<node = "head", device = 0>) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 2 {costs = array<i64: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>, step_rows = 8 : i64} : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// A model as two stages, with checkpoints between and inside layers, a draft,
// and what a request does with them, go through text, generic text and bytecode
// unchanged.

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<4096x256xf32>
sluice.weight @w in @f0 at 0 stored f32 : tensor<256x256xf32>

// CHECK: sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 1>) (%[[BATCH:.*]]: !sluice.batch) -> tensor<?x256xf32> {
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 1>)
    (%b0: !sluice.batch) -> tensor<?x256xf32> {
  %table = sluice.param @table : tensor<4096x256xf32>
  %h0 = sluice.embed %b0, %table by token
    : tensor<4096x256xf32> -> tensor<?x256xf32>
  // CHECK: %[[B1:.*]], %[[H1:.*]] = checkpoint %[[BATCH]], %{{.*}} : tensor<?x256xf32>
  %b1, %h1 = sluice.checkpoint %b0, %h0 : tensor<?x256xf32>
  // CHECK: layer 0 (%{{.*}} = %[[H1]]) : tensor<?x256xf32> {
  %h2 = sluice.layer 0 (%x = %h1) : tensor<?x256xf32> {
    %y = sluice.add %x, %x : tensor<?x256xf32>
    sluice.yield %y : tensor<?x256xf32>
  }
  // CHECK: forward %{{.*}} : tensor<?x256xf32>
  sluice.forward %h2 : tensor<?x256xf32>
}

// CHECK: sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>) (%[[BATCH:.*]]: !sluice.batch, %[[H:.*]]: tensor<?x256xf32>) -> tensor<?x4096xf32>
// CHECK-SAME: attributes {costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>, step_rows = 64 : i64} {
sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x256xf32>) -> tensor<?x4096xf32>
    attributes {costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>,
                step_rows = 64 : i64} {
  %h1 = sluice.add %h, %h : tensor<?x256xf32>
  // CHECK: %[[H2:.*]], %[[B1:.*]] = layer 1 (%[[X:.*]] = %{{.*}}) : tensor<?x256xf32>, !sluice.batch {
  %h2, %b1 = sluice.layer 1 (%x = %h1) : tensor<?x256xf32>, !sluice.batch {
    %w = sluice.param @w : tensor<256x256xf32>
    // CHECK: %[[B:.*]], %[[X1:.*]] = checkpoint %[[BATCH]], %[[X]] : tensor<?x256xf32>
    %b, %x1 = sluice.checkpoint %batch, %x : tensor<?x256xf32>
    // CHECK: yield %[[X1]], %[[B]] : tensor<?x256xf32>
    sluice.yield %x1, %b : tensor<?x256xf32>
  }
  // CHECK: checkpoint %[[B1]], %[[H2]] : tensor<?x256xf32>
  %b2, %h3 = sluice.checkpoint %b1, %h2 : tensor<?x256xf32>
  %o = sluice.select_outputs %h3, %b2 : tensor<?x256xf32>
  // Outputs leave with their rows.
  // CHECK: checkpoint %{{.*}}, %{{.*}} : tensor<?x256xf32>
  %b3, %o1 = sluice.checkpoint %b2, %o : tensor<?x256xf32>
  %table = sluice.param @table : tensor<4096x256xf32>
  %logits = sluice.linear %o1, %table
    : tensor<?x256xf32>, tensor<4096x256xf32> -> tensor<?x4096xf32>
  sluice.forward %logits : tensor<?x4096xf32>
}

// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
// CHECK-SAME: max_latency_us = 500
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "demo", vocab_size = 4096,
    context_length = 1024, eos_tokens = array<i64: 2>,
    max_latency_us = 500}

sluice.model @draft(%b0: !sluice.batch) attributes {
    architecture = "llama", model_name = "draft", vocab_size = 4096,
    context_length = 1024} {
  %table = sluice.param @table : tensor<4096x256xf32>
  // Without rows: only whether anything is left.
  // CHECK: %[[B1:.*]] = checkpoint %{{.*}}{{$}}
  %b1 = sluice.checkpoint %b0
  // CHECK: %[[B2:.*]] = checkpoint %[[B1]]{{$}}
  %b2 = sluice.checkpoint %b1
  %h = sluice.embed %b2, %table by token
    : tensor<4096x256xf32> -> tensor<?x256xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x256xf32>, tensor<4096x256xf32> -> tensor<?x4096xf32>
  sluice.return %logits : tensor<?x4096xf32>
}

// CHECK: sluice.generate @generate target(@main) on(#sluice.place<node = "n0", device = 0>) {
sluice.generate @generate target(@main)
    on(#sluice.place<node = "n0", device = 0>) {
  // CHECK: %[[LAUNCHED:.*]] = launch @main : !sluice.run
  %run = sluice.launch @main : !sluice.run
  // CHECK: %[[GUESSES:.*]] = speculate draft(@draft) behind(%[[LAUNCHED]]) placement(own) depth 32 width 4 : !sluice.guesses
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 32 width 4 : !sluice.guesses
  // CHECK: %[[N:.*]] = verify %[[LAUNCHED]], %[[GUESSES]] : index
  %n = sluice.verify %run, %guesses : index
  // CHECK: commit %[[LAUNCHED]], %[[N]]
  sluice.commit %run, %n
  // CHECK: emit %[[N]]
  sluice.emit %n
  // CHECK: end
  sluice.end
}

// Without a draft.
// CHECK: sluice.generate @plain target(@main) {
sluice.generate @plain target(@main) {
  %run = sluice.launch @main : !sluice.run
  // CHECK: verify %{{.*}} : index
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

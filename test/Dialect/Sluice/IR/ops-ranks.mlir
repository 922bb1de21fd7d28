// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// Ranks, the channels between them, and what head, stages and draft send and
// receive, go through text, generic text and bytecode unchanged.

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<4096x256xf32>

// CHECK: func.func private @frames(!sluice.frame<rows>, !sluice.frame<rows, tensor<?x256xf32>>, !sluice.frame<tokens>, !sluice.frame<guesses>)
func.func private @frames(
  !sluice.frame<rows>, !sluice.frame<rows, tensor<?x256xf32>>,
  !sluice.frame<tokens>, !sluice.frame<guesses>)

// CHECK: sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// CHECK: sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 2>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 2>)

// CHECK: sluice.channel @c0 from @rank0 to @rank1 capacity 256 : !sluice.frame<rows>
sluice.channel @c0 from @rank0 to @rank1 capacity 256 : !sluice.frame<rows>
// CHECK: sluice.channel @c1 from @rank1 to @rank1 capacity 1 : !sluice.frame<rows, tensor<?x256xf32>>
sluice.channel @c1 from @rank1 to @rank1 capacity 1
  : !sluice.frame<rows, tensor<?x256xf32>>
// CHECK: sluice.channel @c2 from @rank1 to @rank0 capacity 256 : !sluice.frame<tokens>
sluice.channel @c2 from @rank1 to @rank0 capacity 256 : !sluice.frame<tokens>
sluice.channel @d0 from @rank0 to @rank0 capacity 256 : !sluice.frame<rows>
// CHECK: sluice.channel @d1 from @rank0 to @rank0 capacity 256 : !sluice.frame<guesses>
sluice.channel @d1 from @rank0 to @rank0 capacity 256 : !sluice.frame<guesses>

// CHECK: sluice.worker @main.s0 at(@rank1) {
sluice.worker @main.s0 at(@rank1) {
  // CHECK: %[[B:.*]] = receive @c0
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<4096x256xf32>
  // CHECK: %[[H:.*]] = embed %[[B]]
  %h = sluice.embed %b, %table by token
    : tensor<4096x256xf32> -> tensor<?x256xf32>
  // CHECK: send @c1 %[[B]], %[[H]] : tensor<?x256xf32>
  sluice.send @c1 %b, %h : tensor<?x256xf32>
}

// CHECK: sluice.worker @main.s1 at(@rank1) attributes {step_rows = 64 : i64} {
sluice.worker @main.s1 at(@rank1) attributes {step_rows = 64 : i64} {
  // CHECK: %[[B:.*]], %[[H:.*]] = receive @c1 : tensor<?x256xf32>
  %b, %h = sluice.receive @c1 : tensor<?x256xf32>
  // CHECK: layer 0 (%{{.*}} = %[[H]])
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x256xf32> {
    sluice.yield %x : tensor<?x256xf32>
  }
  %o = sluice.select_outputs %h1, %b : tensor<?x256xf32>
  %table = sluice.param @table : tensor<4096x256xf32>
  %logits = sluice.linear %o, %table
    : tensor<?x256xf32>, tensor<4096x256xf32> -> tensor<?x4096xf32>
  // CHECK: send @c2 %[[B]], %{{.*}} : tensor<?x4096xf32>
  sluice.send @c2 %b, %logits : tensor<?x4096xf32>
}

// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1]
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "demo", vocab_size = 4096,
    context_length = 1024, eos_tokens = array<i64: 2>}

// CHECK: sluice.worker @draft.s0 at(@rank0)
sluice.worker @draft.s0 at(@rank0) attributes {
    costs = array<i64: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>} {
  %b = sluice.receive @d0
  %table = sluice.param @table : tensor<4096x256xf32>
  %h = sluice.embed %b, %table by token
    : tensor<4096x256xf32> -> tensor<?x256xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x256xf32>, tensor<4096x256xf32> -> tensor<?x4096xf32>
  sluice.send @d1 %b, %logits : tensor<?x4096xf32>
}

sluice.pipeline @draft stages [@draft.s0] attributes {
    architecture = "llama", model_name = "draft", vocab_size = 4096,
    context_length = 1024}

// CHECK: sluice.generate @generate target(@main) at(@rank0) {
sluice.generate @generate target(@main) at(@rank0) {
  // CHECK: %[[LAUNCHED:.*]] = launch @main via(@c0) results(@c2) : !sluice.run
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  // CHECK: speculate draft(@draft) behind(%[[LAUNCHED]]) placement(head) depth 8 width 1 via(@d0) results(@d1) : !sluice.guesses
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 8 width 1 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

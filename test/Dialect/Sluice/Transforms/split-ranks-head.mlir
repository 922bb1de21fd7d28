// RUN: sluice-opt %s --split-input-file --sluice-split-ranks --sluice-verify-phase=phase=program | FileCheck %s

// Without a draft, or with the draft at the head, the first stage's rank is the
// head's too; a draft of its own without a place of its own is where the first
// stage is.

// CHECK-LABEL: {{^module}}
// CHECK: sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// CHECK-NEXT: sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
// CHECK-NEXT: sluice.channel @c0 from @rank0 to @rank0
// CHECK-NEXT: sluice.channel @c1 from @rank0 to @rank1
// CHECK-NEXT: sluice.channel @c2 from @rank1 to @rank0
// CHECK: sluice.worker @main.s0 at(@rank0)
// CHECK-NOT: sluice.worker @draft
// CHECK: sluice.generate @generate target(@main) at(@rank0)

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
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
    context_length = 4}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// CHECK-LABEL: {{^module}}
// CHECK: sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// CHECK-NEXT: sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
// CHECK-NEXT: sluice.channel @c0
// CHECK: sluice.worker @draft.s0 at(@rank0)
// CHECK: placement(head)

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
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
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 4 width 2 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// CHECK-LABEL: {{^module}}
// CHECK: sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// CHECK-NEXT: sluice.rank @rank1 index 1 on(#sluice.place<node = "n0", device = 0>)
// CHECK-NEXT: sluice.rank @rank2 index 2 on(#sluice.place<node = "n1", device = 0>)

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
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
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 2 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// Names that are taken.
// CHECK-LABEL: {{^module}}
// CHECK: sluice.file @rank0
// CHECK: sluice.rank @[[RANK:rank0_[0-9]+]] index 0
// CHECK: sluice.channel @[[C0:c0_[0-9]+]] from @[[RANK]] to @[[RANK]]
// CHECK: receive @[[C0]]
// CHECK: launch @main via(@[[C0]])

sluice.file @rank0 path "a" size 1 identity "0123456789abcdef"
sluice.file @c0 path "a" size 1 identity "0123456789abcdef"
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
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
    context_length = 4}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

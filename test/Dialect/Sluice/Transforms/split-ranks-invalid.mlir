// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-split-ranks=capacity=2
// RUN: not sluice-opt %s --split-input-file --sluice-split-ranks=capacity=0 2>&1 | FileCheck %s

// Channels too short for the guesses that may follow a run: head and stages
// would wait for each other. Two stages and three channels of two frames have
// room for eight frames, one less than a run and eight guesses.

// CHECK: 'sluice.channel' op capacity must be 1 to 65536, got 0

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
// expected-error @+4 {{cyclic wait: @rank0 (@generate) waits for room in @c0 to @rank1 (@main.s0), which waits for room in @c1 to @rank2 (@main.s1), which waits for room in @c2 to @rank0 (@generate)}}
// expected-note @+3 {{@c0 holds 2 of 2 frames}}
// expected-note @+2 {{@c1 holds 2 of 2 frames}}
// expected-note @+1 {{@c2 holds 2 of 2 frames}}
sluice.generate @generate target(@main) on(#sluice.place<node = "head", device = 0>) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 2 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// Seven guesses fit.
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
sluice.generate @generate target(@main) on(#sluice.place<node = "head", device = 0>) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 7 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// expected-error @+1 {{expected one sluice.generate that is not at a rank}}
module {
}

// -----

// Stages that are workers already.
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @r index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c from @r to @r capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r to @r capacity 1 : !sluice.frame<tokens>
sluice.worker @main.s0 at(@r) {
  %b = sluice.receive @c
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
// expected-error @+1 {{has @main.s0, which is no sluice.stage}}
sluice.pipeline @main stages [@main.s0] attributes {
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

// A draft that is cut.
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.stage @draft.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @draft stages [@draft.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // expected-error @+1 {{has a draft that is no sluice.model}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{takes a !sluice.chunk, the rows of one request: --sluice-fuse-decode comes first}}
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
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

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{takes a !sluice.chunk, the rows of one request: --sluice-fuse-decode comes first}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
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

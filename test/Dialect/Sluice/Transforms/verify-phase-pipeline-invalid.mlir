// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-verify-phase=phase=pipeline

// What the phase `pipeline` does not allow: no head, models that nobody guesses
// with, stages of no pipeline or of two, and anything of a later phase.

// expected-error @+1 {{phase pipeline has one 'sluice.generate', found 0}}
module {
}

// -----

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
// expected-error @+1 {{is neither what the head launches nor its draft}}
sluice.model @other(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
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
// expected-error @+1 {{is neither what the head launches nor its draft}}
sluice.pipeline @again stages [@main.s0, @main.s1] attributes {
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
// expected-error @+1 {{belongs to no pipeline}}
sluice.stage @left on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %b1, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  sluice.forward %h1 : tensor<?x8xf32>
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

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.tokenizer @first from @f0 source gguf
// expected-error @+1 {{is one too many: a model has at most one}}
sluice.tokenizer @draft.tokenizer from @f0 source gguf
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
// expected-error @+1 {{'sluice.rank' op is not legal in phase pipeline}}
sluice.rank @r index 0 on(#sluice.place<node = "n0", device = 0>)

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
  // expected-error @+1 {{has a draft that is no 'sluice.model'}}
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
// expected-error @+1 {{takes a chunk, but in phase pipeline steps are fused by --sluice-fuse-decode}}
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
// expected-error @+1 {{takes a chunk, but in phase pipeline steps are fused by --sluice-fuse-decode}}
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

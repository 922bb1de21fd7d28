// RUN: sed "s#INPUTS#%S/Inputs#" %s | sluice-opt --split-input-file --verify-diagnostics --sluice-insert-speculation
// RUN: not sluice-opt %s --sluice-insert-speculation=draft=other --split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s --sluice-insert-speculation=depth=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEPTH

// Drafts whose tokens are not the target's: the first difference is named.

// NONE: there is no sluice.model @other
// DEPTH: 'sluice.speculate' op depth must be 1 to 1024 and width 1 to 64, got 0 and 8

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: positions from 2 on are not guessed: the draft's context ends there, the target's at 4}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 2} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.weight @longer in @f0 at 0 stored f32 : tensor<137x4xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{draft: the vocabulary has 137 tokens, the target's 8, and no tokenizers say which of them are the same: without them at most 128 are taken for padding}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 137,
    context_length = 4} {
  %table = sluice.param @longer : tensor<137x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<137x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<137x4xf32> -> tensor<?x137xf32>
  sluice.return %logits : tensor<?x137xf32>
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
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.file @f2 path "INPUTS/other-tokenizer/tokenizer.json"
  size 291 identity "04723bbf739c5ffc"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.tokenizer @draft.tokenizer from @f2 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{draft: token 4 is '\xc3\xa9\x0a', the target's is 'e'}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{draft: it has no tokenizer, the target has one}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @draft.tokenizer from @f1 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{draft: it has a tokenizer, the target has none}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.tokenizer @draft.tokenizer from @f0 source tokenizer_json
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error-re @+1 {{draft: {{.*}}/model.gguf: cannot open}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.tokenizer @first from @f0 source tokenizer_json
// expected-error @+1 {{is the second tokenizer of one model}}
sluice.tokenizer @tokenizer from @f0 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
// expected-error @+1 {{has a draft already}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// expected-error @+1 {{expected one sluice.generate, found 0}}
module {
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.file @f1 path "INPUTS/merged-tokenizer/tokenizer.json"
  size 297 identity "1933c028b567c360"
sluice.file @f2 path "INPUTS/unmerged-tokenizer/tokenizer.json"
  size 285 identity "d61145cafe526fd7"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.tokenizer @draft.tokenizer from @f2 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: the tokenizer has 0 of the kind 'merge', the target's 1: what it has learnt from was cut into tokens otherwise}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.file @f2 path "INPUTS/lowercase-tokenizer/tokenizer.json"
  size 306 identity "04c4a281c2d4b26b"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.tokenizer @draft.tokenizer from @f2 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: the tokenizer has 1 of the kind 'normalizer step', the target's 0: what it has learnt from was cut into tokens otherwise}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.file @f2 path "INPUTS/ignoring-tokenizer/tokenizer.json"
  size 309 identity "5089465b40ac4b5c"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.tokenizer @draft.tokenizer from @f2 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: the tokenizer's ignore_merges is set, unlike the target's: what it has learnt from was cut into tokens otherwise}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
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
// expected-error @+1 {{has its checkpoints already, which come after the draft}}
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> attributes {step_rows = 4 : i64} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// RUN: sed "s#INPUTS#%S/Inputs#" %s | sluice-opt --split-input-file --verify-diagnostics --sluice-insert-speculation --sluice-fuse-decode --sluice-verify-phase=phase=pipeline --mlir-print-op-on-diagnostic=false | FileCheck %s

// Drafts whose tables have another number of rows than the target's, which is 8:
// what both have must mean the same, and a draft that lacks tokens is a warning.
// insert-speculation-invalid.mlir has what is refused.

// More rows, the same tokens: the rest is padding.
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<200x4xf32>
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.file @draft.f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @draft.tokenizer from @draft.f1 source tokenizer_json
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
    architecture = "llama", model_name = "d", vocab_size = 200,
    context_length = 4} {
  %table = sluice.param @draft.table : tensor<200x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<200x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<200x4xf32> -> tensor<?x200xf32>
  sluice.return %logits : tensor<?x200xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// Fewer rows than tokens.
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<6x4xf32>
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.file @draft.f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @draft.tokenizer from @draft.f1 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: it lacks 2 of the target's tokens, the first 6, 'g': it cannot guess them}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 6,
    context_length = 4} {
  %table = sluice.param @draft.table : tensor<6x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<6x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x6xf32>
  sluice.return %logits : tensor<?x6xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// As many rows, but fewer tokens.
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<8x4xf32>
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.file @draft.f1 path "INPUTS/short-tokenizer/tokenizer.json"
  size 273 identity "e53a0aa530501fb5"
sluice.tokenizer @draft.tokenizer from @draft.f1 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: it lacks 1 of the target's tokens, the first 7, 'h': it cannot guess them}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
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

// -----

// A token that the target lacks harms nobody.
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<16x4xf32>
sluice.file @f1 path "INPUTS/short-tokenizer/tokenizer.json"
  size 273 identity "e53a0aa530501fb5"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.file @draft.f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
sluice.tokenizer @draft.tokenizer from @draft.f1 source tokenizer_json
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
    architecture = "llama", model_name = "d", vocab_size = 16,
    context_length = 4} {
  %table = sluice.param @draft.table : tensor<16x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<16x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<16x4xf32> -> tensor<?x16xf32>
  sluice.return %logits : tensor<?x16xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// Of tokens with scores, those of both are compared.
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<8x4xf32>
sluice.file @f1 path "INPUTS/longer-unigram-tokenizer/tokenizer.json"
  size 345 identity "fa6635b1c73d8cea"
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
sluice.file @draft.f1 path "INPUTS/unigram-tokenizer/tokenizer.json"
  size 315 identity "5f709757c2b11aaf"
sluice.tokenizer @draft.tokenizer from @draft.f1 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-warning @+1 {{draft: it lacks 1 of the target's tokens, the first 3, 'ab': it cannot guess them}}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
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

// -----

// Without tokenizers padding is taken for what it seems: 128 rows more,
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<136x4xf32>
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
    architecture = "llama", model_name = "d", vocab_size = 136,
    context_length = 4} {
  %table = sluice.param @draft.table : tensor<136x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<136x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<136x4xf32> -> tensor<?x136xf32>
  sluice.return %logits : tensor<?x136xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// or some fewer.
// CHECK: speculate draft(@draft)
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @draft.table in @f0 at 2048 stored f32 : tensor<6x4xf32>
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
    architecture = "llama", model_name = "d", vocab_size = 6,
    context_length = 4} {
  %table = sluice.param @draft.table : tensor<6x4xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<6x4xf32> -> tensor<?x4xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x6xf32>
  sluice.return %logits : tensor<?x6xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// RUN: sluice-opt %s --sluice-partition-stages --split-input-file --verify-diagnostics
// RUN: not sluice-opt %s --sluice-partition-stages=stages=3 --split-input-file 2>&1 | FileCheck %s

// Modules in which it is unclear what is cut for whom, or in which stages would
// take a name that is taken, and a model that cannot be cut at all.

// CHECK: error: 3 stages were asked for, the model has no layers

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
// expected-error @+1 {{is the third model: @draft is the draft of @main already}}
sluice.model @third(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{'main.s0' is a name that cutting @main into stages needs}}
sluice.weight @main.s0 in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{'generate' is a name that cutting @main into stages needs}}
sluice.weight @generate in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

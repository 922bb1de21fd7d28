// RUN: sluice-opt %s --sluice-fuse-decode --split-input-file --verify-diagnostics --allow-unregistered-dialect

// What is not known to be row-wise or per-sequence is not fused, whatever dialect
// it is of; nor what has no rows to concatenate, and nothing is fused twice.
// (Ops that say what they are and get it wrong are in the unit test.)

sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'math.exp' op cannot be fused: it does not say whether it is row-wise or per-sequence}}
  %e = math.exp %h : tensor<?x8xf32>
  sluice.return %e : tensor<?x8xf32>
}

// -----

// In a layer as well.
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    // expected-error @+1 {{'arith.constant' op cannot be fused: it does not say whether it is row-wise or per-sequence}}
    %c = arith.constant dense<1.0> : tensor<8xf32>
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

// Nor what no dialect defines.
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'test.mean' op cannot be fused: it does not say whether it is row-wise or per-sequence}}
  %m = "test.mean"(%h) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  sluice.return %m : tensor<?x8xf32>
}

// -----

// Rows that are not the first dimension, or not the only dynamic one.
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'test.transpose' op cannot be fused: 'tensor<8x?xf32>' has no rows to concatenate, which are the first dimension of a tensor<?xNxf32> and its only dynamic one}}
  %t = "test.transpose"(%h) : (tensor<?x8xf32>) -> tensor<8x?xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'test.scores' op cannot be fused: 'tensor<?x?xf32>' has no rows to concatenate}}
  %s = "test.scores"(%h) : (tensor<?x8xf32>) -> tensor<?x?xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

// Where one is fused and another is not, nothing is changed.
sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
// expected-error @+1 {{is fused already: it takes a !sluice.batch}}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token
    : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

// expected-error @+1 {{there is no sluice.model or sluice.stage whose steps could be fused}}
module {
}

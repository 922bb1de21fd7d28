// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-verify-phase
// RUN: not sluice-opt %s --sluice-verify-phase=phase=pipelines --split-input-file 2>&1 | FileCheck %s

// What the phase `model` does not allow, and a phase that there is not.

// CHECK: no phase is named 'pipelines': expected model, pipeline, program, plan or kernels

// expected-error @+1 {{phase model has one 'sluice.model', and one more where there is a draft, found 0}}
module {
}

// -----

// A target and its draft are two.
// expected-error @+1 {{phase model has one 'sluice.model', and one more where there is a draft, found 3}}
module {
  sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
  sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
  sluice.model @a(%chunk: !sluice.chunk) attributes {architecture = "llama",
      model_name = "m", vocab_size = 8, context_length = 4} {
    %t = sluice.param @t : tensor<8x8xf32>
    %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %h : tensor<?x8xf32>
  }
  sluice.model @b(%chunk: !sluice.chunk) attributes {architecture = "llama",
      model_name = "m", vocab_size = 8, context_length = 4} {
    %t = sluice.param @t : tensor<8x8xf32>
    %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %h : tensor<?x8xf32>
  }
  sluice.model @c(%chunk: !sluice.chunk) attributes {architecture = "llama",
      model_name = "m", vocab_size = 8, context_length = 4} {
    %t = sluice.param @t : tensor<8x8xf32>
    %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %h : tensor<?x8xf32>
  }
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = sluice.param @t : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'math.exp' op is not legal in phase model}}
  %e = math.exp %h : tensor<?x8xf32>
  sluice.return %e : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.tokenizer @first from @f0 source gguf
// expected-error @+1 {{'sluice.tokenizer' op is one too many: a model has at most one}}
sluice.tokenizer @second from @f0 source gguf
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = sluice.param @t : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = sluice.param @t : tensor<8x8xf32>
  %h = sluice.embed %batch, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'sluice.checkpoint' op is not legal in phase model}}
  %b, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  sluice.return %h1 : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{takes a batch, but in phase model steps are of one request}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = sluice.param @t : tensor<8x8xf32>
  %h = sluice.embed %batch, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{is tensor parallel, but in phase model a model is on one device}}
sluice.model @a(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4, tensor_parallel = 2} {
  %t = sluice.param @t : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{is not legal in phase model}}
sluice.slice @t.m0 of @t rows 0 to 4 : tensor<4x8xf32>
sluice.model @a(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = sluice.param @t : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

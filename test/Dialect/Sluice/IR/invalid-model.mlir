// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// The frame of a model: its body, its attributes and what ends it.

// model_c1
// expected-error @+1 {{the body must take one !sluice.chunk or !sluice.batch}}
sluice.model @main(%batch: i32) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

// model_c2
// expected-error @+1 {{vocab_size and context_length must be positive, got 0 and 4}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 0, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

// model_c2
// expected-error @+1 {{vocab_size and context_length must be positive, got 8 and -1}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = -1} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

// model_c3
// expected-error @+1 {{eos token 8 is not in the vocabulary of 8}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4,
    eos_tokens = array<i64: 0, 8>} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  // model_c4
  // expected-error @+1 {{is numbered 2, expected 1}}
  %h2 = sluice.layer 2 (%x = %h1) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.return %h2 : tensor<?x8xf32>
}

// -----

// model_c5
// expected-error @+1 {{must end with sluice.return}}
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  "llvm.unreachable"() : () -> ()
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x9xf32>
  // return_c1
  // expected-error @+1 {{logits are 9 wide, the vocabulary has 8}}
  sluice.return %h : tensor<?x9xf32>
}

// -----

func.func @f(%h: tensor<?x8xf32>) {
  // return_c2
  // expected-error @+1 {{expects parent op 'sluice.model'}}
  sluice.return %h : tensor<?x8xf32>
}

// -----

func.func @f() {
  // param_c1
  // expected-error @+1 {{@w is not a sluice.weight or sluice.slice}}
  %w = sluice.param @w : tensor<8xf32>
  return
}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8xf32>
func.func @f() {
  // param_c2
  // expected-error @+1 {{has type 'tensor<9xf32>', but @w is 'tensor<8xf32>'}}
  %w = sluice.param @w : tensor<9xf32>
  return
}

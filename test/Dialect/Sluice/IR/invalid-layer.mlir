// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Layers: what their region takes, holds, uses and yields.

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c1
  // expected-error @+1 {{the region must take one 'tensor<?x8xf32>'}}
  %y = "sluice.layer"(%h) <{index = 0}> ({
  ^bb0(%x: tensor<?x9xf32>):
    sluice.yield %h : tensor<?x8xf32>
  }) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c2
  // expected-error @+1 {{must yield 'tensor<?x8xf32>'}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %z = "test.rows"() : () -> tensor<?x9xf32>
    sluice.yield %z : tensor<?x9xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    // layer_c3
    // expected-error @+1 {{uses a value from outside its layer that is not the batch or chunk}}
    %z = sluice.add %x, %h : tensor<?x8xf32>
    sluice.yield %z : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c4
  // expected-error @+1 {{has more than one sluice.layer_cache}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %a = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %b = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

func.func @f(%h: tensor<?x8xf32>) {
  // layer_c5
  // expected-error @+1 {{expects parent op to be one of 'sluice.model, sluice.stage, sluice.worker'}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  return
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c6
  // expected-error @+1 {{has more than one sluice.attend}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %a = sluice.attend %x, %x, %x, %cache, %batch heads 1 scale 1.0
      : tensor<?x8xf32>, tensor<?x8xf32>, !sluice.cache<kv_heads = 1, head_dim = 8>
    %b = sluice.attend %a, %x, %x, %cache, %batch heads 1 scale 1.0
      : tensor<?x8xf32>, tensor<?x8xf32>, !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %b : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c7
  // expected-error @+1 {{all of {input, result} have same type}}
  %y = "sluice.layer"(%h) <{index = 0}> ({
  ^bb0(%x: tensor<?x8xf32>):
    sluice.yield %x : tensor<?x8xf32>
  }) : (tensor<?x8xf32>) -> tensor<?x9xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

func.func @f(%h: tensor<?x8xf32>) {
  // yield_c1
  // expected-error @+1 {{expects parent op 'sluice.layer'}}
  sluice.yield %h : tensor<?x8xf32>
}

// -----

func.func @f() {
  // layer_cache_c1
  // expected-error @+1 {{must stand directly in a sluice.layer}}
  %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
  return
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // expected-error @+1 {{expects a non-empty block}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

// What is wrong inside is found before it is looked at from outside.
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // expected-error @+1 {{requires attribute 'index'}}
  %y = "sluice.layer"(%h) ({
  ^bb0(%x: tensor<?x8xf32>):
    sluice.yield %x : tensor<?x8xf32>
  }) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    // expected-error @+1 {{expected 1 or more operands, but found 0}}
    "sluice.yield"() : () -> ()
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c2: the batch too
  // expected-error @+1 {{must yield a batch where it has one as a result, and only there}}
  %y, %b = sluice.layer 0 (%x = %h) : tensor<?x8xf32>, !sluice.batch {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c2: no batch where it is no result
  // expected-error @+1 {{must yield a batch where it has one as a result, and only there}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x, %batch : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c8
  // expected-error @+1 {{has a sluice.checkpoint, but does not yield the batch}}
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %b, %x1 = sluice.checkpoint %batch, %x : tensor<?x8xf32>
    sluice.yield %x1 : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // layer_c9
  // expected-error @+1 {{has the number -1}}
  %y = sluice.layer -1 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

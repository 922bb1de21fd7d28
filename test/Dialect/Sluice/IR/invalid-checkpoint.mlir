// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Checkpoints: where they stand, and that nothing goes past them.

func.func @f(%batch: !sluice.batch) {
  // checkpoint_c1
  // expected-error @+1 {{expects parent op to be one of 'sluice.layer, sluice.model, sluice.stage, sluice.worker'}}
  %b = sluice.checkpoint %batch
  return
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // checkpoint_c2
  // expected-error @+1 {{must have results of its operands' types}}
  %b, %y = "sluice.checkpoint"(%batch, %h)
    : (!sluice.batch, tensor<?x8xf32>) -> (!sluice.batch, tensor<?x9xf32>)
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %b, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  // checkpoint_c3: rows
  // expected-error @+1 {{uses the batch or rows from before a sluice.checkpoint that stands before it}}
  %y = sluice.add %h, %h1 : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %b, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  // checkpoint_c3: the batch
  // expected-error @+1 {{uses the batch or rows from before a sluice.checkpoint that stands before it}}
  %y = sluice.select_outputs %h1, %batch : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %b, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %h1) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    // checkpoint_c3: the batch of a layer
    // expected-error @+1 {{uses the batch or rows from before a sluice.checkpoint that stands before it}}
    %a = sluice.attend %x, %x, %x, %cache, %batch heads 1 scale 1.0
      : tensor<?x8xf32>, tensor<?x8xf32>, !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %a : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %h1, %b1 = sluice.layer 0 (%x = %h) : tensor<?x8xf32>, !sluice.batch {
    %b, %x1 = sluice.checkpoint %batch, %x : tensor<?x8xf32>
    sluice.yield %x1, %b : tensor<?x8xf32>
  }
  // checkpoint_c3: behind a layer that has one
  // expected-error @+1 {{uses the batch or rows from before a sluice.checkpoint that stands before it}}
  %y = sluice.add %h1, %h : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %h1, %b1 = sluice.layer 0 (%x = %h) : tensor<?x8xf32>, !sluice.batch {
    %b, %x1 = sluice.checkpoint %batch, %x : tensor<?x8xf32>
    // checkpoint_c3: inside a layer
    // expected-error @+1 {{uses the batch or rows from before a sluice.checkpoint that stands before it}}
    sluice.yield %x, %b : tensor<?x8xf32>
  }
  sluice.return %h1 : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  %b, %h1, %s1 = sluice.checkpoint %batch, %h, %s
    : tensor<?x8xf32>, tensor<?x8xf32>
  // select_outputs_c2: a checkpoint does not change that
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %y = sluice.add %s1, %h1 : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  // A value that is no rows.
  %w = "test.weight"() : () -> tensor<8xf32>
  // expected-error @+1 {{must be variadic of rows of features}}
  %b, %w1 = sluice.checkpoint %batch, %w : tensor<8xf32>
  sluice.return %h : tensor<?x8xf32>
}

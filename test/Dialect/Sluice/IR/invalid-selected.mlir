// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Rows that were picked as outputs no longer match the batch: what is computed
// from them never meets the batch, or rows of all of it, again.

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  // select_outputs_c2
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %y = sluice.add %s, %h : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  // select_outputs_c2
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %y = sluice.gate silu %h, %s : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  %a = sluice.activation relu %s : tensor<?x8xf32>
  // select_outputs_c2
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %y = sluice.rope %a, %batch half heads 1 head_dim 8 rotary_dim 8 base 10000.0
    : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  // select_outputs_c2
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %y = sluice.select_outputs %s, %batch : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %s) : tensor<?x8xf32> {
    %c = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    // select_outputs_c2
    // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
    %a = sluice.attend %x, %x, %x, %c, %batch heads 1 scale 1.0
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %a : tensor<?x8xf32>
  }
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %s) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  // select_outputs_c2
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %z = sluice.add %y, %h : tensor<?x8xf32>
  sluice.return %z : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  // Picked twice, they match each other.
  %t = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  %y = sluice.add %s, %t : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

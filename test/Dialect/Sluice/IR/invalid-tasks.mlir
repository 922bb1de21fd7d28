// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Tasks of a step that break a constraint.

// rows_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{yields 0 rows for 1 buffers}}
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    sluice.task.yield
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 32>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{writes 'tensor<?x64xf32>' to a '!sluice.buffer<rows, 32>'}}
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 32>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64, <q8, floats = 48>>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{that are not in its format}}
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64, <q8, floats = 48>>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c2
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 96>
  %w = sluice.param @w : tensor<96x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      weights(%v = %w : tensor<96x64xf16>)
      writes(%y : !sluice.buffer<rows, 96>) {
    // expected-error @+1 {{is no row-wise op of a row loop}}
    %o = sluice.linear %i, %v : tensor<?x64xf32>, tensor<96x64xf16> -> tensor<?x96xf32>
    sluice.task.yield %o : tensor<?x96xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c2
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %b = sluice.param @b : tensor<64xf32>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    // expected-error @+1 {{uses a value from outside of its row loop that is not the batch}}
    %o = sluice.add_bias %i, %b : tensor<?x64xf32>, tensor<64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c3
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{a buffer that is written is of rows, the task of outputs}}
  sluice.task.rows outputs writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c3
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<outputs, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows outputs reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<outputs, 64>) {
    // expected-error @+1 {{reads a buffer of rows in a loop over outputs}}
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c4
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{accesses a buffer twice}}
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%x : !sluice.buffer<rows, 64>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c5
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{has 2 ops that the runtime does by itself, expected 1}}
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    %s = sluice.activation relu %r : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// yield_c1: of a row loop
func.func @f() {
  // expected-error @+1 {{expects parent op 'sluice.task.rows'}}
  sluice.task.yield
}

// -----

// product_c1
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<outputs, 96>
  %w = sluice.param @w : tensor<96x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{the output is of outputs, the task of rows}}
  sluice.task.product rows %x, %w into %y
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> -> !sluice.buffer<outputs, 96>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// product_c2
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 32>
  %y = sluice.buffer : !sluice.buffer<rows, 96>
  %w = sluice.param @w : tensor<96x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  // expected-error @+1 {{the input is 32 wide, the weight takes 64}}
  sluice.task.product rows %x, %w into %y
    : !sluice.buffer<rows, 32>, tensor<96x64xf16> -> !sluice.buffer<rows, 96>
  sluice.results %x : !sluice.buffer<rows, 32>
}

// -----

// product_c2
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %w = sluice.param @w : tensor<96x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{the output is 64 wide, expected 96}}
  sluice.task.product rows %x, %w into %y
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> -> !sluice.buffer<rows, 64>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// product_c3
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 96>
  %w = sluice.param @w : tensor<96x64xf16>
  %b = sluice.param @b : tensor<64xf32>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{has a bias that is not as long as the weight's 'out'}}
  sluice.task.product rows %x, %w bias %b into %y
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> bias tensor<64xf32> -> !sluice.buffer<rows, 96>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// product_c4
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 88>
  %w = sluice.param @w : tensor<96x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{columns 8 to 96 are not cut at multiples of 16}}
  sluice.task.product rows %x, %w columns 8 to 96 into %y
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> -> !sluice.buffer<rows, 88>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// product_c5
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @b in @f at 0 stored f32 : tensor<64xf32>
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 16>
  %w = sluice.param @w : tensor<96x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{needs a gate and a partner of all columns, and no residual}}
  sluice.task.product rows %x, %w columns 0 to 16 gate silu %w into %y
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> gate tensor<96x64xf16> -> !sluice.buffer<rows, 16>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// append_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %c = sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{a key or value is 64 wide, expected 32}}
  sluice.task.append %x, %x to %c : !sluice.buffer<rows, 64>,
    !sluice.buffer<rows, 64>, !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// attend_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %c = sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{has 3 heads, which are no positive multiple of 2}}
  sluice.task.attend %x over %c into %y heads 3 scale 0.25
    : !sluice.buffer<rows, 64> over !sluice.cache<kv_heads = 2, head_dim = 16>
    -> !sluice.buffer<rows, 64>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// attend_c2
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %c = sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{a key or value is 64 wide, expected 32}}
  sluice.task.attend %x over %c step %x, %x into %y heads 4 scale 0.25
    : !sluice.buffer<rows, 64> step !sluice.buffer<rows, 64>,
      !sluice.buffer<rows, 64> over !sluice.cache<kv_heads = 2, head_dim = 16>
    -> !sluice.buffer<rows, 64>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// exchange_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, members = 2} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<outputs, 64>
  %s = sluice.buffer : !sluice.buffer<rows, 128>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{a buffer is of outputs, the task of rows}}
  sluice.task.exchange sum rows %x into %y scratch %s
    : !sluice.buffer<rows, 64> -> !sluice.buffer<outputs, 64>, !sluice.buffer<rows, 128>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// exchange_c2
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, members = 2} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %s = sluice.buffer : !sluice.buffer<rows, 128>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{makes rows of 64 features from rows of 64}}
  sluice.task.exchange gather rows %x into %y scratch %s
    : !sluice.buffer<rows, 64> -> !sluice.buffer<rows, 64>, !sluice.buffer<rows, 128>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// exchange_c3
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, members = 2} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %s = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{has room for 64 features, but 2 members bring 64 each}}
  sluice.task.exchange sum rows %x into %y scratch %s
    : !sluice.buffer<rows, 64> -> !sluice.buffer<rows, 64>, !sluice.buffer<rows, 64>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// checkpoint_c1: of a step
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{moves a buffer twice}}
  sluice.task.checkpoint %x, %x : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 64>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// sample_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{needs floats of outputs}}
  sluice.task.sample %x : !sluice.buffer<rows, 64>
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c5: the runtime needs no kernel
func.func private @k()
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{is done by the runtime, and has a kernel}}
  sluice.task.rows rows runtime kernel @k
      writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c6: there is no such function
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{has the kernel @k, which is no function of the module}}
  sluice.task.rows rows kernel @k writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rows_c6: a step is none
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{has the kernel @main, which is no function of the module}}
  sluice.task.rows rows kernel @main writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// product_c5: a GPU has no products with such a gate
sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @v in @f at 0 stored f16 : tensor<96x64xf16>
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 64,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  %y = sluice.buffer : !sluice.buffer<rows, 96>
  %w = sluice.param @w : tensor<96x64xf16>
  %v = sluice.param @v : tensor<96x64xf16>
  // expected-error @+1 {{has the gate relu, which products do not have on CUDA}}
  sluice.task.product rows %x, %w gate relu %v into %y
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> gate tensor<96x64xf16>
    -> !sluice.buffer<rows, 96>
  sluice.results %y : !sluice.buffer<rows, 96>
}

// -----

// rows_c5: the runtime has no code for sums
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 64,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{has an op that the runtime does not do by itself}}
  sluice.task.rows rows runtime reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

// rows_c5: nor for operands in a format of a CPU
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 64,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  %y = sluice.buffer : !sluice.buffer<rows, 64, <q8, floats = 24>>
  // expected-error @+1 {{has an op that the runtime does not do by itself}}
  sluice.task.rows rows runtime reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64, <q8, floats = 24>>) {
    %s = sluice.to_operand %a as <q8, floats = 24> : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// checkpoint_c2: a GPU keeps outputs where they are
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 64,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  %y = sluice.buffer : !sluice.buffer<outputs, 64>
  sluice.task.rows outputs reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<outputs, 64>) {
    %s = sluice.select_outputs %a, %batch : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  // expected-error @+1 {{moves a buffer of outputs, which keep their places}}
  sluice.task.checkpoint %y : !sluice.buffer<outputs, 64>
  sluice.results %y : !sluice.buffer<outputs, 64>
}

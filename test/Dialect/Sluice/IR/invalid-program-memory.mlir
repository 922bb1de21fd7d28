// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Graphs whose work takes memory that the program's arena does not have, or other
// records than the work is for.

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: the arena ends before
  // expected-error @+1 {{is at 16, outside of the arena}}
  %x = sluice.graph_value rows 16
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, rows>, #sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr) kernel {
    sluice.wait_for_prior
    %c1 = arith.constant 1 : index
    %view = sluice.view %x[%c1] : !llvm.ptr to memref<?x17xf32>
    gpu.return
  }
}
sluice.graph @step {
  // program_c12: the kernel's rows are wider than the arena
  %x = sluice.graph_value rows 0
  %rows = sluice.graph_address row_count
  // expected-error @+1 {{takes the value at 0 to 17, outside of the arena of 16}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %x)
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x32xf32>
sluice.graph @step {
  // program_c12: rows of a table end behind the arena
  %x = sluice.graph_value rows 48
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_embed 0 by token into %x cols 32
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, rows>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: so do rows that come in
  %x = sluice.graph_value rows 48
  // expected-error @+1 {{takes the value at 48 to 65, outside of the arena of 64}}
  sluice.graph_receive into %x cols 17
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: so do rows that go
  %x = sluice.graph_value rows 48
  // expected-error @+1 {{takes the value at 48 to 65, outside of the arena of 64}}
  sluice.graph_send %x cols 17
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: the operand of few features has whole units
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 48
  // expected-error @+1 {{takes the value at 48 to 112, outside of the arena of 64}}
  sluice.graph_operand rows bf16 %x into %y cols 16
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: what operand rows are made of ends behind the arena
  %x = sluice.graph_value rows 48
  %y = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 72, outside of the arena of 64}}
  sluice.graph_operand rows bf16 %x into %y cols 24
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored bf16 : tensor<32x16xbf16>
sluice.graph @step {
  // program_c12: a result ends behind the arena
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %q into %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored bf16 : tensor<32x16xbf16>
sluice.graph @step {
  // program_c12: a residual does
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %q residual %x into %q
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored bf16 : tensor<32x16xbf16>
sluice.graph @step {
  // program_c12: operand rows do: they are as wide as products of bf16 weights take them
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 112, outside of the arena of 64}}
  sluice.graph_linear rows weight 0 columns 0 to 16 of %x into %q
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: a key does, of all heads
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_append 0 %x, %q
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: a value does
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_append 0 %q, %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
llvm.mlir.global internal constant @attention(0 : i64) : i64
sluice.graph @step {
  // program_c12: so does a query
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_attend 0 %x into %q with @attention
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
llvm.mlir.global internal constant @attention(0 : i64) : i64
sluice.graph @step {
  // program_c12: so does what attention gives
  %x = sluice.graph_value rows 48
  %q = sluice.graph_value rows 0
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_attend 0 %q into %x with @attention
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: scratch is for all four members
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  %s = sluice.graph_value rows 32
  // expected-error @+1 {{takes the value at 32 to 96, outside of the arena of 64}}
  sluice.graph_all_reduce rows %x into %y cols 16 scratch %s
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0, members = 4,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: so it is of a gathering
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 16
  %s = sluice.graph_value rows 32
  // expected-error @+1 {{takes the value at 32 to 80, outside of the arena of 64}}
  sluice.graph_all_gather rows %x cols 12 into %y cols 16 scratch %s
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0, members = 4,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: scratch for four members reaches into the input
  %s = sluice.graph_value rows 0
  %x = sluice.graph_value rows 32
  %y = sluice.graph_value rows 48
  // expected-error @+1 {{has its input, output and scratch in overlapping memory}}
  sluice.graph_all_reduce rows %x into %y cols 16 scratch %s
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0, members = 4,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: what moves ends behind the arena
  %x = sluice.graph_value rows 48
  // expected-error @+1 {{takes the value at 48 to 80, outside of the arena of 64}}
  sluice.graph_checkpoint (%x) {floats = array<i64: 32>}
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: rows are moved, and not outputs
  %x = sluice.graph_value outputs 48
  // expected-error @+1 {{is for rows, but takes a value of outputs}}
  sluice.graph_checkpoint (%x) {floats = array<i64: 16>}
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: the step may have more outputs than the value has rows
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value outputs 0
  sluice.graph_select_outputs
  // expected-error @+1 {{is for outputs, but takes a value of rows}}
  sluice.graph_operand outputs f32 %x into %y cols 16
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 128, output_floats = 128, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

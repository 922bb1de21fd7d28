// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Graphs that are not those of the program that describes them: weights, caches and
// tables that it does not have, and gates without partners.

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: the weight is looked up by rows only
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{names the weight 0 of "main", which is not one of linear}}
  sluice.graph_linear rows weight 0 columns 0 to 16 of %x into %x
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
sluice.graph @step {
  // program_c12: there is no such weight
  // expected-error @+1 {{names the weight 7 of "main", which is not one of vector}}
  %x = sluice.graph_address vector 7
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
sluice.graph @step {
  // program_c12: the table has no such columns
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{computes columns to 33 of @w, which has 32}}
  sluice.graph_linear rows weight 1 columns 0 to 33 of %x into %x
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
sluice.graph @step {
  // program_c12: columns end with a tile, or with the weight
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{computes columns to 17 of @w, which has 32}}
  sluice.graph_linear rows weight 1 columns 0 to 17 of %x into %x
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
sluice.graph @step {
  // program_c12: there is no such cache
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{names the cache 1, which the program does not have}}
  sluice.graph_append 1 %x, %x
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
sluice.graph @step {
  // program_c12: there is no such table
  // expected-error @+1 {{names the rope table 0, which the program does not have}}
  %x = sluice.graph_address rope_table 0
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
sluice.graph @step {
  // program_c12: the weight has no partner
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has a gate, but @w has no partner}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %x gate silu into %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: the weight has a partner
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{has no gate, but @w has a partner}}
  sluice.graph_linear rows weight 0 columns 0 to 32 of %x into %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: a gate is of all columns
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{computes columns to 16 of @w, which has 32}}
  sluice.graph_linear rows weight 0 columns 0 to 16 of %x gate silu into %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: a partner is not there alone
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{multiplies by @v alone, which is the partner of @w}}
  sluice.graph_linear rows weight 1 columns 0 to 32 of %x into %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 16>], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  // program_c12: rows are as wide as the table
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{looks up 15 columns of @w, which has 16}}
  sluice.graph_embed 0 by token into %x cols 15
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, rows>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @b in @f at 4096 stored f32 : tensor<16xf32>
sluice.graph @step {
  // program_c12: a bias has a number for each column
  %x = sluice.graph_value rows 0
  %b = sluice.graph_address vector 1
  // expected-error @+1 {{adds the bias @b of 16 to 32 columns of @w}}
  sluice.graph_linear rows weight 0 columns 0 to 16 of %x bias %b into %x
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 32, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>, #sluice.weight_use<@b, vector>]}

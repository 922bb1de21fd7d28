// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Partners of weights that cannot lie in memory as one with them.

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: the partner has no use of its own
// expected-error @+1 {{has the partner @v of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: it is used in another way
// expected-error @+1 {{has the partner @v of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear, transposed>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: it is the weight itself
// expected-error @+1 {{has the partner @w of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @w>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @u in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: it is that of two weights
// expected-error @+1 {{has the partner @v of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@v, linear>, #sluice.weight_use<@u, linear, partner @v>, #sluice.weight_use<@w, linear, partner @v>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: tables have none
// expected-error @+1 {{has a partner of @w, which is not a linear use for cuda}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, rows, partner @v>, #sluice.weight_use<@v, rows>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: it is the weight itself, which has a use alone
// expected-error @+1 {{has the partner @w of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @w>, #sluice.weight_use<@w, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @u in @f at 0 stored f32 : tensor<32x16xf32>
// program_c13: it is a gate itself
// expected-error @+1 {{has the partner @v of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>,
             #sluice.weight_use<@u, linear>, #sluice.weight_use<@v, linear, partner @u>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored q8_0 : tensor<32x32x!sluice.block<q8_0>>
sluice.weight @v in @f at 0 stored f16 : tensor<32x32x!sluice.block<q8_0>>
// program_c13: it is stored in another format
// expected-error @+1 {{has the partner @v of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<16x16xf32>
// program_c13: it has another type
// expected-error @+1 {{has the partner @v of @w, which is no other weight of its kind}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 64, output_floats = 64, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
func.func private @kernel(!llvm.ptr, !llvm.ptr, index, index)
sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16>
  sluice.task.rows rows kernel @kernel writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 16>
}
// program_c13: programs for a CPU have none
// expected-error @+1 {{has a partner of @w, which is not a linear use for cuda}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  has_embedding = false, has_output = false,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear, partner @v>, #sluice.weight_use<@v, linear>]}

// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Descriptions of emitted code that contradict the module or themselves.

// program_c1
// expected-error @+1 {{names a step function @step that the module does not have}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c2: no such weight
// expected-error @+1 {{uses @w, which is not a sluice.weight}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [#sluice.weight_use<@w, rows>]}

// -----

func.func private @step()
sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
// program_c2: a matrix is no vector
// expected-error @+1 {{uses @w of type 'tensor<8x8xf32>' as vector}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [#sluice.weight_use<@w, vector>]}

// -----

func.func private @step()
sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
// program_c2: tables are not transposed
// expected-error @+1 {{transposes @w, which is not used as linear}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [#sluice.weight_use<@w, rows, transposed>]}

// -----

func.func private @step()
// program_c3: sizes of the model
// expected-error @+1 {{has a vocabulary, context or hidden size that is not positive}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = -8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c3: sizes of the arena
// expected-error @+1 {{has a negative number of layers or arena size}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = -16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c4
// expected-error @+1 {{has logits outside of the output part of the arena}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 16, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c5
// expected-error @+1 {{has a cache of type 'i32'}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [i32],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c6
// expected-error @+1 {{has arena sizes that are not multiples of 16}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 17, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func @f(%pointer: i64) {
  // view_c1
  // expected-error @+1 {{needs an !llvm.ptr, has 'i64'}}
  %x = sluice.view %pointer : i64 to memref<8xf32>
  return
}

// -----

func.func @f(%pointer: !llvm.ptr) {
  // view_c2
  // expected-error @+1 {{needs a memref without layout and memory space, has 'memref<8xf32, 1>'}}
  %x = sluice.view %pointer : !llvm.ptr to memref<8xf32, 1>
  return
}

// -----

func.func @f(%pointer: !llvm.ptr, %n: index) {
  // view_c3
  // expected-error @+1 {{has 0 sizes for 1 dynamic dimensions}}
  %x = sluice.view %pointer : !llvm.ptr to memref<?x8xf32>
  return
}

// -----

// expected-error @+1 {{expected linear, rows or vector}}
func.func private @step() attributes {use = #sluice.weight_use<@w, packed>}

// -----

gpu.module @step {
}
// program_c1: for cuda it is a graph
// expected-error @+1 {{is for cuda, but @step is not a sluice.graph}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c10: programs for a CPU have none
// expected-error @+1 {{is for a CPU and has a counterpart}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], counterpart = @main}

// -----

sluice.graph @step {
  %x = sluice.graph_value rows 0
}
// program_c10: it is no program for a CPU
// expected-error @+1 {{has the counterpart @main, which is no program for a CPU at its rank}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], counterpart = @main}

// -----

func.func private @step()
// program_c11
// expected-error @+1 {{is of a group of 0 members, expected 1 to 256}}
sluice.program @main step @step cpu avx2 {
  architecture = "a", model_name = "m", vocab_size = 32, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 16, layers = 0, row_floats = 16,
  output_floats = 32, logits_offset = 0, caches = [], rope_tables = [],
  weights = [], members = 0}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<16x8xf32>
sluice.slice @s of @w rows 0 to 8 : tensor<8x8xf32>
func.func private @step()
// program_c2: of a slice
// expected-error @+1 {{looks rows up in @s, which is a part of a weight}}
sluice.program @main step @step cpu avx2 {
  architecture = "a", model_name = "m", vocab_size = 32, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 16, layers = 0, row_floats = 16,
  output_floats = 32, logits_offset = 0, caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@s, rows>]}

// -----

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
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
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
gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr) kernel {
    %c1 = arith.constant 1 : index
    %view = sluice.view %x[%c1] : !llvm.ptr to memref<?x17xf32>
    gpu.return
  }
}
sluice.graph @step {
  // program_c12: the kernel's rows are wider than the arena
  %x = sluice.graph_value rows 0
  %rows = sluice.graph_address row_count
  // expected-error @+1 {{gives the value at 0 to a kernel that has it end at 17, outside of the arena}}
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
sluice.weight @w in @f at 0 stored f32 : tensor<32x16xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<32x16xf32>
sluice.graph @step {
  %rows = sluice.graph_address row_count
}
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
sluice.graph @step {
  %rows = sluice.graph_address row_count
}
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
sluice.graph @step {
  %rows = sluice.graph_address row_count
}
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
sluice.graph @step {
  %rows = sluice.graph_address row_count
}
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
sluice.graph @step {
  %rows = sluice.graph_address row_count
}
// program_c13: tables have none
// expected-error @+1 {{has a partner of @w, which is not a linear use for cuda}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, rows, partner @v>, #sluice.weight_use<@v, rows>]}

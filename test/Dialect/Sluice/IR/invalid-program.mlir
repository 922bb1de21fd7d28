// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Descriptions of emitted code that contradict the module or themselves.

// program_c1
// expected-error @+1 {{names a step @step that the module does not have}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @kernel(!llvm.ptr, !llvm.ptr, index, index)
sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 16>
  sluice.task.rows rows kernel @kernel writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 16>
}
// program_c1: memory is not assigned
// expected-error @+1 {{names the step @step, which has no arena}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 16>
}
// program_c1: nothing computes the loop
// expected-error @+1 {{names the step @step, which has a task without its kernel}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c2: no such weight
// expected-error @+1 {{uses @w, which is not a sluice.weight}}
sluice.program @main step @step cuda {
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
sluice.program @main step @step cuda {
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
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [#sluice.weight_use<@w, rows, transposed>]}

// -----

func.func private @step()
// program_c3: sizes of the model
// expected-error @+1 {{has a vocabulary, context or hidden size that is not positive}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = -8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c3: sizes of the arena
// expected-error @+1 {{has a negative number of layers or arena size}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = -16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c4
// expected-error @+1 {{has logits outside of the output part of the arena}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 16, caches = [],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c5
// expected-error @+1 {{has a cache of type 'i32'}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [i32],
  rope_tables = [], weights = []}

// -----

func.func private @step()
// program_c6
// expected-error @+1 {{has arena sizes that are not multiples of 16}}
sluice.program @main step @step cuda {
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
// program_c1
// expected-error @+1 {{names a step @step that the module does not have}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

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
// program_c10: programs for a CPU have none
// expected-error @+1 {{is for a CPU and has a counterpart}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], counterpart = @main,
  has_embedding = false, has_output = false}

// -----

// program_c10: it is no program for a CPU
// expected-error @+1 {{has the counterpart @main, which is no program for a CPU at its rank}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], counterpart = @main}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<16x16xf32>
sluice.weight @v in @f0 at 0 stored f32 : tensor<16x16xf32>
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 160, output_floats = 0} {
  %w = sluice.param @w : tensor<16x16xf32>
  %v = sluice.param @v : tensor<16x16xf32>
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16, <f32, floats = 128>>
  %y = sluice.buffer at 128 : !sluice.buffer<rows, 16>
  %z = sluice.buffer at 144 : !sluice.buffer<rows, 16>
  sluice.task.rows rows runtime writes(%y : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.task.rows rows runtime reads(%r = %y : !sluice.buffer<rows, 16>)
      writes(%x : !sluice.buffer<rows, 16, <f32, floats = 128>>) {
    %o = sluice.to_operand %r as <f32, floats = 128> : tensor<?x16xf32>
    sluice.task.yield %o : tensor<?x16xf32>
  }
  sluice.task.product rows %x, %w gate silu %v into %z
    : !sluice.buffer<rows, 16, <f32, floats = 128>>, tensor<16x16xf32>
      gate tensor<16x16xf32> -> !sluice.buffer<rows, 16>
  sluice.results %z : !sluice.buffer<rows, 16>
}
// program_c12: the gate's weight is there without its partner
// expected-error @+1 {{lacks #sluice.weight_use<@w, linear, partner @v>, which its step @step uses}}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 160, output_floats = 0, logits_offset = 0, caches = [],
  rope_tables = [], has_embedding = false, has_output = false,
  weights = [#sluice.weight_use<@w, linear>, #sluice.weight_use<@v, linear>]}

// -----

sluice.file @f0 path "a" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<16x16xf32>
sluice.weight @v in @f0 at 0 stored f32 : tensor<16x16xf32>
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 176, output_floats = 0} {
  %w = sluice.param @w : tensor<16x16xf32>
  %v = sluice.param @v : tensor<16x16xf32>
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16, <f32, floats = 128>>
  %y = sluice.buffer at 128 : !sluice.buffer<rows, 16>
  %z = sluice.buffer at 144 : !sluice.buffer<rows, 16>
  %u = sluice.buffer at 160 : !sluice.buffer<rows, 16>
  sluice.task.rows rows runtime writes(%y : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.task.rows rows runtime reads(%r = %y : !sluice.buffer<rows, 16>)
      writes(%x : !sluice.buffer<rows, 16, <f32, floats = 128>>) {
    %o = sluice.to_operand %r as <f32, floats = 128> : tensor<?x16xf32>
    sluice.task.yield %o : tensor<?x16xf32>
  }
  sluice.task.product rows %x, %w gate silu %v into %z
    : !sluice.buffer<rows, 16, <f32, floats = 128>>, tensor<16x16xf32>
      gate tensor<16x16xf32> -> !sluice.buffer<rows, 16>
  // expected-error @+1 {{multiplies by @v alone, which is the partner of another weight}}
  sluice.task.product rows %x, %v into %u
    : !sluice.buffer<rows, 16, <f32, floats = 128>>, tensor<16x16xf32>
    -> !sluice.buffer<rows, 16>
  sluice.results %z : !sluice.buffer<rows, 16>
}
// program_c12: a partner has no memory of its own
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 176, output_floats = 0, logits_offset = 0, caches = [],
  rope_tables = [], has_embedding = false, has_output = false,
  weights = [#sluice.weight_use<@w, linear, partner @v>,
             #sluice.weight_use<@v, linear>]}

// -----

func.func private @step()
// program_c11
// expected-error @+1 {{is of a group of 0 members, expected 1 to 256}}
sluice.program @main step @step cuda {
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
sluice.program @main step @step cuda {
  architecture = "a", model_name = "m", vocab_size = 32, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 16, layers = 0, row_floats = 16,
  output_floats = 32, logits_offset = 0, caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@s, rows>]}

// -----

sluice.file @f0 path "a" size 40960 identity "0123456789abcdef"
sluice.weight @s in @f0 at 0 stored f32 : tensor<1xf32>
sluice.weight @w in @f0 at 512 stored e4m3 scales @s
  : tensor<128x128x!sluice.block<e4m3>>
sluice.slice @part of @w rows 0 to 64 : tensor<64x128x!sluice.block<e4m3>>
func.func private @step()
// program_c2: tables have no scales apart
// expected-error @+1 {{uses @w, whose scales lie apart, as rows: only products of its rows can}}
sluice.program @main step @step cuda {
  architecture = "a", model_name = "m", vocab_size = 32, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 16, layers = 0, row_floats = 16,
  output_floats = 32, logits_offset = 0, caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@w, linear>, #sluice.weight_use<@w, rows>]}

// -----

sluice.file @f0 path "a" size 40960 identity "0123456789abcdef"
sluice.weight @s in @f0 at 0 stored f32 : tensor<1xf32>
sluice.weight @w in @f0 at 512 stored e4m3 scales @s
  : tensor<128x128x!sluice.block<e4m3>>
sluice.slice @part of @w rows 0 to 64 : tensor<64x128x!sluice.block<e4m3>>
func.func private @step()
// program_c2: products of columns neither, here of a part
// expected-error @+1 {{uses @part, whose scales lie apart, as transposed: only products of its rows can}}
sluice.program @main step @step cuda {
  architecture = "a", model_name = "m", vocab_size = 32, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 16, layers = 0, row_floats = 16,
  output_floats = 32, logits_offset = 0, caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@part, linear, transposed>]}

// -----

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
// program_c14: level
// expected-error @+1 {{has another target than its step @step}}
sluice.program @main step @step cpu avx512 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], has_embedding = false, has_output = false}

// -----

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
// program_c14: arena
// expected-error @+1 {{has another arena than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 32, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], has_embedding = false, has_output = false}

// -----

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
// program_c14: arena
// expected-error @+1 {{has another arena than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 48, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], has_embedding = false, has_output = false}

// -----

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
// program_c14: members
// expected-error @+1 {{has another members than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], members = 2, has_embedding = false, has_output = false}

// -----

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
// program_c14: checkpoints
// expected-error @+1 {{has another checkpoints than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], checkpoints = 1, has_embedding = false, has_output = false}

// -----

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
// program_c14: output
// expected-error @+1 {{has another output than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], has_embedding = false}

// -----

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
// program_c14: caches
// expected-error @+1 {{has another caches than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [!sluice.cache<kv_heads = 2, head_dim = 16>],
  rope_tables = [], weights = [], has_embedding = false, has_output = false}

// -----

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
// program_c14: rope tables
// expected-error @+1 {{has another rope tables than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [#sluice.rope_table<inverse = [1.0], factor = 1.0>], weights = [], has_embedding = false, has_output = false}

// -----

func.func private @kernel(!llvm.ptr, !llvm.ptr, index, index)
sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16>
  %y = sluice.buffer at 0 : !sluice.buffer<outputs, 16>
  sluice.task.rows rows kernel @kernel writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.barrier
  sluice.task.rows outputs kernel @kernel
      reads(%i = %x : !sluice.buffer<rows, 16>)
      writes(%y : !sluice.buffer<outputs, 16>) {
    %r = sluice.select_outputs %i, %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %y : !sluice.buffer<outputs, 16>
}
// program_c14: where the logits lie
// expected-error @+1 {{has another logits than its step @step}}
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 16,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 16, caches = [],
  rope_tables = [], weights = [], has_embedding = false}

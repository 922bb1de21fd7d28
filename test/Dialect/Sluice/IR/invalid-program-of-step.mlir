// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Programs made of a step, with bounds or costs that do not fit it.

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16>
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 16>
}
// program_c4: without output
// expected-error @+1 {{has an offset of logits, but no output}}
sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 16, caches = [],
  rope_tables = [], weights = [], has_output = false}

// -----

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
// program_c7
// expected-error @+1 {{has a negative first layer or number of checkpoints}}
sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], checkpoints = -1}

// -----

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
// program_c7: with the embedding
// expected-error @+1 {{has the embedding, but starts with layer 2}}
sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], first_layer = 2}

// -----

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
// program_c8
// expected-error @+1 {{has costs for 2 row counts, expected 10}}
sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], costs = array<i64: 1, 2>}

// -----

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
// program_c8: step_rows
// expected-error @+1 {{step_rows must be positive, got 0}}
sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], step_rows = 0}

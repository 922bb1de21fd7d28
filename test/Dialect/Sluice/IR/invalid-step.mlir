// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Steps of the phase `plan` that break a constraint.

// step_c1
// expected-error @+1 {{has a target for which no steps can be planned: "tpu"}}
sluice.step @main(%batch: !sluice.batch) target "tpu" attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c1
// expected-error @+1 {{must take one !sluice.batch}}
sluice.step @main(%batch: !sluice.chunk) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows {
    sluice.task.yield
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c2
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{reads a buffer that nothing before it writes}}
  sluice.task.rows rows reads(%i = %y : !sluice.buffer<rows, 64>)
      writes(%x : !sluice.buffer<rows, 64>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c2
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-note @+1 {{by this}}
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{writes a buffer that has been written}}
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c2
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{names a buffer that nothing writes}}
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c3
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{accesses a buffer without a place}}
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c3
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  // expected-error @+1 {{lies at 144 to 208, outside of an arena of 192 floats}}
  %x = sluice.buffer at 144 : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c4
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  // expected-note @+1 {{which is this}}
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  // expected-error @+1 {{overlaps another buffer that is in use at the same time}}
  %y = sluice.buffer at 48 : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

// step_c4: results live to the end, and on a GPU each task is an interval
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  // expected-note @+1 {{which is this}}
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  %y = sluice.buffer at 64 : !sluice.buffer<rows, 64>
  // expected-error @+1 {{overlaps another buffer that is in use at the same time}}
  %z = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.task.rows rows reads(%i = %y : !sluice.buffer<rows, 64>)
      writes(%z : !sluice.buffer<rows, 64>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c5
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  %y = sluice.buffer at 0 : !sluice.buffer<outputs, 64>
  // expected-note @+1 {{which is this}}
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{needs a sluice.barrier before it: it reads what an earlier task writes}}
  sluice.task.rows outputs reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<outputs, 64>) {
    %o = sluice.select_outputs %i, %batch : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<outputs, 64>
}

// -----

// step_c5: a GPU has no barriers
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{stands in a step for CUDA, which has no barriers}}
  sluice.barrier
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// step_c6
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1, row_floats = 192, output_floats = 64} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  %y = sluice.buffer at 64 : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-note @+1 {{which is this}}
  sluice.task.checkpoint
  // expected-error @+1 {{accesses a buffer that a checkpoint has not moved}}
  sluice.task.rows rows reads(%i = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %o = sluice.activation relu %i : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

// step_c7
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.checkpoint
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    // expected-error @+1 {{stands behind a sluice.task.checkpoint: tokens and received rows do not move with the rows}}
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// results_c1
func.func @f(%x: !sluice.buffer<rows, 64>) {
  // expected-error @+1 {{expects parent op 'sluice.step'}}
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// buffer_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  // expected-error @+1 {{lies at 8, which is not a multiple of 16}}
  %x = sluice.buffer at 8 : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// buffer_c1: the type
// expected-error @+1 {{a buffer must have features, got 0}}
func.func private @f(!sluice.buffer<rows, 0>)

// -----

// operand_c1
// expected-error @+2 {{a record must take memory, got 0}}
// expected-error @+1 {{failed to parse Sluice_BufferType parameter 'operand'}}
func.func private @f(!sluice.buffer<rows, 64, <q8, floats = 0>>)

// -----

// rope_table_c1: the type
// expected-error @+1 {{rotary_dim must be even and positive, got 3}}
func.func private @f(!sluice.rope_table<3>)

// -----

// cache_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{is numbered 1, expected 0}}
  %c = sluice.cache 1 : !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rope_table_c1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64>, hidden_size = 64,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  // expected-error @+1 {{has 2 numbers for each position, but its type 4}}
  %t = sluice.rope_table <inverse = [1.0], factor = 1.0> : !sluice.rope_table<4>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

// rotations_c1
func.func @f(%b: !sluice.batch, %t: !sluice.rope_table<4>) {
  // expected-error @+1 {{makes rows 8 wide, but the table has 4}}
  %r = sluice.rotations %b, %t : !sluice.rope_table<4> -> tensor<?x8xf32>
  return
}

// -----

// rotate_c1
func.func @f(%x: tensor<?x64xf32>, %t: tensor<?x16xf32>) {
  // expected-error @+1 {{has rows of 64 features, which are not 3 heads of 16}}
  %r = sluice.rotate %x by %t half heads 3 head_dim 16 : tensor<?x64xf32>, tensor<?x16xf32>
  return
}

// -----

// rotate_c2
func.func @f(%x: tensor<?x64xf32>, %t: tensor<?x32xf32>) {
  // expected-error @+1 {{has rotations of 32 features for heads of 16}}
  %r = sluice.rotate %x by %t half heads 4 head_dim 16 : tensor<?x64xf32>, tensor<?x32xf32>
  return
}

// -----

// rotate_c3
func.func @f(%x: tensor<?x64xf32>, %t: tensor<?x16xf32>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %r = "sluice.rotate"(%x, %t) <{style = 1 : i32, heads = 4 : i64, head_dim = 16 : i64}> : (tensor<?x64xf32>, tensor<?x16xf32>) -> tensor<?x32xf32>
  return
}

// -----

// add_bias_c1
func.func @f(%x: tensor<?x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %r = "sluice.add_bias"(%x, %b) : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x32xf32>
  return
}

// -----

// add_bias_c2
func.func @f(%x: tensor<?x64xf32>, %b: tensor<32xf32>) {
  // expected-error @+1 {{has a bias that is not as long as a row}}
  %r = sluice.add_bias %x, %b : tensor<?x64xf32>, tensor<32xf32>
  return
}

// -----

// to_operand_c1
func.func @f(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %r = "sluice.to_operand"(%x) <{operand = #sluice.operand<q8, floats = 48>}> : (tensor<?x64xf32>) -> tensor<?x32xf32>
  return
}

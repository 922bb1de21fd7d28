// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-verify-phase=phase=kernels

// What the phase `kernels` does not allow: no program, a model that was left
// over, and ops that nothing lowers.

// expected-error @+1 {{phase kernels has a 'sluice.program', found none}}
module {
  func.func private @step()
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'sluice.add' op is not legal in phase kernels}}
  %y = sluice.add %x, %x : tensor<?x8xf32>
  return
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'tensor.cast' op is not legal in phase kernels}}
  %y = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
  return
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.program @main step @step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// -----

// expected-error @+1 {{phase kernels has one 'sluice.deployment' for several programs, found 0}}
module {
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}
}

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// expected-error @+1 {{has the step @a_step, as @a has}}
sluice.program @b step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
sluice.deployment head(@r0) stages [@a] draft(@b) placement(head) depth 1 width 1

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// expected-error @+1 {{has no place in the sluice.deployment}}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
// expected-error @+1 {{has the index 7, expected 0}}
sluice.rank @r0 index 7 on(#sluice.place<node = "n0", device = 0>)
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
// expected-error @+1 {{has the index 0, expected 1}}
sluice.rank @r1 index 0 on(#sluice.place<node = "n1", device = 0>)
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
// expected-error @+1 {{has no role: nothing is at it}}
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}
func.func private @kernel(!llvm.ptr, !llvm.ptr, index, index)
// expected-error @+1 {{is the step of no sluice.program}}
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

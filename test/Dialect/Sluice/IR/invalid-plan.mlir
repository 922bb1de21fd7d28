// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Plans whose ranks, programs or stages do not fit together.

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
// program_c9
// expected-error @+1 {{@r0 is not a sluice.rank}}
sluice.program @main step @main_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 2}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c1
// expected-error @+1 {{@r2 is not a sluice.rank}}
sluice.deployment head(@r2) stages [@a, @b]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 2}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c2
// expected-error @+1 {{@c is not a sluice.program}}
sluice.deployment head(@r0) stages [@a, @c]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 2}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c2: some
// expected-error @+1 {{has no stages}}
sluice.deployment head(@r0) stages []

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 2}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c2: once each
// expected-error @+1 {{@a has no rank, or is there twice}}
sluice.deployment head(@r0) stages [@a, @a]

// -----

sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}
// deployment_c2: with a rank
// expected-error @+1 {{@a has no rank, or is there twice}}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 2}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c3
// expected-error @+1 {{the program "a" has not the ends that its place among the stages asks for}}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 3}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c3: layers
// expected-error @+1 {{the program "b" starts with layer 3, expected 2}}
sluice.deployment head(@r0) stages [@a, @b]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.step @b_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 16,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 16>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 16>
}
sluice.step @d_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.program @a step @a_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0,
  has_output = false}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 16,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1,
  has_embedding = false, first_layer = 2}
sluice.program @d step @d_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0}
// deployment_c3: of one model
// expected-error @+1 {{the program "b" is of another model than the first}}
sluice.deployment head(@r0) stages [@a, @b]

// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Plans with a draft or limits of speculation that do not fit.

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
// deployment_c4
// expected-error @+1 {{@b is not a whole model at the head's rank}}
sluice.deployment head(@r0) stages [@a, @b]
  draft(@b) placement(own) depth 4 width 1

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
// deployment_c4: at the head's rank
// expected-error @+1 {{@d is not a whole model at the head's rank}}
sluice.deployment head(@r1) stages [@a, @b]
  draft(@d) placement(own) depth 4 width 1

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
// deployment_c5
// expected-error @+1 {{depth must be 1 to 1024 and width 1 to 64, got 4 and 0}}
sluice.deployment head(@r0) stages [@a, @b]
  draft(@d) placement(own) depth 4 width 0

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
// deployment_c5: all or none
// expected-error @+1 {{needs a draft with placement, depth and width, or none of them}}
sluice.deployment head(@r0) stages [@a, @b] {depth = 4 : i64}

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
// deployment_c5: latency
// expected-error @+1 {{max_latency_us must be 1 to 86400000000, got 0}}
sluice.deployment head(@r0) stages [@a, @b] {max_latency_us = 0 : i64}

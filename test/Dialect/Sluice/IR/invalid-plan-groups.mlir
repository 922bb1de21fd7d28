// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Plans whose groups do not compute their stages together.

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
  rope_tables = [], weights = [], rank = @r0, members = 2}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1, members = 2}
// deployment_c6
// expected-error @+1 {{needs the group of @a}}
sluice.deployment head(@r0) stages [@a]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
  rope_tables = [], weights = [], rank = @r0, members = 2}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1, members = 2}
// deployment_c6
// expected-error @+1 {{has 2 groups for 1 stages}}
sluice.deployment head(@r0) stages [@a] {groups = [[@a, @b], [@b]]}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 3,
    row_floats = 16, output_floats = 32, members = 2} {
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
  rope_tables = [], weights = [], rank = @r0, members = 2}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 3,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1, members = 2}
// deployment_c6
// expected-error @+1 {{the program @b is not one of 2 that compute a stage with @a}}
sluice.deployment head(@r0) stages [@a] {groups = [[@a, @b]]}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
  rope_tables = [], weights = [], rank = @r0, members = 2}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r0, members = 2}
// deployment_c6
// expected-error @+1 {{has two members of a group at @r0}}
sluice.deployment head(@r0) stages [@a] {groups = [[@a, @b]]}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.step @a_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
    row_floats = 16, output_floats = 32, members = 2} {
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
  rope_tables = [], weights = [], rank = @r0, members = 2}
sluice.program @b step @b_step cuda {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 2,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [], rank = @r1, members = 2}
// deployment_c6
// expected-error @+1 {{has a group that does not begin with @a}}
sluice.deployment head(@r0) stages [@a] {groups = [[@b, @a]]}

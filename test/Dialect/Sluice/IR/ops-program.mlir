// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// What stands beside emitted code: its description, and views of its buffers.

sluice.file @f0 path "model.gguf" size 7949312 identity "0123456789abcdef"
sluice.weight @token_embd.weight in @f0 at 0 stored f32 : tensor<4096x256xf32>
sluice.weight @output_norm.weight in @f0 at 0 stored f32 : tensor<256xf32>
sluice.weight @h.0.attn.c_attn.weight in @f0 at 0 stored f32 : tensor<256x768xf32>

// CHECK-LABEL: func.func @rows_received_rows
func.func @rows_received_rows(%pointer: !llvm.ptr, %weight: !llvm.ptr,
                              %begin: index, %rows: index) {
  // CHECK: sluice.view %{{.*}}[%{{.*}}] : !llvm.ptr to memref<?x256xf32>
  %x = sluice.view %pointer[%rows] : !llvm.ptr to memref<?x256xf32>
  // CHECK: sluice.view %{{.*}} : !llvm.ptr to memref<256xf32>
  %w = sluice.view %weight : !llvm.ptr to memref<256xf32>
  return
}

// CHECK: sluice.task.rows rows kernel @rows_received_rows writes(%{{.*}} : !sluice.buffer<rows, 256>) {
sluice.step @main_step(%batch: !sluice.batch) target #sluice.cpu<avx512> attributes {
    architecture = "llama", model_name = "demo", vocab_size = 4096,
    context_length = 1024, eos_tokens = array<i64: 2>, hidden_size = 256,
    layers = 1, row_floats = 2048, output_floats = 4352} {
  %c0 = sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 32>
  %t0 = sluice.rope_table <inverse = [1.000000e+00, 0.00999999977], factor = 1.0>
    : !sluice.rope_table<4>
  %table = sluice.param @token_embd.weight : tensor<4096x256xf32>
  %h = sluice.buffer at 0 : !sluice.buffer<rows, 256>
  %s = sluice.buffer at 0 : !sluice.buffer<outputs, 256>
  %logits = sluice.buffer at 256 : !sluice.buffer<outputs, 4096>
  sluice.task.rows rows kernel @rows_received_rows
      writes(%h : !sluice.buffer<rows, 256>) {
    %r = sluice.received_rows %batch : tensor<?x256xf32>
    sluice.task.yield %r : tensor<?x256xf32>
  }
  sluice.barrier
  sluice.task.rows outputs kernel @rows_received_rows
      reads(%r = %h : !sluice.buffer<rows, 256>)
      writes(%s : !sluice.buffer<outputs, 256>) {
    %o = sluice.select_outputs %r, %batch : tensor<?x256xf32>
    sluice.task.yield %o : tensor<?x256xf32>
  }
  sluice.barrier
  sluice.task.product outputs %s, %table into %logits
    : !sluice.buffer<outputs, 256>, tensor<4096x256xf32>
    -> !sluice.buffer<outputs, 4096>
  sluice.results %logits : !sluice.buffer<outputs, 4096>
}
// CHECK: sluice.program @main step @main_step cpu avx512 {
// CHECK-SAME: rope_tables = [#sluice.rope_table<inverse = [1.000000e+00, 0.00999999977], factor = 1.000000e+00>]
// CHECK-SAME: weights = [#sluice.weight_use<@token_embd.weight, rows>, #sluice.weight_use<@token_embd.weight, linear>, #sluice.weight_use<@h.0.attn.c_attn.weight, linear, transposed>, #sluice.weight_use<@output_norm.weight, vector>]
sluice.program @main step @main_step cpu avx512 {
  architecture = "llama", model_name = "demo", vocab_size = 4096,
  context_length = 1024, eos_tokens = array<i64: 2>, hidden_size = 256,
  layers = 1, row_floats = 2048, output_floats = 4352, logits_offset = 256,
  caches = [!sluice.cache<kv_heads = 2, head_dim = 32>],
  rope_tables = [
    #sluice.rope_table<inverse = [1.000000e+00, 0.00999999977], factor = 1.0>
  ],
  weights = [#sluice.weight_use<@token_embd.weight, rows>,
             #sluice.weight_use<@token_embd.weight, linear>,
             #sluice.weight_use<@h.0.attn.c_attn.weight, linear, transposed>,
             #sluice.weight_use<@output_norm.weight, vector>]}

sluice.step @graph(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "demo", vocab_size = 4096,
    context_length = 1024, eos_tokens = array<i64>, hidden_size = 256,
    layers = 1, row_floats = 2048, output_floats = 4352} {
  %x = sluice.buffer at 256 : !sluice.buffer<outputs, 4096>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 4096>) {
    %r = sluice.received_rows %batch : tensor<?x4096xf32>
    sluice.task.yield %r : tensor<?x4096xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 4096>
}

// On a GPU a gate's weight is one with its partner.
sluice.weight @ffn_gate.weight in @f0 at 0 stored f32 : tensor<512x256xf32>
sluice.weight @ffn_up.weight in @f0 at 0 stored f32 : tensor<512x256xf32>
sluice.weight @attn.weight in @f0 at 0 stored f32 : tensor<256x256xf32>
sluice.weight @attn_2.weight in @f0 at 0 stored f32 : tensor<256x256xf32>
// CHECK: sluice.program @gpu step @graph cuda {
// CHECK-SAME: #sluice.weight_use<@ffn_gate.weight, linear, partner @ffn_up.weight>, #sluice.weight_use<@ffn_up.weight, linear>]
sluice.program @gpu step @graph cuda {
  architecture = "llama", model_name = "demo", vocab_size = 4096,
  context_length = 1024, eos_tokens = array<i64: 2>, hidden_size = 256,
  layers = 1, row_floats = 2048, output_floats = 4352, logits_offset = 256,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@token_embd.weight, rows>,
             #sluice.weight_use<@token_embd.weight, linear>,
             #sluice.weight_use<@h.0.attn.c_attn.weight, linear, transposed>,
             #sluice.weight_use<@output_norm.weight, vector>,
             #sluice.weight_use<@ffn_gate.weight, linear,
                                partner @ffn_up.weight>,
             #sluice.weight_use<@ffn_up.weight, linear>]}
// CHECK: sluice.program @transposed step @graph cuda {
// CHECK-SAME: #sluice.weight_use<@attn.weight, linear, transposed, partner @attn_2.weight>
sluice.program @transposed step @graph cuda {
  architecture = "llama", model_name = "demo", vocab_size = 4096,
  context_length = 1024, eos_tokens = array<i64: 2>, hidden_size = 256,
  layers = 1, row_floats = 2048, output_floats = 4352, logits_offset = 256,
  caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@attn.weight, linear, transposed,
                                partner @attn_2.weight>,
             #sluice.weight_use<@attn_2.weight, linear, transposed>]}

// Two programs that work together, and a draft beside them.
sluice.step @main.s0_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 4,
    row_floats = 16, output_floats = 0} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16>
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 16>
}
sluice.step @main.s1_step(%batch: !sluice.batch) target #sluice.cpu<avx2>
    attributes {architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 4,
    row_floats = 16, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 16>
  %y = sluice.buffer at 0 : !sluice.buffer<outputs, 16>
  sluice.task.rows rows kernel @rows_received_rows
      writes(%x : !sluice.buffer<rows, 16>) {
    %r = sluice.received_rows %batch : tensor<?x16xf32>
    sluice.task.yield %r : tensor<?x16xf32>
  }
  sluice.task.checkpoint %x : !sluice.buffer<rows, 16>
  sluice.task.checkpoint %x : !sluice.buffer<rows, 16>
  sluice.task.checkpoint %x : !sluice.buffer<rows, 16>
  sluice.task.rows outputs kernel @rows_received_rows
      reads(%r = %x : !sluice.buffer<rows, 16>)
      writes(%y : !sluice.buffer<outputs, 16>) {
    %o = sluice.select_outputs %r, %batch : tensor<?x16xf32>
    sluice.task.yield %o : tensor<?x16xf32>
  }
  sluice.results %y : !sluice.buffer<outputs, 16>
}
sluice.step @draft.s0_step(%batch: !sluice.batch) target #sluice.cuda attributes {
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
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)

// CHECK: sluice.program @main.s0 step @main.s0_step cuda
// CHECK-SAME: has_output = false
// CHECK-SAME: rank = @rank0
sluice.program @main.s0 step @main.s0_step cuda {
  rank = @rank0, has_output = false, architecture = "llama",
  model_name = "m", vocab_size = 32, context_length = 8, eos_tokens = array<i64>,
  hidden_size = 16, layers = 4, row_floats = 16, output_floats = 0,
  logits_offset = 0, caches = [], rope_tables = [], weights = []}
// CHECK: sluice.program @main.s1 step @main.s1_step cpu avx2
// CHECK-SAME: checkpoints = 3
// CHECK-SAME: costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>
// CHECK-SAME: first_layer = 4
// CHECK-SAME: has_embedding = false
// CHECK-SAME: step_rows = 64
sluice.program @main.s1 step @main.s1_step cpu avx2 {
  rank = @rank1, first_layer = 4, layers = 4, has_embedding = false,
  checkpoints = 3, step_rows = 64,
  costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>, architecture = "llama",
  model_name = "m", vocab_size = 32, context_length = 8, eos_tokens = array<i64>,
  hidden_size = 16, row_floats = 16, output_floats = 32, logits_offset = 0,
  caches = [], rope_tables = [], weights = []}
sluice.program @draft.s0 step @draft.s0_step cuda {
  rank = @rank0, architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

// CHECK: sluice.deployment head(@rank0) stages [@main.s0, @main.s1] {max_latency_us = 500 : i64}
sluice.deployment head(@rank0) stages [@main.s0, @main.s1] {
  max_latency_us = 500 : i64}
// CHECK: sluice.deployment head(@rank0) stages [@main.s0, @main.s1] draft(@draft.s0) placement(own) depth 32 width 4
sluice.deployment head(@rank0) stages [@main.s0, @main.s1]
  draft(@draft.s0) placement(own) depth 32 width 4

sluice.step @main.s1.cuda_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 4,
    row_floats = 1040, output_floats = 32} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.task.checkpoint
  sluice.task.checkpoint
  sluice.task.checkpoint
  sluice.results %x : !sluice.buffer<outputs, 32>
}
// A program for a GPU beside one for a CPU.
// CHECK: sluice.program @main.s1.cuda step @main.s1.cuda_step cuda
// CHECK-SAME: counterpart = @main.s1
sluice.program @main.s1.cuda step @main.s1.cuda_step cuda {
  counterpart = @main.s1, row_floats = 1040, rank = @rank1, first_layer = 4,
  layers = 4, has_embedding = false, checkpoints = 3, architecture = "llama",
  model_name = "m", vocab_size = 32, context_length = 8, eos_tokens = array<i64>,
  hidden_size = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = []}

sluice.slice @s.m1 of @h.0.attn.c_attn.weight rows 0 to 128 : tensor<128x768xf32>
sluice.step @main.s0.m0_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32, members = 2} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.step @main.s0.m1_step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32, members = 2} {
  %x = sluice.buffer at 0 : !sluice.buffer<outputs, 32>
  sluice.task.rows outputs kernel @kernels::@k threads 32 blocks 1
      writes(%x : !sluice.buffer<outputs, 32>) {
    %r = sluice.received_rows %batch : tensor<?x32xf32>
    sluice.task.yield %r : tensor<?x32xf32>
  }
  sluice.results %x : !sluice.buffer<outputs, 32>
}
sluice.program @main.s0.m0 step @main.s0.m0_step cuda {
  rank = @rank0, members = 2, architecture = "llama", model_name = "m",
  vocab_size = 32, context_length = 8, eos_tokens = array<i64>,
  hidden_size = 16, layers = 0, row_floats = 16, output_floats = 32,
  logits_offset = 0, caches = [], rope_tables = [], weights = []}
// CHECK: sluice.program @main.s0.m1 {{.*}}members = 2{{.*}}weights = [#sluice.weight_use<@s.m1, linear>]
sluice.program @main.s0.m1 step @main.s0.m1_step cuda {
  rank = @rank1, members = 2, architecture = "llama", model_name = "m",
  vocab_size = 32, context_length = 8, eos_tokens = array<i64>,
  hidden_size = 16, layers = 0, row_floats = 16, output_floats = 32,
  logits_offset = 0, caches = [], rope_tables = [],
  weights = [#sluice.weight_use<@s.m1, linear>]}
// CHECK: sluice.deployment head(@rank0) stages [@main.s0.m0] {groups = {{\[\[}}@main.s0.m0, @main.s0.m1]]}
sluice.deployment head(@rank0) stages [@main.s0.m0] {
  groups = [[@main.s0.m0, @main.s0.m1]]}

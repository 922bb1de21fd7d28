// RUN: sluice-opt %s --sluice-verify-phase=phase=kernels | FileCheck %s

// A module of the phase `kernels`: a program with its step, what it refers to,
// and code in upstream dialects.

// CHECK: sluice.file @f0
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.tokenizer @tokenizer from @f0 source gguf
// CHECK: func.func @kernel
func.func @kernel(%step: !llvm.ptr, %pointer: !llvm.ptr, %begin: index,
                  %rows: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: sluice.view
  %x = sluice.view %pointer[%rows] : !llvm.ptr to memref<?x16xf32>
  scf.for %row = %zero to %rows step %one {
    %v = vector.load %x[%row, %zero] : memref<?x16xf32>, vector<16xf32>
    %e = math.exp %v : vector<16xf32>
    vector.store %e, %x[%row, %zero] : memref<?x16xf32>, vector<16xf32>
  }
  return
}
// CHECK: sluice.step @step
sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
    row_floats = 16, output_floats = 32} {
  %table = sluice.param @table : tensor<8x8xf32>
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 8>
  %y = sluice.buffer at 0 : !sluice.buffer<outputs, 8>
  sluice.task.rows rows kernel @kernel weights(%t = %table : tensor<8x8xf32>)
      writes(%x : !sluice.buffer<rows, 8>) {
    %r = sluice.embed %batch, %t by token
      : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.task.yield %r : tensor<?x8xf32>
  }
  sluice.barrier
  sluice.task.rows outputs kernel @kernel
      reads(%r = %x : !sluice.buffer<rows, 8>)
      writes(%y : !sluice.buffer<outputs, 8>) {
    %s = sluice.select_outputs %r, %batch : tensor<?x8xf32>
    sluice.task.yield %s : tensor<?x8xf32>
  }
  sluice.results %y : !sluice.buffer<outputs, 8>
}
// CHECK: sluice.program @main
sluice.program @main step @step cpu avx2 {
  architecture = "llama", model_name = "m", vocab_size = 32,
  context_length = 8, eos_tokens = array<i64>, hidden_size = 16, layers = 0,
  row_floats = 16, output_floats = 32, logits_offset = 0, caches = [],
  rope_tables = [], weights = [#sluice.weight_use<@table, rows>],
  rank = @rank0}

// With ranks and a plan.
// CHECK: sluice.rank @rank0
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
// CHECK: sluice.deployment
sluice.deployment head(@rank0) stages [@main]

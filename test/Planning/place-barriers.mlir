// RUN: sluice-opt %s --sluice-place-barriers | FileCheck %s

// Where threads wait for each other: before the first task that accesses what
// another thread may have written since they met, and nowhere else.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f16 : tensor<64x64xf16>

// A thread finds its own rows as it left them: row loops need no barrier between
// them.
// CHECK-LABEL: sluice.step @same_rows
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.results
sluice.step @same_rows(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
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

// Products read all rows: one barrier for both of them, and one for the sum of
// what they write.
// CHECK-LABEL: sluice.step @products
// CHECK:         sluice.received_rows
// CHECK:         sluice.barrier
// CHECK-NEXT:    sluice.task.product
// CHECK-NEXT:    sluice.task.product
// CHECK-NEXT:    sluice.barrier
// CHECK-NEXT:    sluice.task.rows
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.results
sluice.step @products(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %a = sluice.buffer : !sluice.buffer<rows, 64>
  %b = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %w = sluice.param @w : tensor<64x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.product rows %x, %w into %a
    : !sluice.buffer<rows, 64>, tensor<64x64xf16> -> !sluice.buffer<rows, 64>
  sluice.task.product rows %x, %w into %b
    : !sluice.buffer<rows, 64>, tensor<64x64xf16> -> !sluice.buffer<rows, 64>
  sluice.task.rows rows reads(%i = %a : !sluice.buffer<rows, 64>,
                              %j = %b : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %o = sluice.add %i, %j : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// A thread's outputs are not among its rows; and attention reads what all threads
// have appended.
// CHECK-LABEL: sluice.step @others
// CHECK:         sluice.barrier
// CHECK-NEXT:    sluice.task.append
// CHECK-NEXT:    sluice.barrier
// CHECK-NEXT:    sluice.task.attend
// CHECK-NEXT:    sluice.barrier
// CHECK-NEXT:    sluice.task.rows outputs
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.results
sluice.step @others(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %a = sluice.buffer : !sluice.buffer<rows, 64>
  %s = sluice.buffer : !sluice.buffer<outputs, 64>
  %c = sluice.cache 0 : !sluice.cache<kv_heads = 4, head_dim = 16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.append %x, %x to %c : !sluice.buffer<rows, 64>,
    !sluice.buffer<rows, 64>, !sluice.cache<kv_heads = 4, head_dim = 16>
  sluice.task.attend %x over %c step %x, %x into %a heads 4 scale 0.25
    : !sluice.buffer<rows, 64> step !sluice.buffer<rows, 64>,
      !sluice.buffer<rows, 64> over !sluice.cache<kv_heads = 4, head_dim = 16>
    -> !sluice.buffer<rows, 64>
  sluice.task.rows outputs reads(%i = %a : !sluice.buffer<rows, 64>)
      writes(%s : !sluice.buffer<outputs, 64>) {
    %o = sluice.select_outputs %i, %batch : tensor<?x64xf32>
    sluice.task.yield %o : tensor<?x64xf32>
  }
  sluice.results %s : !sluice.buffer<outputs, 64>
}

// A checkpoint is a barrier before and behind itself.
// CHECK-LABEL: sluice.step @checkpoint
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.checkpoint
// CHECK-NEXT:    sluice.task.product
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.results
sluice.step @checkpoint(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %w = sluice.param @w : tensor<64x64xf16>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.checkpoint %x : !sluice.buffer<rows, 64>
  sluice.task.product rows %x, %w into %y
    : !sluice.buffer<rows, 64>, tensor<64x64xf16> -> !sluice.buffer<rows, 64>
  sluice.results %y : !sluice.buffer<rows, 64>
}

// On a GPU each task waits for the one before.
// CHECK-LABEL: sluice.step @gpu
// CHECK-NOT:     sluice.barrier
sluice.step @gpu(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  %w = sluice.param @w : tensor<64x64xf16>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.product rows %x, %w into %y
    : !sluice.buffer<rows, 64>, tensor<64x64xf16> -> !sluice.buffer<rows, 64>
  sluice.results %y : !sluice.buffer<rows, 64>
}

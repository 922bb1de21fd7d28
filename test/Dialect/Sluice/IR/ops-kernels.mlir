// RUN: sluice-opt %s --verify-roundtrip | FileCheck %s

// The kernels of a step for a GPU, the tasks that name them, and ops in them.

#ofCpu = #sluice.kernel<@rows_add>
#ofGpu = #sluice.kernel<@kernels::@rows_add, threads = 128, blocks = 1>

gpu.module @kernels {
  gpu.func @rows_add(%rows: !llvm.ptr, %x: !llvm.ptr, %s: !llvm.ptr,
                     %positions: !llvm.ptr)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: sluice.start_dependents
    sluice.start_dependents
    // CHECK: sluice.wait_for_prior
    sluice.wait_for_prior
    gpu.return
  }
  gpu.func @rows_select(%outputs: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr,
                        %rows: !llvm.ptr)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                         sluice.row_blocks = 4 : i64} {
    sluice.wait_for_prior
    gpu.return
  }
  gpu.func @find_greedy_tokens(%outputs: !llvm.ptr, %logits: !llvm.ptr,
                               %tokens: !llvm.ptr) kernel {
    sluice.wait_for_prior
    gpu.return
  }
}

// CHECK-LABEL: sluice.step @main(
sluice.step @main(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 96,
    context_length = 128, eos_tokens = array<i64: 2>, hidden_size = 96,
    layers = 1} {
  %x = sluice.buffer : !sluice.buffer<rows, 96>
  %logits = sluice.buffer : !sluice.buffer<outputs, 96>
  %table = sluice.rope_table <inverse = [1.0, 0.5], factor = 1.0>
    : !sluice.rope_table<4>
  // Positions are a parameter behind the operands.
  // CHECK: sluice.task.rows rows kernel @kernels::@rows_add threads 128 blocks 1 weights(
  sluice.task.rows rows kernel @kernels::@rows_add threads 128 blocks 1
      weights(%t = %table : !sluice.rope_table<4>)
      writes(%x : !sluice.buffer<rows, 96>) {
    %h = sluice.received_rows %batch : tensor<?x96xf32>
    %r = sluice.rotations %batch, %t
      : !sluice.rope_table<4> -> tensor<?x4xf32>
    %y = sluice.rotate %h by %r interleaved heads 24 head_dim 4
      : tensor<?x96xf32>, tensor<?x4xf32>
    sluice.task.yield %y : tensor<?x96xf32>
  }
  // So are the rows of the outputs.
  // CHECK: sluice.task.rows outputs kernel @kernels::@rows_select threads 64 blocks 4 reads(
  sluice.task.rows outputs kernel @kernels::@rows_select threads 64 blocks 4
      reads(%r = %x : !sluice.buffer<rows, 96>)
      writes(%logits : !sluice.buffer<outputs, 96>) {
    %y = sluice.select_outputs %r, %batch : tensor<?x96xf32>
    sluice.task.yield %y : tensor<?x96xf32>
  }
  // CHECK: sluice.task.sample %{{.*}} kernels [#sluice.kernel<@kernels::@find_greedy_tokens, threads = 32, blocks = 1>] : !sluice.buffer<outputs, 96>
  sluice.task.sample %logits kernels [
    #sluice.kernel<@kernels::@find_greedy_tokens, threads = 32, blocks = 1>]
    : !sluice.buffer<outputs, 96>
  sluice.results %logits : !sluice.buffer<outputs, 96>
}
// CHECK: func.func private @rows_add() attributes {cpu = #sluice.kernel<@rows_add>, gpu = #sluice.kernel<@kernels::@rows_add, threads = 128, blocks = 1>}
func.func private @rows_add() attributes {cpu = #ofCpu, gpu = #ofGpu}

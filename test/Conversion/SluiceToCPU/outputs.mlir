// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A model without select_outputs computes all rows' logits; the runtime gets
// those that were asked for. They lie after the rows' part of the arena.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<40x32xf32>

// CHECK:       sluice.program
// CHECK-SAME:    logits_offset = 0
// CHECK-SAME:    output_floats = 48
// CHECK-SAME:    row_floats = 80

// CHECK-LABEL: func.func @main_step(
// CHECK-SAME:    %[[STEP:.*]]: !llvm.ptr, %[[ROWS:.*]]: i64, %[[OUTPUTS:.*]]: i64, %[[ARENA:.*]]: !llvm.ptr, %[[ROW_CAPACITY:.*]]: i64, %[[OUTPUT_CAPACITY:.*]]: i64, %[[THREAD:.*]]: i64, %[[THREADS:.*]]: i64)
// CHECK:         call @rows_embed
// CHECK:         call @sluice_barrier
// CHECK:         call @sluice_linear({{.*}}, %[[ROWS]], %[[THREAD]], %[[THREADS]])
// CHECK:         call @sluice_barrier
// CHECK:         %[[FLOATS:.*]] = arith.constant 80 : i64
// CHECK:         %[[BASE:.*]] = arith.muli %[[FLOATS]], %[[ROW_CAPACITY]]
// CHECK:         %[[OFFSET:.*]] = arith.muli %{{.*}}, %[[OUTPUT_CAPACITY]]
// CHECK:         %[[SUM:.*]] = arith.addi %[[BASE]], %[[OFFSET]]
// CHECK:         %[[LOGITS:.*]] = llvm.getelementptr %[[ARENA]][%[[SUM]]]
// CHECK:         arith.muli %[[OUTPUTS]], %[[THREAD]]
// CHECK:         call @rows_select_outputs(%[[STEP]], %{{.*}}, %[[LOGITS]],
// CHECK-NEXT:    return
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 40,
    context_length = 64} {
  %embd = sluice.param @embd : tensor<40x32xf32>
  %x = sluice.embed %batch, %embd by token : tensor<40x32xf32> -> tensor<?x32xf32>
  %logits = sluice.linear %x, %embd : tensor<?x32xf32>, tensor<40x32xf32> -> tensor<?x40xf32>
  sluice.return %logits : tensor<?x40xf32>
}

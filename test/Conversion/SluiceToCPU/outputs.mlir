// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A model without select_outputs computes all rows' logits; the runtime gets
// those that were asked for. They lie after the rows' part of the arena.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<40x32xf32>

// CHECK:       sluice.program
// CHECK-SAME:    logits_offset = 0
// CHECK-SAME:    output_floats = 48
// CHECK-SAME:    row_floats = 80

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         %[[ALL:.*]] = sluice.buffer at 0 : !sluice.buffer<rows, 40>
// CHECK:         %[[LOGITS:.*]] = sluice.buffer at 0 : !sluice.buffer<outputs, 40>
// CHECK:         sluice.task.rows rows kernel @rows_embed
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product rows %{{.*}}, %{{.*}} into %[[ALL]]
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows outputs kernel @rows_select_outputs reads(%{{.*}} = %[[ALL]] : {{.*}}) writes(%[[LOGITS]] :
// CHECK:         sluice.results %[[LOGITS]]
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 40,
    context_length = 64} {
  %embd = sluice.param @embd : tensor<40x32xf32>
  %x = sluice.embed %batch, %embd by token : tensor<40x32xf32> -> tensor<?x32xf32>
  %logits = sluice.linear %x, %embd : tensor<?x32xf32>, tensor<40x32xf32> -> tensor<?x40xf32>
  sluice.return %logits : tensor<?x40xf32>
}

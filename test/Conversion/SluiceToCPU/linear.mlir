// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// A weight used in several ways is listed once for each. A value that both
// float32 and quantised weights read is kept in both forms.

!quantized = tensor<32x32x!sluice.block<q4_0>>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<32x32xf32>
sluice.weight @q in @f at 0 stored q4_0 : !quantized
sluice.weight @b in @f at 0 stored f32 : tensor<32xf32>

// CHECK: weights = [#sluice.weight_use<@w, rows>, #sluice.weight_use<@w, linear>, #sluice.weight_use<@w, linear, transposed>, #sluice.weight_use<@b, vector>, #sluice.weight_use<@q, linear>]

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows rows kernel @rows_embed_to_operand {{.*}} writes(%[[X:.*]] : !sluice.buffer<rows, 32>, %[[Q:.*]] : !sluice.buffer<rows, 32, <q8, floats = 12>>)
// CHECK:         sluice.barrier
// CHECK-NEXT:    sluice.task.product rows %[[X]], %[[W:.*]] into
// CHECK-NEXT:    sluice.task.product rows %[[X]], %[[W]] transposed bias %[[B:.*]] into
// CHECK-NEXT:    sluice.task.product rows %[[Q]], %{{.*}} bias %[[B]] into
// CHECK-NEXT:    sluice.barrier
// CHECK-NEXT:    sluice.task.rows rows kernel @rows_add_add
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 32,
    context_length = 64} {
  %w = sluice.param @w : tensor<32x32xf32>
  %q = sluice.param @q : !quantized
  %b = sluice.param @b : tensor<32xf32>
  %x = sluice.embed %batch, %w by token : tensor<32x32xf32> -> tensor<?x32xf32>
  %y0 = sluice.linear %x, %w : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %y1 = sluice.linear %x, %w bias %b transposed : tensor<?x32xf32>, tensor<32x32xf32>, tensor<32xf32> -> tensor<?x32xf32>
  %y2 = sluice.linear %x, %q bias %b : tensor<?x32xf32>, !quantized, tensor<32xf32> -> tensor<?x32xf32>
  %s0 = sluice.add %y0, %y1 : tensor<?x32xf32>
  %s1 = sluice.add %s0, %y2 : tensor<?x32xf32>
  sluice.return %s1 : tensor<?x32xf32>
}

// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --cse | FileCheck %s

// Products with weights in e4m3 take rows as they are, though these are blocks.

!e4m3 = tensor<128x128x!sluice.block<e4m3>>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<128x128xf32>
sluice.weight @s in @f at 0 stored bf16 : tensor<128xbf16>
sluice.weight @q in @f at 512 stored e4m3 scales @s : !e4m3

// CHECK: weights = [#sluice.weight_use<@w, rows>, #sluice.weight_use<@q, linear>]
// CHECK-LABEL: sluice.step @main_step(
// CHECK-NOT:     to_operand
// CHECK:         sluice.task.rows rows kernel @rows_embed {{.*}} writes(%[[X:.*]] : !sluice.buffer<rows, 128>)
// CHECK-NOT:     to_operand
// CHECK:         sluice.task.product rows %[[X]], %{{.*}} into
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 128,
    context_length = 64} {
  %w = sluice.param @w : tensor<128x128xf32>
  %q = sluice.param @q : !e4m3
  %x = sluice.embed %batch, %w by token : tensor<128x128xf32> -> tensor<?x128xf32>
  %y = sluice.linear %x, %q : tensor<?x128xf32>, !e4m3 -> tensor<?x128xf32>
  sluice.return %y : tensor<?x128xf32>
}

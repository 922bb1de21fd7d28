// RUN: sluice-opt %s --sluice-plan-step --sluice-fuse-row-loops --sluice-form-columns | FileCheck %s

// The example of the pass in docs/reference/passes.md: what the norm and the
// activation make stays in registers: the sum alone has memory.

// CHECK:      sluice.task.rows rows weights(
// CHECK-NEXT: %[[H:.*]] = sluice.embed
// CHECK-NEXT: sluice.rms_norm
// CHECK-NEXT: sluice.activation
// CHECK-NEXT: %[[Y:.*]] = sluice.add
// CHECK-NEXT: sluice.task.yield %[[H]], %[[Y]] :
sluice.file @f0 path "model.gguf" size 262144 identity "0123456789abcdef"
sluice.weight @embd in @f0 at 0 stored q8_0 : tensor<64x32x!sluice.block<q8_0>>
sluice.weight @norm in @f0 at 8192 stored f32 : tensor<32xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 64, context_length = 128} {
  %table = sluice.param @embd : tensor<64x32x!sluice.block<q8_0>>
  %w = sluice.param @norm : tensor<32xf32>
  %h = sluice.embed %batch, %table by token
    : tensor<64x32x!sluice.block<q8_0>> -> tensor<?x32xf32>
  %n = sluice.rms_norm %h, %w epsilon 1.0e-05
    : tensor<?x32xf32>, tensor<32xf32>
  %u = sluice.activation silu %n : tensor<?x32xf32>
  %y = sluice.add %h, %u : tensor<?x32xf32>
  %o = sluice.select_outputs %y, %batch : tensor<?x32xf32>
  %logits = sluice.linear %o, %table
    : tensor<?x32xf32>, tensor<64x32x!sluice.block<q8_0>> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

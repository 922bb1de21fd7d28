// RUN: sluice-opt %s '--sluice-plan-step=target=#sluice.cuda' --sluice-choose-operands --sluice-fuse-products | FileCheck %s

// The example of the pass in docs/reference/passes.md: on a GPU the product
// adds the residual itself.

// CHECK:      sluice.task.product rows %{{.*}}, %{{.*}} residual %{{.*}} into
// CHECK-NOT:  sluice.add
sluice.file @f0 path "model.gguf" size 262144 identity "0123456789abcdef"
sluice.weight @embd in @f0 at 0 stored q8_0 : tensor<64x32x!sluice.block<q8_0>>
sluice.weight @norm in @f0 at 8192 stored f32 : tensor<32xf32>
sluice.weight @up in @f0 at 16384 stored q8_0 : tensor<32x32x!sluice.block<q8_0>>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 64, context_length = 128} {
  %table = sluice.param @embd : tensor<64x32x!sluice.block<q8_0>>
  %w = sluice.param @norm : tensor<32xf32>
  %m = sluice.param @up : tensor<32x32x!sluice.block<q8_0>>
  %h = sluice.embed %batch, %table by token
    : tensor<64x32x!sluice.block<q8_0>> -> tensor<?x32xf32>
  %n = sluice.rms_norm %h, %w epsilon 1.0e-05
    : tensor<?x32xf32>, tensor<32xf32>
  %u = sluice.linear %n, %m
    : tensor<?x32xf32>, tensor<32x32x!sluice.block<q8_0>> -> tensor<?x32xf32>
  %y = sluice.add %h, %u : tensor<?x32xf32>
  %o = sluice.select_outputs %y, %batch : tensor<?x32xf32>
  %logits = sluice.linear %o, %table
    : tensor<?x32xf32>, tensor<64x32x!sluice.block<q8_0>> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu | FileCheck %s

// Equal layers share their row kernels, which get weights and memory as arguments; an op
// with another attribute has a kernel of its own. The memory of a value that is
// no longer needed is used again: the arena does not grow with the layers.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<64x32xf32>
sluice.weight @n0 in @f at 0 stored f32 : tensor<32xf32>
sluice.weight @n1 in @f at 0 stored f32 : tensor<32xf32>
sluice.weight @n2 in @f at 0 stored f32 : tensor<32xf32>
sluice.weight @w in @f at 0 stored f32 : tensor<32x32xf32>

// The residual before and after a sum, the norm and the product.
// CHECK:       sluice.program
// CHECK-SAME:    layers = 3
// CHECK-SAME:    row_floats = 128

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows rows kernel @rows_embed_rms_norm weights(
// CHECK:         sluice.task.rows rows kernel @rows_add_rms_norm reads(
// CHECK:         sluice.task.rows rows kernel @rows_add_rms_norm_0 reads(
// CHECK:         sluice.task.rows rows kernel @rows_add reads(
// CHECK-LABEL: func.func @rows_embed_rms_norm(
// CHECK-LABEL: func.func @rows_add_rms_norm(
// CHECK:         arith.constant 9.99999974E-6
// CHECK-LABEL: func.func @rows_add_rms_norm_0(
// CHECK:         arith.constant 9.99999997E-7
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 64,
    context_length = 64} {
  %embd = sluice.param @embd : tensor<64x32xf32>
  %h = sluice.embed %batch, %embd by token : tensor<64x32xf32> -> tensor<?x32xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x32xf32> {
    %n = sluice.param @n0 : tensor<32xf32>
    %w = sluice.param @w : tensor<32x32xf32>
    %a = sluice.rms_norm %x, %n epsilon 1.0e-05 : tensor<?x32xf32>, tensor<32xf32>
    %b = sluice.linear %a, %w : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    %y = sluice.add %x, %b : tensor<?x32xf32>
    sluice.yield %y : tensor<?x32xf32>
  }
  %h2 = sluice.layer 1 (%x = %h1) : tensor<?x32xf32> {
    %n = sluice.param @n1 : tensor<32xf32>
    %w = sluice.param @w : tensor<32x32xf32>
    %a = sluice.rms_norm %x, %n epsilon 1.0e-05 : tensor<?x32xf32>, tensor<32xf32>
    %b = sluice.linear %a, %w : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    %y = sluice.add %x, %b : tensor<?x32xf32>
    sluice.yield %y : tensor<?x32xf32>
  }
  %h3 = sluice.layer 2 (%x = %h2) : tensor<?x32xf32> {
    %n = sluice.param @n2 : tensor<32xf32>
    %w = sluice.param @w : tensor<32x32xf32>
    %a = sluice.rms_norm %x, %n epsilon 1.0e-06 : tensor<?x32xf32>, tensor<32xf32>
    %b = sluice.linear %a, %w : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
    %y = sluice.add %x, %b : tensor<?x32xf32>
    sluice.yield %y : tensor<?x32xf32>
  }
  %e = sluice.select_outputs %h3, %batch : tensor<?x32xf32>
  %logits = sluice.linear %e, %embd : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a --canonicalize --cse | FileCheck %s

// The example of the pass in docs/reference/passes.md: the runtime has kernels
// for the look-up and the matrix product, and selection and norm become one
// kernel. Another finds the likeliest tokens.

// CHECK: sluice.program @main step @main_step cuda
// CHECK: sluice.step @main_step
// CHECK: sluice.task.rows outputs kernel @kernels::@rows_select_outputs_rms_norm
// CHECK: gpu.func @rows_select_outputs_rms_norm
sluice.file @f0 path "model.gguf" size 262144 identity "0123456789abcdef"
sluice.weight @token_embd.weight in @f0 at 0 stored f32 : tensor<64x32xf32>
sluice.weight @output_norm.weight in @f0 at 8192 stored f32 : tensor<32xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 64, context_length = 128} {
  %table = sluice.param @token_embd.weight : tensor<64x32xf32>
  %h = sluice.embed %batch, %table by token
    : tensor<64x32xf32> -> tensor<?x32xf32>
  %o = sluice.select_outputs %h, %batch : tensor<?x32xf32>
  %w = sluice.param @output_norm.weight : tensor<32xf32>
  %n = sluice.rms_norm %o, %w epsilon 1.0e-05
    : tensor<?x32xf32>, tensor<32xf32>
  %logits = sluice.linear %n, %table
    : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  sluice.return %logits : tensor<?x64xf32>
}

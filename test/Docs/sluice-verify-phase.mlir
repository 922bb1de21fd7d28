// RUN: sluice-opt %s --sluice-verify-phase=phase=model | FileCheck %s

// The example of the pass in docs/reference/passes.md: what is legal goes
// through as it is.

// CHECK: sluice.model @main
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @token_embd.weight in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "demo", vocab_size = 8, context_length = 4} {
  %table = sluice.param @token_embd.weight : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

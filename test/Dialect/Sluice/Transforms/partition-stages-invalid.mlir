// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/tiny.yaml placement=head" 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not sluice-opt %s --sluice-partition-stages="stages=6" 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml stages=4" 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not sluice-opt %s --sluice-partition-stages="stages=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not sluice-opt %s --sluice-partition-stages="context=-1" 2>&1 | FileCheck %s --check-prefix=CONTEXT
// RUN: not sluice-opt %s --sluice-partition-stages="acceptance=1" 2>&1 | FileCheck %s --check-prefix=ACCEPTANCE
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/broken.yaml" 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/none.yaml" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not sluice-opt %s --sluice-partition-stages="target=other" 2>&1 | FileCheck %s --check-prefix=TARGET

// What cannot be cut: too little memory is said with what is missing, and a
// cluster's file with the line that is wrong.

// MEMORY: error: the model needs 116 KiB, 2 nodes have 96 KiB together: 20.2 KiB too little
// LAYERS: error: 6 stages were asked for, the model has 5 layers
// DEVICES: error: 4 stages were asked for, the cluster has 3 devices for them
// NEGATIVE: error: stages=-1 is negative
// CONTEXT: error: context=-1 is negative
// ACCEPTANCE: error: acceptance 1 is not in [0, 1)
// BROKEN: error: {{.*}}broken.yaml:5: a node has no 'colour': expected one of name, like, devices, draft
// MISSING: error: {{.*}}none.yaml
// TARGET: error: there is no sluice.model @other

sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<32x64xf32>
sluice.weight @w in @f0 at 0 stored f32 : tensor<64x64xf32>
sluice.weight @norm in @f0 at 0 stored f32 : tensor<64xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "m", vocab_size = 32, context_length = 8,
    eos_tokens = array<i64: 2>} {
  %table = sluice.param @table : tensor<32x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x64xf32> -> tensor<?x64xf32>
  %h0 = sluice.layer 0 (%x = %h) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h1 = sluice.layer 1 (%x = %h0) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h2 = sluice.layer 2 (%x = %h1) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h3 = sluice.layer 3 (%x = %h2) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %h4 = sluice.layer 4 (%x = %h3) : tensor<?x64xf32> {
    %w = sluice.param @w : tensor<64x64xf32>
    %y = sluice.linear %x, %w
      : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 2, head_dim = 32>
    %a = sluice.attend %y, %y, %y, %cache, chunk %chunk heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x64xf32>,
        !sluice.cache<kv_heads = 2, head_dim = 32>
    %z = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %z : tensor<?x64xf32>
  }
  %norm = sluice.param @norm : tensor<64xf32>
  %last = sluice.select_outputs %h4, chunk %chunk : tensor<?x64xf32>
  %n = sluice.rms_norm %last, %norm epsilon 1.0e-05
    : tensor<?x64xf32>, tensor<64xf32>
  %logits = sluice.linear %n, %table
    : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  sluice.return %logits : tensor<?x32xf32>
}
sluice.weight @draft.table in @f0 at 0 stored f32 : tensor<32x64xf32>
sluice.model @draft(%chunk: !sluice.chunk) attributes {architecture = "llama",
    model_name = "d", vocab_size = 32, context_length = 8} {
  %table = sluice.param @draft.table : tensor<32x64xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<32x64xf32> -> tensor<?x64xf32>
  %last = sluice.select_outputs %h, chunk %chunk : tensor<?x64xf32>
  %logits = sluice.linear %last, %table
    : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  sluice.return %logits : tensor<?x32xf32>
}

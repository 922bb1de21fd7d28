// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/beside.yaml" | FileCheck %s --check-prefix=OWN
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/beside.yaml placement=head" 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/apart.yaml" | FileCheck %s --check-prefix=SLOW
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/apart.yaml placement=head" | FileCheck %s --check-prefix=FAST
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/no-draft-node.yaml" 2>&1 | FileCheck %s --check-prefix=NODE

// Where the draft is put decides whose memory it takes and where the head is,
// from which there must be ways to the first stage and back.

// OWN: sluice.generate @generate target(@main) on(#sluice.place<node = "head", device = 0>)
// MEMORY: error: with the draft's 256 B beside the first stage: a stage of all layers needs 512 B, node 'n0' has 500 B: 12 B too little
// SLOW: sluice.stage @main.s0 on(#sluice.place<node = "slow", device = 0>)
// FAST: sluice.stage @main.s0 on(#sluice.place<node = "fast", device = 0>)
// FAST: sluice.generate @generate target(@main) {
// NODE: error: no node is marked 'draft: true', and the draft is to have a rank of its own

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}

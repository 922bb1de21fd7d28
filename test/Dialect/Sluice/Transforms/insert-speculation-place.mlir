// RUN: sluice-opt %s --sluice-partition-stages="stages=1 placement=own" --sluice-insert-speculation="draft=draft placement=own" | FileCheck %s --check-prefix=OWN
// RUN: sluice-opt %s --sluice-partition-stages="stages=1 placement=head" --sluice-insert-speculation="draft=draft placement=head" | FileCheck %s --check-prefix=HEAD
// RUN: not sluice-opt %s --sluice-partition-stages="stages=1 placement=own" --sluice-insert-speculation="draft=draft placement=head" 2>&1 | FileCheck %s --check-prefix=NOT-HEAD
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml stages=1 placement=head" --sluice-insert-speculation="draft=draft placement=own" 2>&1 | FileCheck %s --check-prefix=NOT-OWN
// RUN: not sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/no-draft-node.yaml stages=1 placement=head" --sluice-insert-speculation="draft=draft placement=own" 2>&1 | FileCheck %s --check-prefix=NO-NODE

// Both passes must mean the same place for the draft: the stages were cut with
// its memory there.

// OWN: "draft" = #dlti.target_device_spec<
// OWN: sluice.generate @generate target(@main) on(#sluice.place<node = "draft", device = 0>)
// OWN: placement(own)

// Nodes are not made for nobody.
// HEAD-NOT: "draft" =
// HEAD: sluice.generate @generate target(@main) {
// HEAD: placement(head)

// NOT-HEAD: error: is on 'draft', which is kept for the draft, but placement=head puts the draft beside the first stage: cut the stages for that
// NOT-OWN: error: is not on 'head', which is kept for the draft, but placement=own puts the draft there: cut the stages for that
// NO-NODE: error: is with the first stage: the cluster 'no-draft-node' keeps no node for the draft, but placement=own puts the draft on one: cut the stages for that

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

// RUN: sed "s#INPUTS#%S/Inputs#" %s | sluice-opt --sluice-insert-speculation | FileCheck %s --check-prefixes=CHECK,OWN
// RUN: sed "s#INPUTS#%S/Inputs#" %s | sluice-opt --sluice-insert-speculation --sluice-fuse-decode --sluice-verify-phase=phase=pipeline -o /dev/null
// RUN: sed "s#INPUTS#%S/Inputs#" %s | sluice-opt --sluice-insert-speculation="draft=draft placement=head depth=8 width=1" | FileCheck %s --check-prefixes=CHECK,HEAD
// RUN: sed "s#INPUTS#%S/Inputs#" %s | sluice-opt --sluice-insert-speculation --remarks-filter="sluice-insert.*" 2>&1 | FileCheck %s --check-prefix=REMARK

// A draft whose tokenizer gives the same text the same ids is added behind the
// certain run; verification takes its guesses. Its tokenizer has done its work
// and goes, with the file that only it was in.

// REMARK: [Passed] draft | Category:sluice-insert-speculation | depth=32, placement=own, tokens-compared=8, width=8

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
// CHECK: sluice.file @f1
sluice.file @f1 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
// CHECK-NOT: sluice.file
sluice.file @draft.f0 path "INPUTS/tokenizer/tokenizer.json"
  size 284 identity "47db5fd62c81389b"
// CHECK: sluice.tokenizer @tokenizer
sluice.tokenizer @tokenizer from @f1 source tokenizer_json
// CHECK-NOT: sluice.tokenizer
sluice.tokenizer @draft.tokenizer from @draft.f0 source tokenizer_json
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// CHECK: sluice.model @draft
sluice.model @draft(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "d", vocab_size = 8,
    context_length = 4} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %logits : tensor<?x8xf32>
}
// CHECK-LABEL: sluice.generate @generate target(@main) {
sluice.generate @generate target(@main) {
  // CHECK-NEXT: %[[LAUNCHED:.*]] = launch @main : !sluice.run
  // OWN-NEXT: %[[GUESSES:.*]] = speculate draft(@draft) behind(%[[LAUNCHED]]) placement(own) depth 32 width 8 : !sluice.guesses
  // HEAD-NEXT: %[[GUESSES:.*]] = speculate draft(@draft) behind(%[[LAUNCHED]]) placement(head) depth 8 width 1 : !sluice.guesses
  // CHECK-NEXT: %[[N:.*]] = verify %[[LAUNCHED]], %[[GUESSES]] : index
  // CHECK-NEXT: commit %[[LAUNCHED]], %[[N]]
  // CHECK-NEXT: emit %[[N]]
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// RUN: sluice-opt %s --sluice-verify-phase=phase=program | FileCheck %s

// A module of the phase `program`: nobody waits for ever, although one frame is
// on its way with eight guesses behind it, since as many fit into the channels
// and workers together.

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
// CHECK: sluice.rank @rank0
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 1
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 5 : !sluice.frame<tokens>
sluice.channel @d0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows>
sluice.channel @d1 from @rank0 to @rank0 capacity 1 : !sluice.frame<guesses>
// CHECK: sluice.worker @main.s0
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
sluice.worker @main.s1 at(@rank1) {
  %b, %h = sluice.receive @c1 : tensor<?x8xf32>
  sluice.send @c2 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.worker @draft.s0 at(@rank0) {
  %b = sluice.receive @d0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @d1 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @draft stages [@draft.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// CHECK: sluice.generate @generate
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 4 width 2 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

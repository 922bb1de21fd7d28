// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-verify-phase=phase=program

// What the phase `program` does not allow: channels that lead nowhere, past a
// stage or around in a circle, and channels so short that ranks wait for each
// other in a cycle.

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
// expected-note @+1 {{@c0 holds 1 of 1 frames}}
sluice.channel @c0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows>
// expected-note @+1 {{@c1 holds 1 of 1 frames}}
sluice.channel @c1 from @rank0 to @rank1 capacity 1
  : !sluice.frame<rows, tensor<?x8xf32>>
// expected-note @+1 {{@c2 holds 4 of 4 frames}}
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.channel @d0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows>
sluice.channel @d1 from @rank0 to @rank0 capacity 1 : !sluice.frame<guesses>
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
// Nine frames, eight places: in three channels and two workers.
// expected-error @+1 {{cyclic wait: @rank0 (@generate) waits for room in @c0 to @rank0 (@main.s0), which waits for room in @c1 to @rank1 (@main.s1), which waits for room in @c2 to @rank0 (@generate)}}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 4 width 2 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// Two stages that feed each other.
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank0 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
// expected-note @+1 {{@x holds 0 of 4 frames}}
sluice.channel @x from @rank1 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
// expected-note @+1 {{@y holds 0 of 4 frames}}
sluice.channel @y from @rank1 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank0 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
// expected-error @+1 {{cyclic wait: @rank1 (@main.s1) waits for @y from @rank1 (@main.s2), which waits for @x from @rank1 (@main.s1)}}
sluice.worker @main.s1 at(@rank1) {
  %b, %h = sluice.receive @y : tensor<?x8xf32>
  sluice.send @x %b, %h : tensor<?x8xf32>
}
sluice.worker @main.s2 at(@rank1) {
  %b, %h = sluice.receive @x : tensor<?x8xf32>
  sluice.send @y %b, %h : tensor<?x8xf32>
}
sluice.worker @main.s3 at(@rank0) {
  %b, %h = sluice.receive @c1 : tensor<?x8xf32>
  sluice.send @c2 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1, @main.s2,
                             @main.s3] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
// expected-error @+1 {{channel @c3 has 0 senders and 0 receivers, expected one of each}}
sluice.channel @c3 from @rank0 to @rank1 capacity 4 : !sluice.frame<tokens>
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
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.channel @c3 from @rank1 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
sluice.worker @main.s1 at(@rank1) {
  // expected-error @+1 {{stage @main.s1 of @main receives from @c3, but its rows come on @c1}}
  %b, %h = sluice.receive @c3 : tensor<?x8xf32>
  sluice.send @c2 %b, %h : tensor<?x8xf32>
}
sluice.worker @main.s2 at(@rank1) {
  %b, %h = sluice.receive @c1 : tensor<?x8xf32>
  sluice.send @c3 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1, @main.s2] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// expected-error @+1 {{has the index 2, expected 1}}
sluice.rank @rank1 index 2 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
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
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank1 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank0 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
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
// expected-error @+1 {{is not at the first rank}}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
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
// expected-error @+1 {{needs a rank and channels in phase program}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.channel @d0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows>
sluice.channel @d1 from @rank0 to @rank0 capacity 1 : !sluice.frame<guesses>
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
// expected-error @+1 {{belongs to no pipeline}}
sluice.worker @draft.s0 at(@rank0) {
  %b = sluice.receive @d0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @d1 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank1 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @c2 from @rank1 to @rank0 capacity 4 : !sluice.frame<tokens>
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
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}
// expected-error @+1 {{'sluice.stage' op is not legal in phase program}}
sluice.stage @left on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %b1, %h1 = sluice.checkpoint %batch, %h : tensor<?x8xf32>
  sluice.forward %h1 : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// expected-error @+1 {{has no role: nothing is at it}}
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c1) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// Two workers that answer for each other.
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
// expected-note @+1 {{@c1 holds 0 of 4 frames}}
sluice.channel @c1 from @rank0 to @rank0 capacity 4 : !sluice.frame<tokens>
// expected-note @+1 {{@d0 holds 0 of 4 frames}}
sluice.channel @d0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @d1 from @rank0 to @rank0 capacity 4 : !sluice.frame<guesses>
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @d1 %b, %h : tensor<?x8xf32>
}
sluice.worker @draft.s0 at(@rank0) {
  %b = sluice.receive @d0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.pipeline @draft stages [@draft.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{cyclic wait: @rank0 (@generate) waits for @c1 from @rank0 (@draft.s0), which waits for @d0 from @rank0 (@generate)}}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c1) : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 2 width 1 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.channel @d0 from @rank0 to @rank1 capacity 4 : !sluice.frame<rows>
sluice.channel @d1 from @rank1 to @rank0 capacity 4 : !sluice.frame<guesses>
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
// expected-error @+1 {{is the draft at @rank1, but the head is at @rank0}}
sluice.worker @draft.s0 at(@rank1) {
  %b = sluice.receive @d0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @d1 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.pipeline @draft stages [@draft.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c1) : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 2 width 1 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

// A draft that is cut.
sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank0 capacity 4 : !sluice.frame<tokens>
sluice.channel @d0 from @rank0 to @rank0 capacity 4 : !sluice.frame<rows>
sluice.channel @d1 from @rank0 to @rank0 capacity 4 : !sluice.frame<guesses>
sluice.channel @d2 from @rank0 to @rank0 capacity 4
  : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %h : tensor<?x8xf32>
}
sluice.worker @draft.s0 at(@rank0) {
  %b = sluice.receive @d0
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %b, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @d2 %b, %h : tensor<?x8xf32>
}
sluice.worker @draft.s1 at(@rank0) {
  %b, %h = sluice.receive @d2 : tensor<?x8xf32>
  sluice.send @d1 %b, %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// expected-error @+1 {{has 2 workers, but a draft has one}}
sluice.pipeline @draft stages [@draft.s0, @draft.s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c1) : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(head)
    depth 2 width 1 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

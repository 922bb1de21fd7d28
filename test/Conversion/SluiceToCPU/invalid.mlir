// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu --split-input-file --verify-diagnostics

// Modules that are valid in the phases model and program, or on the way there,
// and that the conversion refuses.

// expected-error @+1 {{expected one sluice.model, found 0}}
module {
}

// -----

// expected-error @+1 {{expected one sluice.model, found 2}}
module {
  sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
  sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
  sluice.model @a(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
    %w = sluice.param @w : tensor<8x8xf32>
    %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %x : tensor<?x8xf32>
  }
  sluice.model @b(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
    %w = sluice.param @w : tensor<8x8xf32>
    %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %x : tensor<?x8xf32>
  }
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %x : tensor<?x8xf32>
}
// expected-error @+1 {{takes the name of the code of a step}}
func.func private @main_step()

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'arith.addf' has no lowering to a CPU}}
  %y = arith.addf %x, %x : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.file @f path "no/such/model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.weight @factors in @f at 0 stored f32 : tensor<4xf32>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %f = sluice.param @factors : tensor<4xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{no/such/model.gguf}}
  %y = sluice.rope %x, %batch factors %f half heads 1 head_dim 8 rotary_dim 8 base 10000.0 : tensor<?x8xf32>, tensor<4xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>) (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %x : tensor<?x8xf32>
}
// expected-error @+1 {{has the stage @main.s0, which is not a sluice.worker: split the stages into ranks first}}
sluice.pipeline @main stages [@main.s0] attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8}

// -----

sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
// expected-error @+1 {{is not a stage of any sluice.pipeline}}
sluice.worker @main.s0 at(@rank0) {
  %b, %h = sluice.receive @c0 : tensor<?x8xf32>
  sluice.send @c0 %b, %h : tensor<?x8xf32>
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c0 from @rank0 to @rank0 capacity 1 : !sluice.frame<rows>
sluice.channel @c1 from @rank0 to @rank0 capacity 1 : !sluice.frame<tokens>
sluice.pipeline @main stages [@main.s0] attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8}
// expected-error @+1 {{has no rank or channels: split the stages into ranks first}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}
sluice.worker @main.s0 at(@rank0) {
  %b = sluice.receive @c0
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %b, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.send @c1 %b, %x : tensor<?x8xf32>
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{'sluice_embed' could be a function of the runtime, whose names begin with 'sluice_'}}
sluice.model @sluice_embed(%batch: !sluice.batch) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed %batch, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %x : tensor<?x8xf32>
}

// -----

sluice.file @f path "m" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<8x8xf32>
// expected-error @+1 {{takes a !sluice.chunk, the rows of one request: --sluice-fuse-decode comes first}}
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "t", model_name = "t", vocab_size = 8, context_length = 8} {
  %w = sluice.param @w : tensor<8x8xf32>
  %x = sluice.embed chunk %chunk, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %x : tensor<?x8xf32>
}

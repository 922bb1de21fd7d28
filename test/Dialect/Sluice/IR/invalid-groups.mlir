// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// What a tensor-parallel group must not be: slices that are no part of a weight,
// members that differ, and collectives where nobody could meet.

// slice_c1
// expected-error @+1 {{@w is not a sluice.weight}}
sluice.slice @s of @w rows 0 to 1 : tensor<1x8xf32>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
// slice_c2
// expected-error @+1 {{needs ranges of either rows or columns}}
sluice.slice @s of @w rows 0 to 1 columns 0 to 8 : tensor<1x8xf32>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8xf32>
// slice_c2
// expected-error @+1 {{has ranges of rows, but is not of a matrix}}
sluice.slice @s of @w rows 0 to 4 : tensor<4xf32>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8xf32>
// slice_c3
// expected-error @+1 {{has ranges that are empty, overlap or are not in order}}
sluice.slice @s of @w columns 0 to 4, 3 to 5 : tensor<6xf32>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8xf32>
// slice_c3
// expected-error @+1 {{ends at 9 of @w, which has 8}}
sluice.slice @s of @w columns 0 to 4, 8 to 9 : tensor<5xf32>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
// slice_c4
// expected-error @+1 {{has type 'tensor<8x5xf32>', but its ranges make it 'tensor<8x4xf32>'}}
sluice.slice @s of @w columns 0 to 2, 6 to 8 : tensor<8x5xf32>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x64x!sluice.block<q8_0>>
// slice_c5
// expected-error @+1 {{is cut at column 16, inside a q8_0 block}}
sluice.slice @s of @w columns 16 to 48 : tensor<8x32x!sluice.block<q8_0>>

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.slice @s of @w rows 0 to 4 : tensor<4x8xf32>
// model_c6
// expected-error @+1 {{tensor_parallel must be 2 to 256, got 1}}
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8, tensor_parallel = 1} {
  %w = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %w by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.slice @s of @w rows 0 to 4 : tensor<4x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  // shard_c1
  // expected-error @+1 {{stands in no sluice.model or sluice.stage of a tensor-parallel group}}
  %w = sluice.shard [@s, @s] : tensor<4x8xf32>
  %t = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.slice @s of @w rows 0 to 4 : tensor<4x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8, tensor_parallel = 2} {
  // shard_c1
  // expected-error @+1 {{names 3 slices, but the group has 2 members}}
  %w = sluice.shard [@s, @s, @s] : tensor<4x8xf32>
  %t = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.slice @s of @w rows 0 to 4 : tensor<4x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8, tensor_parallel = 2} {
  // shard_c2
  // expected-error @+1 {{@w is not a sluice.slice}}
  %w = sluice.shard [@s, @w] : tensor<4x8xf32>
  %t = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.slice @s of @w rows 0 to 4 : tensor<4x8xf32>
sluice.slice @r of @w rows 0 to 2 : tensor<2x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8, tensor_parallel = 2} {
  // shard_c3
  // expected-error @+1 {{has type 'tensor<4x8xf32>', but @r is 'tensor<2x8xf32>'}}
  %w = sluice.shard [@s, @r] : tensor<4x8xf32>
  %t = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
    model_name = "m", vocab_size = 8, context_length = 8} {
  %t = sluice.param @w : tensor<8x8xf32>
  %h = sluice.embed chunk %chunk, %t by token : tensor<8x8xf32> -> tensor<?x8xf32>
  // all_reduce_c1
  // expected-error @+1 {{stands in no frame of a tensor-parallel group, whose members could meet here}}
  %y = sluice.all_reduce %h : tensor<?x8xf32>
  sluice.return %y : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @w in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>,
                    #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // all_reduce_c2
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %y = "sluice.all_reduce"(%h) : (tensor<?x8xf32>) -> tensor<?x4xf32>
  sluice.forward %h : tensor<?x8xf32>
}

// -----

sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
sluice.weight @b in @f0 at 0 stored f32 : tensor<4xf32>
sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>,
                    #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %b = sluice.param @b : tensor<4xf32>
  // all_reduce_c3
  // expected-error @+1 {{bias has 4 elements, expected 8}}
  %y = sluice.all_reduce %h bias %b : tensor<?x8xf32>, tensor<4xf32>
  sluice.forward %y : tensor<?x8xf32>
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // all_gather_c1
  // expected-error @+1 {{stands in no frame of a tensor-parallel group, whose members could meet here}}
  %y = sluice.all_gather %h : tensor<?x8xf32> -> tensor<?x16xf32>
  sluice.forward %h : tensor<?x8xf32>
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>,
                    #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // all_gather_c2
  // expected-error @+1 {{makes rows 8 wide of parts 8 wide from 2 members}}
  %y = sluice.all_gather %h : tensor<?x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c6
// expected-error @+1 {{is on #sluice.place<node = "n0", device = 0> twice}}
sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>,
                    #sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c6
// expected-error @+1 {{is on 0 places, expected 1 to 256}}
sluice.stage @s0 on() (%batch: !sluice.batch, %h: tensor<?x8xf32>)
    -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    // attend_c10
    // expected-error @+1 {{needs both 'of' and 'from' beside alibi, or neither}}
    %a = "sluice.attend"(%x, %x, %x, %cache, %batch) <{heads = 1 : i64,
        scale = 1.0, first_heads = array<i64: 0>}>
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>,
         !sluice.cache<kv_heads = 1, head_dim = 8>, !sluice.batch)
      -> tensor<?x8xf32>
    sluice.yield %a : tensor<?x8xf32>
  }
  sluice.forward %y : tensor<?x8xf32>
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>,
                    #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    // attend_c10
    // expected-error @+1 {{has the first heads of 1 members, expected 2}}
    %a = sluice.attend %x, %x, %x, %cache, %batch heads 1 scale 1.0
      alibi 1.0 of 2 from [0]
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %a : tensor<?x8xf32>
  }
  sluice.forward %y : tensor<?x8xf32>
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>,
                    #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    // attend_c10
    // expected-error @+1 {{has 1 heads from 2 on, which are not among 2}}
    %a = sluice.attend %x, %x, %x, %cache, %batch heads 1 scale 1.0
      alibi 1.0 of 2 from [0, 2]
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    sluice.yield %a : tensor<?x8xf32>
  }
  sluice.forward %y : tensor<?x8xf32>
}

// -----

// group_c1
// expected-error @+1 {{has 1 workers, expected 2 to 256}}
sluice.group @g of [@w]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n0", device = 1>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @e from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @f from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
sluice.worker @w1 at(@r1) {
  %b, %h = sluice.receive @e : tensor<?x8xf32>
  sluice.send @f %b, %h : tensor<?x8xf32>
}
// group_c1
// expected-error @+1 {{has @w1, which is not of it}}
sluice.group @g of [@w0, @w1]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
sluice.worker @w1 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
// group_c2
// expected-error @+1 {{has two members at @r0}}
sluice.group @g of [@w0, @w1]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n0", device = 1>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  // expected-note @+1 {{which is this}}
  %y = sluice.all_reduce %h : tensor<?x8xf32>
  sluice.send @d %b, %y : tensor<?x8xf32>
}
sluice.worker @w1 at(@r1) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  // group_c3
  // expected-error @+1 {{is not what @w0, a member of the same group, does here}}
  %y = sluice.activation relu %h : tensor<?x8xf32>
  sluice.send @d %b, %y : tensor<?x8xf32>
}
sluice.group @g of [@w0, @w1]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n0", device = 1>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
// group_c3
// expected-error @+1 {{has 3 ops, but @w0, a member of the same group, 2}}
sluice.worker @w1 at(@r1) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  %y = sluice.all_reduce %h : tensor<?x8xf32>
  sluice.send @d %b, %y : tensor<?x8xf32>
}
sluice.group @g of [@w0, @w1]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n0", device = 1>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
sluice.worker @w1 at(@r1) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
// worker_c7
// expected-error @+1 {{is of @g, which does not have it}}
sluice.worker @w2 at(@r1) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
sluice.group @g of [@w0, @w1]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n0", device = 1>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  // expected-note @+1 {{which is this}}
  %y = sluice.activation relu %h : tensor<?x8xf32>
  sluice.send @d %b, %y : tensor<?x8xf32>
}
sluice.worker @w1 at(@r1) of(@g) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  // group_c3
  // expected-error @+1 {{is not what @w0, a member of the same group, does here}}
  %y = sluice.activation silu %h : tensor<?x8xf32>
  sluice.send @d %b, %y : tensor<?x8xf32>
}
sluice.group @g of [@w0, @w1]

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n0", device = 1>)
sluice.channel @c from @r0 to @g capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @e from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @g to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.worker @w0 at(@r0) of(@g) {
  %b, %h = sluice.receive @e : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
sluice.worker @w1 at(@r1) of(@g) {
  // receive_c2, of a group; both members, as they do the same
  // expected-error @+1 {{is at @g, but @e goes to @r1}}
  %b, %h = sluice.receive @e : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
sluice.group @g of [@w0, @w1]

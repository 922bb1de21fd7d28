// RUN: sluice-opt %s --sluice-split-ranks --sluice-verify-phase=phase=program | FileCheck %s
// RUN: sluice-opt %s --sluice-split-ranks --remarks-filter="sluice-split.*" 2>&1 | FileCheck %s --check-prefix=REMARK

// A stage on two places becomes a group of its name, with a worker for each place
// at a rank of its own: the same ops, with the slices and the heads of that
// member. Channels lead to and from the group, and to the stage beside it, which
// is on one place.

// REMARK: [Passed] ranks | Category:sluice-split-ranks | capacity=256, channels=3, groups=1, ranks=3, workers=3

// CHECK: sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
// CHECK-NEXT: sluice.rank @rank1 index 1 on(#sluice.place<node = "n0", device = 1>)
// CHECK-NEXT: sluice.rank @rank2 index 2 on(#sluice.place<node = "n1", device = 0>)
// CHECK-NEXT: sluice.channel @c0 from @rank0 to @main.s0 capacity 256 : !sluice.frame<rows>
// CHECK-NEXT: sluice.channel @c1 from @main.s0 to @rank2 capacity 256 : !sluice.frame<rows, tensor<?x8xf32>>
// CHECK-NEXT: sluice.channel @c2 from @rank2 to @rank0 capacity 256 : !sluice.frame<tokens>

// CHECK-LABEL: sluice.worker @main.s0.m0 at(@rank0) of(@main.s0) attributes {step_rows = 16 : i64} {
// CHECK-NEXT: %[[B:.*]] = receive @c0
// CHECK: %[[W:.*]] = param @key.m0 : tensor<8x8xf32>
// CHECK: attend {{.*}} alibi 1.000000e+00 of 2 from [0]
// CHECK: %[[B1:.*]], %[[H1:.*]] = checkpoint %[[B]]
// CHECK: all_reduce %[[H1]]
// CHECK: send @c1

// CHECK-LABEL: sluice.worker @main.s0.m1 at(@rank1) of(@main.s0) attributes {step_rows = 16 : i64} {
// CHECK: param @key.m1 : tensor<8x8xf32>
// CHECK: attend {{.*}} alibi 1.000000e+00 of 2 from [1]
// CHECK-NOT: shard

// CHECK: sluice.group @main.s0 of [@main.s0.m0, @main.s0.m1]
// CHECK: sluice.worker @main.s1 at(@rank2) {
// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1]
// CHECK: launch @main via(@c0) results(@c2)

sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
sluice.weight @key in @f0 at 0 stored f32 : tensor<16x8xf32>
sluice.slice @key.m0 of @key rows 0 to 8 : tensor<8x8xf32>
sluice.slice @key.m1 of @key rows 8 to 16 : tensor<8x8xf32>
sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>,
                         #sluice.place<node = "n0", device = 1>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> attributes {step_rows = 16 : i64} {
  %table = sluice.param @table : tensor<8x8xf32>
  %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
  %h1, %b1 = sluice.layer 0 (%x = %h) : tensor<?x8xf32>, !sluice.batch {
    %w = sluice.shard [@key.m0, @key.m1] : tensor<8x8xf32>
    %k = sluice.linear %x, %w
      : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 8>
    %a = sluice.attend %k, %k, %k, %cache, %batch heads 1 scale 1.0
      alibi 1.0 of 2 from [0, 1]
      : tensor<?x8xf32>, tensor<?x8xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 8>
    %b, %a1 = sluice.checkpoint %batch, %a : tensor<?x8xf32>
    %y = sluice.all_reduce %a1 : tensor<?x8xf32>
    sluice.yield %y, %b : tensor<?x8xf32>
  }
  sluice.forward %h1 : tensor<?x8xf32>
}
sluice.stage @main.s1 on(#sluice.place<node = "n1", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %table = sluice.param @table : tensor<8x8xf32>
  %logits = sluice.linear %h, %table
    : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  sluice.forward %logits : tensor<?x8xf32>
}
sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

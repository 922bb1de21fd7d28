// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml stages=3" | FileCheck %s
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml stages=3" --sluice-fuse-decode --sluice-verify-phase=phase=pipeline -o /dev/null
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml stages=3" --remarks-filter="sluice-partition.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sluice-opt %s --sluice-partition-stages="cluster=%S/Inputs/small.yaml" | FileCheck %s --check-prefix=FEWEST
// RUN: sluice-opt %s --sluice-partition-stages | FileCheck %s --check-prefix=ONE

// Five equal layers on three nodes: the one in the middle is twice as fast, but
// its memory holds two layers only. The embedding's table, which is tied, goes
// to the first stage and to the last. Without a draft nothing follows the certain
// row, so without `stages` as few nodes are used as hold the model; without a
// cluster there is one.

// CHECK: dlti.target_system_spec = #dlti.target_system_spec<"a" = #dlti.target_device_spec<"kind" = "cpu", "memory" = 102400 : i64
// CHECK-SAME: "draft" = true
// CHECK-SAME: "links" = #dlti.target_device_spec<"cluster" = "small"

// CHECK-LABEL: sluice.stage @main.s0 on(#sluice.place<node = "a", device = 0>) (%chunk: !sluice.chunk) -> tensor<?x64xf32>
// CHECK-SAME: costs = array<i64:
// CHECK: %[[T:.*]] = param @table
// CHECK: %[[H:.*]] = embed chunk %chunk, %[[T]]
// CHECK: %[[H0:.*]] = layer 0 (%{{.*}} = %[[H]])
// CHECK: attend {{.*}}, chunk %chunk heads
// CHECK: %[[H1:.*]] = layer 1 (%{{.*}} = %[[H0]])
// CHECK: forward %[[H1]] : tensor<?x64xf32>

// CHECK-LABEL: sluice.stage @main.s1 on(#sluice.place<node = "b", device = 0>) (%chunk: !sluice.chunk, %h: tensor<?x64xf32>) -> tensor<?x64xf32>
// CHECK-NOT: param @table
// CHECK: layer 2 (%{{.*}} = %h)
// CHECK: %[[H3:.*]] = layer 3
// CHECK: forward %[[H3]]

// CHECK-LABEL: sluice.stage @main.s2 on(#sluice.place<node = "c", device = 0>) (%chunk: !sluice.chunk, %h: tensor<?x64xf32>) -> tensor<?x32xf32>
// CHECK: %[[H4:.*]] = layer 4 (%{{.*}} = %h)
// CHECK: %[[LAST:.*]] = select_outputs %[[H4]], chunk %chunk
// CHECK: %[[N:.*]] = rms_norm %[[LAST]]
// CHECK: %[[LOGITS:.*]] = linear %[[N]], %{{.*}} : tensor<?x64xf32>, tensor<32x64xf32>
// CHECK: forward %[[LOGITS]] : tensor<?x32xf32>

// CHECK: sluice.pipeline @main stages [@main.s0, @main.s1, @main.s2] attributes
// CHECK-SAME: architecture = "llama", context_length = 8 : i64, eos_tokens = array<i64: 2>, model_name = "m", vocab_size = 32
// CHECK-LABEL: sluice.generate @generate target(@main) {
// CHECK-NEXT: %[[LAUNCHED:.*]] = launch @main : !sluice.run
// CHECK-NEXT: %[[COUNT:.*]] = verify %[[LAUNCHED]] : index
// CHECK-NEXT: commit %[[LAUNCHED]], %[[COUNT]]
// CHECK-NEXT: emit %[[COUNT]]
// CHECK-NEXT: end
// CHECK-NOT: sluice.model

// REMARK: [Passed] cut | Category:sluice-partition-stages | Remark="cut after layer 1: with one layer fewer stage 1 would need 60 KiB, more than the 40 KiB of b"
// REMARK: [Passed] cut | Category:sluice-partition-stages | Remark="cut after layer 3:
// REMARK: [Analysis] prediction | Category:sluice-partition-stages | {{.*}}stages=3

// FEWEST: sluice.pipeline @main stages [@main.s0, @main.s1]
// ONE: sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
// ONE: sluice.pipeline @main stages [@main.s0]

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

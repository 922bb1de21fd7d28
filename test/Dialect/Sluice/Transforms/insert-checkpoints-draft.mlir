// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=3200" --sluice-verify-phase=phase=pipeline | FileCheck %s

// The draft gets checkpoints as the stages do, and the times of its steps.

// CHECK-LABEL: sluice.model @draft
// CHECK: columns 0 to 16
// CHECK-NEXT: checkpoint
// CHECK: columns 16 to 48
// CHECK: columns 48 to 64
// CHECK: %[[LOGITS:.*]] = concat
// CHECK: return %[[LOGITS]]
// CHECK: speculate draft(@draft)
// CHECK-SAME: costs = array<i64: 4{{[0-9]+}}, {{.*}}>
// CHECK-SAME: step_rows = 3

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
      model_name = "d", vocab_size = 64, context_length = 4} {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %logits = sluice.linear %h, %table
      : tensor<?x16xf32>, tensor<64x16xf32> -> tensor<?x64xf32>
    sluice.return %logits : tensor<?x64xf32>
  }
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
      depth 4 width 2 : !sluice.guesses
    %n = sluice.verify %run, %guesses : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

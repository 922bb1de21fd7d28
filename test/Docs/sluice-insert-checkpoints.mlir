// RUN: sluice-opt %s --sluice-insert-checkpoints=max-latency-us=1100 | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK: layer 0
// CHECK: checkpoint
// CHECK: columns 0 to
// CHECK: concat
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x8xf32>
  sluice.weight @w in @f0 at 2048 stored f32 : tensor<8x8xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x64xf32> {
    %table = sluice.param @table : tensor<64x8xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x8xf32> -> tensor<?x8xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
      %w = sluice.param @w : tensor<8x8xf32>
      %y = sluice.linear %x, %w
        : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
      %z = sluice.linear %y, %w
        : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
      %sum = sluice.add %x, %z : tensor<?x8xf32>
      sluice.yield %sum : tensor<?x8xf32>
    }
    %last = sluice.select_outputs %h0, %batch : tensor<?x8xf32>
    %logits = sluice.linear %last, %table
      : tensor<?x8xf32>, tensor<64x8xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0] attributes {architecture = "llama",
      model_name = "demo", vocab_size = 64, context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=3200 rows=2" --sluice-verify-phase=phase=pipeline | FileCheck %s
// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=3200 rows=2" --remarks-filter="sluice-insert-ch.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=3200" --remarks-filter="sluice-insert-ch.*" 2>&1 | FileCheck %s --check-prefix=DEFAULT
// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=0 rows=64" | FileCheck %s --check-prefix=NONE
// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=100000" | FileCheck %s --check-prefix=LONG
// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=600" --remarks-filter="sluice-insert-ch.*" 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not sluice-opt %s --sluice-insert-checkpoints="rows=0" 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: not sluice-opt %s --sluice-insert-checkpoints="rows=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: not sluice-opt %s --sluice-insert-checkpoints="max-latency-us=-1" 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: not sluice-opt %s --sluice-insert-checkpoints="max-latency-us=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=OPTIONS

// On a device of 1 MB/s and 1 MFLOP/s a product of 16 by 16 takes 1.28 ms for
// two rows. Stretches end as late as can be: before the
// layer's attention all rows that are used later go through the checkpoint, and
// from there on the layer uses the batch that is left and yields it. The output
// layer's 5 ms are computed in columns.

// CHECK-LABEL: sluice.stage @main.s0
// CHECK-SAME: step_rows = [[ROWS:[0-9]+]]
// CHECK: %[[H:.*]] = embed %batch
// CHECK-NEXT: %[[H0:.*]], %[[B:.*]] = layer 0 (%x = %[[H]]) : tensor<?x16xf32>, !sluice.batch {
// CHECK: %[[Q:.*]] = linear %x
// CHECK: %[[K:.*]] = linear %x
// CHECK: %[[B1:.*]], %[[X1:.*]], %[[Q1:.*]], %[[K1:.*]] = checkpoint %batch, %x, %[[Q]], %[[K]]
// CHECK: %[[A:.*]] = attend %[[Q1]], %[[K1]], %[[K1]], %{{.*}}, %[[B1]] heads 1
// CHECK: %[[Y:.*]] = add %[[X1]], %[[A]]
// CHECK: yield %[[Y]], %[[B1]] : tensor<?x16xf32>
// CHECK: %[[H1:.*]] = layer 1 (%x = %[[H0]]) : tensor<?x16xf32> {
// CHECK: forward %[[H1]]

// CHECK-LABEL: sluice.stage @main.s1
// CHECK: %[[LAST:.*]] = select_outputs
// CHECK: %[[Y0:.*]] = linear %[[LAST]], %{{.*}} bias %{{.*}} columns 0 to 32
// CHECK-NEXT: %[[B2:.*]], %[[LAST1:.*]], %[[Y01:.*]] = checkpoint %batch, %[[LAST]], %[[Y0]] : tensor<?x16xf32>, tensor<?x32xf32>
// CHECK-NEXT: %[[Y1:.*]] = linear %[[LAST1]], %{{.*}} bias %{{.*}} columns 32 to 64
// CHECK-NEXT: %[[B3:.*]], %[[Y02:.*]], %[[Y11:.*]] = checkpoint %[[B2]], %[[Y01]], %[[Y1]]
// CHECK-NEXT: %[[LOGITS:.*]] = concat %[[Y02]], %[[Y11]] : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
// CHECK-NEXT: forward %[[LOGITS]]
// CHECK: sluice.pipeline @main
// CHECK-SAME: max_latency_us = 3200

// REMARK: [Passed] checkpoints | Category:sluice-insert-checkpoints | checkpoints=1, in=main.s0, longest-stretch="2.82 ms", products-split=0, rows=2
// REMARK: [Passed] checkpoints | Category:sluice-insert-checkpoints | checkpoints=2, in=main.s1, longest-stretch="2.82 ms", products-split=1, rows=2

// A row costs least in long steps; with five rows sixteen columns, which cannot
// be cut, would be too long.
// DEFAULT: in=main.s0, longest-stretch="3.07 ms", products-split=0, rows=4, step-rows=4
// DEFAULT: in=main.s1, longest-stretch="3.17 ms", products-split=1, rows=3, step-rows=3

// NONE: step_rows = 64
// NONE-NOT: checkpoint
// NONE-NOT: columns
// NONE-NOT: max_latency_us

// LONG-NOT: checkpoint
// LONG: step_rows = {{[0-9][0-9]}}
// LONG-NOT: checkpoint
// LONG: max_latency_us = 100000

// OPTIONS: error: max-latency-us must be 0 to 86400000000, rows 1 to 65536, and context not negative

// A product of sixteen columns cannot be cut further.
// SHORT: [Missed] too-long | Category:sluice-insert-checkpoints | Remark="sluice.linear takes longer than max-latency-us and cannot be cut"
// SHORT: warning: max-latency-us=600 cannot be kept in @main.s0: its longest stretch takes {{.*}} ms, most of it in 'sluice.linear'

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
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

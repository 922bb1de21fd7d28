// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx2>' --convert-sluice-to-cpu --cse | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx512>' --convert-sluice-to-cpu --cse | FileCheck %s --check-prefixes=CHECK,WIDE

// Row-wise ops that follow each other are one loop over the rows. In it the sum
// and the norm's reduction share a loop over the columns, and so do the norm's
// scaling, the activation and the last sum; what only they pass to each other
// stays in registers. 20 columns leave a tail that is masked.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @tokens in @f at 0 stored f32 : tensor<20x20xf32>
sluice.weight @positions in @f at 0 stored f32 : tensor<64x20xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<20xf32>

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows rows kernel @rows_embed_embed_add_rms_norm_activation_add weights(

// CHECK-LABEL: func.func @rows_embed_embed_add_rms_norm_activation_add(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %[[ARGUMENTS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// A pointer for each operand of the loop: three weights and the row that it writes.
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %[[ARGUMENTS]][0]
// CHECK-NEXT:    %[[TOKENS:.*]] = llvm.load %[[FIRST]]
// CHECK:         llvm.getelementptr %[[ARGUMENTS]][3]
// CHECK:         scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           func.call @sluice_embed(%{{.*}}, %[[TOKENS]],
// CHECK:           func.call @sluice_embed
// The sum and the squares.
// NARROW:          %[[SUMS:.*]] = scf.for {{.*}} -> (vector<8xf32>)
// WIDE:            %[[SUMS:.*]] = scf.for {{.*}} -> (vector<16xf32>)
// CHECK:             %[[SUM:.*]] = arith.addf
// CHECK-NEXT:        vector.store %[[SUM]]
// CHECK-NEXT:        math.fma %[[SUM]], %[[SUM]]
// NARROW:          vector.maskedload {{.*}} vector<8xi1>
// WIDE:            vector.maskedload {{.*}} vector<16xi1>
// CHECK:           arith.select
// The lanes' sums, half by half.
// NARROW-COUNT-3:  arith.addf
// WIDE-COUNT-4:    arith.addf
// CHECK:           math.sqrt
// The rest, without a store of the norm or of the activation.
// CHECK:           scf.for %[[COLUMN:.*]] = {{.*}} {
// CHECK-NOT:         vector.store
// CHECK:             math.exp
// CHECK-NOT:         vector.store
// CHECK:             arith.divf
// CHECK-NEXT:        %[[RESULT:.*]] = arith.addf
// CHECK-NEXT:        vector.store %[[RESULT]]
// CHECK-NEXT:      }
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 20,
    context_length = 64} {
  %tokens = sluice.param @tokens : tensor<20x20xf32>
  %positions = sluice.param @positions : tensor<64x20xf32>
  %norm = sluice.param @norm : tensor<20xf32>
  %x = sluice.embed %batch, %tokens by token : tensor<20x20xf32> -> tensor<?x20xf32>
  %p = sluice.embed %batch, %positions by position : tensor<64x20xf32> -> tensor<?x20xf32>
  %s = sluice.add %x, %p : tensor<?x20xf32>
  %n = sluice.rms_norm %s, %norm epsilon 1.0e-05 : tensor<?x20xf32>, tensor<20xf32>
  %a = sluice.activation silu %n : tensor<?x20xf32>
  %y = sluice.add %a, %s : tensor<?x20xf32>
  sluice.return %y : tensor<?x20xf32>
}

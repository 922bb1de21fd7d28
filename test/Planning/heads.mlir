// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx2>' | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx2>' --convert-sluice-to-cpu --cse | FileCheck %s --check-prefix=ROWS
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' | FileCheck %s --check-prefix=CHECK
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a | FileCheck %s --check-prefix=BLOCKS
// RUN: sluice-opt %s --sluice-plan | sluice-opt | FileCheck %s

// Norms of heads become row loops over heads, each with a norm of rows as wide as a
// head. Equal numbers of heads share a loop; whole rows and other numbers do not.
// No barrier stands between them, since a thread has all heads of its rows. The
// code of such a loop takes each head for a row.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<64x64xf32>
sluice.weight @w in @f at 0 stored f32 : tensor<64xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<16xf32>
sluice.weight @u in @f at 0 stored f32 : tensor<32xf32>

// CPU-NOT:    sluice.barrier
// CHECK:      sluice.task.rows rows heads 4 reads(
// CHECK-NEXT:   %[[Y:.*]] = sluice.rms_norm %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<?x16xf32>, tensor<16xf32>
// CHECK-NEXT:   %[[Z:.*]] = sluice.layer_norm %[[Y]], %{{.*}} bias %{{.*}} epsilon 1.000000e-05 : tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>
// CHECK-NEXT:   sluice.task.yield {{.*}}%[[Z]] : {{.*}}tensor<?x16xf32>
// CHECK-NEXT: }
// CHECK-NEXT: sluice.task.rows rows heads 2 reads(
// CHECK-NEXT:   sluice.rms_norm %{{.*}} : tensor<?x32xf32>, tensor<32xf32>
// CHECK-NEXT:   sluice.task.yield
// CHECK-NEXT: }
// CHECK-NEXT: sluice.task.rows rows reads(
// CHECK-NEXT:   sluice.rms_norm %{{.*}} : tensor<?x64xf32>, tensor<64xf32>

// ROWS:       sluice.task.rows rows heads 4 kernel @[[FOUR:.*]] reads(
// ROWS:       func.func @[[FOUR]]({{.*}}, %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// ROWS:         %[[HEADS:.*]] = arith.constant 4 : index
// ROWS:         %[[FIRST:.*]] = arith.muli %[[BEGIN]], %[[HEADS]]
// ROWS:         %[[LAST:.*]] = arith.muli %[[END]], %[[HEADS]]
// ROWS:         sluice.view %{{.*}}[%[[LAST]]] : !llvm.ptr to memref<?x16xf32>
// ROWS:         scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]

// BLOCKS:     sluice.task.rows rows heads 4 kernel @kernels::@[[FOUR:.*]] threads 32 blocks 4 reads(
// BLOCKS:     gpu.func @[[FOUR]](
// BLOCKS:       %[[HEAD:.*]] = gpu.block_id
// BLOCKS:       %[[COUNT:.*]] = arith.index_castui
// BLOCKS:       %[[ALL:.*]] = arith.muli %[[COUNT]], %{{.*}}
// BLOCKS:       arith.cmpi ult, %[[HEAD]], %[[ALL]]
// BLOCKS:       vector.load %{{.*}}[%[[HEAD]], %{{.*}}] {{.*}} memref<?x16xf32>

sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 64, context_length = 64} {
  %embd = sluice.param @embd : tensor<64x64xf32>
  %w = sluice.param @w : tensor<64xf32>
  %v = sluice.param @v : tensor<16xf32>
  %u = sluice.param @u : tensor<32xf32>
  %h = sluice.embed %batch, %embd by position : tensor<64x64xf32> -> tensor<?x64xf32>
  %a = sluice.rms_norm %h, %v heads 4 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<16xf32>
  %b = sluice.layer_norm %a, %v bias %v heads 4 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<16xf32>, tensor<16xf32>
  %c = sluice.rms_norm %b, %u heads 2 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<32xf32>
  %d = sluice.rms_norm %c, %w epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  sluice.return %d : tensor<?x64xf32>
}

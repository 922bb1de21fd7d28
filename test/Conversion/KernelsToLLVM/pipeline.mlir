// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx512>' --convert-sluice-to-cpu --sluice-kernels-to-llvm | FileCheck %s --implicit-check-not=unrealized_conversion_cast --implicit-check-not=scf. --implicit-check-not=vector. --implicit-check-not=memref. --implicit-check-not=arith. --implicit-check-not=math. --implicit-check-not=sluice.view

// All but the description and the plan ends in the LLVM dialect, without
// fast-math flags.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @w in @f at 0 stored f32 : tensor<20x20xf32>
sluice.weight @n in @f at 0 stored f32 : tensor<20xf32>

// CHECK:       sluice.program @main step @main_step cpu avx512
// CHECK:       sluice.step @main_step
// CHECK:         sluice.task.rows rows kernel @rows_embed_rms_norm_activation weights(
// CHECK:       llvm.func @rows_embed_rms_norm_activation(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-NOT:     fastmathFlags
// CHECK:         llvm.intr.fma
// CHECK:         llvm.intr.masked.load
// CHECK:         llvm.intr.masked.store
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 20,
    context_length = 64} {
  %w = sluice.param @w : tensor<20x20xf32>
  %n = sluice.param @n : tensor<20xf32>
  %x = sluice.embed %batch, %w by token : tensor<20x20xf32> -> tensor<?x20xf32>
  %y = sluice.rms_norm %x, %n epsilon 1.0e-05 : tensor<?x20xf32>, tensor<20xf32>
  %z = sluice.activation gelu %y : tensor<?x20xf32>
  sluice.return %z : tensor<?x20xf32>
}

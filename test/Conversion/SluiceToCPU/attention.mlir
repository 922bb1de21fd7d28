// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu | FileCheck %s

// An attention's parameters are a constant, equal ones are one constant, and
// alibi's slopes another. Caches are numbered in the order of the layers.

!cache = !sluice.cache<kv_heads = 1, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<48x48xf32>
sluice.weight @w in @f at 0 stored f32 : tensor<16x48xf32>

// CHECK-DAG: llvm.mlir.global internal constant @alibi_slopes(dense<[1.250000e-01, 7.812500e-03, 5.000000e-01]> : tensor<3xf32>) {{.*}} : !llvm.array<3 x f32>
// CHECK-DAG: llvm.mlir.global internal constant @attention() {{.*}} : !llvm.struct<(i64, i64, i64, i64, f32, f32, ptr)>
// CHECK-DAG: llvm.mlir.global internal constant @attention_0() {{.*}} : !llvm.struct<(i64, i64, i64, i64, f32, f32, ptr)>
// CHECK-NOT: @attention_1

// CHECK:       caches = [!sluice.cache<kv_heads = 1, head_dim = 16>, !sluice.cache<kv_heads = 1, head_dim = 16>, !sluice.cache<kv_heads = 1, head_dim = 16>]

// CHECK-LABEL: func.func @main_step(
// CHECK:         %[[A0:.*]] = llvm.mlir.addressof @attention : !llvm.ptr
// CHECK:         call @sluice_attend({{.*}}, %[[A0]],
// CHECK:         %[[A1:.*]] = llvm.mlir.addressof @attention : !llvm.ptr
// CHECK:         call @sluice_attend({{.*}}, %[[A1]],
// CHECK:         %[[A2:.*]] = llvm.mlir.addressof @attention_0 : !llvm.ptr
// CHECK:         call @sluice_attend({{.*}}, %[[A2]],
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 48,
    context_length = 48} {
  %embd = sluice.param @embd : tensor<48x48xf32>
  %h = sluice.embed %batch, %embd by token : tensor<48x48xf32> -> tensor<?x48xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x48xf32> {
    %w = sluice.param @w : tensor<16x48xf32>
    %c = sluice.layer_cache : !cache
    %k = sluice.linear %x, %w : tensor<?x48xf32>, tensor<16x48xf32> -> tensor<?x16xf32>
    %y = sluice.attend %x, %k, %k, %c, %batch heads 3 scale 0.25 window 8 softcap 30.0 : tensor<?x48xf32>, tensor<?x16xf32>, !cache
    sluice.yield %y : tensor<?x48xf32>
  }
  %h2 = sluice.layer 1 (%x = %h1) : tensor<?x48xf32> {
    %w = sluice.param @w : tensor<16x48xf32>
    %c = sluice.layer_cache : !cache
    %k = sluice.linear %x, %w : tensor<?x48xf32>, tensor<16x48xf32> -> tensor<?x16xf32>
    %y = sluice.attend %x, %k, %k, %c, %batch heads 3 scale 0.25 window 8 softcap 30.0 : tensor<?x48xf32>, tensor<?x16xf32>, !cache
    sluice.yield %y : tensor<?x48xf32>
  }
  %h3 = sluice.layer 2 (%x = %h2) : tensor<?x48xf32> {
    %w = sluice.param @w : tensor<16x48xf32>
    %c = sluice.layer_cache : !cache
    %k = sluice.linear %x, %w : tensor<?x48xf32>, tensor<16x48xf32> -> tensor<?x16xf32>
    %y = sluice.attend %x, %k, %k, %c, %batch heads 3 scale 0.25 alibi 2.0 : tensor<?x48xf32>, tensor<?x16xf32>, !cache
    sluice.yield %y : tensor<?x48xf32>
  }
  sluice.return %h3 : tensor<?x48xf32>
}

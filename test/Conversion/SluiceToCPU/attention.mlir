// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu | FileCheck %s

// Attention is a task of the runtime; the conversion leaves it as it is. Caches
// are numbered in the order of the layers.

!cache = !sluice.cache<kv_heads = 1, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<48x48xf32>
sluice.weight @w in @f at 0 stored f32 : tensor<16x48xf32>

// CHECK:       caches = [!sluice.cache<kv_heads = 1, head_dim = 16>, !sluice.cache<kv_heads = 1, head_dim = 16>, !sluice.cache<kv_heads = 1, head_dim = 16>]

// CHECK-LABEL: sluice.step @main_step(
// CHECK-DAG:     %[[C0:.*]] = sluice.cache 0
// CHECK-DAG:     %[[C1:.*]] = sluice.cache 1
// CHECK-DAG:     %[[C2:.*]] = sluice.cache 2
// CHECK:         sluice.task.attend %{{.*}} over %[[C0]] step {{.*}} heads 3 scale 2.500000e-01 window 8 softcap 3.000000e+01
// CHECK:         sluice.task.attend %{{.*}} over %[[C1]] step {{.*}} heads 3 scale 2.500000e-01 window 8 softcap 3.000000e+01
// CHECK:         sluice.task.attend %{{.*}} over %[[C2]] step {{.*}} heads 3 scale 2.500000e-01 alibi 2.000000e+00
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

// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx512>' --convert-sluice-to-cpu --cse | FileCheck %s

// Rotations that turn alike read one table, which is computed before the first
// of them; another base is another table. Features past `rotary_dim` are copied.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<80x80xf32>

// CHECK: rope_tables = [#sluice.rope_table<inverse = [1.000000e+00, {{.*}}], factor = 1.000000e+00>, #sluice.rope_table<inverse = [1.000000e+00, {{.*}}], factor = 1.000000e+00>]

// CHECK-LABEL: func.func @rows_embed_rotations_rotate_rotate_rotations_rotate(
// CHECK:         func.call @sluice_rope_table
// Two heads of 16 pairs, the halves of a head's first 32 features.
// CHECK:         scf.for %{{.*}} = %{{.*}} to %c2
// CHECK:           arith.mulf
// CHECK:           arith.mulf
// CHECK:           arith.subf
// CHECK:           arith.mulf
// CHECK:           arith.mulf
// CHECK:           arith.addf
// CHECK-NOT:       vector.shuffle
// The other eight.
// CHECK:           vector.maskedstore
// Pairs of neighbours.
// CHECK:         scf.for %{{.*}} = %{{.*}} to %c2
// CHECK:           vector.load {{.*}} vector<32xf32>
// CHECK:           vector.shuffle {{.*}} [0, 2, 4,
// CHECK:           vector.shuffle {{.*}} [1, 3, 5,
// CHECK:           arith.subf
// CHECK:           arith.addf
// CHECK:           vector.shuffle {{.*}} [0, 16, 1, 17,
// CHECK:           vector.store {{.*}} vector<32xf32>
// CHECK:         func.call @sluice_rope_table
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "test", model_name = "test", vocab_size = 80,
    context_length = 64} {
  %embd = sluice.param @embd : tensor<80x80xf32>
  %x = sluice.embed %batch, %embd by token : tensor<80x80xf32> -> tensor<?x80xf32>
  %a = sluice.rope %x, %batch half heads 2 head_dim 40 rotary_dim 32 base 10000.0 : tensor<?x80xf32>
  %b = sluice.rope %a, %batch interleaved heads 2 head_dim 40 rotary_dim 32 base 10000.0 : tensor<?x80xf32>
  %c = sluice.rope %b, %batch half heads 2 head_dim 40 rotary_dim 32 base 500000.0 : tensor<?x80xf32>
  sluice.return %c : tensor<?x80xf32>
}

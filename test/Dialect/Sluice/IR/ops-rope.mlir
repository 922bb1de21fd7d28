// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// Rotary embeddings: both styles, partial rotation, factors and every scaling.
// Numbers are printed with the digits that read back as the same double.

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<?x256xf32>, %batch: !sluice.batch,
                %f: tensor<16xf32>) {
  // CHECK: sluice.rope %{{.*}}, %{{.*}} half heads 8 head_dim 32 rotary_dim 32 base 1.000000e+04 scaling(#sluice.linear_scaling<factor = 2.000000e+00>) : tensor<?x256xf32>
  %r = sluice.rope %x, %batch half heads 8 head_dim 32 rotary_dim 32
    base 10000.0 scaling(#sluice.linear_scaling<factor = 2.0>)
    : tensor<?x256xf32>
  // CHECK: sluice.rope %{{.*}}, %{{.*}} factors %{{.*}} interleaved heads 8 head_dim 32 rotary_dim 32 base 5.000000e+05 : tensor<?x256xf32>, tensor<16xf32>
  %s = sluice.rope %x, %batch factors %f interleaved heads 8 head_dim 32
    rotary_dim 32 base 500000.0 : tensor<?x256xf32>, tensor<16xf32>
  // CHECK: sluice.rope %{{.*}}, %{{.*}} half heads 4 head_dim 64 rotary_dim 16 base 1.000000e+04 : tensor<?x256xf32>
  %t = sluice.rope %x, %batch half heads 4 head_dim 64 rotary_dim 16
    base 10000.0 : tensor<?x256xf32>
  return
}

// CHECK-LABEL: @scalings
func.func @scalings() attributes {
  // CHECK-SAME: llama3 = #sluice.llama3_scaling<factor = 8.000000e+00, low_freq_factor = 1.000000e+00, high_freq_factor = 4.000000e+00, original_context = 8192>
  llama3 =
    #sluice.llama3_scaling<factor = 8.0, low_freq_factor = 1.0,
                           high_freq_factor = 4.0, original_context = 8192>,
  // CHECK-SAME: yarn = #sluice.yarn_scaling<factor = 4.000000e+00, original_context = 4096, beta_fast = 3.200000e+01, beta_slow = 1.000000e+00, attention_factor = 1.1386294361119891, truncate = true>
  yarn =
    #sluice.yarn_scaling<factor = 4.0, original_context = 4096,
                         beta_fast = 32.0, beta_slow = 1.0,
                         attention_factor = 1.138629436111989, truncate = true>
} {
  return
}

// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Rotary embeddings that do not fit their rows, and scalings out of range.

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c1
  // expected-error @+1 {{heads and head_dim must be positive, got 0 and 16}}
  %r = sluice.rope %x, %batch half heads 0 head_dim 16 rotary_dim 16
    base 10000.0 : tensor<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c1
  // expected-error @+1 {{the input is 64 wide, expected 48}}
  %r = sluice.rope %x, %batch half heads 3 head_dim 16 rotary_dim 16
    base 10000.0 : tensor<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c1: a product that overflows
  // expected-error @+1 {{the input is 64 wide, expected 9223372036854775807}}
  %r = sluice.rope %x, %batch half heads 4611686018427387904 head_dim 64
    rotary_dim 16 base 10000.0 : tensor<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c2: odd
  // expected-error @+1 {{rotary_dim must be even, positive and at most head_dim 16, got 15}}
  %r = sluice.rope %x, %batch half heads 4 head_dim 16 rotary_dim 15
    base 10000.0 : tensor<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c2: more than the head has
  // expected-error @+1 {{rotary_dim must be even, positive and at most head_dim 16, got 18}}
  %r = sluice.rope %x, %batch half heads 4 head_dim 16 rotary_dim 18
    base 10000.0 : tensor<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c3
  // expected-error @+1 {{base must be finite and positive}}
  %r = sluice.rope %x, %batch half heads 4 head_dim 16 rotary_dim 16
    base 0.0 : tensor<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch, %f: tensor<16xf32>) {
  // rope_c4
  // expected-error @+1 {{factors has 16 elements, expected 8}}
  %r = sluice.rope %x, %batch factors %f half heads 4 head_dim 16 rotary_dim 16
    base 10000.0 : tensor<?x64xf32>, tensor<16xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch, %f: tensor<8xf32>) {
  // rope_c5
  // expected-error @+1 {{factors and scaling exclude each other}}
  %r = sluice.rope %x, %batch factors %f half heads 4 head_dim 16 rotary_dim 16
    base 10000.0 scaling(#sluice.linear_scaling<factor = 2.0>)
    : tensor<?x64xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>, %batch: !sluice.batch) {
  // rope_c6
  // expected-error @+1 {{all of {input, result} have same type}}
  %r = "sluice.rope"(%x, %batch) <{style = 0 : i32, heads = 4, head_dim = 16,
    rotary_dim = 16, base = 1.0e4 : f64}>
    : (tensor<?x64xf32>, !sluice.batch) -> tensor<?x65xf32>
  return
}

// -----

// linear_scaling_c1
// expected-error @+1 {{factor must be finite and positive}}
func.func private @f() attributes {s = #sluice.linear_scaling<factor = 0.0>}

// -----

// llama3_scaling_c1
// expected-error @+1 {{factors must be finite and positive}}
func.func private @f() attributes {s = #sluice.llama3_scaling<factor = -8.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_context = 8192>}

// -----

// llama3_scaling_c2
// expected-error @+1 {{low_freq_factor must be below high_freq_factor}}
func.func private @f() attributes {s = #sluice.llama3_scaling<factor = 8.0, low_freq_factor = 4.0, high_freq_factor = 4.0, original_context = 8192>}

// -----

// llama3_scaling_c3
// expected-error @+1 {{original_context must be positive, got 0}}
func.func private @f() attributes {s = #sluice.llama3_scaling<factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_context = 0>}

// -----

// yarn_scaling_c1
// expected-error @+1 {{factors must be finite and positive}}
func.func private @f() attributes {s = #sluice.yarn_scaling<factor = 4.0, original_context = 4096, beta_fast = 32.0, beta_slow = 0.0, attention_factor = 1.0, truncate = true>}

// -----

// yarn_scaling_c2
// expected-error @+1 {{original_context must be positive, got -1}}
func.func private @f() attributes {s = #sluice.yarn_scaling<factor = 4.0, original_context = -1, beta_fast = 32.0, beta_slow = 1.0, attention_factor = 1.0, truncate = false>}

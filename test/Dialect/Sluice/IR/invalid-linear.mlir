// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Matrix products and look-ups whose tables, rows and biases do not fit.

func.func @f(%x: tensor<?x8xf32>, %w: tensor<4x9xf32>) {
  // linear_c1
  // expected-error @+1 {{the input is 8 wide, expected 9}}
  %y = sluice.linear %x, %w
    : tensor<?x8xf32>, tensor<4x9xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // linear_c1: the weight is [in, out]
  // expected-error @+1 {{the input is 8 wide, expected 4}}
  %y = sluice.linear %x, %w transposed
    : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // linear_c2
  // expected-error @+1 {{the result is 5 wide, expected 4}}
  %y = sluice.linear %x, %w
    : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // linear_c3
  // expected-error @+1 {{bias has 8 elements, expected 4}}
  %y = sluice.linear %x, %w bias %b
    : tensor<?x8xf32>, tensor<4x8xf32>, tensor<8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x32xf32>, %w: tensor<32x64x!sluice.block<q8_0>>) {
  // linear_c4
  // expected-error @+1 {{a block-quantised weight cannot be transposed}}
  %y = sluice.linear %x, %w transposed
    : tensor<?x32xf32>, tensor<32x64x!sluice.block<q8_0>> -> tensor<?x64xf32>
  return
}

// -----

func.func @f(%batch: !sluice.batch, %t: tensor<16x8xf32>) {
  // embed_c1
  // expected-error @+1 {{the result is 9 wide, expected 8}}
  %h = sluice.embed %batch, %t by token : tensor<16x8xf32> -> tensor<?x9xf32>
  return
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "gpt2",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = "test.weight"() : () -> tensor<7x8xf32>
  // embed_c2: by token
  // expected-error @+1 {{the table has 7 rows, the vocabulary 8}}
  %h = sluice.embed %batch, %t by token : tensor<7x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

sluice.model @main(%batch: !sluice.batch) attributes {architecture = "gpt2",
    model_name = "m", vocab_size = 8, context_length = 4} {
  %t = "test.weight"() : () -> tensor<3x8xf32>
  // embed_c2: by position
  // expected-error @+1 {{the table has 3 rows, fewer than the context's 4}}
  %h = sluice.embed %batch, %t by position : tensor<3x8xf32> -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c5
  // expected-error @+1 {{columns 16 to 16 are empty or not inside of 40}}
  %y = sluice.linear %x, %w columns 16 to 16
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c5
  // expected-error @+1 {{columns -16 to 16 are empty or not inside of 40}}
  %y = sluice.linear %x, %w columns -16 to 16
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x32xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c5
  // expected-error @+1 {{columns 0 to 48 are empty or not inside of 40}}
  %y = sluice.linear %x, %w columns 0 to 48
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x48xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c5: where they start
  // expected-error @+1 {{columns 8 to 16 are not cut at multiples of 16}}
  %y = sluice.linear %x, %w columns 8 to 16
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c5: where they end
  // expected-error @+1 {{columns 0 to 24 are not cut at multiples of 16}}
  %y = sluice.linear %x, %w columns 0 to 24
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x24xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c5
  // expected-error @+1 {{has one end of its columns, not both}}
  %y = sluice.linear %x, %w {columns_begin = 0 : i64}
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x40xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<40x8xf32>) {
  // linear_c2: of columns
  // expected-error @+1 {{the result is 40 wide, expected 16}}
  %y = sluice.linear %x, %w columns 0 to 16
    : tensor<?x8xf32>, tensor<40x8xf32> -> tensor<?x40xf32>
  return
}

// -----

func.func @f() {
  // concat_c1
  // expected-error @+1 {{needs an input}}
  %y = "sluice.concat"() : () -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // concat_c2
  // expected-error @+1 {{the result is 17 wide, expected 16}}
  %y = sluice.concat %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x17xf32>
  return
}

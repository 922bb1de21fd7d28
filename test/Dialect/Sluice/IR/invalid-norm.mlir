// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Norms whose heads or weights do not fit their rows, or whose epsilon makes no
// sense.

func.func @f(%x: tensor<?x8xf32>, %w: tensor<7xf32>) {
  // rms_norm_c2
  // expected-error @+1 {{weight has 7 elements, expected 8}}
  %y = sluice.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x8xf32>, tensor<7xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // rms_norm_c3
  // expected-error @+1 {{epsilon must be finite and not negative}}
  %y = sluice.rms_norm %x, %w epsilon -1.0e-05 : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // rms_norm_c3: infinity
  // expected-error @+1 {{epsilon must be finite and not negative}}
  %y = sluice.rms_norm %x, %w epsilon 0x7FF0000000000000
    : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // rms_norm_c4
  // expected-error @+1 {{all of {input, result} have same type}}
  %y = "sluice.rms_norm"(%x, %w) <{epsilon = 1.0e-05 : f64}>
    : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<9xf32>) {
  // layer_norm_c2
  // expected-error @+1 {{weight has 9 elements, expected 8}}
  %y = sluice.layer_norm %x, %w epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>, %b: tensor<9xf32>) {
  // layer_norm_c3
  // expected-error @+1 {{bias has 9 elements, expected 8}}
  %y = sluice.layer_norm %x, %w bias %b epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<8xf32>, tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // layer_norm_c4: not a number
  // expected-error @+1 {{epsilon must be finite and not negative}}
  %y = sluice.layer_norm %x, %w epsilon 0x7FF8000000000000
    : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // layer_norm_c5
  // expected-error @+1 {{all of {input, result} have same type}}
  %y = "sluice.layer_norm"(%x, %w) <{epsilon = 1.0e-05 : f64}>
    : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<2xf32>) {
  // rms_norm_c1
  // expected-error @+1 {{a row of 8 features does not divide into 3 heads}}
  %y = sluice.rms_norm %x, %w heads 3 epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // rms_norm_c2: as long as a row, and not as a head
  // expected-error @+1 {{weight has 8 elements, expected 4}}
  %y = sluice.rms_norm %x, %w heads 2 epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // rms_norm_c1: none
  // expected-error @+1 {{attribute 'heads' failed to satisfy constraint}}
  %y = sluice.rms_norm %x, %w heads 0 epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<1xf32>) {
  // layer_norm_c1
  // expected-error @+1 {{a row of 8 features does not divide into 5 heads}}
  %y = sluice.layer_norm %x, %w heads 5 epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %w: tensor<4xf32>, %b: tensor<8xf32>) {
  // layer_norm_c3: as long as a row, and not as a head
  // expected-error @+1 {{bias has 8 elements, expected 4}}
  %y = sluice.layer_norm %x, %w bias %b heads 2 epsilon 1.0e-05
    : tensor<?x8xf32>, tensor<4xf32>, tensor<8xf32>
  return
}

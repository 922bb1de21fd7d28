// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Ops whose operands and results must agree. Their own syntax has one type for
// all of them, so only the generic one can get it wrong.

func.func @f(%x: tensor<?x8xf32>) {
  // activation_c1
  // expected-error @+1 {{all of {input, result} have same type}}
  %y = "sluice.activation"(%x) <{kind = 0 : i32}>
    : (tensor<?x8xf32>) -> tensor<?x9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %y: tensor<?x9xf32>) {
  // gate_c1
  // expected-error @+1 {{all of {gate, input, result} have same type}}
  %z = "sluice.gate"(%x, %y) <{kind = 0 : i32}>
    : (tensor<?x8xf32>, tensor<?x9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %y: tensor<?x9xf32>) {
  // add_c1
  // expected-error @+1 {{all of {lhs, rhs, result} have same type}}
  %z = "sluice.add"(%x, %y)
    : (tensor<?x8xf32>, tensor<?x9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %batch: !sluice.batch) {
  // select_outputs_c1
  // expected-error @+1 {{all of {input, result} have same type}}
  %z = "sluice.select_outputs"(%x, %batch)
    : (tensor<?x8xf32>, !sluice.batch) -> tensor<?x9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{enum values for attribute 'kind' [silu, gelu, gelu_tanh, relu]}}
  %y = sluice.activation swish %x : tensor<?x8xf32>
  return
}

// RUN: sluice-opt %s --sluice-approximate-math | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK-LABEL: func.func @silu
// CHECK-NOT: math.exp
func.func @silu(%x: vector<16xf32>) -> vector<16xf32> {
  %one = arith.constant dense<1.0> : vector<16xf32>
  %negated = arith.negf %x : vector<16xf32>
  %e = math.exp %negated : vector<16xf32>
  %d = arith.addf %one, %e : vector<16xf32>
  %y = arith.divf %x, %d : vector<16xf32>
  return %y : vector<16xf32>
}

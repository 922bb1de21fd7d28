// RUN: sluice-opt %s --sluice-approximate-math | FileCheck %s

// exp, tanh and erf become polynomials; what has an instruction stays.

// CHECK-LABEL: func.func @approximate
// CHECK-NOT:     math.{{exp|tanh|erf}}
// CHECK:         math.fma
// CHECK-NOT:     math.{{exp|tanh|erf}}
// CHECK:         math.sqrt
func.func @approximate(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.tanh %0 : vector<16xf32>
  %2 = math.erf %1 : vector<16xf32>
  %3 = math.sqrt %2 : vector<16xf32>
  return %3 : vector<16xf32>
}

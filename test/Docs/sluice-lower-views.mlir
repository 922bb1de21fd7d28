// RUN: sluice-opt %s --sluice-lower-views | FileCheck %s

// The example of the pass in docs/reference/passes.md.

// CHECK-LABEL: func.func @first
// CHECK-NOT: sluice.view
func.func @first(%pointer: !llvm.ptr, %rows: index) -> f32 {
  %zero = arith.constant 0 : index
  %x = sluice.view %pointer[%rows] : !llvm.ptr to memref<?x32xf32>
  %y = memref.load %x[%zero, %zero] : memref<?x32xf32>
  return %y : f32
}

// RUN: sluice-opt %s --sluice-lower-views | FileCheck %s

// A view becomes the descriptor of a dense memref at the pointer: allocated and
// aligned pointers, offset, sizes, strides.

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    %[[POINTER:[a-z0-9]+]]: !llvm.ptr, %[[ROWS:[a-z0-9]+]]: index
// CHECK:         llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
// CHECK:         llvm.insertvalue %[[POINTER]], %{{.*}}[0]
// CHECK:         llvm.insertvalue %[[POINTER]], %{{.*}}[1]
// CHECK:         llvm.insertvalue %{{.*}}[2]
// CHECK:         %[[EXTENT:.*]] = builtin.unrealized_conversion_cast %[[ROWS]] : index to i64
// CHECK:         %[[WIDTH:.*]] = llvm.mlir.constant(256 : index)
// CHECK:         %[[ONE:.*]] = llvm.mlir.constant(1 : index)
// CHECK:         llvm.insertvalue %[[WIDTH]], %{{.*}}[3, 1]
// CHECK:         llvm.insertvalue %[[ONE]], %{{.*}}[4, 1]
// CHECK:         %[[STRIDE:.*]] = llvm.mul %[[ONE]], %[[WIDTH]]
// CHECK:         llvm.insertvalue %[[EXTENT]], %{{.*}}[3, 0]
// CHECK:         %[[DESCRIPTOR:.*]] = llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 0]
// CHECK:         %[[VIEW:.*]] = builtin.unrealized_conversion_cast %[[DESCRIPTOR]] : {{.*}} to memref<?x256xf32>
// CHECK:         memref.load %[[VIEW]]
func.func @rows(%pointer: !llvm.ptr, %rows: index, %row: index) -> f32 {
  %view = sluice.view %pointer[%rows] : !llvm.ptr to memref<?x256xf32>
  %x = memref.load %view[%row, %row] : memref<?x256xf32>
  return %x : f32
}

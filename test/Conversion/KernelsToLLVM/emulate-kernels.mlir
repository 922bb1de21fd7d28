// RUN: sluice-opt %s --sluice-emulate-kernels | FileCheck %s

// A kernel without chips becomes a function of the host. It takes its parameters
// from the launch's words and asks the emulator for all that a thread of a GPU
// knows; shuffled integers go as the bits of floats, and numbers become bf16 by
// integers, since the host need not have an instruction. A kernel for chips stays.

// CHECK:       gpu.module @for_chips
gpu.module @for_chips [#nvvm.target<chip = "sm_80">] {
  gpu.func @k() kernel {
    gpu.return
  }
}

// CHECK-NOT:   gpu.module @kernels
gpu.module @kernels {
  gpu.func @k(%x: !llvm.ptr, %n: i64) workgroup(%shared: memref<4xi32, #gpu.address_space<workgroup>>) kernel {
    sluice.start_dependents
    %thread = gpu.thread_id x
    %block = gpu.block_id x
    sluice.wait_for_prior
    %view = sluice.view %x[%block] : !llvm.ptr to memref<?xi32>
    %v = memref.load %view[%thread] : memref<?xi32>
    %distance = arith.constant 4 : i32
    %width = arith.constant 32 : i32
    %w, %valid = gpu.shuffle xor %v, %distance, %width : i32
    memref.store %w, %shared[%thread] : memref<4xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    %float = arith.bitcast %w : i32 to f32
    %short = arith.truncf %float : f32 to bf16
    %shorts = sluice.view %x : !llvm.ptr to memref<4xbf16>
    memref.store %short, %shorts[%thread] : memref<4xbf16>
    gpu.return
  }
}
// CHECK:       func.func private @emulated.k(
// CHECK-SAME:    %[[WORDS:.*]]: !llvm.ptr)
// CHECK:         %[[WORD0:.*]] = llvm.getelementptr %[[WORDS]][0]
// CHECK-NEXT:    %[[X:.*]] = llvm.load %[[WORD0]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:    %[[WORD1:.*]] = llvm.getelementptr %[[WORDS]][1]
// CHECK-NEXT:    llvm.load %[[WORD1]] : !llvm.ptr -> i64
// CHECK:         %[[MEMORY:.*]] = call @sluice_emulated_shared(%c0_i64)
// CHECK-NEXT:    %[[SHARED:.*]] = sluice.view %[[MEMORY]] : !llvm.ptr to memref<4xi32>
// CHECK-NEXT:    call @sluice_emulated_thread() : () -> i32
// CHECK:         call @sluice_emulated_block() : () -> i32
// CHECK:         call @sluice_emulated_wait()
// CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT:    %[[OTHER:.*]] = call @sluice_emulated_shuffle_xor(%[[BITS]], %c4_i32) : (f32, i32) -> f32
// CHECK-NEXT:    %[[BACK:.*]] = arith.bitcast %[[OTHER]] : f32 to i32
// CHECK-NEXT:    memref.store %[[BACK]], %[[SHARED]]
// CHECK-NEXT:    call @sluice_emulated_barrier()
// CHECK-NOT:     arith.truncf
// CHECK:         %[[SHORT:.*]] = arith.trunci %{{.*}} : i32 to i16
// CHECK:         arith.bitcast %{{.*}} : i16 to bf16
// CHECK-NOT:     arith.truncf
// CHECK:         return

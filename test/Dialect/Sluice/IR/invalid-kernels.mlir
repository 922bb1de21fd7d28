// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Kernels that touch memory before it is there, and launches that are not of the
// kernel that they name.

gpu.module @kernels {
  gpu.func @f(%x: !llvm.ptr) {
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c1: a function is no kernel
  %x = sluice.graph_address row_count
  // expected-error @+1 {{launches @kernels::@f, which is not a kernel}}
  sluice.launch_kernel @kernels::@f rows threads 32 (%x)
}

// -----

gpu.module @kernels {
  gpu.func @k(%x: !llvm.ptr) kernel {
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c1: its parameters are others
  %x = sluice.graph_address row_count
  // expected-error @+1 {{launches @kernels::@k with operands that are not its parameters}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%x, %x)
}

// -----

gpu.module @kernels {
  gpu.func @k(%x: !llvm.ptr) kernel {
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c2: a power of two
  %x = sluice.graph_address row_count
  // expected-error @+1 {{has 96 threads, not a power of two from 32 to 1024}}
  sluice.launch_kernel @kernels::@k rows threads 96 (%x)
}

// -----

gpu.module @kernels {
  gpu.func @k(%x: !llvm.ptr) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c2: the kernel was made for others
  %x = sluice.graph_address row_count
  // expected-error @+1 {{launches @kernels::@k with 32 threads, not its 256}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%x)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr)
      kernel attributes {sluice.row_blocks = 4 : i64} {
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c2: some blocks compute a row
  %rows = sluice.graph_address row_count
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{launches @kernels::@k with 1 blocks a row, not its 4}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %x)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr {llvm.noalias})
      kernel attributes {sluice.row_blocks = 4 : i64} {
    %c1 = arith.constant 1 : index
    %from = sluice.view %x[%c1] : !llvm.ptr to memref<?x64xf32>
    %to = sluice.view %y[%c1] : !llvm.ptr to memref<?x64xf16>
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c3: the result lies in what is read
  %rows = sluice.graph_address row_count
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 48
  // expected-error @+1 {{gives overlapping values as the operands 2 and 1 of @kernels::@k}}
  sluice.launch_kernel @kernels::@k rows threads 32 blocks 4 (%rows, %x, %y)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr {llvm.noalias})
      kernel attributes {sluice.row_blocks = 4 : i64} {
    sluice.wait_for_prior
    %c1 = arith.constant 1 : index
    %from = sluice.view %x[%c1] : !llvm.ptr to memref<?x64xf32>
    %to = sluice.view %y[%c1] : !llvm.ptr to memref<?x64xf16>
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c3: the result, of half numbers, ends in what is read
  %rows = sluice.graph_address row_count
  %x = sluice.graph_value rows 64
  %y = sluice.graph_value rows 48
  %z = sluice.graph_value rows 32
  sluice.launch_kernel @kernels::@k rows threads 32 blocks 4 (%rows, %x, %z)
  // expected-error @+1 {{gives overlapping values as the operands 2 and 1 of @kernels::@k}}
  sluice.launch_kernel @kernels::@k rows threads 32 blocks 4 (%rows, %x, %y)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: a row is read
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    %u = memref.load %from[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: a result is written
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    memref.store %v, %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: what is read is written later
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    memref.store %v, %weight[%c0] : memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: threads meet
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    gpu.barrier
    // expected-error @+1 {{stands behind 'gpu.barrier', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: it is written later, as a part
    %c0 = arith.constant 0 : index
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    %part = memref.subview %weight[0] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1]>>
    memref.store %v, %part[%c0] : memref<8xf32, strided<[1]>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: it is written later, under another type
    %c0 = arith.constant 0 : index
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    %any = memref.cast %weight : memref<64xf32> to memref<?xf32>
    memref.store %v, %any[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: it is written later, by its address
    %c0 = arith.constant 0 : index
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    %address = llvm.getelementptr %w[8] : (!llvm.ptr) -> !llvm.ptr, f32
    llvm.store %v, %address : f32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: what is written later may be it
    %c0 = arith.constant 0 : index
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %isFirst = arith.cmpf ogt, %v, %v : f32
    %either = arith.select %isFirst, %weight, %from : memref<64xf32>
    memref.store %v, %either[%c0] : memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  func.func private @unknown(memref<64xf32>)
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %w: !llvm.ptr {llvm.noalias})
      kernel {
    // wait_for_prior_c1: nobody knows what is done with it later
    %c0 = arith.constant 0 : index
    %weight = sluice.view %w : !llvm.ptr to memref<64xf32>
    %v = memref.load %weight[%c0] : memref<64xf32>
    // expected-error @+1 {{stands behind 'memref.load', which may touch what the kernel before has not written yet}}
    sluice.wait_for_prior
    func.call @unknown(%weight) : (memref<64xf32>) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr) kernel {
    // wait_for_prior_c2: some threads may not wait
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %isFirst = arith.cmpi eq, %thread, %c0 : index
    scf.if %isFirst {
      // expected-error @+1 {{does not stand in the first block of a kernel's body, which all threads execute}}
      sluice.wait_for_prior
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %flag: i1) kernel {
    // wait_for_prior_c2: nor here
    cf.cond_br %flag, ^wait, ^end
  ^wait:
    // expected-error @+1 {{does not stand in the first block of a kernel's body, which all threads execute}}
    sluice.wait_for_prior
    cf.br ^end
  ^end:
    gpu.return
  }
}

// -----

// wait_for_prior_c2: there is nothing before a function of the host
func.func @f() {
  // expected-error @+1 {{does not stand in the first block of a kernel's body}}
  sluice.wait_for_prior
  return
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr {llvm.noalias},
              %y: !llvm.ptr {llvm.noalias}) kernel {
    sluice.wait_for_prior
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %to = sluice.view %y : !llvm.ptr to memref<64xf32>
    %v = memref.load %from[%c0] : memref<64xf32>
    memref.store %v, %to[%c0] : memref<64xf32>
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c4: a weight may be read so, rows may not
  %rows = sluice.graph_address row_count
  %w = sluice.graph_address vector 0
  %table = sluice.graph_address rope_table 0
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 64
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %w, %y)
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %table, %y)
  // expected-error @+1 {{gives memory that changes as the operand 1 of @kernels::@k, which reads it as a weight or table}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %x, %y)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr {llvm.noalias}) kernel {
    sluice.wait_for_prior
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xi32>
    %v = memref.load %from[%c0] : memref<64xi32>
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c4: checkpoints move positions
  %rows = sluice.graph_address row_count
  %x = sluice.graph_address positions
  // expected-error @+1 {{gives memory that changes as the operand 1 of @kernels::@k}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %x)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr,
              %z: !llvm.ptr) kernel {
    sluice.wait_for_prior
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %first = sluice.view %y : !llvm.ptr to memref<64xf32>
    %second = sluice.view %z : !llvm.ptr to memref<64xf32>
    %v = memref.load %from[%c0] : memref<64xf32>
    %isFirst = arith.cmpf ogt, %v, %v : f32
    %to = arith.select %isFirst, %first, %second : memref<64xf32>
    memref.store %v, %to[%c0] : memref<64xf32>
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c4: LLVM sees that the store is to another parameter
  %rows = sluice.graph_address row_count
  %x = sluice.graph_value rows 0
  %y = sluice.graph_value rows 64
  // expected-error @+1 {{gives memory that changes as the operand 1 of @kernels::@k}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %x, %y, %y)
}

// -----

gpu.module @kernels {
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr) kernel {
    gpu.return
  }
}
sluice.graph @g {
  // launch_kernel_c5: what comes behind it would not wait for what is before
  %rows = sluice.graph_address row_count
  %x = sluice.graph_value rows 0
  // expected-error @+1 {{launches @kernels::@k, which does not wait for the kernel before}}
  sluice.launch_kernel @kernels::@k rows threads 32 (%rows, %x)
}

// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Kernels that touch memory before it is there, and tasks whose kernels are others
// than they say.

gpu.module @kernels {
  // task.rows_c6: a function is no kernel
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k, which is not a kernel}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: it does not take the buffer that is written
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr) kernel {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k, which does not take its 3 addresses}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: a number is no address
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: i64) kernel {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k, which does not take its 3 addresses}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: a power of two
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) kernel {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{has a kernel of 96 threads, not a power of two from 32 to 1024}}
  sluice.task.rows rows kernel @kernels::@k threads 96 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: the kernel was made for others
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k with 32 threads, not its 256}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: some blocks compute a row
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {sluice.row_blocks = 4 : i64} {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k with 1 blocks a row, not its 4}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: a weight may be read so, rows may not
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
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{gives memory that changes as the parameter 1 of @kernels::@k, which reads it as a weight or table}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: LLVM sees that the store is to another parameter
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr {llvm.noalias},
              %y: !llvm.ptr) kernel {
    sluice.wait_for_prior
    %c0 = arith.constant 0 : index
    %from = sluice.view %x : !llvm.ptr to memref<64xf32>
    %first = sluice.view %y : !llvm.ptr to memref<64xf32>
    %second = sluice.view %rows : !llvm.ptr to memref<64xf32>
    %v = memref.load %from[%c0] : memref<64xf32>
    %isFirst = arith.cmpf ogt, %v, %v : f32
    %to = arith.select %isFirst, %first, %second : memref<64xf32>
    memref.store %v, %to[%c0] : memref<64xf32>
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{gives memory that changes as the parameter 1 of @kernels::@k}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: what comes behind it would not wait for what is before
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) kernel {
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k, which does not wait for the kernel before}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

gpu.module @kernels {
  // task.sample_c2: nothing is there to merge
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) kernel {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 64,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<outputs, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows outputs reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<outputs, 64>) {
    %s = sluice.select_outputs %a, %batch : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  // expected-error @+1 {{has 2 kernels, which is not what it takes}}
  sluice.task.sample %y kernels [#sluice.kernel<@kernels::@k, threads = 32, blocks = 1>, #sluice.kernel<@kernels::@k, threads = 32, blocks = 1>] : !sluice.buffer<outputs, 64>
  sluice.results %y : !sluice.buffer<outputs, 64>
}

// -----

gpu.module @kernels {
  // task.sample_c2: it takes no tokens
  gpu.func @k(%outputs: !llvm.ptr, %logits: !llvm.ptr) kernel {
    sluice.wait_for_prior
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 64,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<outputs, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows outputs reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<outputs, 64>) {
    %s = sluice.select_outputs %a, %batch : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  // expected-error @+1 {{launches @kernels::@k, which does not take its 3 addresses}}
  sluice.task.sample %y kernels [#sluice.kernel<@kernels::@k, threads = 32, blocks = 1>] : !sluice.buffer<outputs, 64>
  sluice.results %y : !sluice.buffer<outputs, 64>
}

// -----

gpu.module @kernels {
  // task.rows_c6: it would write over what lies behind
  gpu.func @k(%rows: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) kernel {
    sluice.wait_for_prior
    %c1 = arith.constant 1 : index
    %to = sluice.view %y[%c1] : !llvm.ptr to memref<?x128xf32>
    gpu.return
  }
}
sluice.step @step(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // expected-error @+1 {{gives records of 64 floats as the parameter 2 of @kernels::@k, which takes 128}}
  sluice.task.rows rows kernel @kernels::@k threads 32 blocks 1
      reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

// kernel_c1: a function of a CPU is not launched
// expected-error @+1 {{@f is a function of a CPU, which has no threads and blocks}}
func.func private @f() attributes {k = #sluice.kernel<@f, threads = 32, blocks = 1>}

// -----

// kernel_c2
// expected-error @+1 {{the kernel @kernels::@f has 0 threads and 0 blocks}}
func.func private @f() attributes {k = #sluice.kernel<@kernels::@f>}

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

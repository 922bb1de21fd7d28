// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Row loops over heads that rows do not have, and ops that need whole rows.

sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // task.rows_c7: what is read does not divide
  // expected-error @+1 {{rows of 64 features do not divide into 3 heads}}
  sluice.task.rows rows heads 3 reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    sluice.task.yield %a : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 66>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // task.rows_c7: what is written does not divide
  // expected-error @+1 {{rows of 66 features do not divide into 4 heads}}
  sluice.task.rows rows heads 4 reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 66>) {
    %s = sluice.add %a, %a : tensor<?x16xf32>
    sluice.task.yield %s : tensor<?x16xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 66>
}

// -----

sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  // task.rows_c7: whole rows have no heads
  // expected-error @+1 {{has 1 heads}}
  sluice.task.rows rows heads 1 reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    %s = sluice.add %a, %a : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.task.rows rows heads 2 reads(%a = %x : !sluice.buffer<rows, 64>)
      writes(%y : !sluice.buffer<rows, 64>) {
    // task.rows_c7: which heads a row of the group has is not known here
    // expected-error @+1 {{is in a row loop over heads, and needs whole rows}}
    %s = sluice.concat %a : tensor<?x32xf32> -> tensor<?x32xf32>
    sluice.task.yield %s : tensor<?x32xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

// -----

sluice.step @step(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "m", vocab_size = 32,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  %y = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  %w = sluice.param @w : tensor<16xf32>
  sluice.task.rows rows reads(%a = %x : !sluice.buffer<rows, 64>)
      weights(%v = %w : tensor<16xf32>)
      writes(%y : !sluice.buffer<rows, 64>) {
    // task.rows_c7
    // expected-error @+1 {{has heads, which its row loop has to have}}
    %s = sluice.rms_norm %a, %v heads 4 epsilon 1.0e-5
      : tensor<?x64xf32>, tensor<16xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %y : !sluice.buffer<rows, 64>
}

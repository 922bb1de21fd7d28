// RUN: sluice-opt %s --split-input-file --verify-diagnostics --sluice-verify-phase=phase=plan

// expected-error @+1 {{phase plan has a 'sluice.step', found none}}
module {
}

// -----

// expected-error @+1 {{has no arena: the passes that plan it have not all been run}}
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0} {
  %x = sluice.buffer : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}

// -----

sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "t", model_name = "t", vocab_size = 100, context_length = 8,
    eos_tokens = array<i64>, hidden_size = 64, layers = 0, row_floats = 64,
    output_floats = 0} {
  %x = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  sluice.task.rows rows writes(%x : !sluice.buffer<rows, 64>) {
    %r = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %r : tensor<?x64xf32>
  }
  sluice.results %x : !sluice.buffer<rows, 64>
}
// expected-error @+1 {{'func.func' op is not legal in phase plan}}
func.func private @f()

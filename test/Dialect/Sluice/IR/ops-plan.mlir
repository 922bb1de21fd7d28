// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --emit-bytecode | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --verify-roundtrip -o /dev/null

// The ops of the phase `plan`: a step for a CPU with its arena assigned, and one
// for a GPU without.

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x64xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<64xf32>
sluice.weight @head_norm in @f at 0 stored f32 : tensor<16xf32>
sluice.weight @bias in @f at 0 stored f32 : tensor<256xf32>
sluice.weight @q in @f at 0 stored q8_0 : tensor<64x64x!sluice.block<q8_0>>
sluice.weight @up in @f at 0 stored f16 : tensor<96x64xf16>
sluice.weight @gate in @f at 0 stored f16 : tensor<96x64xf16>

// CHECK-LABEL: sluice.step @main(%{{.*}}: !sluice.batch) target #sluice.cpu<avx2> attributes {
// CHECK-SAME:    layers = 1
sluice.step @main(%batch: !sluice.batch) target #sluice.cpu<avx2> attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64: 2>, hidden_size = 64,
    layers = 1, row_floats = 640, output_floats = 112} {
  // CHECK: %[[H:.*]] = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  %h = sluice.buffer at 0 : !sluice.buffer<rows, 64>
  %n = sluice.buffer at 64 : !sluice.buffer<rows, 64>
  // CHECK: %[[NQ:.*]] = sluice.buffer at 128 : !sluice.buffer<rows, 64, <q8, floats = 48>>
  %nq = sluice.buffer at 128 : !sluice.buffer<rows, 64, <q8, floats = 48>>
  %t = sluice.buffer at 176 : !sluice.buffer<rows, 16>
  %q = sluice.buffer at 192 : !sluice.buffer<rows, 64>
  %k = sluice.buffer at 256 : !sluice.buffer<rows, 32>
  %v = sluice.buffer at 288 : !sluice.buffer<rows, 32>
  %qr = sluice.buffer at 320 : !sluice.buffer<rows, 64>
  %a = sluice.buffer at 384 : !sluice.buffer<rows, 64>
  %s = sluice.buffer at 512 : !sluice.buffer<rows, 64>
  %logits = sluice.buffer at 0 : !sluice.buffer<outputs, 64>
  // CHECK: sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 16>
  %c0 = sluice.cache 0 : !sluice.cache<kv_heads = 2, head_dim = 16>
  // CHECK: sluice.rope_table <inverse = [
  // CHECK-SAME: !sluice.rope_table<16>
  %table = sluice.rope_table <inverse = [1.0, 0.5, 0.25, 0.125, 0.1, 0.05, 0.02,
                                         0.01], factor = 1.0>
    : !sluice.rope_table<16>
  %e = sluice.param @embd : tensor<100x64xf32>
  %p = sluice.buffer at 512 : !sluice.buffer<rows, 64>
  %n1 = sluice.param @norm : tensor<64xf32>
  %n2 = sluice.param @head_norm : tensor<16xf32>
  %wq = sluice.param @q : tensor<64x64x!sluice.block<q8_0>>

  // CHECK: sluice.task.rows rows weights(%[[E:.*]] = %{{.*}} : tensor<100x64xf32>, %[[T:.*]] = %{{.*}} : !sluice.rope_table<16>) writes(%[[H]] : !sluice.buffer<rows, 64>, %{{.*}} : !sluice.buffer<rows, 16>) attributes {layer = 0 : i64} {
  // CHECK-NEXT: %[[X:.*]] = sluice.embed %{{.*}}, %[[E]] by token
  // CHECK-NEXT: %[[R:.*]] = sluice.rotations %{{.*}}, %[[T]] : !sluice.rope_table<16> -> tensor<?x16xf32>
  // CHECK-NEXT: sluice.task.yield %[[X]], %[[R]]
  sluice.task.rows rows
      weights(%w = %e : tensor<100x64xf32>, %f = %table : !sluice.rope_table<16>)
      writes(%h : !sluice.buffer<rows, 64>, %t : !sluice.buffer<rows, 16>)
      attributes {layer = 0 : i64} {
    %x = sluice.embed %batch, %w by token
      : tensor<100x64xf32> -> tensor<?x64xf32>
    %r = sluice.rotations %batch, %f
      : !sluice.rope_table<16> -> tensor<?x16xf32>
    sluice.task.yield %x, %r : tensor<?x64xf32>, tensor<?x16xf32>
  }
  sluice.task.rows rows reads(%x = %h : !sluice.buffer<rows, 64>)
      weights(%w = %n1 : tensor<64xf32>)
      writes(%n : !sluice.buffer<rows, 64>) {
    %y = sluice.rms_norm %x, %w epsilon 1.0e-5
      : tensor<?x64xf32>, tensor<64xf32>
    sluice.task.yield %y : tensor<?x64xf32>
  }
  // CHECK: sluice.task.rows rows heads 4 reads(%[[ARG:.*]] = %{{.*}} : !sluice.buffer<rows, 64>) weights(%{{.*}} = %{{.*}} : tensor<16xf32>) writes(
  // CHECK-NEXT: sluice.rms_norm %[[ARG]], %{{.*}} epsilon 1.000000e-05 : tensor<?x16xf32>, tensor<16xf32>
  sluice.task.rows rows heads 4 reads(%x = %n : !sluice.buffer<rows, 64>)
      weights(%w = %n2 : tensor<16xf32>)
      writes(%p : !sluice.buffer<rows, 64>) {
    %y = sluice.rms_norm %x, %w epsilon 1.0e-5
      : tensor<?x16xf32>, tensor<16xf32>
    sluice.task.yield %y : tensor<?x16xf32>
  }
  // CHECK: sluice.to_operand %{{.*}} as <q8, floats = 48> : tensor<?x64xf32>
  sluice.task.rows rows reads(%x = %n : !sluice.buffer<rows, 64>)
      writes(%nq : !sluice.buffer<rows, 64, <q8, floats = 48>>) {
    %y = sluice.to_operand %x as <q8, floats = 48> : tensor<?x64xf32>
    sluice.task.yield %y : tensor<?x64xf32>
  }
  // CHECK: sluice.barrier
  sluice.barrier
  // CHECK-NEXT: sluice.task.product rows %[[NQ]], %{{.*}} into %{{.*}} : !sluice.buffer<rows, 64, <q8, floats = 48>>, tensor<64x64x!sluice.block<q8_0>> -> !sluice.buffer<rows, 64>
  sluice.task.product rows %nq, %wq into %q
    : !sluice.buffer<rows, 64, <q8, floats = 48>>,
      tensor<64x64x!sluice.block<q8_0>> -> !sluice.buffer<rows, 64>
  // CHECK-NEXT: sluice.task.product rows %[[NQ]], %{{.*}} columns 0 to 32 into
  sluice.task.product rows %nq, %wq columns 0 to 32 into %k
    : !sluice.buffer<rows, 64, <q8, floats = 48>>,
      tensor<64x64x!sluice.block<q8_0>> -> !sluice.buffer<rows, 32>
  sluice.task.product rows %nq, %wq columns 32 to 64 into %v
    : !sluice.buffer<rows, 64, <q8, floats = 48>>,
      tensor<64x64x!sluice.block<q8_0>> -> !sluice.buffer<rows, 32>
  sluice.barrier
  // CHECK: sluice.rotate %{{.*}} by %{{.*}} half heads 4 head_dim 16 : tensor<?x64xf32>, tensor<?x16xf32>
  sluice.task.rows rows reads(%x = %q : !sluice.buffer<rows, 64>,
                              %t1 = %t : !sluice.buffer<rows, 16>)
      writes(%qr : !sluice.buffer<rows, 64>) {
    %y = sluice.rotate %x by %t1 half heads 4 head_dim 16
      : tensor<?x64xf32>, tensor<?x16xf32>
    sluice.task.yield %y : tensor<?x64xf32>
  }
  sluice.barrier
  // CHECK: sluice.task.append %{{.*}}, %{{.*}} to %{{.*}} : !sluice.buffer<rows, 32>, !sluice.buffer<rows, 32>, !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.task.append %k, %v to %c0
    : !sluice.buffer<rows, 32>, !sluice.buffer<rows, 32>,
      !sluice.cache<kv_heads = 2, head_dim = 16>
  sluice.barrier
  // CHECK: sluice.task.attend %{{.*}} over %{{.*}} step %{{.*}}, %{{.*}} into %{{.*}} heads 4 scale 2.500000e-01 : !sluice.buffer<rows, 64> step !sluice.buffer<rows, 32>, !sluice.buffer<rows, 32> over !sluice.cache<kv_heads = 2, head_dim = 16> -> !sluice.buffer<rows, 64>
  sluice.task.attend %qr over %c0 step %k, %v into %a heads 4 scale 0.25
    : !sluice.buffer<rows, 64> step !sluice.buffer<rows, 32>,
      !sluice.buffer<rows, 32> over !sluice.cache<kv_heads = 2, head_dim = 16>
    -> !sluice.buffer<rows, 64>
  // CHECK: sluice.task.checkpoint %{{.*}}, %{{.*}} : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 64>
  sluice.task.checkpoint %h, %a
    : !sluice.buffer<rows, 64>, !sluice.buffer<rows, 64>
  sluice.task.rows rows reads(%x = %h : !sluice.buffer<rows, 64>,
                              %y = %a : !sluice.buffer<rows, 64>)
      writes(%s : !sluice.buffer<rows, 64>) {
    %z = sluice.add %x, %y : tensor<?x64xf32>
    sluice.task.yield %z : tensor<?x64xf32>
  }
  sluice.barrier
  // CHECK: sluice.task.rows outputs reads(
  sluice.task.rows outputs reads(%x = %s : !sluice.buffer<rows, 64>)
      writes(%logits : !sluice.buffer<outputs, 64>) {
    %y = sluice.select_outputs %x, %batch : tensor<?x64xf32>
    sluice.task.yield %y : tensor<?x64xf32>
  }
  // CHECK: sluice.results %{{.*}} : !sluice.buffer<outputs, 64>
  sluice.results %logits : !sluice.buffer<outputs, 64>
}

// CHECK-LABEL: sluice.step @stage(%{{.*}}: !sluice.batch) target #sluice.cuda attributes {
sluice.step @stage(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64: 2>, hidden_size = 256,
    layers = 1, members = 2} {
  %x = sluice.buffer : !sluice.buffer<rows, 256>
  %b = sluice.buffer : !sluice.buffer<rows, 256>
  %y = sluice.buffer : !sluice.buffer<rows, 256>
  %s = sluice.buffer : !sluice.buffer<rows, 512>
  %g = sluice.buffer : !sluice.buffer<rows, 512>
  %bias = sluice.param @bias : tensor<256xf32>
  // CHECK: sluice.task.rows rows runtime writes(
  // CHECK-NEXT: sluice.received_rows %{{.*}} : tensor<?x256xf32>
  sluice.task.rows rows runtime writes(%x : !sluice.buffer<rows, 256>) {
    %r = sluice.received_rows %batch : tensor<?x256xf32>
    sluice.task.yield %r : tensor<?x256xf32>
  }
  // CHECK: sluice.task.exchange sum rows %{{.*}} into %{{.*}} scratch %{{.*}} : !sluice.buffer<rows, 256> -> !sluice.buffer<rows, 256>, !sluice.buffer<rows, 512>
  sluice.task.exchange sum rows %x into %y scratch %s
    : !sluice.buffer<rows, 256> -> !sluice.buffer<rows, 256>,
      !sluice.buffer<rows, 512>
  // CHECK: sluice.add_bias %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<256xf32>
  sluice.task.rows rows reads(%r = %y : !sluice.buffer<rows, 256>)
      weights(%v = %bias : tensor<256xf32>)
      writes(%b : !sluice.buffer<rows, 256>) {
    %z = sluice.add_bias %r, %v
      : tensor<?x256xf32>, tensor<256xf32>
    sluice.task.yield %z : tensor<?x256xf32>
  }
  // CHECK: sluice.send_rows %{{.*}}, %{{.*}} : tensor<?x256xf32>
  sluice.task.rows rows runtime reads(%r = %b : !sluice.buffer<rows, 256>) {
    sluice.send_rows %r, %batch : tensor<?x256xf32>
    sluice.task.yield
  }
  // CHECK: sluice.results %{{.*}} : !sluice.buffer<rows, 256>
  sluice.results %b : !sluice.buffer<rows, 256>
}

// CHECK-LABEL: sluice.step @gated(
sluice.step @gated(%batch: !sluice.batch) target #sluice.cuda attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64: 2>, hidden_size = 64,
    layers = 1} {
  %h = sluice.buffer : !sluice.buffer<rows, 64>
  %mq = sluice.buffer : !sluice.buffer<rows, 64>
  %f = sluice.buffer : !sluice.buffer<rows, 96>
  %r = sluice.buffer : !sluice.buffer<rows, 96>
  %logits = sluice.buffer : !sluice.buffer<outputs, 96>
  %p = sluice.buffer : !sluice.buffer<outputs, 4>
  %wg = sluice.param @gate : tensor<96x64xf16>
  %wu = sluice.param @up : tensor<96x64xf16>
  sluice.task.rows rows runtime writes(%mq : !sluice.buffer<rows, 64>) {
    %x = sluice.received_rows %batch : tensor<?x64xf32>
    sluice.task.yield %x : tensor<?x64xf32>
  }
  // CHECK: sluice.task.product rows %{{.*}}, %{{.*}} gate silu %{{.*}} into %{{.*}} : !sluice.buffer<rows, 64>, tensor<96x64xf16> gate tensor<96x64xf16> -> !sluice.buffer<rows, 96>
  sluice.task.product rows %mq, %wg gate silu %wu into %f
    : !sluice.buffer<rows, 64>, tensor<96x64xf16> gate tensor<96x64xf16>
    -> !sluice.buffer<rows, 96>
  // CHECK: sluice.task.product rows %{{.*}}, %{{.*}} residual %{{.*}} into %{{.*}} : !sluice.buffer<rows, 64>, tensor<96x64xf16> residual !sluice.buffer<rows, 96> -> !sluice.buffer<rows, 96>
  sluice.task.product rows %mq, %wu residual %f into %r
    : !sluice.buffer<rows, 64>, tensor<96x64xf16>
      residual !sluice.buffer<rows, 96> -> !sluice.buffer<rows, 96>
  sluice.task.rows outputs reads(%x = %r : !sluice.buffer<rows, 96>)
      writes(%logits : !sluice.buffer<outputs, 96>) {
    %y = sluice.select_outputs %x, %batch : tensor<?x96xf32>
    sluice.task.yield %y : tensor<?x96xf32>
  }
  // CHECK: sluice.task.sample %{{.*}} parts %{{.*}} : !sluice.buffer<outputs, 96>, !sluice.buffer<outputs, 4>
  sluice.task.sample %logits parts %p
    : !sluice.buffer<outputs, 96>, !sluice.buffer<outputs, 4>
  sluice.results %logits : !sluice.buffer<outputs, 96>
}

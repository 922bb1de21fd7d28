// RUN: sluice-opt %s --sluice-plan --convert-sluice-to-cpu | FileCheck %s

// Two stages and a draft become three programs with a step each, and one
// deployment. Rows come in and go on in row loops of their own; the draft and the
// last stage end in logits. Programs share the functions of equal row loops. Ranks and
// channels stay, these in the order of the stages, but for the draft's.

!square = tensor<16x16xf32>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<48x16xf32>
sluice.weight @w0 in @f at 0 stored f32 : !square
sluice.weight @w1 in @f at 0 stored f32 : !square
sluice.weight @n0 in @f at 0 stored f32 : tensor<16xf32>
sluice.weight @n1 in @f at 0 stored f32 : tensor<16xf32>

// CHECK-DAG: sluice.rank @rank0 index 0
// CHECK-DAG: sluice.rank @rank1 index 1
// CHECK-DAG: sluice.rank @rank2 index 2
sluice.rank @rank0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @rank1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.rank @rank2 index 2 on(#sluice.place<node = "n2", device = 0>)
sluice.channel @c2 from @rank2 to @rank0 capacity 8 : !sluice.frame<tokens>
sluice.channel @c1 from @rank1 to @rank2 capacity 8 : !sluice.frame<rows, tensor<?x16xf32>>
sluice.channel @c0 from @rank0 to @rank1 capacity 8 : !sluice.frame<rows>
sluice.channel @d0 from @rank0 to @rank0 capacity 8 : !sluice.frame<rows>
sluice.channel @d1 from @rank0 to @rank0 capacity 8 : !sluice.frame<guesses>

sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
  architecture = "test", model_name = "pair", vocab_size = 48,
  context_length = 64, eos_tokens = array<i64: 2>, max_latency_us = 500}
sluice.pipeline @draft stages [@draft.s0] attributes {
  architecture = "test", model_name = "small", vocab_size = 48,
  context_length = 32}

// CHECK:       sluice.channel @c0
// CHECK-NEXT:  sluice.channel @c1
// CHECK-NEXT:  sluice.channel @c2
// CHECK-NEXT:  sluice.deployment head(@rank0) stages [@main.s0, @main.s1] draft(@draft.s0) placement(own) depth 16 width 2 {max_latency_us = 500 : i64}
// CHECK-NOT:   sluice.channel
// CHECK-NOT:   sluice.pipeline
sluice.generate @generate target(@main) at(@rank0) {
  %run = sluice.launch @main via(@c0) results(@c2) : !sluice.run
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 16 width 2 via(@d0) results(@d1) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// CHECK:       sluice.program @main.s0 step @main.s0_step cpu avx2
// CHECK-SAME:    eos_tokens = array<i64: 2>
// CHECK-SAME:    has_output = false
// CHECK-SAME:    hidden_size = 16
// CHECK-SAME:    layers = 1
// CHECK-SAME:    model_name = "pair"
// CHECK-SAME:    rank = @rank1
// CHECK-SAME:    step_rows = 64
// CHECK-LABEL: sluice.step @main.s0_step(
// CHECK:         sluice.task.rows rows kernel @rows_embed weights(
// CHECK:         sluice.task.rows rows kernel @rows_rms_norm reads(
// CHECK:         sluice.task.rows rows kernel @rows_send_rows reads(
sluice.worker @main.s0 at(@rank1) attributes {
    step_rows = 64 : i64,
    costs = array<i64: 9, 9, 9, 9, 9, 9, 9, 10, 16, 30>} {
  %b = sluice.receive @c0
  %embd = sluice.param @embd : tensor<48x16xf32>
  %h = sluice.embed %b, %embd by token : tensor<48x16xf32> -> tensor<?x16xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
    %w = sluice.param @w0 : !square
    %n = sluice.param @n0 : tensor<16xf32>
    %y = sluice.linear %x, %w : tensor<?x16xf32>, !square -> tensor<?x16xf32>
    %z = sluice.rms_norm %y, %n epsilon 1.0e-5 : tensor<?x16xf32>, tensor<16xf32>
    %u = sluice.linear %z, %w : tensor<?x16xf32>, !square -> tensor<?x16xf32>
    sluice.yield %u : tensor<?x16xf32>
  }
  sluice.send @c1 %b, %h1 : tensor<?x16xf32>
}

// CHECK:       sluice.program @main.s1 step @main.s1_step cpu avx2
// CHECK-SAME:    first_layer = 1
// CHECK-SAME:    has_embedding = false
// CHECK-SAME:    rank = @rank2
// CHECK-SAME:    weights = [#sluice.weight_use<@w1, linear>, #sluice.weight_use<@n1, vector>, #sluice.weight_use<@embd, linear>]
// CHECK-LABEL: sluice.step @main.s1_step(
// CHECK:         sluice.task.rows rows kernel @rows_received_rows writes(
// CHECK:         sluice.task.product
// CHECK:         sluice.task.rows rows kernel @rows_rms_norm reads(
// CHECK-NOT:     send_rows
// CHECK:         sluice.task.rows outputs kernel @rows_select_outputs reads(
// CHECK:         sluice.task.product
// CHECK-NEXT:    sluice.results
sluice.worker @main.s1 at(@rank2) {
  %b, %h = sluice.receive @c1 : tensor<?x16xf32>
  %embd = sluice.param @embd : tensor<48x16xf32>
  %h1 = sluice.layer 1 (%x = %h) : tensor<?x16xf32> {
    %w = sluice.param @w1 : !square
    %n = sluice.param @n1 : tensor<16xf32>
    %y = sluice.linear %x, %w : tensor<?x16xf32>, !square -> tensor<?x16xf32>
    %z = sluice.rms_norm %y, %n epsilon 1.0e-5 : tensor<?x16xf32>, tensor<16xf32>
    %u = sluice.linear %z, %w : tensor<?x16xf32>, !square -> tensor<?x16xf32>
    sluice.yield %u : tensor<?x16xf32>
  }
  %s = sluice.select_outputs %h1, %b : tensor<?x16xf32>
  %logits = sluice.linear %s, %embd : tensor<?x16xf32>, tensor<48x16xf32> -> tensor<?x48xf32>
  sluice.send @c2 %b, %logits : tensor<?x48xf32>
}

// CHECK:       sluice.program @draft.s0 step @draft.s0_step cpu avx2
// CHECK-SAME:    context_length = 32
// CHECK-SAME:    layers = 0
// CHECK-SAME:    rank = @rank0
// All logits are computed here; those of the outputs are selected afterwards.
// CHECK-LABEL: sluice.step @draft.s0_step(
// CHECK:         sluice.task.rows rows kernel @rows_embed weights(
// CHECK:         sluice.task.product
// CHECK:         sluice.task.rows outputs kernel @rows_select_outputs_{{.*}} reads(
// CHECK:         sluice.results
sluice.worker @draft.s0 at(@rank0) {
  %b = sluice.receive @d0
  %embd = sluice.param @embd : tensor<48x16xf32>
  %h = sluice.embed %b, %embd by token : tensor<48x16xf32> -> tensor<?x16xf32>
  %logits = sluice.linear %h, %embd : tensor<?x16xf32>, tensor<48x16xf32> -> tensor<?x48xf32>
  sluice.send @d1 %b, %logits : tensor<?x48xf32>
}

// CHECK-LABEL: func.func @rows_embed(
// CHECK-LABEL: func.func @rows_rms_norm(
// CHECK-LABEL: func.func @rows_send_rows(
// CHECK:         func.call @sluice_send_rows(
// CHECK-LABEL: func.func @rows_received_rows(
// CHECK:         func.call @sluice_receive_rows(
// The norm is the other stage's function.
// CHECK-NOT:   func.func @rows_rms_norm

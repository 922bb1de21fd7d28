// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx512vnni>' --convert-sluice-to-cpu --remarks-filter="(convert-)?sluice.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cpu<avx512vnni>' --convert-sluice-to-cpu --cse | FileCheck %s

// One layer of a llama with quantised weights, whole: its row loops, which have
// kernels, its other tasks, and the barriers between them. Activations are
// quantised once for all matrices that read them.

// REMARK: [Analysis] step | Category:convert-sluice-to-cpu
// REMARK-SAME: barriers=13, checkpoints=0, micro-kernel-tasks=10, ops-fused-into-row-loops=15, row-kernels=7, row-loops=7

!square = tensor<64x64x!sluice.block<q8_0>>
!narrow = tensor<32x64x!sluice.block<q8_0>>
!up = tensor<96x64x!sluice.block<q8_0>>
!down = tensor<64x96x!sluice.block<q8_0>>
!cache = !sluice.cache<kv_heads = 2, head_dim = 16>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x64xf32>
sluice.weight @n1 in @f at 0 stored f32 : tensor<64xf32>
sluice.weight @q in @f at 0 stored q8_0 : !square
sluice.weight @k in @f at 0 stored q8_0 : !narrow
sluice.weight @v in @f at 0 stored q8_0 : !narrow
sluice.weight @o in @f at 0 stored q8_0 : !square
sluice.weight @n2 in @f at 0 stored f32 : tensor<64xf32>
sluice.weight @gate in @f at 0 stored q8_0 : !up
sluice.weight @up in @f at 0 stored q8_0 : !up
sluice.weight @down in @f at 0 stored q8_0 : !down
sluice.weight @nf in @f at 0 stored f32 : tensor<64xf32>

// CHECK:       sluice.program @main step @main_step cpu avx512vnni {
// CHECK-SAME:    architecture = "llama"
// CHECK-SAME:    caches = [!sluice.cache<kv_heads = 2, head_dim = 16>]
// CHECK-SAME:    context_length = 128
// CHECK-SAME:    eos_tokens = array<i64: 2>
// CHECK-SAME:    hidden_size = 64
// CHECK-SAME:    layers = 1
// CHECK-SAME:    model_name = "tiny"
// CHECK-SAME:    rope_tables = [#sluice.rope_table<inverse = [1.000000e+00,
// CHECK-SAME:    vocab_size = 100
// CHECK-SAME:    weights = [#sluice.weight_use<@embd, rows>, #sluice.weight_use<@n1, vector>, #sluice.weight_use<@q, linear>, {{.*}}, #sluice.weight_use<@embd, linear>]
// CHECK-NOT:   sluice.model

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_embed_rms_norm_to_operand_rotations
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product rows %[[X:[a-z0-9_]+]],
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.product rows %[[X]],
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.product rows %[[X]],
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_rotate_rotate
// CHECK:         sluice.barrier
// CHECK:         sluice.task.append
// CHECK:         sluice.barrier
// CHECK:         sluice.task.attend
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_to_operand
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_add_rms_norm_to_operand
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product rows %[[M:[a-z0-9_]+]],
// CHECK-NOT:     sluice.barrier
// CHECK:         sluice.task.product rows %[[M]],
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_gate_to_operand
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_add
// CHECK:         sluice.barrier
// CHECK:         sluice.task.rows {{rows|outputs}} kernel @rows_select_outputs_rms_norm
// CHECK:         sluice.barrier
// CHECK:         sluice.task.product
// CHECK-NOT:   sluice.barrier
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 100,
    context_length = 128, eos_tokens = array<i64: 2>} {
  %embd = sluice.param @embd : tensor<100x64xf32>
  %h = sluice.embed %batch, %embd by token : tensor<100x64xf32> -> tensor<?x64xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x64xf32> {
    %n1 = sluice.param @n1 : tensor<64xf32>
    %wq = sluice.param @q : !square
    %wk = sluice.param @k : !narrow
    %wv = sluice.param @v : !narrow
    %wo = sluice.param @o : !square
    %n2 = sluice.param @n2 : tensor<64xf32>
    %wg = sluice.param @gate : !up
    %wu = sluice.param @up : !up
    %wd = sluice.param @down : !down
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    %q = sluice.linear %a, %wq : tensor<?x64xf32>, !square -> tensor<?x64xf32>
    %k = sluice.linear %a, %wk : tensor<?x64xf32>, !narrow -> tensor<?x32xf32>
    %v = sluice.linear %a, %wv : tensor<?x64xf32>, !narrow -> tensor<?x32xf32>
    %qr = sluice.rope %q, %batch interleaved heads 4 head_dim 16 rotary_dim 16 base 10000.0 : tensor<?x64xf32>
    %kr = sluice.rope %k, %batch interleaved heads 2 head_dim 16 rotary_dim 16 base 10000.0 : tensor<?x32xf32>
    %t = sluice.attend %qr, %kr, %v, %c, %batch heads 4 scale 0.25 : tensor<?x64xf32>, tensor<?x32xf32>, !cache
    %o = sluice.linear %t, %wo : tensor<?x64xf32>, !square -> tensor<?x64xf32>
    %x2 = sluice.add %x, %o : tensor<?x64xf32>
    %m = sluice.rms_norm %x2, %n2 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    %g = sluice.linear %m, %wg : tensor<?x64xf32>, !up -> tensor<?x96xf32>
    %u = sluice.linear %m, %wu : tensor<?x64xf32>, !up -> tensor<?x96xf32>
    %f = sluice.gate silu %g, %u : tensor<?x96xf32>
    %d = sluice.linear %f, %wd : tensor<?x96xf32>, !down -> tensor<?x64xf32>
    %x3 = sluice.add %x2, %d : tensor<?x64xf32>
    sluice.yield %x3 : tensor<?x64xf32>
  }
  %s = sluice.select_outputs %h1, %batch : tensor<?x64xf32>
  %nf = sluice.param @nf : tensor<64xf32>
  %e = sluice.rms_norm %s, %nf epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  %logits = sluice.linear %e, %embd : tensor<?x64xf32>, tensor<100x64xf32> -> tensor<?x100xf32>
  sluice.return %logits : tensor<?x100xf32>
}

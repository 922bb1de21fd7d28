// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a,sm_100 --remarks-filter="(convert-)?sluice.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a,sm_100 --verify-roundtrip | FileCheck %s

// One layer of a llama with quantised weights, whole: what becomes a kernel, and
// what the runtime has kernels for. Rows become operands once for all products that
// take them, by the runtime, since they are no whole units of features; the products
// before the sums add the residual themselves, and those before the gate are one
// with it; the two norms share a kernel.

// REMARK: [Analysis] fusion | Category:sluice-fuse-products
// REMARK-SAME: gates-fused-into-products=1, operands-made-by-row-loops=0, residuals-fused-into-products=2
// REMARK: [Analysis] step | Category:convert-sluice-to-cuda
// REMARK-SAME: checkpoints=0, generated-kernels=4, generated-launches=5, ops-fused-into-kernels=6, runtime-calls=15

// CHECK:       sluice.program @main step @main_step cuda {
// CHECK-SAME:    caches = [!sluice.cache<kv_heads = 2, head_dim = 16>]
// CHECK-SAME:    rope_tables = [#sluice.rope_table<inverse = [1.000000e+00,
// CHECK-SAME:    weights = [#sluice.weight_use<@embd, rows>, #sluice.weight_use<@n1, vector>, #sluice.weight_use<@q, linear>, {{.*}}, #sluice.weight_use<@embd, linear>]
// CHECK-NOT:   sluice.model

// CHECK-LABEL: sluice.step @main_step({{.*}} target #sluice.cuda
// CHECK:         sluice.task.rows rows runtime {{.*}} writes(%[[H:.*]] : !sluice.buffer<rows, 64>) {
// CHECK-NEXT:      sluice.embed
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_rms_norm threads 32 blocks 1 reads(%{{.*}} = %[[H]] : {{.*}} attributes {layer = 0 : i64}
// CHECK:         sluice.task.rows rows runtime {{.*}} writes(%[[X:.*]] : !sluice.buffer<rows, 64, <f16, floats = 84>>)
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product rows %[[X]], %{{.*}} into %[[Q:x_[0-9]+]] {{{.*}}tensor<64x64
// CHECK-NEXT:    sluice.task.product rows %[[X]], %{{.*}} into %[[K:x_[0-9]+]] {{{.*}}tensor<32x64
// CHECK-NEXT:    sluice.task.product rows %[[X]], %{{.*}} into %[[V:x_[0-9]+]] {{{.*}}tensor<32x64
// CHECK-NEXT:    sluice.task.rows rows kernel @kernels::@rows_rotate_rotate threads 32 blocks 1 reads(%{{.*}} = %[[Q]] : {{.*}}, %{{.*}} = %[[K]] : {{.*}}) weights(%{{.*}} : !sluice.rope_table<16>) writes(%[[RQ:.*]] : !sluice.buffer<rows, 64>, %[[RK:.*]] : !sluice.buffer<rows, 32>)
// CHECK:         sluice.task.append %[[RK]], %[[V]] to
// CHECK-NEXT:    sluice.task.attend %[[RQ]] over
// CHECK-NEXT:    sluice.task.rows rows runtime
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product rows %{{.*}} residual %[[H]] into %[[H2:x_[0-9]+]] {
// CHECK-NEXT:    sluice.task.rows rows kernel @kernels::@rows_rms_norm threads 32
// CHECK:         sluice.task.rows rows runtime
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product rows %{{.*}} gate silu %{{.*}} into %[[F:x_[0-9]+]] {
// CHECK-NEXT:    sluice.task.rows rows runtime reads(%{{.*}} = %[[F]] :
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product rows %{{.*}} residual %[[H2]] into
// CHECK-NEXT:    sluice.task.rows outputs kernel @kernels::@rows_select_outputs_rms_norm threads 32
// CHECK:         sluice.task.rows outputs runtime
// CHECK-NEXT:      sluice.to_operand
// CHECK:         sluice.task.product outputs %{{.*}} into %[[LOGITS:x_[0-9]+]] :
// CHECK-NEXT:    sluice.task.sample %[[LOGITS]] kernels [#sluice.kernel<@kernels::@greedy_tokens, threads = 32, blocks = 1>]
// CHECK-NEXT:    sluice.results %[[LOGITS]]

// CHECK:       gpu.module @kernels [#nvvm.target<chip = "sm_90a">, #nvvm.target<chip = "sm_100">] {
// CHECK:         gpu.func @rows_rms_norm(
// CHECK:         gpu.func @rows_rotate_rotate(
// CHECK:         gpu.func @rows_select_outputs_rms_norm(
// CHECK:         gpu.func @greedy_tokens(
// The key of an infinity or a NaN: the complement of its token.
// CHECK:           %[[LEAST:.*]] = arith.constant -2139095041 : i32
// CHECK:           %[[ABOVE:.*]] = arith.cmpi sgt, %[[KEY:.*]], %[[LEAST]] : i32
// CHECK:           %[[MOST:.*]] = arith.constant 2139095040 : i32
// CHECK:           %[[BELOW:.*]] = arith.cmpi slt, %[[KEY]], %[[MOST]] : i32
// CHECK:           %[[FINITE:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : i1
// CHECK:           %[[NONE:.*]] = arith.xori %[[TOKEN:.*]], %{{.*}} : i32
// CHECK:           arith.select %[[FINITE]], %[[TOKEN]], %[[NONE]] : i32
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

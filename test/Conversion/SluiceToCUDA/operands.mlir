// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a --split-input-file | FileCheck %s
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a --split-input-file --remarks-filter="(convert-)?sluice.*" 2>&1 | FileCheck %s --check-prefix=REMARK

// Layers of a llama whose rows are whole units of features: what is launched for
// one, 14 kernels (attention's merge is one without a line). Norms make operand
// rows, and have no row in memory; the products of the gate and its partner are one,
// and the gate is in it.

!square = tensor<256x256x!sluice.block<q8_0>>
!narrow = tensor<128x256x!sluice.block<q8_0>>
!up = tensor<512x256x!sluice.block<q8_0>>
!down = tensor<256x512x!sluice.block<q8_0>>
!cache = !sluice.cache<kv_heads = 4, head_dim = 32>

sluice.file @f path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x256xf32>
sluice.weight @n1 in @f at 0 stored f32 : tensor<256xf32>
sluice.weight @q in @f at 0 stored q8_0 : !square
sluice.weight @k in @f at 0 stored q8_0 : !narrow
sluice.weight @v in @f at 0 stored q8_0 : !narrow
sluice.weight @o in @f at 0 stored q8_0 : !square
sluice.weight @n2 in @f at 0 stored f32 : tensor<256xf32>
sluice.weight @gate in @f at 0 stored q8_0 : !up
sluice.weight @up in @f at 0 stored q8_0 : !up
sluice.weight @down in @f at 0 stored q8_0 : !down

// REMARK: Category:sluice-fuse-products {{.*}}gates-fused-into-products=1, operands-made-by-row-loops=2, residuals-fused-into-products=2

// CHECK:       weights = [{{.*}}#sluice.weight_use<@gate, linear, partner @up>, #sluice.weight_use<@up, linear>
// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.embed
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_rms_norm_to_operand threads 32 blocks 1 reads({{.*}}) writes(%[[A:x[_0-9]*]] : !sluice.buffer<rows, 256, <f16
// CHECK:           sluice.to_operand
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product rows %[[A]], {{.*}} tensor<256x256
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product rows %[[A]], {{.*}} tensor<128x256
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product rows %[[A]], {{.*}} tensor<128x256
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_rotate_rotate
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.append
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.attend
// CHECK-NOT:     sluice.task.product
// CHECK:         sluice.task.rows rows runtime
// CHECK-NEXT:      sluice.to_operand
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product rows {{.*}} residual
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_rms_norm_to_operand
// CHECK:           sluice.to_operand
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product rows {{.*}} gate silu %{{.*}} into %[[F:x_[0-9]+]] {
// CHECK-NEXT:    sluice.task.rows rows runtime reads(%{{.*}} = %[[F]] :
// CHECK-NEXT:      sluice.to_operand
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product rows {{.*}} residual
// Of f32 a product takes the row itself.
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.rows outputs kernel @kernels::@rows_select_outputs threads 64 blocks 1 reads({{.*}}) writes(%[[S:x_[0-9]+]] :
// CHECK-NOT:     {{to_operand|task.product}}
// CHECK:         sluice.task.product outputs %[[S]],

// CHECK-LABEL: gpu.func @rows_rms_norm_to_operand(
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: !llvm.ptr, %[[X:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64}, %[[G:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias}, %[[ROWS:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias}, %[[SUMS:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias}, %[[SCALES:[a-z0-9]+]]: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias})
// CHECK-SAME:    known_block_size = array<i32: 32, 1, 1>
// CHECK-DAG:     sluice.view %[[ROWS]]{{.*}} to memref<?x256xf16>
// CHECK-DAG:     sluice.view %[[SUMS]]{{.*}} to memref<?x8xf32>
// CHECK-DAG:     sluice.view %[[SCALES]]{{.*}} to memref<?xf32>
// CHECK:         math.sqrt
// CHECK:         arith.maxui
// CHECK:         gpu.shuffle
// CHECK:         arith.truncf %{{.*}} : vector<4xf32> to vector<4xf16>
// CHECK:         gpu.return
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 100,
    context_length = 128} {
  %embd = sluice.param @embd : tensor<100x256xf32>
  %h = sluice.embed %batch, %embd by token : tensor<100x256xf32> -> tensor<?x256xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x256xf32> {
    %n1 = sluice.param @n1 : tensor<256xf32>
    %wq = sluice.param @q : !square
    %wk = sluice.param @k : !narrow
    %wv = sluice.param @v : !narrow
    %wo = sluice.param @o : !square
    %n2 = sluice.param @n2 : tensor<256xf32>
    %wg = sluice.param @gate : !up
    %wu = sluice.param @up : !up
    %wd = sluice.param @down : !down
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : tensor<?x256xf32>, tensor<256xf32>
    %q = sluice.linear %a, %wq : tensor<?x256xf32>, !square -> tensor<?x256xf32>
    %k = sluice.linear %a, %wk : tensor<?x256xf32>, !narrow -> tensor<?x128xf32>
    %v = sluice.linear %a, %wv : tensor<?x256xf32>, !narrow -> tensor<?x128xf32>
    %qr = sluice.rope %q, %batch interleaved heads 8 head_dim 32 rotary_dim 32 base 10000.0 : tensor<?x256xf32>
    %kr = sluice.rope %k, %batch interleaved heads 4 head_dim 32 rotary_dim 32 base 10000.0 : tensor<?x128xf32>
    %t = sluice.attend %qr, %kr, %v, %c, %batch heads 8 scale 0.25 : tensor<?x256xf32>, tensor<?x128xf32>, !cache
    %o = sluice.linear %t, %wo : tensor<?x256xf32>, !square -> tensor<?x256xf32>
    %x2 = sluice.add %x, %o : tensor<?x256xf32>
    %m = sluice.rms_norm %x2, %n2 epsilon 1.0e-5 : tensor<?x256xf32>, tensor<256xf32>
    %g = sluice.linear %m, %wg : tensor<?x256xf32>, !up -> tensor<?x512xf32>
    %u = sluice.linear %m, %wu : tensor<?x256xf32>, !up -> tensor<?x512xf32>
    %f = sluice.gate silu %g, %u : tensor<?x512xf32>
    %d = sluice.linear %f, %wd : tensor<?x512xf32>, !down -> tensor<?x256xf32>
    %x3 = sluice.add %x2, %d : tensor<?x256xf32>
    sluice.yield %x3 : tensor<?x256xf32>
  }
  %s = sluice.select_outputs %h1, %batch : tensor<?x256xf32>
  %logits = sluice.linear %s, %embd : tensor<?x256xf32>, tensor<100x256xf32> -> tensor<?x100xf32>
  sluice.return %logits : tensor<?x100xf32>
}

// -----

// Gates that are kernels make operand rows, too: relu, which products do not have,
// and that of products whose weights have two formats. With an f16 operand such a
// kernel has one block a row, with a bf16 one several; norms over rows of two widths
// are two kernels.

!w = tensor<2048x2048xf16>
!wb = tensor<2048x2048xbf16>
!n = tensor<512x2048xbf16>
!out = tensor<100x2560xf16>
!r = tensor<?x2048xf32>
sluice.file @f path "m" size 100000000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored f16 : tensor<100x2048xf16>
sluice.weight @a in @f at 0 stored f16 : !w
sluice.weight @b in @f at 0 stored f16 : !w
sluice.weight @c in @f at 0 stored f16 : !w
sluice.weight @d in @f at 0 stored bf16 : !wb
sluice.weight @g in @f at 0 stored bf16 : !wb
sluice.weight @k in @f at 0 stored bf16 : !n
sluice.weight @out in @f at 0 stored f16 : !out
sluice.weight @bias in @f at 0 stored f32 : tensor<2048xf32>
sluice.weight @wide in @f at 0 stored f32 : tensor<2048xf32>
sluice.weight @narrow in @f at 0 stored f32 : tensor<512xf32>

// CHECK-LABEL: sluice.step @main_step(
// CHECK-NOT:     sluice.task.product {{.*}} gate
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_gate_to_operand_to_operand threads 256 blocks 1
// CHECK-NOT:     sluice.task.product {{.*}} gate
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_gate_to_operand threads 128 blocks 4
// CHECK-NOT:     sluice.task.product {{.*}} gate

// CHECK-LABEL: gpu.func @rows_gate_to_operand_to_operand(
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// CHECK-NOT:     sluice.row_blocks
// CHECK:         arith.truncf %{{.*}} to vector<4xf16>
// CHECK-LABEL: gpu.func @rows_gate_to_operand(
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>, sluice.row_blocks = 4 : i64
// CHECK-NOT:     gpu.shuffle
// CHECK:         arith.truncf %{{.*}} to vector<4xbf16>
// CHECK-LABEL: gpu.func @rows_rms_norm(
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// CHECK-LABEL: gpu.func @rows_rms_norm_concat(
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 8} {
  %e = sluice.param @e : tensor<100x2048xf16>
  %a = sluice.param @a : !w
  %b = sluice.param @b : !w
  %c = sluice.param @c : !w
  %d = sluice.param @d : !wb
  %g = sluice.param @g : !wb
  %k = sluice.param @k : !n
  %bias = sluice.param @bias : tensor<2048xf32>
  %wide = sluice.param @wide : tensor<2048xf32>
  %narrow = sluice.param @narrow : tensor<512xf32>
  %x = sluice.embed %batch, %e by token : tensor<100x2048xf16> -> !r
  %y0 = sluice.linear %x, %a : !r, !w -> !r
  %y1 = sluice.linear %x, %b : !r, !w -> !r
  %z0 = sluice.gate relu %y0, %y1 : !r
  %y2 = sluice.linear %z0, %c : !r, !w -> !r
  %y3 = sluice.linear %z0, %d : !r, !wb -> !r
  %z1 = sluice.gate silu %y2, %y3 : !r
  %y4 = sluice.linear %z1, %g : !r, !wb -> !r
  %out = sluice.param @out : !out
  %y5 = sluice.linear %z1, %k : !r, !n -> tensor<?x512xf32>
  %n0 = sluice.rms_norm %y4, %wide epsilon 1.0e-5 : !r, tensor<2048xf32>
  %n1 = sluice.rms_norm %y5, %narrow epsilon 1.0e-5 : tensor<?x512xf32>, tensor<512xf32>
  %all = sluice.concat %n0, %n1 : !r, tensor<?x512xf32> -> tensor<?x2560xf32>
  %s = sluice.select_outputs %all, %batch : tensor<?x2560xf32>
  %logits = sluice.linear %s, %out : tensor<?x2560xf32>, !out -> tensor<?x100xf32>
  sluice.return %logits : tensor<?x100xf32>
}

// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a --split-input-file --remarks-filter="(convert-)?sluice.*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sluice-opt %s '--sluice-plan=target=#sluice.cuda' --convert-sluice-to-cuda=arch=sm_90a --split-input-file | FileCheck %s

// Of the gates here the first and the last are products', the last although one of
// them is the result of a layer. Of the others a product is read by something else,
// has a weight that another product has too, a bias of its own or other rows than
// its partner.

!w = tensor<256x256xbf16>
!r = tensor<?x256xf32>
sluice.file @f path "m" size 100000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored bf16 : tensor<100x256xbf16>
sluice.weight @a in @f at 0 stored bf16 : !w
sluice.weight @b in @f at 0 stored bf16 : !w
sluice.weight @c in @f at 0 stored bf16 : !w
sluice.weight @d in @f at 0 stored bf16 : !w
sluice.weight @g in @f at 0 stored bf16 : !w
sluice.weight @h in @f at 0 stored bf16 : !w
sluice.weight @i in @f at 0 stored bf16 : !w
sluice.weight @j in @f at 0 stored bf16 : !w
sluice.weight @k in @f at 0 stored bf16 : !w
sluice.weight @l in @f at 0 stored bf16 : !w
sluice.weight @bias in @f at 0 stored f32 : tensor<256xf32>

// REMARK: gates-fused-into-products=2

// CHECK-LABEL: sluice.step @main_step(
// CHECK:         sluice.task.product {{.*}} gate silu
// CHECK-NOT:     sluice.task.product {{.*}} gate silu
// CHECK:         sluice.task.product {{.*}} bias
// CHECK-NOT:     sluice.task.product {{.*}} gate silu
// CHECK:         sluice.task.product {{.*}} gate silu
// CHECK-NOT:     sluice.task.product {{.*}} gate silu
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 8} {
  %e = sluice.param @e : tensor<100x256xbf16>
  %a = sluice.param @a : !w
  %b = sluice.param @b : !w
  %c = sluice.param @c : !w
  %d = sluice.param @d : !w
  %g = sluice.param @g : !w
  %h = sluice.param @h : !w
  %i = sluice.param @i : !w
  %j = sluice.param @j : !w
  %l = sluice.param @l : !w
  %bias = sluice.param @bias : tensor<256xf32>
  %x = sluice.embed %batch, %e by token : tensor<100x256xbf16> -> !r

  %y0 = sluice.linear %x, %a : !r, !w -> !r
  %y1 = sluice.linear %x, %b : !r, !w -> !r
  %z0 = sluice.gate silu %y0, %y1 : !r

  // The gate's product is read again.
  %y2 = sluice.linear %z0, %c : !r, !w -> !r
  %y3 = sluice.linear %z0, %d : !r, !w -> !r
  %z1 = sluice.gate silu %y2, %y3 : !r
  %s1 = sluice.add %z1, %y2 : !r

  // Weight @g is another product's too.
  %y4 = sluice.linear %s1, %g : !r, !w -> !r
  %y5 = sluice.linear %s1, %h : !r, !w -> !r
  %z2 = sluice.gate silu %y4, %y5 : !r
  %s2 = sluice.linear %z2, %g : !r, !w -> !r

  // One has a bias, and their rows differ.
  %y6 = sluice.linear %s2, %i bias %bias : !r, !w, tensor<256xf32> -> !r
  %y7 = sluice.linear %s1, %j : !r, !w -> !r
  %z3 = sluice.gate silu %y6, %y7 : !r

  // A layer's result.
  %y8 = sluice.layer 0 (%in = %z3) : !r {
    %k = sluice.param @k : !w
    %p = sluice.linear %in, %k : !r, !w -> !r
    sluice.yield %p : !r
  }
  %y9 = sluice.linear %z3, %l : !r, !w -> !r
  %z4 = sluice.gate silu %y8, %y9 : !r

  %s = sluice.select_outputs %z4, %batch : !r
  %logits = sluice.linear %s, %e : !r, tensor<100x256xbf16> -> tensor<?x100xf32>
  sluice.return %logits : tensor<?x100xf32>
}

// -----

// None behind a checkpoint is one with products before it: rows that have left are
// none of the gate's. Neither where both products are before it, nor where one is.

!w = tensor<256x256xbf16>
!r = tensor<?x256xf32>
sluice.file @f path "m" size 100000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored bf16 : tensor<100x256xbf16>
sluice.weight @a in @f at 0 stored bf16 : !w
sluice.weight @b in @f at 0 stored bf16 : !w
sluice.weight @c in @f at 0 stored bf16 : !w
sluice.weight @d in @f at 0 stored bf16 : !w

// REMARK: gates-fused-into-products=0

// CHECK-LABEL: sluice.step @main_step(
// CHECK-NOT:     sluice.task.product {{.*}} gate silu
// CHECK:         sluice.task.product rows %{{.*}} into %[[Y0:x_[0-9]+]] :
// CHECK-NOT:     sluice.task.product {{.*}} gate silu
// CHECK:         sluice.task.product rows %{{.*}} into %[[Y1:x_[0-9]+]] :
// CHECK:         sluice.task.checkpoint %[[Y0]], %[[Y1]] :
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_gate
// CHECK:         sluice.task.product rows %{{.*}} into %[[Y2:x_[0-9]+]] :
// CHECK:         sluice.task.checkpoint
// CHECK:         sluice.task.product rows %{{.*}} into %[[Y3:x_[0-9]+]] :
// CHECK:         sluice.task.rows rows kernel @kernels::@rows_gate{{.*}} reads(%{{.*}} = %[[Y2]] : {{.*}}, %{{.*}} = %[[Y3]] :
// CHECK-NOT:     sluice.task.product {{.*}} gate silu
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 100,
    context_length = 8} {
  %e = sluice.param @e : tensor<100x256xbf16>
  %a = sluice.param @a : !w
  %b = sluice.param @b : !w
  %c = sluice.param @c : !w
  %d = sluice.param @d : !w
  %x = sluice.embed %batch, %e by token : tensor<100x256xbf16> -> !r
  %y0 = sluice.linear %x, %a : !r, !w -> !r
  %y1 = sluice.linear %x, %b : !r, !w -> !r
  %b1, %p0, %p1 = sluice.checkpoint %batch, %y0, %y1 : !r, !r
  %z0 = sluice.gate silu %p0, %p1 : !r
  %y2 = sluice.linear %z0, %c : !r, !w -> !r
  %b2, %p2, %q = sluice.checkpoint %b1, %y2, %z0 : !r, !r
  %y3 = sluice.linear %q, %d : !r, !w -> !r
  %z1 = sluice.gate silu %p2, %y3 : !r
  %s = sluice.select_outputs %z1, %b2 : !r
  %logits = sluice.linear %s, %e : !r, tensor<100x256xbf16> -> tensor<?x100xf32>
  sluice.return %logits : tensor<?x100xf32>
}

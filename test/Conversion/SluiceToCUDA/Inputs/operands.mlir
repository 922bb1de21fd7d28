// Kernels that make operand rows, of f16 and bf16 and the widths of real models:
// norms, and gates that no product computes.

sluice.file @f path "m" size 100000000000 identity "0123456789abcdef"
sluice.weight @head in @f at 0 stored f16 : tensor<128x28672xf16>
sluice.weight @e in @f at 0 stored f16 : tensor<128x128xf16>
sluice.weight @up0 in @f at 0 stored f16 : tensor<128x128xf16>
sluice.weight @a0 in @f at 0 stored f16 : tensor<128x128xf16>
sluice.weight @b0 in @f at 0 stored bf16 : tensor<128x128xbf16>
sluice.weight @n0 in @f at 0 stored f32 : tensor<128xf32>
sluice.weight @up1 in @f at 0 stored f16 : tensor<768x128xf16>
sluice.weight @a1 in @f at 0 stored f16 : tensor<768x768xf16>
sluice.weight @b1 in @f at 0 stored bf16 : tensor<768x768xbf16>
sluice.weight @n1 in @f at 0 stored f32 : tensor<768xf32>
sluice.weight @up2 in @f at 0 stored f16 : tensor<4096x768xf16>
sluice.weight @a2 in @f at 0 stored f16 : tensor<4096x4096xf16>
sluice.weight @b2 in @f at 0 stored bf16 : tensor<4096x4096xbf16>
sluice.weight @n2 in @f at 0 stored f32 : tensor<4096xf32>
sluice.weight @up3 in @f at 0 stored f16 : tensor<8192x4096xf16>
sluice.weight @a3 in @f at 0 stored f16 : tensor<8192x8192xf16>
sluice.weight @b3 in @f at 0 stored bf16 : tensor<8192x8192xbf16>
sluice.weight @n3 in @f at 0 stored f32 : tensor<8192xf32>
sluice.weight @up4 in @f at 0 stored f16 : tensor<14336x8192xf16>
sluice.weight @a4 in @f at 0 stored f16 : tensor<14336x14336xf16>
sluice.weight @b4 in @f at 0 stored bf16 : tensor<14336x14336xbf16>
sluice.weight @n4 in @f at 0 stored f32 : tensor<14336xf32>
sluice.weight @up5 in @f at 0 stored f16 : tensor<28672x14336xf16>
sluice.weight @a5 in @f at 0 stored f16 : tensor<28672x28672xf16>
sluice.weight @b5 in @f at 0 stored bf16 : tensor<28672x28672xbf16>
sluice.weight @n5 in @f at 0 stored f32 : tensor<28672xf32>
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 128,
    context_length = 8} {
  %e = sluice.param @e : tensor<128x128xf16>
  %x = sluice.embed %batch, %e by token : tensor<128x128xf16> -> tensor<?x128xf32>
  %up0 = sluice.param @up0 : tensor<128x128xf16>
  %a0 = sluice.param @a0 : tensor<128x128xf16>
  %b0 = sluice.param @b0 : tensor<128x128xbf16>
  %n0 = sluice.param @n0 : tensor<128xf32>
  %y0 = sluice.linear %x, %up0 : tensor<?x128xf32>, tensor<128x128xf16> -> tensor<?x128xf32>
  %r0 = sluice.rms_norm %y0, %n0 epsilon 1.0e-5 : tensor<?x128xf32>, tensor<128xf32>
  %c0 = sluice.linear %r0, %a0 : tensor<?x128xf32>, tensor<128x128xf16> -> tensor<?x128xf32>
  %l0 = sluice.layer_norm %c0, %n0 bias %n0 epsilon 1.0e-5 : tensor<?x128xf32>, tensor<128xf32>, tensor<128xf32>
  %d0 = sluice.linear %l0, %b0 : tensor<?x128xf32>, tensor<128x128xbf16> -> tensor<?x128xf32>
  %g0 = sluice.gate gelu %d0, %c0 : tensor<?x128xf32>
  %f0 = sluice.linear %g0, %b0 : tensor<?x128xf32>, tensor<128x128xbf16> -> tensor<?x128xf32>
  %h0 = sluice.gate silu %f0, %d0 : tensor<?x128xf32>
  %up1 = sluice.param @up1 : tensor<768x128xf16>
  %a1 = sluice.param @a1 : tensor<768x768xf16>
  %b1 = sluice.param @b1 : tensor<768x768xbf16>
  %n1 = sluice.param @n1 : tensor<768xf32>
  %y1 = sluice.linear %h0, %up1 : tensor<?x128xf32>, tensor<768x128xf16> -> tensor<?x768xf32>
  %r1 = sluice.rms_norm %y1, %n1 epsilon 1.0e-5 : tensor<?x768xf32>, tensor<768xf32>
  %c1 = sluice.linear %r1, %a1 : tensor<?x768xf32>, tensor<768x768xf16> -> tensor<?x768xf32>
  %l1 = sluice.layer_norm %c1, %n1 bias %n1 epsilon 1.0e-5 : tensor<?x768xf32>, tensor<768xf32>, tensor<768xf32>
  %d1 = sluice.linear %l1, %b1 : tensor<?x768xf32>, tensor<768x768xbf16> -> tensor<?x768xf32>
  %g1 = sluice.gate gelu %d1, %c1 : tensor<?x768xf32>
  %f1 = sluice.linear %g1, %b1 : tensor<?x768xf32>, tensor<768x768xbf16> -> tensor<?x768xf32>
  %h1 = sluice.gate silu %f1, %d1 : tensor<?x768xf32>
  %up2 = sluice.param @up2 : tensor<4096x768xf16>
  %a2 = sluice.param @a2 : tensor<4096x4096xf16>
  %b2 = sluice.param @b2 : tensor<4096x4096xbf16>
  %n2 = sluice.param @n2 : tensor<4096xf32>
  %y2 = sluice.linear %h1, %up2 : tensor<?x768xf32>, tensor<4096x768xf16> -> tensor<?x4096xf32>
  %r2 = sluice.rms_norm %y2, %n2 epsilon 1.0e-5 : tensor<?x4096xf32>, tensor<4096xf32>
  %c2 = sluice.linear %r2, %a2 : tensor<?x4096xf32>, tensor<4096x4096xf16> -> tensor<?x4096xf32>
  %l2 = sluice.layer_norm %c2, %n2 bias %n2 epsilon 1.0e-5 : tensor<?x4096xf32>, tensor<4096xf32>, tensor<4096xf32>
  %d2 = sluice.linear %l2, %b2 : tensor<?x4096xf32>, tensor<4096x4096xbf16> -> tensor<?x4096xf32>
  %g2 = sluice.gate gelu %d2, %c2 : tensor<?x4096xf32>
  %f2 = sluice.linear %g2, %b2 : tensor<?x4096xf32>, tensor<4096x4096xbf16> -> tensor<?x4096xf32>
  %h2 = sluice.gate silu %f2, %d2 : tensor<?x4096xf32>
  %up3 = sluice.param @up3 : tensor<8192x4096xf16>
  %a3 = sluice.param @a3 : tensor<8192x8192xf16>
  %b3 = sluice.param @b3 : tensor<8192x8192xbf16>
  %n3 = sluice.param @n3 : tensor<8192xf32>
  %y3 = sluice.linear %h2, %up3 : tensor<?x4096xf32>, tensor<8192x4096xf16> -> tensor<?x8192xf32>
  %r3 = sluice.rms_norm %y3, %n3 epsilon 1.0e-5 : tensor<?x8192xf32>, tensor<8192xf32>
  %c3 = sluice.linear %r3, %a3 : tensor<?x8192xf32>, tensor<8192x8192xf16> -> tensor<?x8192xf32>
  %l3 = sluice.layer_norm %c3, %n3 bias %n3 epsilon 1.0e-5 : tensor<?x8192xf32>, tensor<8192xf32>, tensor<8192xf32>
  %d3 = sluice.linear %l3, %b3 : tensor<?x8192xf32>, tensor<8192x8192xbf16> -> tensor<?x8192xf32>
  %g3 = sluice.gate gelu %d3, %c3 : tensor<?x8192xf32>
  %f3 = sluice.linear %g3, %b3 : tensor<?x8192xf32>, tensor<8192x8192xbf16> -> tensor<?x8192xf32>
  %h3 = sluice.gate silu %f3, %d3 : tensor<?x8192xf32>
  %up4 = sluice.param @up4 : tensor<14336x8192xf16>
  %a4 = sluice.param @a4 : tensor<14336x14336xf16>
  %b4 = sluice.param @b4 : tensor<14336x14336xbf16>
  %n4 = sluice.param @n4 : tensor<14336xf32>
  %y4 = sluice.linear %h3, %up4 : tensor<?x8192xf32>, tensor<14336x8192xf16> -> tensor<?x14336xf32>
  %r4 = sluice.rms_norm %y4, %n4 epsilon 1.0e-5 : tensor<?x14336xf32>, tensor<14336xf32>
  %c4 = sluice.linear %r4, %a4 : tensor<?x14336xf32>, tensor<14336x14336xf16> -> tensor<?x14336xf32>
  %l4 = sluice.layer_norm %c4, %n4 bias %n4 epsilon 1.0e-5 : tensor<?x14336xf32>, tensor<14336xf32>, tensor<14336xf32>
  %d4 = sluice.linear %l4, %b4 : tensor<?x14336xf32>, tensor<14336x14336xbf16> -> tensor<?x14336xf32>
  %g4 = sluice.gate gelu %d4, %c4 : tensor<?x14336xf32>
  %f4 = sluice.linear %g4, %b4 : tensor<?x14336xf32>, tensor<14336x14336xbf16> -> tensor<?x14336xf32>
  %h4 = sluice.gate silu %f4, %d4 : tensor<?x14336xf32>
  %up5 = sluice.param @up5 : tensor<28672x14336xf16>
  %a5 = sluice.param @a5 : tensor<28672x28672xf16>
  %b5 = sluice.param @b5 : tensor<28672x28672xbf16>
  %n5 = sluice.param @n5 : tensor<28672xf32>
  %y5 = sluice.linear %h4, %up5 : tensor<?x14336xf32>, tensor<28672x14336xf16> -> tensor<?x28672xf32>
  %r5 = sluice.rms_norm %y5, %n5 epsilon 1.0e-5 : tensor<?x28672xf32>, tensor<28672xf32>
  %c5 = sluice.linear %r5, %a5 : tensor<?x28672xf32>, tensor<28672x28672xf16> -> tensor<?x28672xf32>
  %l5 = sluice.layer_norm %c5, %n5 bias %n5 epsilon 1.0e-5 : tensor<?x28672xf32>, tensor<28672xf32>, tensor<28672xf32>
  %d5 = sluice.linear %l5, %b5 : tensor<?x28672xf32>, tensor<28672x28672xbf16> -> tensor<?x28672xf32>
  %g5 = sluice.gate gelu %d5, %c5 : tensor<?x28672xf32>
  %f5 = sluice.linear %g5, %b5 : tensor<?x28672xf32>, tensor<28672x28672xbf16> -> tensor<?x28672xf32>
  %h5 = sluice.gate silu %f5, %d5 : tensor<?x28672xf32>
  %s = sluice.select_outputs %h5, %batch : tensor<?x28672xf32>
  %head = sluice.param @head : tensor<128x28672xf16>
  %z = sluice.linear %s, %head : tensor<?x28672xf32>, tensor<128x28672xf16> -> tensor<?x128xf32>
  sluice.return %z : tensor<?x128xf32>
}

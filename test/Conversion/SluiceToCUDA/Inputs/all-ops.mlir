// Every row-wise op, and all that a row's threads do for each other: rows of
// 256, 128 and 64 columns.

sluice.file @f path "m" size 100000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored f32 : tensor<256x256xf32>
sluice.weight @w in @f at 0 stored f32 : tensor<256x256xf32>
sluice.weight @g in @f at 0 stored f32 : tensor<128xf32>
sluice.weight @bb in @f at 0 stored f32 : tensor<128xf32>
sluice.weight @r in @f at 0 stored f32 : tensor<256xf32>
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 256,
    context_length = 8} {
  %e = sluice.param @e : tensor<256x256xf32>
  %w = sluice.param @w : tensor<256x256xf32>
  %x = sluice.embed %batch, %e by token : tensor<256x256xf32> -> tensor<?x256xf32>
  %g = sluice.param @g : tensor<128xf32>
  %bb = sluice.param @bb : tensor<128xf32>
  %r = sluice.param @r : tensor<256xf32>
  %q, %k, %v = sluice.split_qkv %x grouped heads 4 kv_heads 2 head_dim 32 : tensor<?x256xf32> -> tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>
  %qr = sluice.rope %q, %batch half heads 4 head_dim 32 rotary_dim 16 base 10000.0 : tensor<?x128xf32>
  %c = sluice.concat %k, %v : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x128xf32>
  %s = sluice.add %qr, %c : tensor<?x128xf32>
  %a1 = sluice.activation gelu %s : tensor<?x128xf32>
  %a2 = sluice.activation gelu_tanh %s : tensor<?x128xf32>
  %a3 = sluice.activation relu %a2 : tensor<?x128xf32>
  %a4 = sluice.add %a1, %a3 : tensor<?x128xf32>
  %n = sluice.layer_norm %a4, %g bias %bb epsilon 1.0e-5 : tensor<?x128xf32>, tensor<128xf32>, tensor<128xf32>
  %z = sluice.concat %n, %s : tensor<?x128xf32>, tensor<?x128xf32> -> tensor<?x256xf32>
  // Loops of one op each, between products.
  %y0 = sluice.linear %z, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %q2, %k2, %v2 = sluice.split_qkv %y0 concat heads 4 kv_heads 2 head_dim 32 : tensor<?x256xf32> -> tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>
  %c2 = sluice.concat %q2, %k2, %v2 : tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x256xf32>
  %y1 = sluice.linear %c2, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %r1 = sluice.rope %y1, %batch interleaved heads 8 head_dim 32 rotary_dim 32 base 10000.0 : tensor<?x256xf32>
  %y2 = sluice.linear %r1, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %r2 = sluice.rope %y2, %batch interleaved heads 8 head_dim 32 rotary_dim 8 base 10000.0 : tensor<?x256xf32>
  %y3 = sluice.linear %r2, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %h0 = sluice.activation silu %y3 : tensor<?x256xf32>
  %y4 = sluice.linear %h0, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %h1 = sluice.gate gelu %y4, %y3 : tensor<?x256xf32>
  %y5 = sluice.linear %h1, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %h2 = sluice.gate gelu_tanh %y5, %y4 : tensor<?x256xf32>
  %y6 = sluice.linear %h2, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %h3 = sluice.gate relu %y6, %y5 : tensor<?x256xf32>
  %y7 = sluice.linear %h3, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %h4 = sluice.rms_norm %y7, %r epsilon 1.0e-5 : tensor<?x256xf32>, tensor<256xf32>
  %h5 = sluice.layer_norm %h4, %r epsilon 1.0e-5 : tensor<?x256xf32>, tensor<256xf32>
  sluice.return %h5 : tensor<?x256xf32>
}

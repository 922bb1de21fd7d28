// Rows that are more than a block has registers for: loops, and a second reading.

sluice.file @f path "m" size 100000000000 identity "0123456789abcdef"
sluice.weight @e in @f at 0 stored f32 : tensor<512x20480xf32>
sluice.weight @p in @f at 0 stored f32 : tensor<512x20480xf32>
sluice.weight @w in @f at 0 stored f32 : tensor<20480x20480xf32>
sluice.weight @v in @f at 0 stored f32 : tensor<512x20480xf32>
sluice.weight @g in @f at 0 stored f32 : tensor<20480xf32>
sluice.weight @b in @f at 0 stored f32 : tensor<20480xf32>
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "t", model_name = "t", vocab_size = 512,
    context_length = 512} {
  %e = sluice.param @e : tensor<512x20480xf32>
  %p = sluice.param @p : tensor<512x20480xf32>
  %w = sluice.param @w : tensor<20480x20480xf32>
  %v = sluice.param @v : tensor<512x20480xf32>
  %g = sluice.param @g : tensor<20480xf32>
  %b = sluice.param @b : tensor<20480xf32>
  %x = sluice.embed %batch, %e by token : tensor<512x20480xf32> -> tensor<?x20480xf32>
  %y = sluice.embed %batch, %p by position : tensor<512x20480xf32> -> tensor<?x20480xf32>
  %s = sluice.add %x, %y : tensor<?x20480xf32>
  %n = sluice.layer_norm %s, %g bias %b epsilon 1.0e-5 : tensor<?x20480xf32>, tensor<20480xf32>, tensor<20480xf32>
  %l = sluice.linear %n, %w : tensor<?x20480xf32>, tensor<20480x20480xf32> -> tensor<?x20480xf32>
  %a = sluice.activation gelu_tanh %l : tensor<?x20480xf32>
  %t = sluice.add %a, %s : tensor<?x20480xf32>
  %m = sluice.rms_norm %t, %g epsilon 1.0e-5 : tensor<?x20480xf32>, tensor<20480xf32>
  %o = sluice.select_outputs %m, %batch : tensor<?x20480xf32>
  %f = sluice.layer_norm %o, %b epsilon 1.0e-5 : tensor<?x20480xf32>, tensor<20480xf32>
  %z = sluice.linear %f, %v : tensor<?x20480xf32>, tensor<512x20480xf32> -> tensor<?x512xf32>
  sluice.return %z : tensor<?x512xf32>
}

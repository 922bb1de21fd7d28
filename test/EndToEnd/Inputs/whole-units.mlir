// Rows of whole units of features, in all formats that products take: layers with
// blocks, with bf16 (whose gate has biases), and with a gate that is a kernel of
// its own.

!cache = !sluice.cache<kv_heads = 2, head_dim = 32>
!h = tensor<?x256xf32>
!f = tensor<?x512xf32>
!kv = tensor<?x64xf32>
!n = tensor<256xf32>
!b = tensor<512xf32>

sluice.file @f path "none.gguf" size 100000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f16 : tensor<300x256xf16>
sluice.weight @n1.0 in @f at 1000000 stored f32 : !n
sluice.weight @n2.0 in @f at 2000000 stored f32 : !n
sluice.weight @q.0 in @f at 3000000 stored q4_k : tensor<256x256x!sluice.block<q4_k>>
sluice.weight @k.0 in @f at 4000000 stored q6_k : tensor<64x256x!sluice.block<q6_k>>
sluice.weight @v.0 in @f at 5000000 stored q8_0 : tensor<64x256x!sluice.block<q8_0>>
sluice.weight @o.0 in @f at 6000000 stored q4_0 : tensor<256x256x!sluice.block<q4_0>>
sluice.weight @gate.0 in @f at 7000000 stored q4_k : tensor<512x256x!sluice.block<q4_k>>
sluice.weight @up.0 in @f at 8000000 stored q4_k : tensor<512x256x!sluice.block<q4_k>>
sluice.weight @down.0 in @f at 9000000 stored q6_k : tensor<256x512x!sluice.block<q6_k>>
sluice.weight @n1.1 in @f at 10000000 stored f32 : !n
sluice.weight @b1.1 in @f at 11000000 stored f32 : !n
sluice.weight @n2.1 in @f at 12000000 stored f32 : !n
sluice.weight @b2.1 in @f at 13000000 stored f32 : !n
sluice.weight @q.1 in @f at 14000000 stored bf16 : tensor<256x256xbf16>
sluice.weight @k.1 in @f at 15000000 stored bf16 : tensor<64x256xbf16>
sluice.weight @v.1 in @f at 16000000 stored f16 : tensor<64x256xf16>
sluice.weight @o.1 in @f at 17000000 stored bf16 : tensor<256x256xbf16>
sluice.weight @gate.1 in @f at 18000000 stored bf16 : tensor<512x256xbf16>
sluice.weight @up.1 in @f at 19000000 stored bf16 : tensor<512x256xbf16>
sluice.weight @down.1 in @f at 20000000 stored bf16 : tensor<256x512xbf16>
sluice.weight @gb.1 in @f at 21000000 stored f32 : !b
sluice.weight @ub.1 in @f at 22000000 stored f32 : !b
sluice.weight @n1.2 in @f at 23000000 stored f32 : !n
sluice.weight @n2.2 in @f at 24000000 stored f32 : !n
sluice.weight @q.2 in @f at 25000000 stored f32 : tensor<256x256xf32>
sluice.weight @k.2 in @f at 26000000 stored f16 : tensor<64x256xf16>
sluice.weight @v.2 in @f at 27000000 stored q8_0 : tensor<64x256x!sluice.block<q8_0>>
sluice.weight @o.2 in @f at 28000000 stored f16 : tensor<256x256xf16>
sluice.weight @gate.2 in @f at 29000000 stored q8_0 : tensor<512x256x!sluice.block<q8_0>>
sluice.weight @up.2 in @f at 30000000 stored q8_0 : tensor<512x256x!sluice.block<q8_0>>
sluice.weight @down.2 in @f at 31000000 stored q4_k : tensor<256x512x!sluice.block<q4_k>>
sluice.weight @n3 in @f at 32000000 stored f32 : !n

sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "units", vocab_size = 300,
    context_length = 128, eos_tokens = array<i64: 2>} {
  %embd = sluice.param @embd : tensor<300x256xf16>
  %h0 = sluice.embed chunk %chunk, %embd by token : tensor<300x256xf16> -> !h
  %h1 = sluice.layer 0 (%x = %h0) : !h {
    %wq = sluice.param @q.0 : tensor<256x256x!sluice.block<q4_k>>
    %wk = sluice.param @k.0 : tensor<64x256x!sluice.block<q6_k>>
    %wv = sluice.param @v.0 : tensor<64x256x!sluice.block<q8_0>>
    %wo = sluice.param @o.0 : tensor<256x256x!sluice.block<q4_0>>
    %wgate = sluice.param @gate.0 : tensor<512x256x!sluice.block<q4_k>>
    %wup = sluice.param @up.0 : tensor<512x256x!sluice.block<q4_k>>
    %wdown = sluice.param @down.0 : tensor<256x512x!sluice.block<q6_k>>
    %n1 = sluice.param @n1.0 : !n
    %n2 = sluice.param @n2.0 : !n
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : !h, !n
    %q = sluice.linear %a, %wq : !h, tensor<256x256x!sluice.block<q4_k>> -> !h
    %k = sluice.linear %a, %wk : !h, tensor<64x256x!sluice.block<q6_k>> -> !kv
    %v = sluice.linear %a, %wv : !h, tensor<64x256x!sluice.block<q8_0>> -> !kv
    %qr = sluice.rope %q, chunk %chunk half heads 8 head_dim 32 rotary_dim 32 base 10000.0 : !h
    %kr = sluice.rope %k, chunk %chunk half heads 2 head_dim 32 rotary_dim 32 base 10000.0 : !kv
    %t = sluice.attend %qr, %kr, %v, %c, chunk %chunk heads 8 scale 0.17 : !h, !kv, !cache
    %o = sluice.linear %t, %wo : !h, tensor<256x256x!sluice.block<q4_0>> -> !h
    %x2 = sluice.add %x, %o : !h
    %m = sluice.rms_norm %x2, %n2 epsilon 1.0e-5 : !h, !n
    %g = sluice.linear %m, %wgate : !h, tensor<512x256x!sluice.block<q4_k>> -> !f
    %u = sluice.linear %m, %wup : !h, tensor<512x256x!sluice.block<q4_k>> -> !f
    %z = sluice.gate silu %g, %u : !f
    %d = sluice.linear %z, %wdown : !f, tensor<256x512x!sluice.block<q6_k>> -> !h
    %x3 = sluice.add %x2, %d : !h
    sluice.yield %x3 : !h
  }
  %h2 = sluice.layer 1 (%x = %h1) : !h {
    %wq = sluice.param @q.1 : tensor<256x256xbf16>
    %wk = sluice.param @k.1 : tensor<64x256xbf16>
    %wv = sluice.param @v.1 : tensor<64x256xf16>
    %wo = sluice.param @o.1 : tensor<256x256xbf16>
    %wgate = sluice.param @gate.1 : tensor<512x256xbf16>
    %wup = sluice.param @up.1 : tensor<512x256xbf16>
    %wdown = sluice.param @down.1 : tensor<256x512xbf16>
    %n1 = sluice.param @n1.1 : !n
    %b1 = sluice.param @b1.1 : !n
    %n2 = sluice.param @n2.1 : !n
    %b2 = sluice.param @b2.1 : !n
    %gb = sluice.param @gb.1 : !b
    %ub = sluice.param @ub.1 : !b
    %c = sluice.layer_cache : !cache
    %a = sluice.layer_norm %x, %n1 bias %b1 epsilon 1.0e-5 : !h, !n, !n
    %q = sluice.linear %a, %wq : !h, tensor<256x256xbf16> -> !h
    %k = sluice.linear %a, %wk : !h, tensor<64x256xbf16> -> !kv
    %v = sluice.linear %a, %wv : !h, tensor<64x256xf16> -> !kv
    %qr = sluice.rope %q, chunk %chunk half heads 8 head_dim 32 rotary_dim 32 base 10000.0 : !h
    %kr = sluice.rope %k, chunk %chunk half heads 2 head_dim 32 rotary_dim 32 base 10000.0 : !kv
    %t = sluice.attend %qr, %kr, %v, %c, chunk %chunk heads 8 scale 0.17 : !h, !kv, !cache
    %o = sluice.linear %t, %wo : !h, tensor<256x256xbf16> -> !h
    %x2 = sluice.add %x, %o : !h
    %m = sluice.layer_norm %x2, %n2 bias %b2 epsilon 1.0e-5 : !h, !n, !n
    %g = sluice.linear %m, %wgate bias %gb : !h, tensor<512x256xbf16>, !b -> !f
    %u = sluice.linear %m, %wup bias %ub : !h, tensor<512x256xbf16>, !b -> !f
    %z = sluice.gate gelu_tanh %g, %u : !f
    %d = sluice.linear %z, %wdown : !f, tensor<256x512xbf16> -> !h
    %x3 = sluice.add %x2, %d : !h
    sluice.yield %x3 : !h
  }
  %h3 = sluice.layer 2 (%x = %h2) : !h {
    %wq = sluice.param @q.2 : tensor<256x256xf32>
    %wk = sluice.param @k.2 : tensor<64x256xf16>
    %wv = sluice.param @v.2 : tensor<64x256x!sluice.block<q8_0>>
    %wo = sluice.param @o.2 : tensor<256x256xf16>
    %wgate = sluice.param @gate.2 : tensor<512x256x!sluice.block<q8_0>>
    %wup = sluice.param @up.2 : tensor<512x256x!sluice.block<q8_0>>
    %wdown = sluice.param @down.2 : tensor<256x512x!sluice.block<q4_k>>
    %n1 = sluice.param @n1.2 : !n
    %n2 = sluice.param @n2.2 : !n
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : !h, !n
    %q = sluice.linear %a, %wq : !h, tensor<256x256xf32> -> !h
    %k = sluice.linear %a, %wk : !h, tensor<64x256xf16> -> !kv
    %v = sluice.linear %a, %wv : !h, tensor<64x256x!sluice.block<q8_0>> -> !kv
    %qr = sluice.rope %q, chunk %chunk half heads 8 head_dim 32 rotary_dim 32 base 10000.0 : !h
    %kr = sluice.rope %k, chunk %chunk half heads 2 head_dim 32 rotary_dim 32 base 10000.0 : !kv
    %t = sluice.attend %qr, %kr, %v, %c, chunk %chunk heads 8 scale 0.17 : !h, !kv, !cache
    %o = sluice.linear %t, %wo : !h, tensor<256x256xf16> -> !h
    %x2 = sluice.add %x, %o : !h
    %m = sluice.rms_norm %x2, %n2 epsilon 1.0e-5 : !h, !n
    %g = sluice.linear %m, %wgate : !h, tensor<512x256x!sluice.block<q8_0>> -> !f
    %u = sluice.linear %m, %wup : !h, tensor<512x256x!sluice.block<q8_0>> -> !f
    %z = sluice.gate relu %g, %u : !f
    %d = sluice.linear %z, %wdown : !f, tensor<256x512x!sluice.block<q4_k>> -> !h
    %x3 = sluice.add %x2, %d : !h
    sluice.yield %x3 : !h
  }
  %s = sluice.select_outputs %h3, chunk %chunk : !h
  %n3 = sluice.param @n3 : !n
  %e = sluice.rms_norm %s, %n3 epsilon 1.0e-5 : !h, !n
  %logits = sluice.linear %e, %embd : !h, tensor<300x256xf16> -> tensor<?x300xf32>
  sluice.return %logits : tensor<?x300xf32>
}

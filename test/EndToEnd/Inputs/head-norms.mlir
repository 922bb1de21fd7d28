// A model that normalises queries and keys by head, before they are rotated: with
// heads of 32 features, and of 5, which no vector divides and whose norm has biases.

!h = tensor<?x64xf32>
!c0 = !sluice.cache<kv_heads = 2, head_dim = 32>
!c1 = !sluice.cache<kv_heads = 1, head_dim = 10>

sluice.file @f path "none.gguf" size 100000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<300x64xf32>
sluice.weight @n0 in @f at 100000 stored f32 : tensor<64xf32>
sluice.weight @q0 in @f at 200000 stored f32 : tensor<128x64xf32>
sluice.weight @k0 in @f at 300000 stored f32 : tensor<64x64xf32>
sluice.weight @v0 in @f at 400000 stored f32 : tensor<64x64xf32>
sluice.weight @o0 in @f at 500000 stored f32 : tensor<64x128xf32>
sluice.weight @qn0 in @f at 600000 stored f32 : tensor<32xf32>
sluice.weight @kn0 in @f at 700000 stored f32 : tensor<32xf32>
sluice.weight @q1 in @f at 800000 stored f32 : tensor<40x64xf32>
sluice.weight @k1 in @f at 900000 stored f32 : tensor<10x64xf32>
sluice.weight @v1 in @f at 1000000 stored f32 : tensor<10x64xf32>
sluice.weight @o1 in @f at 1100000 stored f32 : tensor<64x40xf32>
sluice.weight @qn1 in @f at 1200000 stored f32 : tensor<5xf32>
sluice.weight @qb1 in @f at 1300000 stored f32 : tensor<5xf32>
sluice.weight @kn1 in @f at 1400000 stored f32 : tensor<5xf32>

sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "head norms", vocab_size = 300,
    context_length = 128, eos_tokens = array<i64: 2>} {
  %embd = sluice.param @embd : tensor<300x64xf32>
  %h0 = sluice.embed chunk %chunk, %embd by token : tensor<300x64xf32> -> !h
  %h1 = sluice.layer 0 (%x = %h0) : !h {
    %n = sluice.param @n0 : tensor<64xf32>
    %wq = sluice.param @q0 : tensor<128x64xf32>
    %wk = sluice.param @k0 : tensor<64x64xf32>
    %wv = sluice.param @v0 : tensor<64x64xf32>
    %wo = sluice.param @o0 : tensor<64x128xf32>
    %nq = sluice.param @qn0 : tensor<32xf32>
    %nk = sluice.param @kn0 : tensor<32xf32>
    %c = sluice.layer_cache : !c0
    %a = sluice.rms_norm %x, %n epsilon 1.0e-5 : !h, tensor<64xf32>
    %q = sluice.linear %a, %wq : !h, tensor<128x64xf32> -> tensor<?x128xf32>
    %k = sluice.linear %a, %wk : !h, tensor<64x64xf32> -> !h
    %v = sluice.linear %a, %wv : !h, tensor<64x64xf32> -> !h
    %qn = sluice.rms_norm %q, %nq heads 4 epsilon 1.0e-5 : tensor<?x128xf32>, tensor<32xf32>
    %kn = sluice.rms_norm %k, %nk heads 2 epsilon 1.0e-5 : !h, tensor<32xf32>
    %qr = sluice.rope %qn, chunk %chunk half heads 4 head_dim 32 rotary_dim 32 base 10000.0 : tensor<?x128xf32>
    %kr = sluice.rope %kn, chunk %chunk half heads 2 head_dim 32 rotary_dim 32 base 10000.0 : !h
    %t = sluice.attend %qr, %kr, %v, %c, chunk %chunk heads 4 scale 0.17 : tensor<?x128xf32>, !h, !c0
    %o = sluice.linear %t, %wo : tensor<?x128xf32>, tensor<64x128xf32> -> !h
    %y = sluice.add %x, %o : !h
    sluice.yield %y : !h
  }
  %h2 = sluice.layer 1 (%x = %h1) : !h {
    %n = sluice.param @n0 : tensor<64xf32>
    %wq = sluice.param @q1 : tensor<40x64xf32>
    %wk = sluice.param @k1 : tensor<10x64xf32>
    %wv = sluice.param @v1 : tensor<10x64xf32>
    %wo = sluice.param @o1 : tensor<64x40xf32>
    %nq = sluice.param @qn1 : tensor<5xf32>
    %bq = sluice.param @qb1 : tensor<5xf32>
    %nk = sluice.param @kn1 : tensor<5xf32>
    %c = sluice.layer_cache : !c1
    %a = sluice.rms_norm %x, %n epsilon 1.0e-5 : !h, tensor<64xf32>
    %q = sluice.linear %a, %wq : !h, tensor<40x64xf32> -> tensor<?x40xf32>
    %k = sluice.linear %a, %wk : !h, tensor<10x64xf32> -> tensor<?x10xf32>
    %v = sluice.linear %a, %wv : !h, tensor<10x64xf32> -> tensor<?x10xf32>
    %qn = sluice.layer_norm %q, %nq bias %bq heads 8 epsilon 1.0e-5 : tensor<?x40xf32>, tensor<5xf32>, tensor<5xf32>
    %kn = sluice.layer_norm %k, %nk heads 2 epsilon 1.0e-5 : tensor<?x10xf32>, tensor<5xf32>
    %t = sluice.attend %qn, %kn, %v, %c, chunk %chunk heads 4 scale 0.3 : tensor<?x40xf32>, tensor<?x10xf32>, !c1
    %o = sluice.linear %t, %wo : tensor<?x40xf32>, tensor<64x40xf32> -> !h
    %y = sluice.add %x, %o : !h
    sluice.yield %y : !h
  }
  %s = sluice.select_outputs %h2, chunk %chunk : !h
  %logits = sluice.linear %s, %embd : !h, tensor<300x64xf32> -> tensor<?x300xf32>
  sluice.return %logits : tensor<?x300xf32>
}

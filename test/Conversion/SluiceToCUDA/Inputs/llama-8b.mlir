// A layer of a llama of 8 billion weights, and its vocabulary.

!lin = tensor<4096x4096xbf16>
!up = tensor<14336x4096xbf16>
!down = tensor<4096x14336xbf16>
!kv = tensor<1024x4096xbf16>
!cache = !sluice.cache<kv_heads = 8, head_dim = 128>
sluice.file @f path "m" size 100000000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored bf16 : tensor<128256x4096xbf16>
sluice.weight @n1 in @f at 0 stored f32 : tensor<4096xf32>
sluice.weight @q in @f at 0 stored bf16 : !lin
sluice.weight @k in @f at 0 stored bf16 : !kv
sluice.weight @gate in @f at 0 stored bf16 : !up
sluice.weight @up in @f at 0 stored bf16 : !up
sluice.weight @down in @f at 0 stored bf16 : !down
sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "t", vocab_size = 128256,
    context_length = 8192} {
  %embd = sluice.param @embd : tensor<128256x4096xbf16>
  %h = sluice.embed %batch, %embd by token : tensor<128256x4096xbf16> -> tensor<?x4096xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x4096xf32> {
    %n1 = sluice.param @n1 : tensor<4096xf32>
    %wq = sluice.param @q : !lin
    %wk = sluice.param @k : !kv
    %wg = sluice.param @gate : !up
    %wu = sluice.param @up : !up
    %wd = sluice.param @down : !down
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : tensor<?x4096xf32>, tensor<4096xf32>
    %q = sluice.linear %a, %wq : tensor<?x4096xf32>, !lin -> tensor<?x4096xf32>
    %k = sluice.linear %a, %wk : tensor<?x4096xf32>, !kv -> tensor<?x1024xf32>
    %qr = sluice.rope %q, %batch interleaved heads 32 head_dim 128 rotary_dim 128 base 10000.0 : tensor<?x4096xf32>
    %kr = sluice.rope %k, %batch interleaved heads 8 head_dim 128 rotary_dim 128 base 10000.0 : tensor<?x1024xf32>
    %t = sluice.attend %qr, %kr, %k, %c, %batch heads 32 scale 0.25 : tensor<?x4096xf32>, tensor<?x1024xf32>, !cache
    %o = sluice.linear %t, %wq : tensor<?x4096xf32>, !lin -> tensor<?x4096xf32>
    %x2 = sluice.add %x, %o : tensor<?x4096xf32>
    %m = sluice.rms_norm %x2, %n1 epsilon 1.0e-5 : tensor<?x4096xf32>, tensor<4096xf32>
    %g = sluice.linear %m, %wg : tensor<?x4096xf32>, !up -> tensor<?x14336xf32>
    %u = sluice.linear %m, %wu : tensor<?x4096xf32>, !up -> tensor<?x14336xf32>
    %f = sluice.gate silu %g, %u : tensor<?x14336xf32>
    %d = sluice.linear %f, %wd : tensor<?x14336xf32>, !down -> tensor<?x4096xf32>
    %x3 = sluice.add %x2, %d : tensor<?x4096xf32>
    sluice.yield %x3 : tensor<?x4096xf32>
  }
  %s = sluice.select_outputs %h1, %batch : tensor<?x4096xf32>
  %logits = sluice.linear %s, %embd : tensor<?x4096xf32>, tensor<128256x4096xbf16> -> tensor<?x128256xf32>
  sluice.return %logits : tensor<?x128256xf32>
}

// A model whose rows no vector divides: 1001 columns, 1334 behind the gate, heads
// of which 6 and 12 features are rotated, and a vocabulary of 2501.

!cache = !sluice.cache<kv_heads = 1, head_dim = 32>

sluice.file @f path "none.gguf" size 100000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<2501x1001xf32>
sluice.weight @n1 in @f at 20000000 stored f32 : tensor<1001xf32>
sluice.weight @qkv in @f at 21000000 stored f32 : tensor<192x1001xf32>
sluice.weight @o in @f at 22000000 stored f32 : tensor<1001x128xf32>
sluice.weight @n2 in @f at 23000000 stored f32 : tensor<1001xf32>
sluice.weight @b2 in @f at 24000000 stored f32 : tensor<1001xf32>
sluice.weight @gate in @f at 30000000 stored f32 : tensor<1334x1001xf32>
sluice.weight @up in @f at 40000000 stored f32 : tensor<1334x1001xf32>
sluice.weight @down in @f at 50000000 stored f32 : tensor<1001x1334xf32>
sluice.weight @n3 in @f at 60000000 stored f32 : tensor<1001xf32>
sluice.weight @head in @f at 70000000 stored f32 : tensor<2501x1001xf32>

sluice.model @main(%chunk: !sluice.chunk) attributes {
    architecture = "llama", model_name = "odd", vocab_size = 2501,
    context_length = 128, eos_tokens = array<i64: 2>} {
  %embd = sluice.param @embd : tensor<2501x1001xf32>
  %h = sluice.embed chunk %chunk, %embd by token : tensor<2501x1001xf32> -> tensor<?x1001xf32>
  %h1 = sluice.layer 0 (%x = %h) : tensor<?x1001xf32> {
    %n1 = sluice.param @n1 : tensor<1001xf32>
    %wqkv = sluice.param @qkv : tensor<192x1001xf32>
    %wo = sluice.param @o : tensor<1001x128xf32>
    %n2 = sluice.param @n2 : tensor<1001xf32>
    %b2 = sluice.param @b2 : tensor<1001xf32>
    %wg = sluice.param @gate : tensor<1334x1001xf32>
    %wu = sluice.param @up : tensor<1334x1001xf32>
    %wd = sluice.param @down : tensor<1001x1334xf32>
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : tensor<?x1001xf32>, tensor<1001xf32>
    %qkv = sluice.linear %a, %wqkv : tensor<?x1001xf32>, tensor<192x1001xf32> -> tensor<?x192xf32>
    %q, %k, %v = sluice.split_qkv %qkv concat heads 4 kv_heads 1 head_dim 32 : tensor<?x192xf32> -> tensor<?x128xf32>, tensor<?x32xf32>, tensor<?x32xf32>
    %qr = sluice.rope %q, chunk %chunk half heads 4 head_dim 32 rotary_dim 6 base 10000.0 : tensor<?x128xf32>
    %kr = sluice.rope %k, chunk %chunk interleaved heads 1 head_dim 32 rotary_dim 12 base 10000.0 : tensor<?x32xf32>
    %t = sluice.attend %qr, %kr, %v, %c, chunk %chunk heads 4 scale 0.17 : tensor<?x128xf32>, tensor<?x32xf32>, !cache
    %o = sluice.linear %t, %wo : tensor<?x128xf32>, tensor<1001x128xf32> -> tensor<?x1001xf32>
    %x2 = sluice.add %x, %o : tensor<?x1001xf32>
    %m = sluice.layer_norm %x2, %n2 bias %b2 epsilon 1.0e-5 : tensor<?x1001xf32>, tensor<1001xf32>, tensor<1001xf32>
    %g = sluice.linear %m, %wg : tensor<?x1001xf32>, tensor<1334x1001xf32> -> tensor<?x1334xf32>
    %u = sluice.linear %m, %wu : tensor<?x1001xf32>, tensor<1334x1001xf32> -> tensor<?x1334xf32>
    %f = sluice.gate gelu_tanh %g, %u : tensor<?x1334xf32>
    %d = sluice.linear %f, %wd : tensor<?x1334xf32>, tensor<1001x1334xf32> -> tensor<?x1001xf32>
    %x3 = sluice.add %x2, %d : tensor<?x1001xf32>
    sluice.yield %x3 : tensor<?x1001xf32>
  }
  %s = sluice.select_outputs %h1, chunk %chunk : tensor<?x1001xf32>
  %n3 = sluice.param @n3 : tensor<1001xf32>
  %e = sluice.rms_norm %s, %n3 epsilon 1.0e-5 : tensor<?x1001xf32>, tensor<1001xf32>
  %head = sluice.param @head : tensor<2501x1001xf32>
  %logits = sluice.linear %e, %head : tensor<?x1001xf32>, tensor<2501x1001xf32> -> tensor<?x2501xf32>
  sluice.return %logits : tensor<?x2501xf32>
}

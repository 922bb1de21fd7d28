// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// Attention, and the splitting of fused rows before it: heads that do not fit
// the rows or the cache, and options out of range.

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x24xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c1
  // expected-error @+1 {{heads must be a positive multiple of the cache's 2 heads, got 3}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 3 scale 1.0
    : tensor<?x24xf32>, tensor<?x16xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x24xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c2
  // expected-error @+1 {{the query is 24 wide, expected 32}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 4 scale 1.0
    : tensor<?x24xf32>, tensor<?x16xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c3
  // expected-error @+1 {{the key is 32 wide, expected 16}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 4 scale 1.0
    : tensor<?x32xf32>, tensor<?x32xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c4
  // expected-error @+1 {{scale must be finite and positive}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 4 scale 0.0
    : tensor<?x32xf32>, tensor<?x16xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c5
  // expected-error @+1 {{window must be positive, got 0}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 4 scale 1.0 window 0
    : tensor<?x32xf32>, tensor<?x16xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c6
  // expected-error @+1 {{softcap must be finite and positive}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 4 scale 1.0 softcap -50.0
    : tensor<?x32xf32>, tensor<?x16xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c9
  // expected-error @+1 {{alibi must be finite and positive}}
  %a = sluice.attend %q, %k, %k, %c, %batch heads 4 scale 1.0 alibi 0.0
    : tensor<?x32xf32>, tensor<?x16xf32>, !cache
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c7
  // expected-error @+1 {{all of {query, result} have same type}}
  %a = "sluice.attend"(%q, %k, %k, %c, %batch) <{heads = 4, scale = 1.0 : f64}>
    : (tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>, !cache,
       !sluice.batch) -> tensor<?x16xf32>
  return
}

// -----

!cache = !sluice.cache<kv_heads = 2, head_dim = 8>
func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x16xf32>, %c: !cache,
             %batch: !sluice.batch) {
  // attend_c8
  // expected-error @+1 {{all of {key, value} have same type}}
  %a = "sluice.attend"(%q, %k, %q, %c, %batch) <{heads = 4, scale = 1.0 : f64}>
    : (tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x32xf32>, !cache,
       !sluice.batch) -> tensor<?x32xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>) {
  // split_qkv_c1
  // expected-error @+1 {{heads must be a positive multiple of kv_heads and head_dim positive, got 3, 2 and 8}}
  %q, %k, %v = sluice.split_qkv %x concat heads 3 kv_heads 2 head_dim 8
    : tensor<?x64xf32> -> tensor<?x24xf32>, tensor<?x16xf32>, tensor<?x16xf32>
  return
}

// -----

func.func @f(%x: tensor<?x65xf32>) {
  // split_qkv_c2
  // expected-error @+1 {{the input is 65 wide, expected 64}}
  %q, %k, %v = sluice.split_qkv %x concat heads 4 kv_heads 2 head_dim 8
    : tensor<?x65xf32> -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>) {
  // split_qkv_c3: the query
  // expected-error @+1 {{the query is 33 wide, expected 32}}
  %q, %k, %v = sluice.split_qkv %x grouped heads 4 kv_heads 2 head_dim 8
    : tensor<?x64xf32> -> tensor<?x33xf32>, tensor<?x16xf32>, tensor<?x16xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64xf32>) {
  // split_qkv_c3: the value
  // expected-error @+1 {{the value is 17 wide, expected 16}}
  %q, %k, %v = sluice.split_qkv %x grouped heads 4 kv_heads 2 head_dim 8
    : tensor<?x64xf32> -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x17xf32>
  return
}

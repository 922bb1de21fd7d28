// RUN: sluice-opt %s --sluice-insert-checkpoints="max-latency-us=1100" --split-input-file --verify-diagnostics

// What checkpoints cannot be put into, and clusters in the IR that are none.

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    // expected-error@+1 {{needs checkpoints, but rows from before it are used behind it}}
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.add %h0, %h : tensor<?x16xf32>
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      // Sixteen columns cannot be cut.
      // expected-warning@+1 {{max-latency-us=1100 cannot be kept in @main.s0: its longest stretch takes 1.28 ms, most of it in 'sluice.linear'}}
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  // expected-error@+1 {{has checkpoints already}}
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %b1, %h1 = sluice.checkpoint %batch, %h : tensor<?x16xf32>
    %last = sluice.select_outputs %h1, %b1 : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{the module describes no cluster: it has no dlti.target_system_spec}}
module {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      // Sixteen columns cannot be cut.
      // expected-warning@+1 {{max-latency-us=1100 cannot be kept in @main.s0: its longest stretch takes 1.28 ms, most of it in 'sluice.linear'}}
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  // expected-error@+1 {{the cluster 'one' has no device 0 on a node 'n7'}}
  sluice.stage @main.s1 on(#sluice.place<node = "n7", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{dlti.target_system_spec: 'n0' has no 'flops'}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{dlti.target_system_spec: 'n0' has an unknown key 'colour'}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "colour" = 0.0, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{dlti.target_system_spec: 'n0' 'memory' is of another type}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1.0, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{dlti.target_system_spec: node 'n0': FLOP/s -1 is not in}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = -1.0, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{dlti.target_system_spec: there is no 'links'}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>>} {
  sluice.file @f0 path "model.gguf" size 65536 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<64x16xf32>
  sluice.weight @w in @f0 at 4096 stored f32 : tensor<16x16xf32>
  sluice.weight @bias in @f0 at 5120 stored f32 : tensor<64xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x16xf32> {
    %table = sluice.param @table : tensor<64x16xf32>
    %h = sluice.embed %batch, %table by token
      : tensor<64x16xf32> -> tensor<?x16xf32>
    %h0 = sluice.layer 0 (%x = %h) : tensor<?x16xf32> {
      %w = sluice.param @w : tensor<16x16xf32>
      %q = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %k = sluice.linear %x, %w
        : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 16>
      %a = sluice.attend %q, %k, %k, %cache, %batch heads 1 scale 0.25
        : tensor<?x16xf32>, tensor<?x16xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 16>
      %y = sluice.add %x, %a : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    %h1 = sluice.layer 1 (%x = %h0) : tensor<?x16xf32> {
      %y = sluice.activation relu %x : tensor<?x16xf32>
      sluice.yield %y : tensor<?x16xf32>
    }
    sluice.forward %h1 : tensor<?x16xf32>
  }
  sluice.stage @main.s1 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch, %h: tensor<?x16xf32>) -> tensor<?x64xf32> {
    %last = sluice.select_outputs %h, %batch : tensor<?x16xf32>
    %table = sluice.param @table : tensor<64x16xf32>
    %bias = sluice.param @bias : tensor<64xf32>
    %logits = sluice.linear %last, %table bias %bias
      : tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32> -> tensor<?x64xf32>
    sluice.forward %logits : tensor<?x64xf32>
  }
  sluice.pipeline @main stages [@main.s0, @main.s1] attributes {
      architecture = "llama", model_name = "demo", vocab_size = 64,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

// expected-error@+1 {{expected one sluice.pipeline}}
module {
}

// -----

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
  // expected-error @+1 {{takes a !sluice.chunk, the rows of one request: --sluice-fuse-decode comes first}}
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%chunk: !sluice.chunk) -> tensor<?x8xf32> {
    %table = sluice.param @table : tensor<8x8xf32>
    %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.forward %h : tensor<?x8xf32>
  }
  sluice.pipeline @main stages [@main.s0] attributes {
      architecture = "llama", model_name = "m", vocab_size = 8,
      context_length = 4}
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %n = sluice.verify %run : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

// -----

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "n0" = #dlti.target_device_spec<
      "kind" = "cpu", "memory" = 1073741824 : i64, "bandwidth" = 1.0e+06,
      "flops" = 1.0e+06, "overhead" = 0.0, "row_overhead" = 0.0>,
    "links" = #dlti.target_device_spec<
      "cluster" = "one",
      "local" = #dlti.map<"latency" = 2.0e-06, "bandwidth" = 2.0e+10>>>} {
  sluice.file @f0 path "model.gguf" size 4096 identity "0123456789abcdef"
  sluice.weight @table in @f0 at 0 stored f32 : tensor<8x8xf32>
  sluice.stage @main.s0 on(#sluice.place<node = "n0", device = 0>)
      (%batch: !sluice.batch) -> tensor<?x8xf32> {
    %table = sluice.param @table : tensor<8x8xf32>
    %h = sluice.embed %batch, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.forward %h : tensor<?x8xf32>
  }
  sluice.pipeline @main stages [@main.s0] attributes {
      architecture = "llama", model_name = "m", vocab_size = 8,
      context_length = 4}
  // expected-error @+1 {{takes a !sluice.chunk, the rows of one request: --sluice-fuse-decode comes first}}
  sluice.model @draft(%chunk: !sluice.chunk) attributes {
      architecture = "llama", model_name = "d", vocab_size = 8,
      context_length = 4} {
    %table = sluice.param @table : tensor<8x8xf32>
    %h = sluice.embed chunk %chunk, %table by token : tensor<8x8xf32> -> tensor<?x8xf32>
    sluice.return %h : tensor<?x8xf32>
  }
  sluice.generate @generate target(@main) {
    %run = sluice.launch @main : !sluice.run
    %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
      depth 4 width 1 : !sluice.guesses
    %n = sluice.verify %run, %guesses : index
    sluice.commit %run, %n
    sluice.emit %n
    sluice.end
  }
}

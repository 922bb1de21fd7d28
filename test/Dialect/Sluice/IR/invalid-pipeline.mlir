// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Stages, and pipelines whose stages do not fit together.

// stage_c1
// expected-error @+1 {{the body must take one !sluice.chunk or !sluice.batch, and at most one value of rows}}
sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c1: one value of rows
// expected-error @+1 {{the body must take one !sluice.chunk or !sluice.batch, and at most one value of rows}}
sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>, %g: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c2
// expected-error @+1 {{must end with sluice.forward of}}
sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x9xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}

// -----

sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = sluice.layer 3 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  // stage_c3
  // expected-error @+1 {{is numbered 5, expected 4}}
  %z = sluice.layer 5 (%x = %y) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c4
// expected-error @+1 {{has costs for 3 row counts, expected 10}}
sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {costs = array<i64: 1, 2, 3>} {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c4: they never fall
// expected-error @+1 {{has costs that are not positive, or that fall with more rows}}
sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32>
    attributes {costs = array<i64: 1, 2, 3, 4, 5, 6, 7, 8, 9, 8>} {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

// stage_c5
// expected-error @+1 {{step_rows must be positive, got 0}}
sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {step_rows = 0 : i64} {
  sluice.forward %h : tensor<?x8xf32>
}

// -----

func.func @f(%h: tensor<?x8xf32>) {
  // forward_c1
  // expected-error @+1 {{expects parent op 'sluice.stage'}}
  sluice.forward %h : tensor<?x8xf32>
}

// -----

sluice.stage @s on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %s = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  // select_outputs_c2: in a stage
  // expected-error @+1 {{takes rows that sluice.select_outputs picked beside the batch or rows of all of it}}
  %y = sluice.add %s, %h : tensor<?x8xf32>
  sluice.forward %y : tensor<?x8xf32>
}

// -----

// pipeline_c1
// expected-error @+1 {{@other is not a sluice.stage, sluice.worker or sluice.group}}
sluice.pipeline @main stages [@other] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

// pipeline_c1: some
// expected-error @+1 {{has no stages}}
sluice.pipeline @main stages [] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c1: once each
// expected-error @+1 {{has @s0 twice}}
sluice.pipeline @main stages [@s0, @s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.rank @r index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.channel @c from @r to @r capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r to @r capacity 1 : !sluice.frame<tokens>
sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.worker @s1 at(@r) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}
// pipeline_c1: of one kind
// expected-error @+1 {{has stages beside workers}}
sluice.pipeline @main stages [@s0, @s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c2
// expected-error @+1 {{vocab_size and context_length must be positive}}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 0}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c2: latency
// expected-error @+1 {{max_latency_us must be 1 to 86400000000, got 0}}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4, max_latency_us = 0}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c2: more than a day
// expected-error @+1 {{max_latency_us must be 1 to 86400000000, got 99999999999}}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4, max_latency_us = 99999999999}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c3
// expected-error @+1 {{eos token 8 is not in the vocabulary of 8}}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4, eos_tokens = array<i64: 8>}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.forward %y : tensor<?x8xf32>
}
sluice.stage @s1 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // pipeline_c4
  // expected-error @+1 {{is numbered 2, expected 1}}
  %y = sluice.layer 2 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.forward %y : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0, @s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

// pipeline_c5
// expected-error @+1 {{takes 'tensor<?x8xf32>', but the stage before it forwards no rows}}
sluice.stage @s1 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x9xf32> {
  %h = "test.rows"() : () -> tensor<?x9xf32>
  sluice.forward %h : tensor<?x9xf32>
}
// pipeline_c5: of one type
// expected-error @+1 {{takes 'tensor<?x8xf32>', but the stage before it forwards 'tensor<?x9xf32>'}}
sluice.stage @s1 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0, @s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c6
// expected-error @+1 {{forwards logits that are 8 wide, the vocabulary has 16}}
sluice.stage @s1 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0, @s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 16,
    context_length = 4}

// -----

// pipeline_c7
// expected-error @+1 {{forwards rows that sluice.select_outputs picked, but is not the last stage}}
sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  %o = sluice.select_outputs %h, %batch : tensor<?x8xf32>
  sluice.forward %o : tensor<?x8xf32>
}
sluice.stage @s1 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0, @s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %t = "test.weight"() : () -> tensor<7x8xf32>
  // embed_c2: in a stage
  // expected-error @+1 {{the table has 7 rows, the vocabulary 8}}
  %h = sluice.embed %batch, %t by token : tensor<7x8xf32> -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
// pipeline_c8
// expected-error @+1 {{takes a chunk, but the first stage takes a batch}}
sluice.stage @s1 on(#sluice.place<node = "n0", device = 0>)
    (%chunk: !sluice.chunk, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0, @s1] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}

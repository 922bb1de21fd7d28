// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// What a request does: one launch, verified and committed, and nothing that
// could not be undone while guesses may be wrong.

// generate_c1
// expected-error @+1 {{@main is not a sluice.pipeline}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
// generate_c2
// expected-error @+1 {{must end with sluice.end}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  "test.end"() : () -> ()
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
// generate_c3
// expected-error @+1 {{must hold one sluice.launch, one sluice.verify, one sluice.commit, one sluice.emit and at most one sluice.speculate}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %run2 = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
// generate_c4
// expected-error @+1 {{@nowhere is not a sluice.rank}}
sluice.generate @generate target(@main) at(@nowhere) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

func.func @f(%run: !sluice.run, %n: index) {
  // launch_c1
  // expected-error @+1 {{expects parent op 'sluice.generate'}}
  %r = sluice.launch @main : !sluice.run
  return
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  // launch_c2
  // expected-error @+1 {{launches @draft, but the target is @main}}
  %run = sluice.launch @draft : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.channel @g from @r0 to @r0 capacity 1 : !sluice.frame<guesses>
sluice.generate @generate target(@main) at(@r0) {
  // launch_c3
  // expected-error @+1 {{needs both channels, via and results, or neither}}
  %run = sluice.launch @main via(@c) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.channel @g from @r0 to @r0 capacity 1 : !sluice.frame<guesses>
sluice.generate @generate target(@main) at(@r1) {
  // launch_c4
  // expected-error @+1 {{needs @c to carry '!sluice.frame<rows>' from the head's rank}}
  %run = sluice.launch @main via(@c) results(@d) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.channel @g from @r0 to @r0 capacity 1 : !sluice.frame<guesses>
sluice.generate @generate target(@main) at(@r0) {
  // launch_c4: tokens
  // expected-error @+1 {{needs @g to carry '!sluice.frame<tokens>' to the head's rank}}
  %run = sluice.launch @main via(@c) results(@g) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.channel @g from @r0 to @r0 capacity 1 : !sluice.frame<guesses>
sluice.generate @generate target(@main) at(@r0) {
  // launch_c4: a channel
  // expected-error @+1 {{@x is not a sluice.channel}}
  %run = sluice.launch @main via(@x) results(@d) : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

func.func @f(%run: !sluice.run, %n: index) {
  // speculate_c1
  // expected-error @+1 {{expects parent op 'sluice.generate'}}
  %g = sluice.speculate draft(@d) behind(%run) placement(own) depth 1 width 1 : !sluice.guesses
  return
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c2
  // expected-error @+1 {{@nothing is not a model that could be the draft}}
  %guesses = sluice.speculate draft(@nothing) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c2: not itself
  // expected-error @+1 {{@main is not a model that could be the draft}}
  %guesses = sluice.speculate draft(@main) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c3
  // expected-error @+1 {{depth must be 1 to 1024 and width 1 to 64, got 0 and 1}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 0 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c3: width
  // expected-error @+1 {{depth must be 1 to 1024 and width 1 to 64, got 4 and 65}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 65 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c4
  // expected-error @+1 {{has guesses that no sluice.commit decides on}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // expected-note @+1 {{guesses may be wrong from here on}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  // speculate_c5: the user
  // expected-error @+2 {{'sluice.emit' op has an effect on User, between sluice.speculate and sluice.commit}}
  %n = sluice.verify %run, %guesses : index
  sluice.emit %n
  sluice.commit %run, %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // expected-note @+1 {{guesses may be wrong from here on}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  // speculate_c5: anything that is not known
  // expected-error @+1 {{'test.print' op may have effects that cannot be undone, between sluice.speculate and sluice.commit}}
  "test.print"() : () -> ()
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %m = memref.alloc() : memref<1xindex>
  // expected-note @+1 {{guesses may be wrong from here on}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  // speculate_c5: memory
  // expected-error @+1 {{'memref.store' op has an effect on <Default>, between sluice.speculate and sluice.commit}}
  memref.store %n, %m[%n] : memref<1xindex>
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.channel @g from @r0 to @r0 capacity 1 : !sluice.frame<guesses>
sluice.generate @generate target(@main) at(@r0) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c6
  // expected-error @+1 {{needs both channels, via and results, or neither}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 via(@c) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.channel @g from @r0 to @r0 capacity 1 : !sluice.frame<guesses>
sluice.generate @generate target(@main) at(@r0) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c7
  // expected-error @+1 {{needs @d to carry '!sluice.frame<guesses>' to the head's rank}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 via(@c) results(@d) : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c8
  // expected-error @+1 {{has costs for 1 row counts, expected 10}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 {costs = array<i64: 1>} : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c8: step_rows
  // expected-error @+1 {{step_rows must be positive, got -1}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 {step_rows = -1 : i64} : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

func.func @f(%run: !sluice.run, %n: index) {
  // verify_c1
  // expected-error @+1 {{expects parent op 'sluice.generate'}}
  %c = sluice.verify %run : index
  return
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %guesses = "test.guesses"() : () -> !sluice.guesses
  // verify_c2
  // expected-error @+1 {{takes guesses that are not behind its run}}
  %n = sluice.verify %run, %guesses : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

func.func @f(%run: !sluice.run, %n: index) {
  // commit_c1
  // expected-error @+1 {{expects parent op 'sluice.generate'}}
  sluice.commit %run, %n
  return
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  %m = "test.count"() : () -> index
  // commit_c2
  // expected-error @+1 {{takes a count that no sluice.verify of its run found}}
  sluice.commit %run, %m
  sluice.emit %n
  sluice.end
}

// -----

func.func @f(%run: !sluice.run, %n: index) {
  // emit_c1
  // expected-error @+1 {{expects parent op 'sluice.generate'}}
  sluice.emit %n
  return
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  %m = "test.count"() : () -> index
  // emit_c2
  // expected-error @+1 {{takes a count that no sluice.verify found}}
  sluice.emit %m
  sluice.end
}

// -----

func.func @f() {
  // end_c1
  // expected-error @+1 {{expects parent op 'sluice.generate'}}
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// generate_c3: nothing is given to the user
// expected-error @+1 {{must hold one sluice.launch, one sluice.verify, one sluice.commit, one sluice.emit and at most one sluice.speculate}}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  // generate_c5
  // expected-error @+1 {{stands before sluice.commit}}
  sluice.emit %n
  sluice.commit %run, %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
// generate_c6
// expected-error @+1 {{must take no arguments}}
sluice.generate @generate target(@main) {
^bb0(%x: i32):
  %run = sluice.launch @main : !sluice.run
  %n = sluice.verify %run : index
  sluice.commit %run, %n
  sluice.emit %n
  sluice.end
}

// -----

sluice.stage @s0 on(#sluice.place<node = "n0", device = 0>)
    (%batch: !sluice.batch) -> tensor<?x8xf32> {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.forward %h : tensor<?x8xf32>
}
sluice.pipeline @main stages [@s0] attributes {
    architecture = "llama", model_name = "m", vocab_size = 8,
    context_length = 4}
sluice.model @draft(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "d", vocab_size = 8, context_length = 4} {
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.return %h : tensor<?x8xf32>
}
sluice.generate @generate target(@main) {
  %run = sluice.launch @main : !sluice.run
  // speculate_c4: behind it, which is found before what dominates what
  // expected-error @+1 {{stands before the guesses that it decides on}}
  sluice.commit %run, %n
  // expected-note @+1 {{sluice.speculate}}
  %guesses = sluice.speculate draft(@draft) behind(%run) placement(own)
    depth 4 width 1 : !sluice.guesses
  %n = sluice.verify %run, %guesses : index
  sluice.emit %n
  sluice.end
}

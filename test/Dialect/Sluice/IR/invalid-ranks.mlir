// RUN: sluice-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Ranks, channels whose ends are elsewhere or of another type, and workers that
// do not receive once and send once.

// rank_c1
// expected-error @+1 {{index must not be negative, got -1}}
sluice.rank @r index -1 on(#sluice.place<node = "n0", device = 0>)

// -----

// channel_c1
// expected-error @+1 {{@r is not a sluice.rank or sluice.group}}
sluice.channel @c from @r to @r capacity 1 : !sluice.frame<rows>

// -----

sluice.rank @r index 0 on(#sluice.place<node = "n0", device = 0>)
// channel_c2
// expected-error @+1 {{capacity must be 1 to 65536, got 0}}
sluice.channel @c from @r to @r capacity 0 : !sluice.frame<rows>

// -----

sluice.rank @r index 0 on(#sluice.place<node = "n0", device = 0>)
// Frames.
// expected-error @+1 {{a frame of rows cannot have activations of type 'i32'}}
sluice.channel @c from @r to @r capacity 1 : !sluice.frame<rows, i32>

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
// worker_c1
// expected-error @+1 {{@r2 is not a sluice.rank}}
sluice.worker @w at(@r2) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
// worker_c2
// expected-error @+1 {{must begin with its one sluice.receive and end with its one sluice.send}}
sluice.worker @w at(@r1) {
  "test.first"() : () -> ()
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
// worker_c2: one of each
// expected-error @+1 {{must begin with its one sluice.receive and end with its one sluice.send}}
sluice.worker @w at(@r1) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  // worker_c3
  // expected-error @+1 {{is numbered 2, expected 1}}
  %z = sluice.layer 2 (%x = %y) : tensor<?x8xf32> {
    sluice.yield %x : tensor<?x8xf32>
  }
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
// worker_c4
// expected-error @+1 {{has costs for 1 row counts, expected 10}}
sluice.worker @w at(@r1) attributes {costs = array<i64: 1>} {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
// worker_c5
// expected-error @+1 {{step_rows must be positive, got -4}}
sluice.worker @w at(@r1) attributes {step_rows = -4 : i64} {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
// worker_c6
// expected-error @+1 {{must take no arguments: rows come in by sluice.receive}}
sluice.worker @w at(@r1) {
^bb0(%x: tensor<?x8xf32>):
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  sluice.send @d %b, %x : tensor<?x8xf32>
}

// -----

func.func @f() {
  // receive_c1
  // expected-error @+1 {{expects parent op 'sluice.worker'}}
  %b = sluice.receive @c
  return
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  // receive_c2
  // expected-error @+1 {{is at @r1, but @d goes to @r0}}
  %b, %h = sluice.receive @d : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  // receive_c3
  // expected-error @+1 {{does not take what @c carries, '!sluice.frame<rows, tensor<?x8xf32>>'}}
  %b = sluice.receive @c
  %h = "test.rows"() : () -> tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  // receive_c2: a channel
  // expected-error @+1 {{@x is not a sluice.channel}}
  %b, %h = sluice.receive @x : tensor<?x8xf32>
  sluice.send @d %b, %h : tensor<?x8xf32>
}

// -----

func.func @f(%b: !sluice.batch, %h: tensor<?x8xf32>) {
  // send_c1
  // expected-error @+1 {{expects parent op 'sluice.worker'}}
  sluice.send @d %b, %h : tensor<?x8xf32>
  return
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  // send_c2
  // expected-error @+1 {{is at @r1, but @c comes from @r0}}
  sluice.send @c %b, %h : tensor<?x8xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  %y = "test.rows"() : () -> tensor<?x9xf32>
  // send_c3
  // expected-error @+1 {{does not send what @d carries, '!sluice.frame<rows, tensor<?x8xf32>>'}}
  sluice.send @d %b, %y : tensor<?x9xf32>
}

// -----

sluice.rank @r0 index 0 on(#sluice.place<node = "n0", device = 0>)
sluice.rank @r1 index 1 on(#sluice.place<node = "n1", device = 0>)
sluice.channel @c from @r0 to @r1 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @d from @r1 to @r0 capacity 1 : !sluice.frame<rows, tensor<?x8xf32>>
sluice.channel @t from @r1 to @r0 capacity 1 : !sluice.frame<tokens>
sluice.worker @w at(@r1) {
  %b, %h = sluice.receive @c : tensor<?x8xf32>
  %o = sluice.select_outputs %h, %b : tensor<?x8xf32>
  // send_c4
  // expected-error @+1 {{sends rows that sluice.select_outputs picked, but @d carries those of the whole batch}}
  sluice.send @d %b, %o : tensor<?x8xf32>
}

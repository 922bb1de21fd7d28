//===- CpuProgramABI.h - the C interface of emitted code and runtime ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is a whole model, one stage of it, or the draft: one step function
// that the compiler emits and the runtime calls; it calls back the functions
// below. Both sides are built from this header's text: a change of any
// signature, layout or rule in it is a new SLUICE_ABI_VERSION.
//
// How a step runs. The Executor calls the step function once on every thread of
// its pool, with the same arguments but `thread`. All threads pass through the
// same calls in the same order (single program, multiple data); each does its
// own share, and a part of the work is dealt by counting those calls: a thread
// that left one out would leave work undone. No function here waits for other
// threads except sluice_barrier and sluice_checkpoint. What one thread wrote is
// visible to the others after the next of these two, and before none.
//
// The program of a member of a tensor-parallel group meets the other members in
// sluice_all_reduce and sluice_all_gather: all members call them in the same
// order with the same sizes, and pass the same checkpoints. Thread 0 waits for
// the other members there, the other threads at their next barrier.
//
// Rows leave at checkpoints. A step starts with the rows and outputs of the
// step function's arguments. After a checkpoint it has as many rows as
// sluice_checkpoint returned and as many outputs as sluice_outputs tells, in
// rows 0, 1, ... without gaps: some have moved to a lower row. What a program
// then does, the same on all threads:
//
//   living = sluice_checkpoint(step, thread);
//   if (living == 0) return;                      // nobody waits for anything
//   if (living != rows) {                         // else nothing has changed
//     rows = living; outputs = sluice_outputs(step);
//     sluice_move_rows(step, x, N, thread, threads);      // each value x[row]
//     sluice_move_outputs(step, y, N, thread, threads);   // and each y[output]
//     sluice_barrier(step, thread);               //   that is used later
//   }
//
// Values that are not moved are lost, also in the rows that have stayed. All
// shares of rows are computed anew. What follows from the batch alone
// (sluice_embed, sluice_rope_table) can be computed again instead of moved.
//
// Work is shared in one of two ways, and each function says which:
//   by rows    the caller passes the half-open range [rowBegin, rowEnd) of rows
//              that this thread does;
//   by itself  the function is given (thread, threads) and picks this thread's
//              share; every thread of the pool must call it.
//
// Values are dense rows of N floats: x[row][N]. The buffer of a value starts at
//   arena + rowOffset * rowCapacity + outputOffset * outputCapacity   (floats)
// where the offsets are the compiler's constants. Buffers with one row for each
// row of the step come first (outputOffset 0); those with one row for each
// output come after all of them (rowOffset = the descriptor's row_floats). The
// arena is aligned to 64 bytes and both capacities are multiples of 16, so
// that every buffer is aligned to 64 bytes.
//
// Invariant: what a function computes for a row depends on that row, on its
// sequence's cache and on shapes; never on the other rows of the step, on how
// many there are, or on `threads`. Bit for bit.
//
// Nothing here reports errors: the Executor checks a step before it starts it,
// and says after it whether the members of a group have met.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H

#include <stdint.h>

#define SLUICE_ABI_VERSION 6

/// A symbol of the runtime that emitted objects refer to, named after the
/// version: with a runtime of another one they cannot be linked. And its name.
#define SLUICE_ABI_SYMBOL SLUICE_ABI_SYMBOL_OF(SLUICE_ABI_VERSION)
#define SLUICE_ABI_SYMBOL_NAME SLUICE_ABI_TEXT(SLUICE_ABI_SYMBOL)
#define SLUICE_ABI_SYMBOL_OF(version) SLUICE_ABI_JOIN(version)
#define SLUICE_ABI_JOIN(version) sluice_program_interface_##version
#define SLUICE_ABI_TEXT(symbol) SLUICE_ABI_QUOTE(symbol)
#define SLUICE_ABI_QUOTE(symbol) #symbol

/// Floats of one quantised row of `cols` activations, a multiple of 32: 48
/// bytes for each block of 32 (linear/ActivationRows.h says which).
#define SLUICE_QUANTIZED_ROW_FLOATS(cols) ((cols) / 32 * 12)

#ifdef __cplusplus
extern "C" {
#endif

/// One step: its rows and all that they reach (weights, caches, the pool).
/// Opaque to emitted code, which only passes it on. Owned by the Executor;
/// valid during the call of the step function.
typedef struct SluiceStep SluiceStep;

/// The parameters of one attention; the compiler emits it as a constant.
/// As an LLVM struct, in this order and without padding between fields:
///   { i64 heads, i64 kvHeads, i64 headDim, i64 window,
///     float scale, float softcap, ptr alibiSlopes }        48 bytes, align 8
typedef struct SluiceAttention {
  int64_t heads;   ///< query heads; a multiple of kvHeads
  int64_t kvHeads; ///< as in the cache layer
  int64_t headDim; ///< as in the cache layer
  /// Sliding window: the row at position p sees positions p-window+1 .. p.
  /// 0: all positions up to p.
  int64_t window;
  float scale;   ///< score = scale * (q . k)
  float softcap; ///< then, unless 0: score = softcap * tanh(score / softcap)
  /// Null, or one slope for each query head: last, the score of key position t
  /// for the row at position p gets slope * (t - p).
  const float *alibiSlopes;
} SluiceAttention;

/// An emitted step function. Called by the Executor on every thread of the
/// pool; returns when this thread is done. If the program has an output, the
/// logits of output o are then at
///   arena + row_floats * rowCapacity + (logits_offset * outputCapacity)
///         + o * vocab_size
/// `rows` >= 1 rows and 0 <= `outputs` <= rows output rows are in use, out of
/// the capacities; 0 <= `thread` < `threads`.
typedef void (*SluiceStepFunction)(SluiceStep *step, int64_t rows,
                                   int64_t outputs, float *arena,
                                   int64_t rowCapacity, int64_t outputCapacity,
                                   int64_t thread, int64_t threads);

/// One line of an executable's table of programs, sluice_program_table
/// (runtime/app/Program.h). As an LLVM struct: { ptr, ptr }.
typedef struct SluiceProgramEntry {
  const char *name; ///< as in the descriptor; ends with a zero byte
  SluiceStepFunction step;
} SluiceProgramEntry;

/// Waits until every thread of the pool has called it as often as this one.
/// All threads. Orders all memory written before it before all reads after it.
void sluice_barrier(SluiceStep *step, int64_t thread);

/// A checkpoint: lets the rows leave that have died, and returns how many live;
/// the same on every thread. All threads. Orders memory as sluice_barrier does
/// (a barrier just before or after it is not needed). Afterwards every function
/// here acts on the living rows at their new places. 0: the step is over, and
/// the step function returns at once. The number of before: no row has left and
/// nothing has moved.
int64_t sluice_checkpoint(SluiceStep *step, int64_t thread);

/// The outputs among the living rows; 0 .. living rows. Any thread, any time.
int64_t sluice_outputs(SluiceStep *step);

/// Makes the last checkpoint's moves in the value x[row][floats], `floats` >=
/// 1: each row that lives on is then at its new place. Must be called before
/// the next checkpoint, once for each value. By itself. Between the checkpoint
/// and this no barrier is needed; one must lie between this and the first use
/// of x. Calls for several values need none between them.
void sluice_move_rows(SluiceStep *step, float *x, int64_t floats,
                      int64_t thread, int64_t threads);

/// The same for a value x[output][floats] that has one row for each output.
void sluice_move_outputs(SluiceStep *step, float *x, int64_t floats,
                         int64_t thread, int64_t threads);

/// h[row][cols] = the rows that the stage before has sent, as float32; `cols`
/// is the descriptor's hidden_size. Programs without an embedding only, and
/// only before the step's first checkpoint. By rows. Writes h[rowBegin..rowEnd)
/// only.
void sluice_receive_rows(SluiceStep *step, float *h, int64_t cols,
                         int64_t rowBegin, int64_t rowEnd);

/// Gives the rows h[row][cols] to the stage behind, in the format of the link;
/// `cols` is the descriptor's hidden_size. Programs without an output only, and
/// only after the step's last checkpoint, once for each living row. By rows.
/// Reads h[rowBegin..rowEnd) only.
void sluice_send_rows(SluiceStep *step, const float *h, int64_t cols,
                      int64_t rowBegin, int64_t rowEnd);

/// out[row][cols] = the row of the table `weight` (use "rows") that the row's
/// token, or with byPosition its position, names, as float32. By rows. Writes
/// out[rowBegin..rowEnd) only.
void sluice_embed(SluiceStep *step, int64_t weight, int32_t byPosition,
                  float *out, int64_t rowBegin, int64_t rowEnd);

/// The vector `weight` (use "vector": norm weights, biases) as f32[N]. Aligned
/// to 64 bytes, valid for the life of the Executor. Any thread, any time.
const float *sluice_vector(SluiceStep *step, int64_t weight);

/// Quantises rows of activations x[row][cols] to what sluice_linear takes with
/// quantised weights: 8-bit integers in blocks of 32 with a float scale and the
/// block's sum. `cols` is a multiple of 32; q is a value buffer with rows of
/// SLUICE_QUANTIZED_ROW_FLOATS(cols) floats. By rows; q and x do not overlap.
void sluice_quantize_rows(SluiceStep *step, const float *x, void *q,
                          int64_t cols, int64_t rowBegin, int64_t rowEnd);

/// y[row][c - colBegin] = x[row][in] . weight[c][in] + bias[c] for all `rows`
/// and the output columns c of [colBegin, colEnd). Both bounds are multiples of
/// 16, but for the end of the weight; y has rows of colEnd - colBegin floats.
/// The same bits as from the whole product. x: float32 rows, or what
/// sluice_quantize_rows wrote when the weight is packed for quantised
/// activations. bias: null, or f32[out] of all columns. By itself, split over
/// output columns, of which the last are taken as threads come free. Reads all
/// of x: a barrier must lie between the writing of x and this, and between this
/// and any use of y.
void sluice_linear(SluiceStep *step, int64_t weight, const void *x,
                   const float *bias, float *y, int64_t colBegin,
                   int64_t colEnd, int64_t rows, int64_t thread,
                   int64_t threads);

/// cosSin[row][rotary] = cos(a_i)*f for i in 0..rotary/2, then sin(a_i)*f, with
/// a_i = float(position of the row) * inverse_frequencies[i] and f the table's
/// attention_factor. By rows.
void sluice_rope_table(SluiceStep *step, int64_t table, float *cosSin,
                       int64_t rowBegin, int64_t rowEnd);

/// Stores k[row][kvHeads][headDim] and v (same shape) of all `rows` in cache
/// layer `cacheLayer` at the rows' sequences and positions, and in every other
/// sequence that is to have them as well (StepBatch's mirrors). By itself.
/// The Executor's limits say in which format: it may round them. Reads all of k
/// and v; a barrier must lie between this and sluice_attend.
void sluice_append(SluiceStep *step, int64_t cacheLayer, const float *k,
                   const float *v, int64_t rows, int64_t thread,
                   int64_t threads);

/// out[row][heads][headDim] = causal attention of q[row][heads][headDim] over
/// the row's sequence in cache layer `cacheLayer`, whose entries for the rows
/// of this step sluice_append has stored. By itself, in units of some rows of
/// one sequence and some heads of one kv head, taken as threads come free. k
/// and v are the rows' own, as given to sluice_append; this implementation
/// reads them in the cache, as they are stored there, so that a row's result is
/// the same however its sequence was cut into steps. Checkpoints may lie
/// before, between and after the two calls.
void sluice_attend(SluiceStep *step, int64_t cacheLayer, const float *q,
                   const float *k, const float *v, float *out,
                   const SluiceAttention *params, int64_t rows, int64_t thread,
                   int64_t threads);

/// out[o][cols] = h[row of output o][cols] for o in [outBegin, outEnd). By
/// output rows. A barrier must lie between the writing of h and this.
void sluice_select_outputs(SluiceStep *step, const float *h, float *out,
                           int64_t cols, int64_t outBegin, int64_t outEnd);

/// sum[row][cols] = x_0[row][cols] + x_1[row][cols] + ... from the left, where
/// x_m is what member m of the group gives, for all `rows`, which may be none
/// and are those of the step or its outputs. `scratch` has room for as many
/// rows of cols floats for each member. The three do not overlap. All threads
/// call it, and thread 0 does it: a barrier must lie between the writing of x
/// and this, and between this and the reading of sum. Where the group is broken
/// `sum` has any values, the step ends at its next checkpoint, and the Executor
/// says what is wrong.
void sluice_all_reduce(SluiceStep *step, const float *x, float *sum,
                       float *scratch, int64_t cols, int64_t rows,
                       int64_t thread);

/// all[row][min(m * partCols, cols - partCols) + i] = x_m[row][i], where
/// x_m[row][partCols] is what member m of the group gives. Otherwise as
/// sluice_all_reduce; `scratch` has room for rows of partCols floats.
void sluice_all_gather(SluiceStep *step, const float *x, float *all,
                       float *scratch, int64_t partCols, int64_t cols,
                       int64_t rows, int64_t thread);

#ifdef __cplusplus
} // extern "C"

static_assert(sizeof(SluiceAttention) == 48, "the compiler emits 48 bytes");
static_assert(sizeof(SluiceProgramEntry) == 16, "the compiler emits 16 bytes");
#endif

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H

//===- CpuProgramABI.h - the C interface of emitted code and runtime ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits a row kernel for each row loop of a step. The runtime runs
// the other tasks itself and calls the kernels (StepTasks.h). The compiler and
// the runtime must agree on this header: a change of any signature, layout or
// rule in it needs a new SLUICE_ABI_VERSION, and so does a change of StepPlan's
// form, but for members that may be left out.
//
// A row kernel does what its row loop in the phase `plan` says, for some rows
// of the step. Each thread of the pool calls it for its own share of the rows.
// A kernel writes only the records of these rows and never waits. It may read
// what other threads have written only if a barrier lies between. It calls the
// functions below.
//
// A value is an array of dense records of N floats: x[row][N]. All buffers and
// vectors are aligned to 64 bytes.
//
// Invariant: the result for a row depends on that row, its sequence's cache and
// the shapes, bit for bit. It never depends on the other rows of the step, on
// their number, or on the number of threads.
//
// No function here reports errors: the executor checks a step before it starts.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H

#include <stdint.h>

#define SLUICE_ABI_VERSION 8

/// The symbol of the runtime that emitted objects refer to, and its name. It
/// contains the version, so objects cannot be linked with a runtime of another
/// version.
#define SLUICE_ABI_SYMBOL SLUICE_ABI_SYMBOL_OF(SLUICE_ABI_VERSION)
#define SLUICE_ABI_SYMBOL_NAME SLUICE_ABI_TEXT(SLUICE_ABI_SYMBOL)
#define SLUICE_ABI_SYMBOL_OF(version) SLUICE_ABI_JOIN(version)
#define SLUICE_ABI_JOIN(version) sluice_program_interface_##version
#define SLUICE_ABI_TEXT(symbol) SLUICE_ABI_QUOTE(symbol)
#define SLUICE_ABI_QUOTE(symbol) #symbol

/// The size, in floats, of one quantised row of `cols` activations, a multiple
/// of 32. Each block of 32 takes 48 bytes (see linear/ActivationRows.h).
#define SLUICE_QUANTIZED_ROW_FLOATS(cols) ((cols) / 32 * 12)

#ifdef __cplusplus
extern "C" {
#endif

/// The step that is executed: its rows and all that they refer to. Opaque to
/// emitted code, which only passes it on. Owned by the executor; valid during
/// the call of a row kernel.
typedef struct SluiceStep SluiceStep;

/// A table whose rows are read by number (a weight of use "rows"). Opaque.
typedef struct SluiceTable SluiceTable;

/// The frequencies of a rotary embedding. Opaque.
typedef struct SluiceRopeTable SluiceRopeTable;

/// An emitted row kernel, which executes its loop for the rows, or outputs,
/// [begin, end). `arguments` has a pointer for each operand of the loop, in
/// order: the starts of the buffers that it reads; then its weights (a vector's
/// floats, a SluiceTable or a SluiceRopeTable); then the starts of the buffers
/// that it writes.
typedef void (*SluiceRowKernel)(SluiceStep *step, void *const *arguments,
                                int64_t begin, int64_t end);

/// An entry of an executable's table of row kernels, sluice_row_kernel_table
/// (runtime/app/LinkedProgram.h). As an LLVM struct: { ptr, ptr }.
typedef struct SluiceRowKernelEntry {
  const char *name; ///< as in the descriptor's step; null-terminated
  SluiceRowKernel kernel;
} SluiceRowKernelEntry;

/// The parameters of one attention. The compiler emits it as a constant for a
/// program on a GPU. As an LLVM struct, in this order and without padding
/// between fields:
///   { i64 heads, i64 kvHeads, i64 headDim, i64 window,
///     float scale, float softcap, ptr alibiSlopes }        48 bytes, align 8
typedef struct SluiceAttention {
  int64_t heads;   ///< query heads; a multiple of kvHeads
  int64_t kvHeads; ///< as in the layer's cache
  int64_t headDim; ///< as in the layer's cache
  /// Sliding window: the row at position p sees positions p-window+1 .. p.
  /// 0: all positions up to p.
  int64_t window;
  float scale;   ///< score = scale * (q . k)
  float softcap; ///< then, unless 0: score = softcap * tanh(score / softcap)
  /// Null, or one slope for each query head. Finally, slope * (t - p) is added
  /// to the score of the key at position t for the row at position p.
  const float *alibiSlopes;
} SluiceAttention;

/// h[row][cols] = the rows that the previous stage has sent, as float32; `cols`
/// is the descriptor's hidden_size. Only for programs without an embedding, and
/// only before the step's first checkpoint. Writes only h[rowBegin..rowEnd).
void sluice_receive_rows(SluiceStep *step, float *h, int64_t cols,
                         int64_t rowBegin, int64_t rowEnd);

/// Passes the rows h[row][cols] to the next stage, in the format of the link;
/// `cols` is the descriptor's hidden_size. Only for programs without an output,
/// and only after the step's last checkpoint, once for each living row. Reads
/// only h[rowBegin..rowEnd).
void sluice_send_rows(SluiceStep *step, const float *h, int64_t cols,
                      int64_t rowBegin, int64_t rowEnd);

/// out[row][cols] = a row of `table`, as float32. The row's token, or with
/// byPosition its position, is the number of the table's row. Writes only
/// out[rowBegin..rowEnd).
void sluice_embed(SluiceStep *step, const SluiceTable *table,
                  int32_t byPosition, float *out, int64_t rowBegin,
                  int64_t rowEnd);

/// Quantises rows of activations x[row][cols] for products with quantised
/// weights: to 8-bit integers in blocks of 32 with a float scale and the
/// block's sum. `cols` is a multiple of 32; q is a buffer with rows of
/// SLUICE_QUANTIZED_ROW_FLOATS(cols) floats. q and x do not overlap.
void sluice_quantize_rows(SluiceStep *step, const float *x, void *q,
                          int64_t cols, int64_t rowBegin, int64_t rowEnd);

/// cosSin[row][rotary] = cos(a_i)*f for i in 0..rotary/2, then sin(a_i)*f, with
/// a_i = float(position of the row) * inverse_frequencies[i] and f the table's
/// attention_factor.
void sluice_rope_table(SluiceStep *step, const SluiceRopeTable *table,
                       float *cosSin, int64_t rowBegin, int64_t rowEnd);

/// out[o][cols] = h[row of output o][cols] for o in [outBegin, outEnd).
void sluice_select_outputs(SluiceStep *step, const float *h, float *out,
                           int64_t cols, int64_t outBegin, int64_t outEnd);

#ifdef __cplusplus
} // extern "C"

static_assert(sizeof(SluiceAttention) == 48, "the compiler emits 48 bytes");
static_assert(sizeof(SluiceRowKernelEntry) == 16,
              "the compiler emits 16 bytes");
#endif

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H

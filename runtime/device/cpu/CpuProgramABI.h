//===- CpuProgramABI.h - the C interface of emitted code and runtime ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits a row kernel for each loop over rows of a step; the
// runtime runs the other tasks itself and calls the kernels (StepTasks.h). Both
// sides are built from this header's text: a change of any signature, layout or
// rule in it is a new SLUICE_ABI_VERSION, and so is a change of StepPlan.h's
// form.
//
// A row kernel does what its row loop in the phase `plan` says, for some rows
// of the step. Each thread of the pool calls it for its own share of the rows.
// A kernel writes the records of these rows alone, waits for nobody, and reads
// what other threads have written only where a barrier lies between. It calls
// the functions below.
//
// Values are dense records of N floats: x[row][N]. All buffers and vectors are
// aligned to 64 bytes.
//
// Invariant: what a function computes for a row depends on that row, on its
// sequence's cache and on shapes; never on the other rows of the step, on how
// many there are, or on the number of threads. Bit for bit.
//
// Nothing here reports errors: the executor checks a step before it starts it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUPROGRAMABI_H

#include <stdint.h>

#define SLUICE_ABI_VERSION 7

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

/// The step that is executed: its rows and all that they reach. Opaque to
/// emitted code, which only passes it on. Owned by the executor; valid during
/// the call of a row kernel.
typedef struct SluiceStep SluiceStep;

/// A table whose rows are looked up (a weight of use "rows"). Opaque.
typedef struct SluiceTable SluiceTable;

/// The frequencies of a rotary embedding. Opaque.
typedef struct SluiceRopeTable SluiceRopeTable;

/// An emitted row kernel: does its loop's work for the rows, or outputs,
/// [begin, end). `arguments` has a pointer for each operand of the loop, in
/// their order: the starts of the buffers that it reads; then of its weights (a
/// vector's floats, a SluiceTable or a SluiceRopeTable); then of the buffers
/// that it writes.
typedef void (*SluiceRowKernel)(SluiceStep *step, void *const *arguments,
                                int64_t begin, int64_t end);

/// One line of an executable's table of row kernels, sluice_row_kernel_table
/// (runtime/app/LinkedProgram.h). As an LLVM struct: { ptr, ptr }.
typedef struct SluiceRowKernelEntry {
  const char *name; ///< as in the descriptor's step; ends with a zero byte
  SluiceRowKernel kernel;
} SluiceRowKernelEntry;

/// The parameters of one attention; the compiler emits it as a constant for a
/// GPU's program.
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

/// h[row][cols] = the rows that the stage before has sent, as float32; `cols`
/// is the descriptor's hidden_size. Programs without an embedding only, and
/// only before the step's first checkpoint. Writes h[rowBegin..rowEnd) only.
void sluice_receive_rows(SluiceStep *step, float *h, int64_t cols,
                         int64_t rowBegin, int64_t rowEnd);

/// Gives the rows h[row][cols] to the stage behind, in the format of the link;
/// `cols` is the descriptor's hidden_size. Programs without an output only, and
/// only after the step's last checkpoint, once for each living row. Reads
/// h[rowBegin..rowEnd) only.
void sluice_send_rows(SluiceStep *step, const float *h, int64_t cols,
                      int64_t rowBegin, int64_t rowEnd);

/// out[row][cols] = the row of `table` that the row's token, or with byPosition
/// its position, names, as float32. Writes out[rowBegin..rowEnd) only.
void sluice_embed(SluiceStep *step, const SluiceTable *table,
                  int32_t byPosition, float *out, int64_t rowBegin,
                  int64_t rowEnd);

/// Quantises rows of activations x[row][cols] to what products with quantised
/// weights take: 8-bit integers in blocks of 32 with a float scale and the
/// block's sum. `cols` is a multiple of 32; q is a value buffer with rows of
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

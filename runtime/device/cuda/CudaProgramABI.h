//===- CudaProgramABI.h - the C interface of emitted CUDA programs --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counterpart of device/cpu/CpuProgramABI.h for a GPU. A step is a CUDA
// graph for a capacity of rows. For each program the compiler emits a host
// function that says what the graph consists of; the executor calls it once for
// each capacity, when it starts. While a step runs, the host only launches the
// graph, so a step calls none of these functions.
//
// How a graph is described. Each function below that returns nothing appends
// work to the graph. That work runs after all work that was appended before has
// run. (Dependent launches let kernels overlap where that is safe; see
// kernels/KernelABI.h.) Functions that return an address append nothing. The
// addresses are those of the device, are valid while the graph exists, and
// differ from graph to graph.
//
// Rows and outputs. `domain` says what a value has one record for: each row of
// the step, or each output. Both counts lie in device memory; the graph's
// capacities are their bounds. A checkpoint lowers the count of rows. Outputs
// get their numbers by sluice_graph_select_outputs. After that they keep their
// places until no row lives, and then there are no outputs.
//
// Values are dense rows of N floats: x[row][N]. The buffer of a value starts at
//
//   arena + rowOffset * rowCapacity + outputOffset * outputCapacity   (floats)
//
// as on the CPU, where both capacities are multiples of 64. The arena is
// aligned to 256 bytes, and so is every buffer. Buffers for rows come first.
//
// Generated kernels lie in the executable's image
// (runtime/app/LinkedProgram.h). A kernel is launched with one or more blocks
// for each row (output) of capacity; a block returns at once if its row is not
// below the count. All other effects of a kernel, too, depend only on the count
// in memory. Its parameters are the 64-bit words that sluice_graph_launch is
// given. It follows the rules of kernels/KernelABI.h: invariance, dependent
// launch, ownership.
//
// Any change here needs a new SLUICE_ABI_VERSION, as in CpuProgramABI.h.
//
// The functions report no errors. The executor collects the first error and
// reports it when the emitted function has returned. After an error, addresses
// are null. All calls come from one thread.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAMABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAMABI_H

#include "runtime/device/cpu/CpuProgramABI.h" // SluiceAttention

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A graph under construction. Opaque to emitted code; owned by the executor.
typedef struct SluiceGraph SluiceGraph;

/// An emitted function, which appends a whole step to `graph`. If the program
/// has an output, the step leaves its logits where the descriptor says, as on
/// the CPU.
typedef void (*SluiceGraphFunction)(SluiceGraph *graph);

/// One entry of an executable's table of CUDA programs. As an LLVM struct it is
/// { ptr, ptr }.
typedef struct SluiceGraphEntry {
  const char *name; ///< as in the descriptor; ends with a zero byte
  SluiceGraphFunction build;
} SluiceGraphEntry;

/// Says what a value has one record for.
enum { SLUICE_DOMAIN_ROWS = 0, SLUICE_DOMAIN_OUTPUTS = 1 };

/// The kinds of operand rows; the numbers are those of OperandKind in
/// kernels/KernelABI.h.
enum {
  SLUICE_OPERAND_F32 = 0,
  SLUICE_OPERAND_BF16 = 1,
  SLUICE_OPERAND_F16 = 2
};

/// The gates; the numbers are those of Gate in kernels/KernelABI.h.
enum { SLUICE_GATE_NONE = 0, SLUICE_GATE_SILU = 1, SLUICE_GATE_GELU_TANH = 2 };

/// The layout of operand rows of `cols` features as a value. ROW_FLOATS is the
/// number of floats in a row's record; the others are offsets in it, of values
/// of their own (kernels/KernelABI.h). The rows are at 0; f16 rows also have
/// the sums of their blocks of 32 and their scales.
#define SLUICE_OPERAND_UNITS(cols) (((cols) + 127) / 128)
#define SLUICE_OPERAND_SUMS(cols) (SLUICE_OPERAND_UNITS(cols) * 64)
#define SLUICE_OPERAND_SCALES(cols)                                            \
  (SLUICE_OPERAND_SUMS(cols) + (SLUICE_OPERAND_UNITS(cols) + 3) / 4 * 16)
#define SLUICE_OPERAND_ROW_FLOATS(kind, cols)                                  \
  ((kind) == SLUICE_OPERAND_F32    ? SLUICE_OPERAND_UNITS(cols) * 128          \
   : (kind) == SLUICE_OPERAND_BF16 ? SLUICE_OPERAND_UNITS(cols) * 64           \
                                   : SLUICE_OPERAND_SCALES(cols) + 4)

/// Returns the address of the value at `offset` (in floats of a record) among
/// the values of its domain.
void *sluice_graph_value(SluiceGraph *graph, int32_t domain, int64_t offset);

/// Returns the vector `weight` (use "vector"), f32[N].
const float *sluice_graph_vector(SluiceGraph *graph, int64_t weight);

/// Returns the cosines and sines of the rope table `table`, [position][rotary].
/// They have the same bits as those that sluice_rope_table gives for a row at
/// that position.
const float *sluice_graph_rope_table(SluiceGraph *graph, int64_t table);

/// Returns the number of rows (outputs) that there are, an int32.
const int32_t *sluice_graph_count(SluiceGraph *graph, int32_t domain);

/// Returns the positions of the rows, int32[row].
const int32_t *sluice_graph_positions(SluiceGraph *graph);

/// Gives the outputs their final numbers, which later checkpoints do not
/// change. A program with an output calls it once, before the first work of the
/// domain of outputs.
void sluice_graph_select_outputs(SluiceGraph *graph);

/// Returns the row of each output, int32[output].
const int32_t *sluice_graph_output_rows(SluiceGraph *graph);

/// Returns int32[output], where a program with an output puts for each output
/// the token of the greatest logit. Of several such tokens it is the lowest, as
/// in the host's Sampler. A NaN counts as the greatest. If the greatest logit
/// is not a finite number, which is an error of the Sampler, the complement of
/// the token is put there, which is below 0. After the program's work the
/// runtime draws the tokens of the outputs that have a temperature.
int32_t *sluice_graph_greedy_tokens(SluiceGraph *graph);

/// Launches the generated kernel `kernel` with the `count` words as its
/// parameters. It has `blocks` blocks of `threads` threads for each row
/// (output) of capacity; those of row r start at block r * blocks. The kernel
/// declares its own shared memory, of fixed size. The words are copied.
void sluice_graph_launch(SluiceGraph *graph, const char *kernel, int32_t domain,
                         int32_t threads, int32_t blocks, const uint64_t *words,
                         int64_t count);

/// out[row][cols] = the row of the table `weight` (use "rows") that is selected
/// by the row's token, or with byPosition by its position, as float32. Must
/// come before any checkpoint, since tokens do not move with their rows.
void sluice_graph_embed(SluiceGraph *graph, int64_t weight, int32_t byPosition,
                        float *out, int64_t cols);

/// out[row][cols] = the rows that the previous stage has sent, as float32. For
/// programs without an embedding only; comes before any other work. In a group,
/// the first member broadcasts them to the other members.
void sluice_graph_receive(SluiceGraph *graph, float *out, int64_t cols);

/// Gives the rows h[row][cols] to the next stage. For programs without an
/// output only; comes last.
void sluice_graph_send(SluiceGraph *graph, const float *h, int64_t cols);

/// operand[row] = the operand that sluice_graph_linear takes for x[row][cols]
/// with weights of the operand kind `kind`: records of
/// SLUICE_OPERAND_ROW_FLOATS(kind, cols) floats. They are lost at a checkpoint.
void sluice_graph_operand(SluiceGraph *graph, int32_t domain, const float *x,
                          void *operand, int64_t cols, int32_t kind);

/// Without a gate, computes
///
///   y[row][c - colBegin] = x[row][in] . weight[c][in] + bias[c] + residual
///
/// and with a gate, as LinearArguments of kernels/KernelABI.h describe it,
///
///   y[row][i] = act(v[row][g]) * v[row][partner] + residual
///
/// where the pairs of weight columns are those of the descriptor's paired
/// weight. The result has the same bits as a part of the whole product, and
/// with a gate as two products and a generated kernel.
///
/// - colBegin, colEnd: multiples of 16, except at the end of the weight. For a
///   gated weight they are 0 and the end.
/// - operand: records of the weight's operand kind, of rows with as many
///   features as the weight has.
/// - bias: null, or f32[out] of all columns. With a gate, it is the bias of the
///   gate's columns, and partnerBias that of the partner's; partnerBias is null
///   if bias is.
/// - residual: null, or of the shape of y; may be y.
void sluice_graph_linear(SluiceGraph *graph, int32_t domain, int64_t weight,
                         const void *operand, const float *bias,
                         const float *partnerBias, const float *residual,
                         float *y, int32_t gate, int64_t colBegin,
                         int64_t colEnd);

/// Stores keys and values in a cache, and attends to it. The attention's
/// parameters are copied; params->alibiSlopes lie in host memory.
void sluice_graph_append(SluiceGraph *graph, int64_t cacheLayer, const float *k,
                         const float *v);
void sluice_graph_attend(SluiceGraph *graph, int64_t cacheLayer, const float *q,
                         float *out, const SluiceAttention *params);

/// y[row][cols] = the sum of x[row][cols] over all members of the group that
/// computes the program, added from left to right in the order of the members,
/// for all rows (outputs) of capacity. All members have the same all-reduces,
/// all-gathers and checkpoints, in the same order. `scratch` has room for
/// members * cols floats a row. The buffers do not overlap.
void sluice_graph_all_reduce(SluiceGraph *graph, int32_t domain, const float *x,
                             float *y, float *scratch, int64_t cols);

/// y[row][min(m * partCols, cols - partCols) + i] = member m's
/// x[row][partCols]. The columns of members may overlap; they then hold the
/// same numbers there. `scratch` has room for members * partCols floats a row.
/// The buffers do not overlap.
void sluice_graph_all_gather(SluiceGraph *graph, int32_t domain, const float *x,
                             float *y, float *scratch, int64_t partCols,
                             int64_t cols);

/// A checkpoint: dead rows leave, and living rows move into the gaps in the
/// `count` values of rows, values[i][row][floats[i]]. If no row is left, the
/// work after it does nothing. Values of outputs do not move. In a group, the
/// first member decides which rows are dead.
void sluice_graph_checkpoint(SluiceGraph *graph, void *const *values,
                             const int64_t *floats, int64_t count);

#ifdef __cplusplus
} // extern "C"

static_assert(sizeof(SluiceGraphEntry) == 16, "the compiler emits 16 bytes");
#endif

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAMABI_H

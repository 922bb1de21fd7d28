//===- CudaProgramABI.h - the C interface of emitted CUDA programs --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counterpart of device/cpu/CpuProgramABI.h for a GPU. A step is a CUDA
// graph for a capacity of rows. The compiler emits for each program a host
// function that says what the graph consists of; the Executor calls it once for
// each capacity, when it starts. While a step runs the host does nothing but
// launch the graph, so there is nothing here that a step would call.
//
// How a graph is described. Each function below that returns nothing appends
// work to the graph: it runs when all that was appended before has run. (The
// kernels' dependent launches overlap what may overlap; kernels/KernelABI.h.)
// Functions that return an address append nothing. Addresses are the device's,
// are valid while the graph is, and differ from graph to graph.
//
// Rows and outputs. `domain` says what a value has one record for: each row of
// the step, or each output. Both counts lie in device memory; the graph's
// capacities are bounds. Checkpoints lower the rows; outputs, once
// sluice_graph_select_outputs has numbered them, stay where they are until no
// row lives, and then there are none.
//
// Values are dense rows of N floats: x[row][N]. The buffer of a value starts at
//   arena + rowOffset * rowCapacity + outputOffset * outputCapacity   (floats)
// as on the CPU, where both capacities are multiples of 64 and the arena is
// aligned to 256 bytes, and so every buffer is. Buffers for rows come first.
//
// Generated kernels lie in the executable's image (runtime/app/Program.h). One
// is launched with a block, or some, for each row (output) of capacity; a block
// whose row is not below the count returns at once, and so does a kernel's
// every other effect depend on the count in memory alone. Its parameters are
// the 64-bit words that sluice_graph_launch is given. It follows the rules of
// kernels/KernelABI.h: invariance, dependent launch, ownership.
//
// Any change here, too, is a new SLUICE_ABI_VERSION.
//
// Nothing here reports errors: the Executor collects the first one and reports
// it when the function has returned. After an error addresses are null.
// One thread.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAMABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAMABI_H

#include "runtime/device/cpu/CpuProgramABI.h" // SluiceAttention

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A graph in the making. Opaque to emitted code; owned by the Executor.
typedef struct SluiceGraph SluiceGraph;

/// An emitted function: appends a whole step to `graph`. If the program has an
/// output, its logits are then where the descriptor says, as on the CPU.
typedef void (*SluiceGraphFunction)(SluiceGraph *graph);

/// One line of an executable's table of CUDA programs. As an LLVM struct:
/// { ptr, ptr }.
typedef struct SluiceGraphEntry {
  const char *name; ///< as in the descriptor; ends with a zero byte
  SluiceGraphFunction build;
} SluiceGraphEntry;

/// What records a value has.
enum { SLUICE_DOMAIN_ROWS = 0, SLUICE_DOMAIN_OUTPUTS = 1 };

/// Operand rows, kernels/KernelABI.h's OperandKind.
enum {
  SLUICE_OPERAND_F32 = 0,
  SLUICE_OPERAND_BF16 = 1,
  SLUICE_OPERAND_F16 = 2
};

/// kernels/KernelABI.h's Gate.
enum { SLUICE_GATE_NONE = 0, SLUICE_GATE_SILU = 1, SLUICE_GATE_GELU_TANH = 2 };

/// Operand rows of `cols` features as a value: floats of a row's record, and
/// the offsets in it of values of their own (kernels/KernelABI.h): the rows at
/// 0, and of f16 rows the sums of their blocks of 32 and their scales.
#define SLUICE_OPERAND_UNITS(cols) (((cols) + 127) / 128)
#define SLUICE_OPERAND_SUMS(cols) (SLUICE_OPERAND_UNITS(cols) * 64)
#define SLUICE_OPERAND_SCALES(cols)                                            \
  (SLUICE_OPERAND_SUMS(cols) + (SLUICE_OPERAND_UNITS(cols) + 3) / 4 * 16)
#define SLUICE_OPERAND_ROW_FLOATS(kind, cols)                                  \
  ((kind) == SLUICE_OPERAND_F32    ? SLUICE_OPERAND_UNITS(cols) * 128          \
   : (kind) == SLUICE_OPERAND_BF16 ? SLUICE_OPERAND_UNITS(cols) * 64           \
                                   : SLUICE_OPERAND_SCALES(cols) + 4)

/// The address of the value at `offset` (floats of a record) among those of its
/// domain.
void *sluice_graph_value(SluiceGraph *graph, int32_t domain, int64_t offset);

/// The vector `weight` (use "vector"), f32[N].
const float *sluice_graph_vector(SluiceGraph *graph, int64_t weight);

/// Cosines and sines of the rope table `table`, [position][rotary]: as
/// sluice_rope_table has them for a row at that position, and the same bits.
const float *sluice_graph_rope_table(SluiceGraph *graph, int64_t table);

/// int32: how many rows (outputs) there are.
const int32_t *sluice_graph_count(SluiceGraph *graph, int32_t domain);

/// int32[row]: the rows' positions.
const int32_t *sluice_graph_positions(SluiceGraph *graph);

/// The outputs get their numbers for good: later checkpoints leave them. In
/// programs with an output, once, before the first work of the domain of
/// outputs.
void sluice_graph_select_outputs(SluiceGraph *graph);

/// int32[output]: the row of each output.
const int32_t *sluice_graph_output_rows(SluiceGraph *graph);

/// int32[output]: where a program with an output puts the token of greatest
/// logit of each output; of several the least, as the host's Sampler does. A
/// NaN is the greatest. Where the greatest is not a finite number, which is an
/// error of the Sampler's, the token's complement, below 0. Behind the
/// program's work the runtime draws the tokens of those outputs that have a
/// temperature.
int32_t *sluice_graph_greedy_tokens(SluiceGraph *graph);

/// Launches the generated kernel `kernel`, with the `count` words as its
/// parameters: `blocks` blocks of `threads` threads for each row (output) of
/// capacity, row r's from the number r * blocks on. Shared memory is its own,
/// of fixed size. The words are copied.
void sluice_graph_launch(SluiceGraph *graph, const char *kernel, int32_t domain,
                         int32_t threads, int32_t blocks, const uint64_t *words,
                         int64_t count);

/// out[row][cols] = the row of the table `weight` (use "rows") that the row's
/// token, or with byPosition its position, names, as float32. Before any
/// checkpoint: tokens do not move with their rows.
void sluice_graph_embed(SluiceGraph *graph, int64_t weight, int32_t byPosition,
                        float *out, int64_t cols);

/// out[row][cols] = the rows that the stage before has sent, as float32.
/// Programs without an embedding only; before any other work. In a group the
/// first member gives them to the others.
void sluice_graph_receive(SluiceGraph *graph, float *out, int64_t cols);

/// Gives the rows h[row][cols] to the stage behind. Programs without an output
/// only, as the last thing.
void sluice_graph_send(SluiceGraph *graph, const float *h, int64_t cols);

/// operand[row] = what sluice_graph_linear takes of x[row][cols] for weights of
/// the operand kind `kind`: records of SLUICE_OPERAND_ROW_FLOATS(kind, cols)
/// floats. They are lost at a checkpoint.
void sluice_graph_operand(SluiceGraph *graph, int32_t domain, const float *x,
                          void *operand, int64_t cols, int32_t kind);

/// y[row][c - colBegin] = x[row][in] . weight[c][in] + bias[c] + residual, or
/// with a gate y[row][i] = act(v[row][g]) * v[row][partner] + residual, as
/// kernels/KernelABI.h's LinearArguments: weight column pairs are those of the
/// descriptor's paired weight. Bounds are multiples of 16 but for the end of
/// the weight, of a gated one 0 and the end. `operand`: records of the kind of
/// the weight, of rows as many features as the weight has. bias: null, or
/// f32[out] of all columns; with a gate that of the gate's columns, and
/// partnerBias, null where it is, that of the partner's. residual: null, or as
/// y; may be y. The same bits as from the whole product, and with a gate as
/// from two products and a generated kernel.
void sluice_graph_linear(SluiceGraph *graph, int32_t domain, int64_t weight,
                         const void *operand, const float *bias,
                         const float *partnerBias, const float *residual,
                         float *y, int32_t gate, int64_t colBegin,
                         int64_t colEnd);

/// As sluice_append and sluice_attend. The attention's parameters are copied;
/// params->alibiSlopes are the host's.
void sluice_graph_append(SluiceGraph *graph, int64_t cacheLayer, const float *k,
                         const float *v);
void sluice_graph_attend(SluiceGraph *graph, int64_t cacheLayer, const float *q,
                         float *out, const SluiceAttention *params);

/// y[row][cols] = the sum of the x[row][cols] of all members of the group that
/// computes the program, from the left in their order; of all rows (outputs) of
/// capacity. All members have the same of these two and of checkpoints, in the
/// same order. `scratch` has room for members * cols floats a row; none
/// overlap.
void sluice_graph_all_reduce(SluiceGraph *graph, int32_t domain, const float *x,
                             float *y, float *scratch, int64_t cols);

/// y[row][min(m * partCols, cols - partCols) + i] = member m's
/// x[row][partCols]. Members' columns may overlap, and hold the same there.
/// `scratch` has room for members * partCols floats a row; none overlap.
void sluice_graph_all_gather(SluiceGraph *graph, int32_t domain, const float *x,
                             float *y, float *scratch, int64_t partCols,
                             int64_t cols);

/// A checkpoint: the dead leave, and the moves that close the gaps are made in
/// the `count` values of rows, values[i][row][floats[i]]. With no row left what
/// is behind it does nothing. Values of outputs are not moved. In a group the
/// first member says who is dead.
void sluice_graph_checkpoint(SluiceGraph *graph, void *const *values,
                             const int64_t *floats, int64_t count);

#ifdef __cplusplus
} // extern "C"

static_assert(sizeof(SluiceGraphEntry) == 16, "the compiler emits 16 bytes");
#endif

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAMABI_H

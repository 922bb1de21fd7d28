//===- StepPlan.h - a step as a list of tasks -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A StepPlan is the result of the compiler's phase `plan` as data: the op
// `sluice.step` after all planning passes. An executor runs the tasks in order,
// each for all rows of a step. docs/RationalePlan.md says how the compiler
// makes the plan, docs/reference/ops.md what each task does.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_STEPPLAN_H
#define SLUICE_RUNTIME_DEVICE_STEPPLAN_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sluice::device {

struct ProgramShape;

/// Whether a buffer has a record, or a task runs, for each row or for each
/// output.
enum class RecordKind : uint8_t { Rows, Outputs };

/// Stands for a buffer or weight that a task does not have.
constexpr int64_t noOperand = -1;

/// A buffer of the arena. With capacities of R rows and O outputs, a buffer of
/// rows begins at float `place * R` of the arena; a buffer of outputs begins at
/// float `rowFloats * R + place * O`. Its records are contiguous.
struct PlannedBuffer {
  RecordKind kind = RecordKind::Rows;
  int64_t floats = 0; ///< of a record
  int64_t place = 0;  ///< a multiple of 16
};

/// The parameters of an attention. The score of a key at position t for the row
/// at position p is `scale * (query . key)`; then, unless `softcap` is 0,
/// `softcap * tanh(score / softcap)`; then, if there are slopes, the head's
/// slope times `t - p` is added.
struct PlannedAttention {
  int64_t heads = 0;  ///< query heads: a multiple of the cache's heads
  int64_t window = 0; ///< how many positions a row sees, up to its own; 0: all
  float scale = 0;
  float softcap = 0;
  std::vector<float> slopes; ///< one for each head, or none

  bool operator==(const PlannedAttention &) const = default;
};

/// An operand of a row kernel, which receives a pointer to it.
struct KernelArgument {
  enum class Kind : uint8_t {
    Buffer,
    Weight,
    RopeTable, ///< for a GPU: its cosines and sines, [position][rotary]
    // Those below are for a GPU only; they have no index.
    Positions,    ///< int32[row]
    OutputRows,   ///< int32[output]: the row of each output
    GreedyTokens, ///< int32[output]: see StepPlan::findsTokens()
  };
  Kind kind = Kind::Buffer;
  int64_t index = 0; ///< among the things of that kind
  /// Of a buffer: the first float, in a record, of the part that is passed. A
  /// GPU keeps each part of an operand of products as an array of its own.
  int64_t part = 0;
};

/// The formats of the rows that a GPU's products take.
enum class OperandRows : uint8_t { F32, Bf16, F16 };

/// How rows are normalised: not at all, or as by sluice.rms_norm or
/// sluice.layer_norm.
enum class RowNormKind : uint8_t { None, Rms, Layer };

/// Rows that are normalised, stored, and made operands of products; at least
/// one of the latter two.
struct RowNorm {
  RowNormKind norm = RowNormKind::None;
  float epsilon = 0;
  int64_t input = 0;
  int64_t weight = noOperand;  ///< a weight, noOperand without a norm
  int64_t bias = noOperand;    ///< a weight, only with RowNormKind::Layer
  int64_t output = noOperand;  ///< the buffer of the normalised rows, if any
  int64_t operand = noOperand; ///< the buffer of the operands, if any
  OperandRows format = OperandRows::F32; ///< of the operands

  bool operator==(const RowNorm &) const = default;
};

/// A rotation of the heads of rows, as by sluice.rotate.
struct RowRotation {
  int64_t input = 0;
  int64_t output = 0;
  int64_t ropeTable = 0;
  int64_t heads = 0;
  int64_t headDim = 0;
  int64_t rotaryDim = 0; ///< the features of a head that are rotated
  /// Whether feature i is rotated with i + rotaryDim / 2, and not with the
  /// adjacent one.
  bool isHalf = false;

  bool operator==(const RowRotation &) const = default;
};

/// Executes a row kernel for all rows, or outputs. A CPU calls it for each
/// thread's share of them. A GPU launches it with `blocks` blocks of `threads`
/// threads for each record of capacity: those of row r begin at block r *
/// blocks. The kernel's parameters are 64-bit words: the address of the number
/// of rows, an int32, and then the arguments. A block returns at once if its
/// row is not below the number. The kernel declares its own shared memory, of
/// fixed size, and follows the rules of cuda/kernels/KernelABI.h. A change of
/// these rules needs a new SLUICE_ABI_VERSION.
struct RowLoopTask {
  RecordKind kind = RecordKind::Rows;
  int64_t kernel = 0;
  std::vector<KernelArgument> arguments;
  int64_t threads = 0; ///< for a GPU; 0 for a CPU, as are `blocks`
  int64_t blocks = 0;
  // For a GPU. Set only if the kernel does nothing else: either norms or
  // rotations, never both. The runtime may then do them in the launch of
  // another task, with the same bits, instead of launching the kernel.
  std::vector<RowNorm> norms = {};
  std::vector<RowRotation> rotations = {};
};

/// The activation of a gated product.
enum class ProductGate : uint8_t { None, Silu, GeluTanh };

/// Computes output = input . weight^T + bias + residual for the weight's
/// columns [firstColumn, endColumn). With a gate, for a GPU only, the weight
/// has a partner, and output = gate(input . weight^T + bias) * (input .
/// partner^T + partnerBias) + residual.
struct ProductTask {
  RecordKind kind = RecordKind::Rows;
  int64_t input = 0;
  int64_t weight = 0;
  int64_t bias = noOperand; ///< a weight, or noOperand
  int64_t output = 0;
  int64_t firstColumn = 0;
  int64_t endColumn = 0;
  // For a GPU only.
  ProductGate gate = ProductGate::None;
  int64_t partnerBias = noOperand;
  int64_t residual = noOperand; ///< a buffer, which may be the output
};

/// Converts rows to operands of products. For a GPU only.
struct OperandTask {
  RecordKind kind = RecordKind::Rows;
  OperandRows format = OperandRows::F32;
  int64_t input = 0;
  int64_t output = 0;
};

/// Looks up the rows of a table, by the rows' tokens or positions. For a GPU
/// only. Comes before all checkpoints, since tokens do not move with their
/// rows.
struct EmbedTask {
  int64_t table = 0; ///< a weight
  bool byPosition = false;
  int64_t output = 0;
};

/// Takes the rows that the previous stage has sent. For a GPU only. Comes
/// before all other tasks but EmbedTask.
struct ReceiveTask {
  int64_t output = 0;
};

/// Gives rows to the next stage once all tasks have been executed. For a GPU
/// only.
struct SendTask {
  int64_t input = 0;
};

/// Stores the rows' keys and values in a cache.
struct AppendTask {
  int64_t key = 0;
  int64_t value = 0;
  int64_t cache = 0;
};

/// Computes the attention of the rows' queries over a cache.
struct AttendTask {
  int64_t query = 0;
  int64_t output = 0;
  int64_t cache = 0;
  int64_t attention = 0;
};

/// An all-reduce (`Sum`) or all-gather of the members of a tensor-parallel
/// group. A sum adds the members' numbers from left to right, in the order of
/// the members. Of gathered columns, those of member m begin at min(m * part,
/// columns - part), so they may overlap; they then hold the same numbers there.
/// All members have the same exchanges, in the same order. `scratch` has
/// room for the records of all members. On a CPU, one thread does the whole
/// exchange and waits for the other members; the other threads wait at the next
/// barrier. The plan has a barrier before and after each exchange.
struct ExchangeTask {
  enum class Operation : uint8_t { Sum, Gather };
  Operation operation = Operation::Sum;
  RecordKind kind = RecordKind::Rows;
  int64_t input = 0;
  int64_t output = 0;
  int64_t scratch = 0;
};

/// A checkpoint: removes dead rows from the step and moves the records of
/// `buffers` together to close the gaps. The contents of all other buffers are
/// lost. Tasks after the checkpoint can compute again what depends on the batch
/// alone. All threads wait for each other before and after a checkpoint.
struct CheckpointTask {
  std::vector<int64_t> buffers;
};

/// Makes all threads wait for each other. For a CPU only: a GPU executes tasks
/// one after the other, or as if it did.
struct BarrierTask {};

using StepTask = std::variant<RowLoopTask, ProductTask, AppendTask, AttendTask,
                              ExchangeTask, CheckpointTask, BarrierTask,
                              EmbedTask, OperandTask, ReceiveTask, SendTask>;

/// Returns whether a task is executed for each row or for each output.
RecordKind recordKindOf(const StepTask &task);

/// The tasks of a step and what they refer to by number.
struct StepPlan {
  std::vector<std::string> kernelNames;
  std::vector<PlannedBuffer> buffers;
  std::vector<PlannedAttention> attentions;
  std::vector<StepTask> tasks;

  /// Returns whether the tasks themselves find the token of the greatest logit
  /// of each output; an argument GreedyTokens says where to put it. Of several
  /// such tokens it is the lowest, as in the host's Sampler. A NaN counts as
  /// the greatest. If the greatest logit is not a finite number, which is an
  /// error of the Sampler, the complement of the token is put there, which is
  /// below 0.
  bool findsTokens() const;
};

/// Checks that what the program's plan names is there, lies inside of the arena
/// and fits together; `weights` is how many weights the program has, and its
/// caches are of sizes above 0. An executor checks besides that each weight is
/// of the kind that its task needs, and that its device has such a task. Nobody
/// can check that a row kernel takes the arguments that it is given: that is
/// what the compiler has made of both. Errors name the task by its number.
Status checkStepPlan(const ProgramShape &program, int64_t weights);

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_STEPPLAN_H

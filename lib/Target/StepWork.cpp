//===- StepWork.cpp - the purpose of each op of a GPU's step --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepWork.h"

#include "StepParts.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

class WorkReader {
public:
  WorkReader(const WorkWeights &weights, const StepPlace &place)
      : descriptor(weights.descriptor), program(weights.program), place(place) {
  }

  StepWork read(Operation &op);

private:
  void readLaunch(LaunchKernelOp op);
  void readEmbed(GraphEmbedOp op);
  void readOperand(GraphOperandOp op);
  void readLinear(GraphLinearOp op);

  std::string nameOf(int64_t weight) const;
  std::string nameOf(GraphLinearOp product) const;
  cuda::WeightSpec specOf(GraphLinearOp product) const;
  uint64_t vectorBytes(int64_t weight) const;

  const ProgramDescriptor &descriptor;
  const cuda::CudaProgram &program;
  const StepPlace &place;
  StepWork work;
};

} // namespace

/// Returns the number of the vector at the address, or nothing if the address
/// is null or that of other memory.
static std::optional<int64_t> getVector(Value address) {
  auto op = address ? address.getDefiningOp<GraphAddressOp>() : nullptr;
  if (!op || op.getMemory() != GraphMemory::Vector)
    return std::nullopt;
  return int64_t(*op.getIndex()); // graph_address_c1
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::string WorkReader::nameOf(int64_t weight) const {
  return shortWeightName(descriptor.weights[size_t(weight)].name, place.layer);
}

/// Returns the name of the product's weight, with its partner if it has one,
/// and with its range of columns if these are not all.
std::string WorkReader::nameOf(GraphLinearOp product) const {
  auto weight = int64_t(product.getWeight());
  std::string name = nameOf(weight);
  int64_t partner = descriptor.weights[size_t(weight)].partner;
  if (partner >= 0)
    name += "+" + nameOf(partner);
  auto begin = int64_t(product.getBegin()), end = int64_t(product.getEnd());
  if (begin != 0 || end != specOf(product).outFeatures)
    name += "[" + std::to_string(begin) + ":" + std::to_string(end) + "]";
  return name;
}

cuda::WeightSpec WorkReader::specOf(GraphLinearOp product) const {
  // By program_c12 it is a linear weight, and the runtime has checked that it
  // has a layout.
  return *cuda::weightSpec(std::get<cuda::LinearWeight>(
      program.weights[size_t(product.getWeight())]));
}

uint64_t WorkReader::vectorBytes(int64_t weight) const {
  const auto &vector =
      std::get<cuda::VectorWeight>(program.weights[size_t(weight)]);
  return uint64_t(vector.matrix.rows) * uint64_t(vector.matrix.cols) *
         sizeof(float);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Names only the vectors that the kernel reads. The kernel's name says what it
/// does with them.
void WorkReader::readLaunch(LaunchKernelOp op) {
  work.isGenerated = true;
  llvm::SetVector<int64_t> vectors;
  for (Value word : op.getWords())
    if (std::optional<int64_t> vector = getVector(word))
      vectors.insert(*vector);
  SmallVector<std::string> names;
  for (int64_t vector : vectors) {
    names.push_back(nameOf(vector));
    work.weightBytes += vectorBytes(vector);
  }
  work.purpose = llvm::join(names, ", ");
}

/// Counts the bytes of the rows that are looked up. A table's rows are stored
/// as columns of tiles.
void WorkReader::readEmbed(GraphEmbedOp op) {
  auto weight = int64_t(op.getWeight());
  const auto &table =
      std::get<cuda::TableWeight>(program.weights[size_t(weight)]);
  cuda::WeightSpec spec = *cuda::weightSpec(cuda::tilesOf(table));
  int64_t tileRow = cuda::tileBytes(spec.kind) / cuda::tileColumns;
  work.weightBytes =
      uint64_t(place.rows * tileRow *
               cuda::unitsOf(spec.kind, int32_t(spec.inFeatures)));
  work.purpose = "rows of " + nameOf(weight);
}

void WorkReader::readOperand(GraphOperandOp op) {
  SmallVector<std::string> products;
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (auto product = dyn_cast<GraphLinearOp>(next);
        product && product.getOperand() == op.getOutput())
      products.push_back(nameOf(product));
  work.purpose = "operand of " + llvm::join(products, ", ");
}

void WorkReader::readLinear(GraphLinearOp op) {
  cuda::WeightSpec spec = specOf(op);
  int64_t columns = int64_t(op.getEnd()) - int64_t(op.getBegin());
  int64_t tiles = cuda::columnTiles({spec.kind, columns, 0, spec.gated});
  work.weightBytes =
      uint64_t(tiles * cuda::tileBytes(spec.kind) *
               cuda::unitsOf(spec.kind, int32_t(spec.inFeatures)));
  work.product = work.purpose = nameOf(op);
  if (std::optional<ActivationKind> gate = op.getGate())
    work.purpose += ", " + stringifyActivationKind(*gate).str();
  for (Value bias : {op.getBias(), op.getPartnerBias()})
    if (std::optional<int64_t> vector = getVector(bias))
      work.weightBytes +=
          vectorBytes(*vector) * uint64_t(columns) / uint64_t(spec.outFeatures);
  if (op.getBias())
    work.purpose += ", bias";
  if (op.getResidual())
    work.purpose += ", residual";
}

StepWork WorkReader::read(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](LaunchKernelOp op) { readLaunch(op); })
      .Case([&](GraphEmbedOp op) { readEmbed(op); })
      .Case([&](GraphOperandOp op) { readOperand(op); })
      .Case([&](GraphLinearOp op) { readLinear(op); })
      .Case([&](GraphAppendOp) { work.purpose = "keys and values"; })
      .Case([&](GraphAttendOp) { work.purpose = "attention"; })
      .Case([&](GraphReceiveOp) { work.purpose = "rows for the group"; })
      .Case([&](GraphAllReduceOp) { work.purpose = "sum of the group"; })
      .Case([&](GraphAllGatherOp) { work.purpose = "columns of the group"; })
      .Case([&](GraphCheckpointOp) { work.purpose = "checkpoint"; });
  return work;
}

StepWork sluice::describeWork(Operation &op, const WorkWeights &weights,
                              const StepPlace &place) {
  return WorkReader(weights, place).read(op);
}

//===- StepWork.cpp - the purpose of each task of a GPU's step ------------===//
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

using namespace sluice;
using llvm::SmallVector;

namespace {

class WorkReader {
public:
  WorkReader(const WorkWeights &weights, const StepPlace &place)
      : descriptor(weights.descriptor), program(weights.program), place(place) {
  }

  StepWork read();

private:
  void read(const device::RowLoopTask &task);
  void read(const device::ProductTask &task);
  void read(const device::AppendTask &) { work.purpose = "keys and values"; }
  void read(const device::AttendTask &) { work.purpose = "attention"; }
  void read(const device::ExchangeTask &task);
  void read(const device::CheckpointTask &) { work.purpose = "checkpoint"; }
  void read(const device::BarrierTask &) {}
  void read(const device::EmbedTask &task);
  void read(const device::OperandTask &task);
  void read(const device::ReceiveTask &) {
    work.purpose = "rows for the group";
  }
  void read(const device::SendTask &) {}

  std::string nameOf(int64_t weight) const;
  std::string nameOf(const device::ProductTask &product) const;
  cuda::WeightSpec specOf(const device::ProductTask &product) const;
  uint64_t vectorBytes(int64_t weight) const;

  const ProgramDescriptor &descriptor;
  const cuda::CudaProgram &program;
  const StepPlace &place;
  StepWork work;
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::string WorkReader::nameOf(int64_t weight) const {
  return shortWeightName(descriptor.weights[size_t(weight)].name, place.layer);
}

/// Returns the name of the product's weight, with its partner if it has one,
/// and with its range of columns if these are not all.
std::string WorkReader::nameOf(const device::ProductTask &product) const {
  std::string name = nameOf(product.weight);
  int64_t partner = descriptor.weights[size_t(product.weight)].partner;
  if (partner >= 0)
    name += "+" + nameOf(partner);
  int64_t begin = product.firstColumn, end = product.endColumn;
  if (begin != 0 || end != specOf(product).outFeatures)
    name += "[" + std::to_string(begin) + ":" + std::to_string(end) + "]";
  return name;
}

cuda::WeightSpec WorkReader::specOf(const device::ProductTask &product) const {
  // The runtime has appended the product, so it is a linear weight.
  return *cuda::weightSpec(
      std::get<cuda::LinearWeight>(program.weights[size_t(product.weight)]));
}

uint64_t WorkReader::vectorBytes(int64_t weight) const {
  const auto &vector =
      std::get<cuda::VectorWeight>(program.weights[size_t(weight)]);
  return uint64_t(vector.matrix.rows) * uint64_t(vector.matrix.cols) *
         sizeof(float);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Names only the vectors that the kernel reads. The kernel's name says what it
/// does with them.
void WorkReader::read(const device::RowLoopTask &task) {
  work.isGenerated = true;
  llvm::SetVector<int64_t> vectors;
  for (const device::KernelArgument &argument : task.arguments)
    if (argument.kind == device::KernelArgument::Kind::Weight)
      vectors.insert(argument.index);
  SmallVector<std::string> names;
  for (int64_t vector : vectors) {
    names.push_back(nameOf(vector));
    work.weightBytes += vectorBytes(vector);
  }
  work.purpose = llvm::join(names, ", ");
}

void WorkReader::read(const device::ExchangeTask &task) {
  work.purpose = task.operation == device::ExchangeTask::Operation::Sum
                     ? "sum of the group"
                     : "columns of the group";
}

/// Counts the bytes of the rows that are looked up. A table's rows are stored
/// as columns of tiles.
void WorkReader::read(const device::EmbedTask &task) {
  const auto &table =
      std::get<cuda::TableWeight>(program.weights[size_t(task.table)]);
  cuda::WeightSpec spec = *cuda::weightSpec(cuda::tilesOf(table));
  int64_t tileRow = cuda::tileBytes(spec.kind) / cuda::tileColumns;
  work.weightBytes =
      uint64_t(place.rows * tileRow *
               cuda::unitsOf(spec.kind, int32_t(spec.inFeatures)));
  work.purpose = "rows of " + nameOf(task.table);
}

void WorkReader::read(const device::OperandTask &task) {
  SmallVector<std::string> products;
  for (const device::StepTask &next :
       llvm::drop_begin(program.step.tasks, place.task + 1))
    if (const auto *product = std::get_if<device::ProductTask>(&next);
        product && product->input == task.output)
      products.push_back(nameOf(*product));
  work.purpose = "operand of " + llvm::join(products, ", ");
}

void WorkReader::read(const device::ProductTask &task) {
  cuda::WeightSpec spec = specOf(task);
  int64_t columns = task.endColumn - task.firstColumn;
  int64_t tiles = cuda::columnTiles({spec.kind, columns, 0, spec.gated});
  work.weightBytes =
      uint64_t(tiles * cuda::tileBytes(spec.kind) *
               cuda::unitsOf(spec.kind, int32_t(spec.inFeatures)));
  work.product = work.purpose = nameOf(task);
  if (task.gate == device::ProductGate::Silu)
    work.purpose += ", silu";
  else if (task.gate == device::ProductGate::GeluTanh)
    work.purpose += ", gelu_tanh";
  for (int64_t bias : {task.bias, task.partnerBias})
    if (bias != device::noOperand)
      work.weightBytes +=
          vectorBytes(bias) * uint64_t(columns) / uint64_t(spec.outFeatures);
  if (task.bias != device::noOperand)
    work.purpose += ", bias";
  if (task.residual != device::noOperand)
    work.purpose += ", residual";
}

StepWork WorkReader::read() {
  std::visit([this](const auto &task) { read(task); },
             program.step.tasks[place.task]);
  return work;
}

StepWork sluice::describeWork(const WorkWeights &weights,
                              const StepPlace &place) {
  return WorkReader(weights, place).read();
}

StepWork sluice::joinWorks(const std::vector<StepWork> &works) {
  if (works.size() == 1)
    return works.front();
  StepWork joined; // its kernel is one of the runtime's
  SmallVector<std::string> purposes, products;
  for (const StepWork &each : works) {
    if (!each.purpose.empty())
      purposes.push_back(each.purpose);
    if (!each.product.empty())
      products.push_back(each.product);
    joined.weightBytes += each.weightBytes;
  }
  joined.purpose = llvm::join(purposes, "; ");
  joined.product = llvm::join(products, ", ");
  return joined;
}

//===- DeviceRules.cpp - what the CUDA runtime asks of a step -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRules.h"

#include "runtime/device/cuda/CudaProgramABI.h"
#include "runtime/device/cuda/weights/WeightLayout.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

static_assert(int(OperandKind::F32) == SLUICE_OPERAND_F32 &&
              int(OperandKind::BF16) == SLUICE_OPERAND_BF16 &&
              int(OperandKind::F16) == SLUICE_OPERAND_F16);
static_assert(int(OperandKind::F32) == int(sluice::cuda::OperandKind::F32) &&
              int(OperandKind::BF16) == int(sluice::cuda::OperandKind::BF16) &&
              int(OperandKind::F16) == int(sluice::cuda::OperandKind::F16));
static_assert(SLUICE_OPERAND_UNITS(sluice::cuda::operandUnit) == 1 &&
              SLUICE_OPERAND_UNITS(sluice::cuda::operandUnit + 1) == 2);

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// The weight of a product, or that which it has a slice of, as it lies in a
/// file.
static WeightOp getWeightOp(LinearOp op) {
  FlatSymbolRefAttr name =
      op.getWeight().getDefiningOp<ParamOp>().getWeightAttr();
  if (auto slice = SymbolTable::lookupNearestSymbolFrom<SliceOp>(op, name))
    name = slice.getWeightAttr();
  return SymbolTable::lookupNearestSymbolFrom<WeightOp>(op, name);
}

/// Whether operand rows of so many features need no zeros behind them.
static bool isWholeUnits(int64_t features) {
  return features % sluice::cuda::operandUnit == 0;
}

FailureOr<std::optional<OperandRecord>>
DeviceRules::getOperand(LinearOp op, int64_t features) const {
  auto param = op.getWeight().getDefiningOp<ParamOp>();
  ElementFormat format =
      getElementFormat(cast<RankedTensorType>(param.getType()));
  std::optional<cuda::WeightKind> kind = cuda::weightKind(toFormat(format));
  if (!kind)
    return op.emitError("has the weight ")
           << param.getWeightAttr() << " in " << stringifyElementFormat(format)
           << ", for which there is no kernel on CUDA";
  cuda::OperandKind operand = cuda::operandKind(*kind);
  // Operand rows of f32 are the rows, with zeros to the end of the last unit.
  if (operand == cuda::OperandKind::F32 && isWholeUnits(features))
    return std::optional<OperandRecord>();
  return std::optional<OperandRecord>(
      {int64_t(operand), SLUICE_OPERAND_ROW_FLOATS(int(operand), features)});
}

bool DeviceRules::isCarried(const Buffer &buffer) const {
  return buffer.kind == Buffer::Kind::Floats && buffer.domain == Domain::Rows;
}

bool DeviceRules::isInRowLoops(Node::Kind kind) const {
  switch (kind) {
  case Node::Kind::SelectOutputs:
  case Node::Kind::SplitQKV:
  case Node::Kind::Rope:
  case Node::Kind::Concat:
  case Node::Kind::Columns:
  case Node::Kind::RowOperand:
    return true;
  default:
    return false;
  }
}

unsigned sluice::tocuda::joinOperands(StepGraph &graph) {
  unsigned joined = 0;
  DeviceRules rules;
  llvm::BitVector generated(graph.buffers.size()); // since the last checkpoint
  for (Node &node : graph.nodes) {
    if (node.kind == Node::Kind::Checkpoint)
      generated.reset();
    if (rules.isInRowLoops(node.kind))
      for (unsigned output : node.outputs)
        generated.set(output);
    if (node.kind != Node::Kind::Operand || !generated[node.inputs.front()])
      continue;
    const Buffer &operand = graph.buffers[node.outputs.front()];
    if (!isWholeUnits(operand.width))
      continue;
    node.kind = Node::Kind::RowOperand;
    // The search for the number that says the scale.
    node.index = operand.format == SLUICE_OPERAND_F16 ? 1 : 0;
    ++joined;
  }
  return joined;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

SmallVector<unsigned> sluice::tocuda::countReaders(const StepGraph &graph) {
  SmallVector<unsigned> readers(graph.buffers.size());
  for (const Node &node : graph.nodes)
    for (unsigned input : node.inputs)
      ++readers[input];
  if (graph.logits)
    ++readers[*graph.logits];
  return readers;
}

static void eraseNodes(StepGraph &graph, const llvm::BitVector &gone) {
  size_t index = 0;
  llvm::erase_if(graph.nodes, [&](const Node &) { return gone[index++]; });
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

namespace {

/// The products before a gate, as nodes.
struct GateProducts {
  size_t gate, partner;
};

class GateFuser {
public:
  explicit GateFuser(StepGraph &graph)
      : graph(graph), readers(countReaders(graph)) {
    for (const Node &node : graph.nodes)
      if (node.kind == Node::Kind::Linear)
        ++uses[getWeight(node)];
  }

  unsigned run();

private:
  static Attribute getWeight(const Node &product) {
    auto param =
        cast<LinearOp>(product.op).getWeight().getDefiningOp<ParamOp>();
    return param.getWeightAttr();
  }
  std::optional<GateProducts> find(const Node &node) const;
  bool fit(const Node &gate, const Node &partner) const;

  StepGraph &graph;
  SmallVector<unsigned> readers;
  DenseMap<Attribute, unsigned> uses;  // products of a weight
  DenseMap<unsigned, size_t> products; // since the last checkpoint
};

} // namespace

/// Whether the kernels have a gate of this function.
static bool isFusedGate(ActivationKind kind) {
  return kind == ActivationKind::Silu || kind == ActivationKind::GeluTanh;
}

/// Whether a product computes all columns of its weight.
static bool isWhole(LinearOp op) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  return op.getFirstColumn() == 0 &&
         op.getEndColumn() == weight.getDimSize(op.getTransposed() ? 1 : 0);
}

/// Whether two products can be one: weights have one place, alone or together.
bool GateFuser::fit(const Node &gate, const Node &partner) const {
  auto first = cast<LinearOp>(gate.op), second = cast<LinearOp>(partner.op);
  auto isFree = [&](const Node &product) {
    return readers[product.outputs.front()] == 1 &&
           uses.lookup(getWeight(product)) == 1 &&
           isWhole(cast<LinearOp>(product.op));
  };
  return isFree(gate) && isFree(partner) && gate.inputs == partner.inputs &&
         first.getWeight().getType() == second.getWeight().getType() &&
         first.getTransposed() == second.getTransposed() &&
         getWeightOp(first).getStored() == getWeightOp(second).getStored() &&
         !first.getBias() == !second.getBias();
}

std::optional<GateProducts> GateFuser::find(const Node &node) const {
  auto gate = dyn_cast<GateOp>(node.op);
  if (!gate || node.kind != Node::Kind::Columns || !isFusedGate(gate.getKind()))
    return std::nullopt;
  auto first = products.find(node.inputs[0]);
  auto second = products.find(node.inputs[1]);
  if (first == products.end() || second == products.end() || first == second)
    return std::nullopt;
  const Node &product = graph.nodes[first->second];
  const Node &partner = graph.nodes[second->second];
  // Whoever emits the product finds the two from the gate. A layer's result has
  // the buffer of what it yields, but another op.
  if (gate.getGate().getDefiningOp() != product.op ||
      gate.getInput().getDefiningOp() != partner.op || !fit(product, partner))
    return std::nullopt;
  return GateProducts{first->second, second->second};
}

unsigned GateFuser::run() {
  llvm::BitVector gone(graph.nodes.size());
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (node.kind == Node::Kind::Checkpoint)
      products.clear();
    if (node.kind == Node::Kind::Linear)
      products[node.outputs.front()] = index;
    std::optional<GateProducts> found = find(node);
    if (!found)
      continue;
    node.kind = Node::Kind::GatedLinear;
    node.inputs = graph.nodes[found->gate].inputs;
    gone.set(found->gate);
    gone.set(found->partner);
  }
  eraseNodes(graph, gone);
  return gone.count() / 2;
}

unsigned sluice::tocuda::fuseGates(StepGraph &graph) {
  return GateFuser(graph).run();
}

//===----------------------------------------------------------------------===//
// Residuals
//===----------------------------------------------------------------------===//

namespace {

/// What is known of the graph up to a node.
struct Writers {
  explicit Writers(const StepGraph &graph) : readers(countReaders(graph)) {}

  SmallVector<unsigned> readers; // of a buffer
  /// Products since the last checkpoint, by what they write.
  DenseMap<unsigned, size_t> products;
};

} // namespace

/// The product whose result `add` may be left to; of two the later one, so that
/// what it adds is there.
static std::optional<size_t>
findProduct(const StepGraph &graph, const Writers &writers, const Node &add) {
  std::optional<size_t> product;
  for (unsigned input : add.inputs) {
    auto found = writers.products.find(input);
    if (found == writers.products.end() || writers.readers[input] != 1 ||
        graph.nodes[found->second].inputs.size() > 1)
      continue;
    product = std::max(product.value_or(0), found->second);
  }
  return product;
}

unsigned sluice::tocuda::fuseResiduals(StepGraph &graph) {
  Writers writers(graph);
  llvm::BitVector gone(graph.nodes.size());
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (node.kind == Node::Kind::Checkpoint)
      writers.products.clear();
    if (isa<AddOp>(node.op)) {
      std::optional<size_t> found = findProduct(graph, writers, node);
      if (!found)
        continue;
      Node product = graph.nodes[*found];
      unsigned other =
          node.inputs[node.inputs[0] == product.outputs.front() ? 1 : 0];
      product.inputs.push_back(other);
      product.outputs = node.outputs;
      node = std::move(product);
      gone.set(*found);
    }
    if (node.kind == Node::Kind::Linear)
      writers.products[node.outputs.front()] = index;
  }
  eraseNodes(graph, gone);
  return gone.count();
}

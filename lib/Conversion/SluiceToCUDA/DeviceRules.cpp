//===- DeviceRules.cpp - what the CUDA runtime asks of a step -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRules.h"

#include "runtime/device/cuda/ProgramABI.h"
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

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

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
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Residuals
//===----------------------------------------------------------------------===//

namespace {

/// What is known of the graph up to a node.
struct Writers {
  explicit Writers(const StepGraph &graph) : readers(graph.buffers.size()) {
    for (const Node &node : graph.nodes)
      for (unsigned input : node.inputs)
        ++readers[input];
    if (graph.logits)
      ++readers[*graph.logits];
  }

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
  size_t index = 0;
  llvm::erase_if(graph.nodes, [&](const Node &) { return gone[index++]; });
  return gone.count();
}

//===- TaskSignature.cpp - what makes row loops the same ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskSignature.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sluice::planning;

StringRef sluice::planning::getMnemonic(const Node &node) {
  switch (node.kind) {
  case Node::Kind::Operand:
    return "quantize";
  case Node::Kind::RowOperand:
    return "operand";
  case Node::Kind::RopeTable:
    return "rope_table";
  case Node::Kind::SelectOutputs:
    return "select_outputs";
  default:
    return node.op->getName().stripDialect();
  }
}

/// What needs a quantised value or a table says nothing of how it is made, and
/// the channel says nothing of the rows.
static bool dependsOnAttributes(const Node &node) {
  switch (node.kind) {
  case Node::Kind::Operand:
  case Node::Kind::RowOperand:
  case Node::Kind::RopeTable:
  case Node::Kind::Receive:
  case Node::Kind::Send:
  case Node::Kind::SelectOutputs:
    return false;
  default:
    return true;
  }
}

std::string sluice::planning::getSignature(
    const Task &task, const StepGraph &graph, const StepSchedule &schedule,
    llvm::function_ref<SmallVector<size_t>(const Node &)> getPlaces) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  DenseMap<unsigned, unsigned> registers;
  for (const Node *node : task.nodes) {
    stream << getMnemonic(*node);
    if (dependsOnAttributes(*node))
      stream << node->op->getAttrDictionary();
    for (size_t place : getPlaces(*node))
      stream << " " << place;
    for (ArrayRef<unsigned> buffers :
         {ArrayRef<unsigned>(node->inputs), ArrayRef<unsigned>(node->outputs)})
      for (unsigned buffer : buffers) {
        stream << " x" << graph.buffers[buffer].width << "."
               << graph.buffers[buffer].format;
        if (schedule.inRegisters[buffer])
          stream
              << "r"
              << registers.try_emplace(buffer, registers.size()).first->second;
      }
    stream << "\n";
  }
  return text;
}

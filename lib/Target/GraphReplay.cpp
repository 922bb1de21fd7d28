//===- GraphReplay.cpp - a step of the IR as a graph of the runtime -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphReplay.h"

#include "lib/Conversion/StepPlanning/AttentionParameters.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

static int32_t toDomain(ValueDomain domain) {
  return domain == ValueDomain::Rows ? SLUICE_DOMAIN_ROWS
                                     : SLUICE_DOMAIN_OUTPUTS;
}

Status GraphReplay::append(Operation &op) {
  Status status;
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](GraphValueOp op) {
        addresses[op] = sluice_graph_value(&graph, toDomain(op.getDomain()),
                                           int64_t(op.getOffset()));
      })
      .Case([&](GraphAddressOp op) { appendAddress(op); })
      .Case([&](LaunchKernelOp op) { appendLaunch(op); })
      .Case([&](GraphEmbedOp op) {
        sluice_graph_embed(&graph, int64_t(op.getWeight()),
                           op.getBy() == EmbedIndex::Position,
                           at<float>(op.getOutput()), int64_t(op.getCols()));
      })
      .Case([&](GraphReceiveOp op) {
        sluice_graph_receive(&graph, at<float>(op.getOutput()),
                             int64_t(op.getCols()));
      })
      .Case([&](GraphSendOp op) {
        sluice_graph_send(&graph, at<float>(op.getInput()),
                          int64_t(op.getCols()));
      })
      .Case([&](GraphSelectOutputsOp) { sluice_graph_select_outputs(&graph); })
      .Case([&](GraphOperandOp op) {
        sluice_graph_operand(&graph, toDomain(op.getDomain()),
                             at<float>(op.getInput()), at<void>(op.getOutput()),
                             int64_t(op.getCols()), int32_t(op.getKind()));
      })
      .Case([&](GraphLinearOp op) { appendLinear(op); })
      .Case([&](GraphAppendOp op) {
        sluice_graph_append(&graph, int64_t(op.getCache()),
                            at<float>(op.getKey()), at<float>(op.getValue()));
      })
      .Case([&](GraphAttendOp op) { status = appendAttend(op); })
      .Case([&](GraphAllReduceOp op) {
        sluice_graph_all_reduce(
            &graph, toDomain(op.getDomain()), at<float>(op.getInput()),
            at<float>(op.getOutput()), at<float>(op.getScratch()),
            int64_t(op.getCols()));
      })
      .Case([&](GraphAllGatherOp op) {
        sluice_graph_all_gather(
            &graph, toDomain(op.getDomain()), at<float>(op.getInput()),
            at<float>(op.getOutput()), at<float>(op.getScratch()),
            int64_t(op.getPart()), int64_t(op.getCols()));
      })
      .Case([&](GraphCheckpointOp op) { appendCheckpoint(op); });
  return status;
}

void GraphReplay::appendAddress(GraphAddressOp op) {
  auto index = [&] { return int64_t(*op.getIndex()); };
  auto find = [&]() -> const void * {
    switch (op.getMemory()) {
    case GraphMemory::Vector:
      return sluice_graph_vector(&graph, index());
    case GraphMemory::RopeTable:
      return sluice_graph_rope_table(&graph, index());
    case GraphMemory::Rows:
      return sluice_graph_count(&graph, SLUICE_DOMAIN_ROWS);
    case GraphMemory::Outputs:
      return sluice_graph_count(&graph, SLUICE_DOMAIN_OUTPUTS);
    case GraphMemory::Positions:
      return sluice_graph_positions(&graph);
    case GraphMemory::OutputRows:
      return sluice_graph_output_rows(&graph);
    case GraphMemory::GreedyTokens:
      return sluice_graph_greedy_tokens(&graph);
    }
    llvm_unreachable("covered switch");
  };
  addresses[op] = const_cast<void *>(find());
}

void GraphReplay::appendLaunch(LaunchKernelOp op) {
  SmallVector<uint64_t> words;
  for (Value word : op.getWords())
    words.push_back(reinterpret_cast<uint64_t>(at<void>(word)));
  std::string kernel = op.getKernel().getLeafReference().str();
  sluice_graph_launch(&graph, kernel.c_str(), toDomain(op.getDomain()),
                      int32_t(op.getThreads()), int32_t(op.getBlocks()),
                      words.data(), int64_t(words.size()));
}

void GraphReplay::appendLinear(GraphLinearOp op) {
  int32_t gate = SLUICE_GATE_NONE;
  if (std::optional<ActivationKind> kind = op.getGate()) // graph_linear_c2
    gate = *kind == ActivationKind::Silu ? SLUICE_GATE_SILU
                                         : SLUICE_GATE_GELU_TANH;
  sluice_graph_linear(&graph, toDomain(op.getDomain()), int64_t(op.getWeight()),
                      at<void>(op.getOperand()), at<float>(op.getBias()),
                      at<float>(op.getPartnerBias()),
                      at<float>(op.getResidual()), at<float>(op.getOutput()),
                      gate, int64_t(op.getBegin()), int64_t(op.getEnd()));
}

Status GraphReplay::appendAttend(GraphAttendOp op) {
  auto global = symbols.lookup<LLVM::GlobalOp>(op.getParameters());
  std::optional<planning::AttentionConstant> constant;
  if (global)
    constant = planning::readAttention(symbols, global);
  if (!constant)
    return failure("@", op.getParameters().str(),
                   " is not a constant of attention's parameters");
  SluiceAttention parameters = constant->parameters;
  if (!constant->slopes.empty())
    parameters.alibiSlopes = constant->slopes.data();
  sluice_graph_attend(&graph, int64_t(op.getCache()), at<float>(op.getQuery()),
                      at<float>(op.getOutput()), &parameters);
  return {};
}

void GraphReplay::appendCheckpoint(GraphCheckpointOp op) {
  SmallVector<void *> values;
  for (Value value : op.getValues())
    values.push_back(at<void>(value));
  sluice_graph_checkpoint(&graph, values.data(), op.getFloats().data(),
                          int64_t(values.size()));
}

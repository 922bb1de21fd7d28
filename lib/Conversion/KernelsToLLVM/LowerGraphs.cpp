//===- LowerGraphs.cpp - the lowering of sluice.graph ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"
#include "runtime/device/cuda/CudaProgramABI.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sluice {
#define GEN_PASS_DEF_LOWERGRAPHS
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

static_assert(int(ValueDomain::Rows) == SLUICE_DOMAIN_ROWS &&
              int(ValueDomain::Outputs) == SLUICE_DOMAIN_OUTPUTS);

namespace {

/// Converts each `sluice.graph` of a module to a function that calls the
/// functions of runtime/device/cuda/CudaProgramABI.h.
class GraphLowering {
public:
  explicit GraphLowering(SymbolTable &symbols)
      : symbols(symbols),
        b(symbols.getOp()->getLoc(), symbols.getOp()->getContext()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {}

  void lower(GraphOp op);

private:
  void lowerOp(Operation *op);
  void lowerAddress(GraphAddressOp op);
  void lowerLaunch(LaunchKernelOp op);
  void lowerLinear(GraphLinearOp op);
  void lowerCheckpoint(GraphCheckpointOp op);

  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b, value, /*width=*/64);
  }
  template <typename Enum> Value choice(Enum value) {
    return arith::ConstantIntOp::create(b, static_cast<int64_t>(value),
                                        /*width=*/32);
  }
  Value orNull(Value address) {
    return address ? address : LLVM::ZeroOp::create(b, pointer).getResult();
  }
  void call(StringRef name, ValueRange operands) {
    SmallVector<Value> all = {graph};
    llvm::append_range(all, operands);
    callRuntime(b, symbols, name, {}, all);
  }
  Value callForAddress(StringRef name, ValueRange operands) {
    SmallVector<Value> all = {graph};
    llvm::append_range(all, operands);
    return callRuntime(b, symbols, name, pointer, all).getResult(0);
  }
  Value getText(StringRef text);
  Value makeArray(Value room, ValueRange values);

  SymbolTable &symbols;
  ImplicitLocOpBuilder b;
  Type pointer;
  Value graph;         // the SluiceGraph
  Value words, floats; // stack memory for arrays of 64-bit words
  llvm::StringMap<LLVM::GlobalOp> texts;
};

} // namespace

void GraphLowering::lower(GraphOp op) {
  int64_t most = 1;
  for (Operation &each : op.getBody().front())
    most = std::max<int64_t>(most, each.getNumOperands());
  std::string name = op.getSymName().str();
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  auto function = func::FuncOp::create(b, name, b.getFunctionType(pointer, {}));
  Block *entry = function.addEntryBlock();
  graph = entry->getArgument(0);
  b.setInsertionPointToStart(entry);
  for (Value *room : {&words, &floats})
    *room = LLVM::AllocaOp::create(b, pointer, b.getI64Type(), number(most));
  for (Operation &each : llvm::make_early_inc_range(op.getBody().front())) {
    b.setLoc(each.getLoc());
    lowerOp(&each);
  }
  func::ReturnOp::create(b);
  symbols.erase(op);
  symbols.insert(function);
}

/// Returns a C string; equal strings share a global.
Value GraphLowering::getText(StringRef text) {
  LLVM::GlobalOp &global = texts[text];
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(cast<ModuleOp>(symbols.getOp()).getBody());
    std::string bytes = text.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal, "kernel_name",
                                    b.getStringAttr(bytes));
    symbols.insert(global);
  }
  return LLVM::AddressOfOp::create(b, global);
}

/// Stores 64-bit words one after another and returns their address.
Value GraphLowering::makeArray(Value room, ValueRange values) {
  for (auto [index, value] : llvm::enumerate(values)) {
    Value place =
        LLVM::GEPOp::create(b, pointer, b.getI64Type(), room,
                            LLVM::GEPArg(static_cast<int32_t>(index)));
    LLVM::StoreOp::create(b, value, place);
  }
  return room;
}

void GraphLowering::lowerOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](GraphValueOp op) {
        op.replaceAllUsesWith(
            callForAddress("sluice_graph_value",
                           {choice(op.getDomain()),
                            number(static_cast<int64_t>(op.getOffset()))}));
      })
      .Case([&](GraphAddressOp op) { lowerAddress(op); })
      .Case([&](LaunchKernelOp op) { lowerLaunch(op); })
      .Case([&](GraphEmbedOp op) {
        call("sluice_graph_embed", {number(op.getWeight()),
                                    choice(op.getBy() == EmbedIndex::Position),
                                    op.getOutput(), number(op.getCols())});
      })
      .Case([&](GraphReceiveOp op) {
        call("sluice_graph_receive", {op.getOutput(), number(op.getCols())});
      })
      .Case([&](GraphSendOp op) {
        call("sluice_graph_send", {op.getInput(), number(op.getCols())});
      })
      .Case([](GraphLayerOp) {})
      .Case([&](GraphSelectOutputsOp) {
        call("sluice_graph_select_outputs", {});
      })
      .Case([&](GraphOperandOp op) {
        call("sluice_graph_operand",
             {choice(op.getDomain()), op.getInput(), op.getOutput(),
              number(op.getCols()), choice(op.getKind())});
      })
      .Case([&](GraphLinearOp op) { lowerLinear(op); })
      .Case([&](GraphAppendOp op) {
        call("sluice_graph_append",
             {number(op.getCache()), op.getKey(), op.getValue()});
      })
      .Case([&](GraphAttendOp op) {
        auto parameters = symbols.lookup<LLVM::GlobalOp>(op.getParameters());
        call("sluice_graph_attend",
             {number(op.getCache()), op.getQuery(), op.getOutput(),
              LLVM::AddressOfOp::create(b, parameters)});
      })
      .Case([&](GraphAllReduceOp op) {
        call("sluice_graph_all_reduce",
             {choice(op.getDomain()), op.getInput(), op.getOutput(),
              op.getScratch(), number(op.getCols())});
      })
      .Case([&](GraphAllGatherOp op) {
        call("sluice_graph_all_gather",
             {choice(op.getDomain()), op.getInput(), op.getOutput(),
              op.getScratch(), number(op.getPart()), number(op.getCols())});
      })
      .Case([&](GraphCheckpointOp op) { lowerCheckpoint(op); })
      // All other ops are constants.
      .Default([&](Operation *op) {
        op->replaceAllUsesWith(b.clone(*op)->getResults());
      });
  op->dropAllUses();
}

void GraphLowering::lowerAddress(GraphAddressOp op) {
  auto index = [&] { return number(static_cast<int64_t>(*op.getIndex())); };
  auto find = [&]() -> Value {
    switch (op.getMemory()) {
    case GraphMemory::Vector:
      return callForAddress("sluice_graph_vector", index());
    case GraphMemory::RopeTable:
      return callForAddress("sluice_graph_rope_table", index());
    case GraphMemory::Rows:
      return callForAddress("sluice_graph_count", choice(ValueDomain::Rows));
    case GraphMemory::Outputs:
      return callForAddress("sluice_graph_count", choice(ValueDomain::Outputs));
    case GraphMemory::Positions:
      return callForAddress("sluice_graph_positions", {});
    case GraphMemory::OutputRows:
      return callForAddress("sluice_graph_output_rows", {});
    case GraphMemory::GreedyTokens:
      return callForAddress("sluice_graph_greedy_tokens", {});
    }
    llvm_unreachable("covered switch");
  };
  op.replaceAllUsesWith(find());
}

void GraphLowering::lowerLaunch(LaunchKernelOp op) {
  Value name = getText(op.getKernel().getLeafReference().getValue());
  Value array = makeArray(words, op.getWords());
  call("sluice_graph_launch",
       {name, choice(op.getDomain()), choice(op.getThreads()),
        choice(op.getBlocks()), array,
        number(static_cast<int64_t>(op.getWords().size()))});
}

static int32_t toGate(std::optional<ActivationKind> gate) {
  if (!gate)
    return SLUICE_GATE_NONE;
  // Constraint graph_linear_c2 allows no other kind.
  return *gate == ActivationKind::Silu ? SLUICE_GATE_SILU
                                       : SLUICE_GATE_GELU_TANH;
}

void GraphLowering::lowerLinear(GraphLinearOp op) {
  call("sluice_graph_linear",
       {choice(op.getDomain()), number(static_cast<int64_t>(op.getWeight())),
        op.getOperand(), orNull(op.getBias()), orNull(op.getPartnerBias()),
        orNull(op.getResidual()), op.getOutput(), choice(toGate(op.getGate())),
        number(static_cast<int64_t>(op.getBegin())),
        number(static_cast<int64_t>(op.getEnd()))});
}

void GraphLowering::lowerCheckpoint(GraphCheckpointOp op) {
  SmallVector<Value> sizes;
  for (int64_t size : op.getFloats())
    sizes.push_back(number(size));
  Value values = makeArray(words, op.getValues());
  Value each = makeArray(floats, sizes);
  call("sluice_graph_checkpoint",
       {values, each, number(static_cast<int64_t>(sizes.size()))});
}

namespace {

struct LowerGraphs : sluice::impl::LowerGraphsBase<LowerGraphs> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    GraphLowering lowering(symbols);
    for (GraphOp graph :
         llvm::make_early_inc_range(getOperation().getOps<GraphOp>())) {
      lowering.lower(graph);
      ++lowered;
    }
  }
};

} // namespace

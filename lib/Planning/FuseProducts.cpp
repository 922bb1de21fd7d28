//===- FuseProducts.cpp - the pass that fuses ops into products -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Planning/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SmallPtrSet.h"

#define DEBUG_TYPE "sluice-fuse-products"

namespace sluice {
#define GEN_PASS_DEF_FUSEPRODUCTS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

/// Returns how many tasks read a buffer; the end of a step counts as one.
static unsigned countReaders(Value buffer) {
  unsigned readers = 0;
  for (Operation *user : buffer.getUsers()) {
    auto task = dyn_cast<TaskInterface>(user);
    readers += !task || llvm::any_of(task.getAccesses(), [&](auto &access) {
      return access.memory == buffer && !access.writes;
    });
  }
  return readers;
}

/// Returns the only op of a row loop's body if it is an `Op`, otherwise null.
template <typename Op> static Op getOnly(Operation &task) {
  auto loop = dyn_cast<TaskRowsOp>(task);
  if (!loop || !llvm::hasSingleElement(loop.getRowOps()))
    return {};
  return dyn_cast<Op>(loop.getBody().front().front());
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

namespace {

/// Fuses a gate and the two products of its operands into one product.
class GateFuser {
public:
  explicit GateFuser(StepOp step) : step(step), target(step.getPlanTarget()) {
    step.walk([&](TaskProductOp product) { ++uses[product.getWeight()]; });
  }

  unsigned run();

private:
  bool visit(TaskRowsOp loop, GateOp gate);
  bool fits(TaskProductOp gate, TaskProductOp partner);

  StepOp step;
  PlanTargetInterface target;
  DenseMap<Value, unsigned> uses; // the number of products of each weight
  DenseMap<Value, TaskProductOp> products; // by output, since the checkpoint
};

} // namespace

/// Returns how a weight's elements are stored in its file.
static ElementFormat getStored(TaskProductOp product) {
  FlatSymbolRefAttr name = product.getWeightParam().getWeightAttr();
  if (auto slice = SymbolTable::lookupNearestSymbolFrom<SliceOp>(product, name))
    name = slice.getWeightAttr();
  return SymbolTable::lookupNearestSymbolFrom<WeightOp>(product, name)
      .getStored();
}

/// Returns whether two products can be packed and computed as one.
bool GateFuser::fits(TaskProductOp gate, TaskProductOp partner) {
  auto isFree = [&](TaskProductOp product) {
    return countReaders(product.getOutput()) == 1 &&
           uses.lookup(product.getWeight()) == 1 && product.isWhole();
  };
  return isFree(gate) && isFree(partner) &&
         gate.getInput() == partner.getInput() &&
         gate.getWeight().getType() == partner.getWeight().getType() &&
         gate.getTransposed() == partner.getTransposed() &&
         getStored(gate) == getStored(partner) &&
         !gate.getBias() == !partner.getBias();
}

bool GateFuser::visit(TaskRowsOp loop, GateOp gate) {
  if (!target.gatesProducts(gate.getKind()))
    return false;
  TaskProductOp first = products.lookup(loop.getBuffer(gate.getGate()));
  TaskProductOp second = products.lookup(loop.getBuffer(gate.getInput()));
  if (!first || !second || first == second || !fits(first, second))
    return false;
  OpBuilder b(loop);
  TaskProductOp::create(
      b, loop.getLoc(), first.getDomainAttr(), first.getInput(),
      first.getWeight(), first.getBias(), second.getWeight(), second.getBias(),
      /*residual=*/Value(), loop.getWrites().front(), first.getTransposedAttr(),
      first.getColumnsBeginAttr(), first.getColumnsEndAttr(),
      gate.getKindAttr(), loop.getLayerAttr());
  first.erase();
  second.erase();
  loop.erase();
  return true;
}

unsigned GateFuser::run() {
  unsigned fused = 0;
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    if (isa<TaskCheckpointOp>(op))
      products.clear();
    else if (auto product = dyn_cast<TaskProductOp>(op))
      products[product.getOutput()] = product;
    else if (auto gate = getOnly<GateOp>(op))
      fused += visit(cast<TaskRowsOp>(op), gate);
  }
  return fused;
}

//===----------------------------------------------------------------------===//
// Residuals
//===----------------------------------------------------------------------===//

namespace {

/// Fuses a sum into the product that computes one of its terms.
class ResidualFuser {
public:
  explicit ResidualFuser(StepOp step) : step(step) {}

  unsigned run();

private:
  bool visit(TaskRowsOp loop, AddOp add);

  StepOp step;
  /// Products since the last checkpoint that have no residual yet, by their
  /// output, with the number of earlier products.
  DenseMap<Value, std::pair<TaskProductOp, unsigned>> products;
  unsigned next = 0;
};

} // namespace

/// Finds the later of the products whose outputs are terms of the sum and have
/// no other reader. Moves it to the place of the sum and lets it add the other
/// term.
bool ResidualFuser::visit(TaskRowsOp loop, AddOp add) {
  if (loop.getReads().size() < 2)
    return false; // The loop adds a buffer to itself.
  TaskProductOp found;
  unsigned number = 0;
  for (Value operand : {add.getLhs(), add.getRhs()}) {
    Value buffer = loop.getBuffer(operand);
    auto product = products.find(buffer);
    if (product == products.end() || countReaders(buffer) != 1)
      continue;
    if (!found || product->second.second > number)
      std::tie(found, number) = product->second;
  }
  if (!found)
    return false;
  bool isFirst = loop.getBuffer(add.getLhs()) == found.getOutput();
  found.getResidualMutable().assign(
      loop.getBuffer(isFirst ? add.getRhs() : add.getLhs()));
  products.erase(found.getOutput());
  found.getOutputMutable().assign(loop.getWrites().front());
  found->moveBefore(loop);
  loop.erase();
  return true;
}

unsigned ResidualFuser::run() {
  unsigned fused = 0;
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    auto product = dyn_cast<TaskProductOp>(op);
    if (product && !product.getResidual() && !product.getGate())
      products[product.getOutput()] = {product, next++};
    else if (isa<TaskCheckpointOp>(op))
      products.clear();
    else if (auto add = getOnly<AddOp>(op))
      fused += visit(cast<TaskRowsOp>(op), add);
  }
  return fused;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Lets generated code make operands from rows that generated code made.
static unsigned joinOperands(StepOp step) {
  PlanTargetInterface target = step.getPlanTarget();
  unsigned joined = 0;
  llvm::SmallPtrSet<Value, 16> generated; // rows since the last checkpoint
  for (Operation &op : step.getBody().front()) {
    if (isa<TaskCheckpointOp>(op))
      generated.clear();
    auto loop = dyn_cast<TaskRowsOp>(op);
    if (!loop)
      continue;
    if (!loop.getRuntime())
      generated.insert_range(loop.getWrites());
    else if (auto operand = getOnly<ToOperandOp>(op);
             operand && generated.contains(loop.getReads().front()) &&
             target.writesOperands(getWidth(operand.getType()))) {
      loop.setRuntime(false);
      ++joined;
    }
  }
  return joined;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct FuseProducts : sluice::impl::FuseProductsBase<FuseProducts> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    unsigned gates = GateFuser(step).run(), residuals = 0;
    if (step.getPlanTarget().addsResiduals())
      residuals = ResidualFuser(step).run();
    unsigned operands = joinOperands(step);
    gatesFused += gates;
    residualsFused += residuals;
    operandsJoined += operands;
    remark::analysis(step.getLoc(),
                     remark::RemarkOpts::name("fusion").category(DEBUG_TYPE))
        << remark::metric("gates-fused-into-products", gates)
        << remark::metric("operands-made-by-row-loops", operands)
        << remark::metric("residuals-fused-into-products", residuals);
  }
};

} // namespace

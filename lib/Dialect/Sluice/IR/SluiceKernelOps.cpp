//===- SluiceGraphOps.cpp - a step as work of a GPU -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphValues.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sluice::ir {

/// launch_kernel_c3
static LogicalResult verifyOverlaps(LaunchKernelOp launch,
                                    gpu::GPUFuncOp kernel) {
  auto given = [&](unsigned i) {
    return getWorkOperand(launch.getWords()[i], kernel.getArgument(i))
        .getValue();
  };
  unsigned count = launch.getWords().size();
  for (unsigned i = 0; i < count; ++i) {
    std::optional<GivenValue> result = given(i);
    if (!result ||
        !kernel.getArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName()))
      continue;
    for (unsigned j = 0; j < count; ++j)
      if (std::optional<GivenValue> other = given(j);
          other && i != j && result->overlaps(*other))
        return launch.emitOpError("gives overlapping values as the operands ")
               << i << " and " << j << " of " << launch.getKernelAttr();
  }
  return success();
}

/// launch_kernel_c4
static LogicalResult verifyConstants(LaunchKernelOp launch,
                                     gpu::GPUFuncOp kernel) {
  ParameterAccesses accesses(kernel);
  for (auto [index, word] : llvm::enumerate(launch.getWords())) {
    auto address = word.getDefiningOp<GraphAddressOp>();
    if (accesses.mayBeConstant(index) &&
        (!address || (address.getMemory() != GraphMemory::Vector &&
                      address.getMemory() != GraphMemory::RopeTable)))
      return launch.emitOpError("gives memory that changes as the operand ")
             << index << " of " << launch.getKernelAttr()
             << ", which reads it as a weight or table";
  }
  return success();
}

/// Returns the domain that an op of a graph works for, or nothing if the op is
/// not work.
static std::optional<ValueDomain> getWork(Operation &op) {
  if (isa<GraphValueOp, GraphAddressOp, GraphLayerOp, GraphSelectOutputsOp>(
          op) ||
      !op.hasTrait<BelongsInGraph>())
    return std::nullopt;
  auto domain = op.getAttrOfType<ValueDomainAttr>("domain");
  return domain ? domain.getValue() : ValueDomain::Rows;
}

/// Checks that the ops stand in an order in which they can be executed.
static LogicalResult verifyOrder(GraphOp graph) {
  bool hasWork = false, hasOutputs = false, hasSent = false;
  for (Operation &op : graph.getBody().front()) {
    // graph_c3
    if (isa<GraphSelectOutputsOp>(op)) {
      if (hasOutputs)
        return op.emitOpError("numbers outputs that have their numbers");
      hasOutputs = true;
    }
    std::optional<ValueDomain> work = getWork(op);
    if (!work)
      continue;
    if (*work == ValueDomain::Outputs && !hasOutputs)
      return op.emitOpError("is for outputs, which have no numbers yet");
    // graph_c2
    bool isLookup = isa<GraphEmbedOp, GraphReceiveOp>(op);
    if (isLookup && hasWork)
      return op.emitOpError("stands behind work, but rows are looked up and "
                            "come in before all else");
    // graph_c4
    if (hasSent)
      return op.emitOpError("stands behind what is sent when the graph has "
                            "ended");
    hasWork |= !isLookup;
    hasSent |= isa<GraphSendOp>(op);
  }
  return success();
}

LogicalResult GraphOp::verify() {
  // graph_c1
  for (Operation &op : getBody().front())
    if (!op.hasTrait<BelongsInGraph>() && !matchPattern(&op, m_Constant()))
      return op.emitError() << "'" << op.getName()
                            << "' is work of the host: a sluice.graph holds "
                               "work of the device, addresses and constants";
  return verifyOrder(*this);
}

LogicalResult GraphValueOp::verify() {
  // graph_value_c1
  auto offset = static_cast<int64_t>(getOffset());
  if (offset < 0 || offset % arenaUnit)
    return emitOpError("has the offset ")
           << offset << ", which is no multiple of " << arenaUnit;
  return success();
}

LogicalResult GraphAddressOp::verify() {
  // graph_address_c1
  bool isNumbered = getMemory() == GraphMemory::Vector ||
                    getMemory() == GraphMemory::RopeTable;
  if (getIndex().has_value() != isNumbered)
    return emitOpError("has ")
           << (isNumbered ? "no index" : "an index") << ", but is of "
           << stringifyGraphMemory(getMemory());
  if (isNumbered && static_cast<int64_t>(*getIndex()) < 0)
    return emitOpError("has a negative index");
  return success();
}

LogicalResult LaunchKernelOp::verify() {
  // launch_kernel_c2
  uint32_t threads = getThreads();
  if (threads < 32 || threads > 1024 || !llvm::isPowerOf2_32(threads))
    return emitOpError("has ")
           << threads << " threads, not a power of two from 32 to 1024";
  return success();
}

LogicalResult LaunchKernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // launch_kernel_c1
  auto kernel =
      symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(*this, getKernelAttr());
  if (!kernel || !kernel.isKernel())
    return emitOpError("launches ")
           << getKernelAttr() << ", which is not a kernel";
  if (!llvm::equal(kernel.getArgumentTypes(), getWords().getTypes()))
    return emitOpError("launches ")
           << getKernelAttr() << " with operands that are not its parameters";
  // launch_kernel_c2
  DenseI32ArrayAttr known = kernel.getKnownBlockSizeAttr();
  if (known && known[0] != static_cast<int32_t>(getThreads()))
    return emitOpError("launches ")
           << getKernelAttr() << " with " << getThreads()
           << " threads, not its " << known[0];
  auto blocks = kernel->getAttrOfType<IntegerAttr>(rowBlocksAttrName);
  int64_t wanted = blocks ? blocks.getInt() : 1;
  if (static_cast<int64_t>(getBlocks()) != wanted)
    return emitOpError("launches ")
           << getKernelAttr() << " with " << getBlocks()
           << " blocks a row, not its " << wanted;
  if (failed(verifyOverlaps(*this, kernel)) ||
      failed(verifyConstants(*this, kernel)))
    return failure();
  // launch_kernel_c5
  if (kernel.getBody().front().getOps<WaitForPriorOp>().empty())
    return emitOpError("launches ")
           << getKernelAttr() << ", which does not wait for the kernel before";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops in kernels
//===----------------------------------------------------------------------===//

LogicalResult WaitForPriorOp::verify() {
  // wait_for_prior_c2
  auto kernel = dyn_cast<gpu::GPUFuncOp>((*this)->getParentOp());
  if (!kernel || (*this)->getBlock() != &kernel.getBody().front())
    return emitOpError("does not stand in the first block of a kernel's body, "
                       "which all threads execute");
  ParameterAccesses accesses(kernel);
  auto isConstant = [&](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Read>(effect.getEffect()) &&
           accesses.isConstant(effect.getValue());
  };
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == getOperation())
      break;
    if (isa<StartDependentsOp>(op))
      continue;
    // wait_for_prior_c1
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(&op);
    if (!effects || !llvm::all_of(*effects, isConstant))
      return emitOpError("stands behind '")
             << op.getName()
             << "', which may touch what the kernel before has not written yet";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products and attention
//===----------------------------------------------------------------------===//

LogicalResult GraphLinearOp::verify() {
  // graph_linear_c1
  auto begin = static_cast<int64_t>(getBegin());
  auto end = static_cast<int64_t>(getEnd());
  if (begin < 0 || begin % columnUnit || begin >= end)
    return emitOpError("computes the columns from ")
           << begin << " to " << end << ", which begin with no whole tile";
  // graph_linear_c2
  std::optional<ActivationKind> gate = getGate();
  if (gate && *gate != ActivationKind::Silu &&
      *gate != ActivationKind::GeluTanh)
    return emitOpError("has the gate ")
           << stringifyActivationKind(*gate) << ", which products do not have";
  if (gate && begin != 0)
    return emitOpError("has a gate, but computes columns from ") << begin;
  if (!gate && getPartnerBias())
    return emitOpError("has a partner's bias, but no gate");
  if (gate && !getBias() != !getPartnerBias())
    return emitOpError("has a bias of its gate's or its partner's alone");
  if (gate && getResidual())
    return emitOpError("has a gate and a residual");
  return success();
}

LogicalResult GraphAttendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // graph_attend_c1
  if (!symbols.lookupNearestSymbolFrom<LLVM::GlobalOp>(*this,
                                                       getParametersAttr()))
    return emitOpError("has parameters ")
           << getParametersAttr() << ", which are not a global";
  return success();
}

LogicalResult GraphAllReduceOp::verify() {
  // graph_all_reduce_c1
  return verifyApart(*this, getWorkOperands(*this, minMembers),
                     meetingOperands);
}

LogicalResult GraphAllGatherOp::verify() {
  // graph_all_gather_c1
  if (failed(verifyApart(*this, getWorkOperands(*this, minMembers),
                         meetingOperands)))
    return failure();
  // graph_all_gather_c2
  if (getPart() >= getCols())
    return emitOpError("gathers ")
           << getCols() << " columns, of which a member has " << getPart();
  return success();
}

LogicalResult GraphCheckpointOp::verify() {
  // graph_checkpoint_c1
  if (getFloats().size() != getValues().size())
    return emitOpError("has ") << getFloats().size() << " sizes for "
                               << getValues().size() << " values";
  if (llvm::any_of(getFloats(), [](int64_t floats) { return floats <= 0; }))
    return emitOpError("has a value without floats");
  // graph_checkpoint_c2
  return verifyApart(*this, getWorkOperands(*this), "values");
}

} // namespace sluice::ir

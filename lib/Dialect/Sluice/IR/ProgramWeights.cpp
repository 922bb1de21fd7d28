//===- ProgramGraph.cpp - checks of a program's graph and weights ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGraph.h"

#include "GraphValues.h"
#include "runtime/device/cuda/CudaProgramABI.h"
#include "runtime/device/cuda/weights/WeightLayout.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sluice::ir {

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {

/// The weight, or slice of a weight, that a use names.
struct NamedWeight {
  WeightOp weight; // null if there is none
  SliceOp slice;   // null for a whole weight
  RankedTensorType type;
};

} // namespace

static NamedWeight getWeight(ProgramOp program, FlatSymbolRefAttr name,
                             SymbolTableCollection &symbols) {
  Operation *named = symbols.lookupNearestSymbolFrom(program, name);
  auto slice = dyn_cast_or_null<SliceOp>(named);
  auto weight = dyn_cast_or_null<WeightOp>(named);
  if (slice) {
    weight = symbols.lookupNearestSymbolFrom<WeightOp>(program,
                                                       slice.getWeightAttr());
    return {weight, slice, slice.getTensorType()};
  }
  return {weight, slice, weight ? weight.getTensorType() : RankedTensorType()};
}

static LogicalResult verifyUse(ProgramOp program, WeightUseAttr use,
                               SymbolTableCollection &symbols) {
  NamedWeight named = getWeight(program, use.getWeight(), symbols);
  if (!named.weight)
    return program.emitOpError("uses ")
           << use.getWeight()
           << ", which is not a sluice.weight or sluice.slice";
  if (named.slice && use.getUse() == WeightUseKind::Rows)
    return program.emitOpError("looks rows up in ")
           << use.getWeight() << ", which is a part of a weight";
  bool isVector = use.getUse() == WeightUseKind::Vector;
  if (named.type.getRank() != (isVector ? 1 : 2))
    return program.emitOpError("uses ")
           << use.getWeight() << " of type " << named.type << " as "
           << stringifyWeightUseKind(use.getUse());
  bool isLinear = use.getUse() == WeightUseKind::Linear;
  if (use.getTransposed() && !isLinear)
    return program.emitOpError("transposes ")
           << use.getWeight() << ", which is not used as linear";
  if (named.weight.getScales() && (!isLinear || use.getTransposed()))
    return program.emitOpError("uses ")
           << use.getWeight() << ", whose scales lie apart, as "
           << (isLinear ? "transposed" : stringifyWeightUseKind(use.getUse()))
           << ": only products of its rows can";
  return success();
}

LogicalResult verifyUses(ProgramOp program, SymbolTableCollection &symbols) {
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>())
    if (failed(verifyUse(program, use, symbols)))
      return failure();
  return success();
}

/// Returns whether `partner` can lie in memory beside the weight of `use`: it
/// has the same type, it has an equal use of its own, and it has no partner
/// itself.
static bool isPartner(ProgramOp program, WeightUseAttr use,
                      FlatSymbolRefAttr partner,
                      SymbolTableCollection &symbols) {
  auto own = WeightUseAttr::get(program.getContext(), partner, use.getUse(),
                                use.getTransposed(), FlatSymbolRefAttr());
  auto uses = program.getWeights().getAsRange<WeightUseAttr>();
  bool hasPartner = llvm::any_of(uses, [&](WeightUseAttr other) {
    return other.getWeight() == partner && other.getPartner();
  });
  if (partner == use.getWeight() || hasPartner ||
      !llvm::is_contained(uses, own))
    return false;
  NamedWeight gate = getWeight(program, use.getWeight(), symbols);
  NamedWeight other = getWeight(program, partner, symbols);
  return gate.type == other.type &&
         gate.weight.getStored() == other.weight.getStored();
}

LogicalResult verifyPartners(ProgramOp program,
                             SymbolTableCollection &symbols) {
  llvm::SmallDenseSet<Attribute> partners;
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>()) {
    FlatSymbolRefAttr partner = use.getPartner();
    if (!partner)
      continue;
    if (program.getCpu() || use.getUse() != WeightUseKind::Linear)
      return program.emitOpError("has a partner of ")
             << use.getWeight() << ", which is not a linear use for cuda";
    if (!isPartner(program, use, partner, symbols) ||
        !partners.insert(partner).second)
      return program.emitOpError("has the partner ")
             << partner << " of " << use.getWeight()
             << ", which is no other weight of its kind";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

namespace {

/// Checks the ops of a program's graph.
class GraphChecker {
public:
  GraphChecker(ProgramOp program, SymbolTableCollection &symbols)
      : program(program), symbols(symbols),
        members(static_cast<int64_t>(program.getMembers())) {}

  LogicalResult check(Operation *op);

private:
  FailureOr<WeightUseAttr> findUse(Operation *op, uint64_t index,
                                   WeightUseKind kind);
  LogicalResult checkColumns(GraphLinearOp op);
  LogicalResult checkBias(GraphLinearOp op, Value bias);
  LogicalResult checkEmbed(GraphEmbedOp op);
  LogicalResult checkCache(Operation *op, uint64_t cache);
  LogicalResult checkAddress(GraphAddressOp op);
  LogicalResult checkNumbers(Operation *op);
  LogicalResult checkExtents(Operation *op);
  SmallVector<WorkOperand> getOperands(Operation *op);
  SmallVector<WorkOperand> getLinear(GraphLinearOp op);
  SmallVector<WorkOperand> getLaunch(LaunchKernelOp op);

  int64_t getRoom(ValueDomain domain) {
    return static_cast<int64_t>(domain == ValueDomain::Rows
                                    ? program.getRowFloats()
                                    : program.getOutputFloats());
  }
  int64_t getColumns(WeightUseAttr use) {
    RankedTensorType type = getWeight(program, use.getWeight(), symbols).type;
    return type.getDimSize(use.getTransposed() ? 1 : 0);
  }
  /// Returns the floats of a row's keys, or of its values, in a cache.
  int64_t getCacheFloats(uint64_t index) {
    auto type = cast<TypeAttr>(program.getCaches()[index]).getValue();
    auto cache = cast<CacheType>(type);
    return cache.getKvHeads() * cache.getHeadDim();
  }

  ProgramOp program;
  SymbolTableCollection &symbols;
  int64_t members;
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers in the program's lists
//===----------------------------------------------------------------------===//

/// Returns the use at `index` of the program's list of weights, which must be
/// of this kind.
FailureOr<WeightUseAttr> GraphChecker::findUse(Operation *op, uint64_t index,
                                               WeightUseKind kind) {
  ArrayAttr uses = program.getWeights();
  if (index < uses.size())
    if (auto use = cast<WeightUseAttr>(uses[index]); use.getUse() == kind)
      return use;
  return op->emitOpError("names the weight ")
         << index << " of " << program.getSymNameAttr()
         << ", which is not one of " << stringifyWeightUseKind(kind);
}

/// Checks that the weight of a product has the columns that the product
/// computes, and has a partner if and only if the product has a gate.
LogicalResult GraphChecker::checkColumns(GraphLinearOp op) {
  FailureOr<WeightUseAttr> use =
      findUse(op, op.getWeight(), WeightUseKind::Linear);
  if (failed(use))
    return failure();
  for (auto other : program.getWeights().getAsRange<WeightUseAttr>())
    if (other.getPartner() == use->getWeight())
      return op.emitOpError("multiplies by ")
             << use->getWeight() << " alone, which is the partner of "
             << other.getWeight();
  bool isGated = op.getGate().has_value();
  if (isGated != static_cast<bool>(use->getPartner()))
    return op.emitOpError("has ")
           << (isGated ? "a" : "no") << " gate, but " << use->getWeight()
           << " has " << (isGated ? "no" : "a") << " partner";
  int64_t columns = getColumns(*use);
  auto end = static_cast<int64_t>(op.getEnd());
  bool isWhole = end == columns;
  if (end <= columns && (isWhole || (end % columnUnit == 0 && !isGated)))
    return success(succeeded(checkBias(op, op.getBias())) &&
                   succeeded(checkBias(op, op.getPartnerBias())));
  return op.emitOpError("computes columns to ")
         << end << " of " << use->getWeight() << ", which has " << columns;
}

/// Checks that a bias has a number for each column of the weight.
LogicalResult GraphChecker::checkBias(GraphLinearOp op, Value bias) {
  auto address = bias ? bias.getDefiningOp<GraphAddressOp>() : GraphAddressOp();
  if (!address || address.getMemory() != GraphMemory::Vector)
    return success();
  FailureOr<WeightUseAttr> use =
      findUse(address, *address.getIndex(), WeightUseKind::Vector);
  if (failed(use))
    return failure();
  int64_t numbers =
      getWeight(program, use->getWeight(), symbols).type.getDimSize(0);
  auto own = cast<WeightUseAttr>(program.getWeights()[op.getWeight()]);
  int64_t columns = getColumns(own);
  if (numbers == columns)
    return success();
  return op.emitOpError("adds the bias ")
         << use->getWeight() << " of " << numbers << " to " << columns
         << " columns of " << own.getWeight();
}

/// Checks that an embedding's rows are as wide as the table's.
LogicalResult GraphChecker::checkEmbed(GraphEmbedOp op) {
  FailureOr<WeightUseAttr> use =
      findUse(op, op.getWeight(), WeightUseKind::Rows);
  if (failed(use))
    return failure();
  int64_t cols =
      getWeight(program, use->getWeight(), symbols).type.getDimSize(1);
  if (static_cast<int64_t>(op.getCols()) == cols)
    return success();
  return op.emitOpError("looks up ")
         << op.getCols() << " columns of " << use->getWeight() << ", which has "
         << cols;
}

LogicalResult GraphChecker::checkCache(Operation *op, uint64_t cache) {
  if (cache < program.getCaches().size())
    return success();
  return op->emitOpError("names the cache ")
         << cache << ", which the program does not have";
}

LogicalResult GraphChecker::checkAddress(GraphAddressOp op) {
  if (op.getMemory() == GraphMemory::Vector)
    return findUse(op, *op.getIndex(), WeightUseKind::Vector);
  if (op.getMemory() != GraphMemory::RopeTable ||
      *op.getIndex() < program.getRopeTables().size())
    return success();
  return op.emitOpError("names the rope table ")
         << *op.getIndex() << ", which the program does not have";
}

LogicalResult GraphChecker::checkNumbers(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](GraphEmbedOp embed) { return checkEmbed(embed); })
      .Case([&](GraphLinearOp linear) { return checkColumns(linear); })
      .Case<GraphAppendOp, GraphAttendOp>(
          [&](auto work) { return checkCache(op, work.getCache()); })
      .Case([&](GraphAddressOp address) { return checkAddress(address); })
      .Default([](Operation *) { return success(); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<WorkOperand> GraphChecker::getLinear(GraphLinearOp op) {
  auto use = cast<WeightUseAttr>(program.getWeights()[op.getWeight()]);
  RankedTensorType type = getWeight(program, use.getWeight(), symbols).type;
  int64_t features = type.getDimSize(use.getTransposed() ? 0 : 1);
  int64_t columns = static_cast<int64_t>(op.getEnd() - op.getBegin());
  SmallVector<WorkOperand> operands = {{op.getOutput(), columns}};
  if (op.getResidual())
    operands.push_back({op.getResidual(), columns});
  // The width of operand rows is known only for formats that have a kernel.
  if (auto kind = cuda::weightKind(toFormat(getElementFormat(type))))
    operands.push_back(
        {op.getOperand(),
         SLUICE_OPERAND_ROW_FLOATS(int(cuda::operandKind(*kind)), features)});
  return operands;
}

SmallVector<WorkOperand> GraphChecker::getLaunch(LaunchKernelOp op) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(op, op.getKernelAttr());
  SmallVector<WorkOperand> operands;
  // The arguments after the parameters stand for shared memory.
  if (kernel && kernel.getNumArguments() == op.getWords().size()) // c1
    for (auto [word, parameter] : llvm::zip_equal(
             op.getWords(),
             kernel.getArguments().take_front(kernel.getNumArguments())))
      operands.push_back(getWorkOperand(word, parameter));
  return operands;
}

/// Returns the operands that an op takes from the arena. For attention's
/// queries only the width of the cache's heads is known, which is a lower
/// bound.
SmallVector<WorkOperand> GraphChecker::getOperands(Operation *op) {
  using Operands = SmallVector<WorkOperand>;
  auto signedOf = [](uint64_t number) { return static_cast<int64_t>(number); };
  return llvm::TypeSwitch<Operation *, Operands>(op)
      .Case<GraphEmbedOp, GraphReceiveOp>([&](auto work) -> Operands {
        return {{work.getOutput(), signedOf(work.getCols())}};
      })
      .Case([&](GraphSendOp send) -> Operands {
        return {{send.getInput(), signedOf(send.getCols())}};
      })
      .Case([&](GraphOperandOp operand) -> Operands {
        int64_t cols = signedOf(operand.getCols());
        int64_t record =
            SLUICE_OPERAND_ROW_FLOATS(int(operand.getKind()), cols);
        return {{operand.getInput(), cols}, {operand.getOutput(), record}};
      })
      .Case([&](GraphLinearOp linear) { return getLinear(linear); })
      .Case([&](GraphAppendOp append) -> Operands {
        int64_t floats = getCacheFloats(append.getCache());
        return {{append.getKey(), floats}, {append.getValue(), floats}};
      })
      .Case([&](GraphAttendOp attend) -> Operands {
        int64_t floats = getCacheFloats(attend.getCache());
        return {{attend.getQuery(), floats}, {attend.getOutput(), floats}};
      })
      .Case<GraphAllReduceOp, GraphAllGatherOp>(
          [&](auto meeting) { return getWorkOperands(meeting, members); })
      .Case([&](GraphCheckpointOp point) { return getWorkOperands(point); })
      .Case([&](LaunchKernelOp launch) { return getLaunch(launch); })
      .Default([](Operation *) { return Operands(); });
}

/// Checks that the operands of an op lie inside the arena and have a record for
/// each row or output that the op works for. Only generated kernels may take
/// values of both domains.
LogicalResult GraphChecker::checkExtents(Operation *op) {
  auto domain = op->getAttrOfType<ValueDomainAttr>("domain");
  ValueDomain own = domain ? domain.getValue() : ValueDomain::Rows;
  for (const WorkOperand &operand : getOperands(op)) {
    std::optional<GivenValue> value = operand.getValue();
    if (!value)
      continue;
    if (!isa<LaunchKernelOp>(op) && value->domain != own)
      return op->emitOpError("is for ")
             << stringifyValueDomain(own) << ", but takes a value of "
             << stringifyValueDomain(value->domain);
    if (value->end > getRoom(value->domain))
      return op->emitOpError("takes the value at ")
             << value->begin << " to " << value->end
             << ", outside of the arena of " << getRoom(value->domain);
  }
  return success();
}

LogicalResult GraphChecker::check(Operation *op) {
  if (auto value = dyn_cast<GraphValueOp>(op);
      value &&
      static_cast<int64_t>(value.getOffset()) >= getRoom(value.getDomain()))
    return op->emitOpError("is at ")
           << value.getOffset() << ", outside of the arena";
  if (failed(checkNumbers(op)) || failed(checkExtents(op)))
    return failure();
  if (isa<GraphAllReduceOp, GraphAllGatherOp>(op))
    return verifyApart(op, getOperands(op), meetingOperands);
  return success();
}

LogicalResult verifyGraph(ProgramOp program, GraphOp graph,
                          SymbolTableCollection &symbols) {
  GraphChecker checker(program, symbols);
  for (Operation &op : graph.getBody().front())
    if (failed(checker.check(&op)))
      return failure();
  return success();
}

} // namespace sluice::ir

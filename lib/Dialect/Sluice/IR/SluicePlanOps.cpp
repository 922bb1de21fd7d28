//===- SluicePlanOps.cpp - a step as tasks over buffers -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepHazards.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sluice::ir;

#include "sluice/Dialect/Sluice/IR/SluicePlanTarget.cpp.inc"

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  OpAsmParser::Argument batch;
  Attribute target;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseLParen() || parser.parseArgument(batch, /*allowType=*/true) ||
      parser.parseRParen() || parser.parseKeyword("target") ||
      parser.parseAttribute(target, "target", result.attributes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), {batch});
}

void StepOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  printer.printRegionArgument(getBody().getArgument(0));
  printer << ") target " << getTarget();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {SymbolTable::getSymbolAttrName(), "target"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

PlanTargetInterface StepOp::getPlanTarget() {
  return cast<PlanTargetInterface>(getTarget());
}

ResultsOp StepOp::getResults() {
  return cast<ResultsOp>(getBody().front().getTerminator());
}

Value StepOp::getLogits() {
  Value buffer = getResults().getBuffer();
  bool isLogits =
      cast<BufferType>(buffer.getType()).getDomain() == ValueDomain::Outputs;
  return isLogits ? buffer : Value();
}

int64_t StepOp::countCheckpoints() {
  auto checkpoints = getBody().getOps<TaskCheckpointOp>();
  return std::distance(checkpoints.begin(), checkpoints.end());
}

LogicalResult StepOp::verify() {
  // step_c1
  if (getBody().getNumArguments() != 1 ||
      !isa<BatchType>(getBody().getArgument(0).getType()))
    return emitOpError("must take one !sluice.batch");
  if (!isa<PlanTargetInterface>(getTarget()))
    return emitOpError("has a target for which no steps can be planned: ")
           << getTarget();
  if (getRowFloats().has_value() != getOutputFloats().has_value())
    return emitOpError("has one part of an arena, not both");
  return success();
}

/// Checks that tokens and received rows are read before the first checkpoint.
static LogicalResult verifyInputs(StepOp step) {
  // step_c7
  bool isBehindCheckpoint = false;
  for (Operation &op : step.getBody().front()) {
    isBehindCheckpoint |= isa<TaskCheckpointOp>(op);
    auto loop = dyn_cast<TaskRowsOp>(op);
    if (!loop || !isBehindCheckpoint)
      continue;
    for (Operation &row : loop.getRowOps())
      if (isa<EmbedOp, ReceivedRowsOp>(row))
        return row.emitOpError("stands behind a sluice.task.checkpoint: tokens "
                               "and received rows do not move with the rows");
  }
  return success();
}

/// Checks that caches are numbered in order.
static LogicalResult verifyCaches(StepOp step) {
  // cache_c1
  uint64_t next = 0;
  for (CacheOp cache : step.getBody().getOps<CacheOp>())
    if (cache.getIndex() != next++)
      return cache.emitOpError()
             << "is numbered " << cache.getIndex() << ", expected " << next - 1;
  return success();
}

LogicalResult StepOp::verifyRegions() {
  if (!isa<ResultsOp>(getBody().front().back()))
    return emitOpError("must end with sluice.results");
  if (failed(verifyCaches(*this)) || failed(verifyInputs(*this)) ||
      failed(verifyWriters(*this)))
    return failure();
  return isAssigned() ? verifyArena(*this) : success();
}

//===----------------------------------------------------------------------===//
// BufferOp, CacheOp, RopeTableOp
//===----------------------------------------------------------------------===//

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBuffer(), "x");
}

LogicalResult BufferOp::verify() {
  // buffer_c1
  auto place = static_cast<int64_t>(getPlace().value_or(0));
  if (place < 0 || place % arenaUnit != 0)
    return emitOpError() << "lies at " << place
                         << ", which is not a multiple of " << arenaUnit;
  return success();
}

void CacheOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getCache(), "cache");
}

LogicalResult CacheOp::verify() { return success(); }

void RopeTableOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getTable(), "table");
}

LogicalResult RopeTableOp::verify() {
  // rope_table_c1
  int64_t rotaryDim = 2 * getParameters().getInverse().size();
  if (int64_t type = getTable().getType().getRotaryDim(); type != rotaryDim)
    return emitOpError() << "has " << rotaryDim
                         << " numbers for each position, but its type " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Row-wise ops that only steps have
//===----------------------------------------------------------------------===//

int64_t ReceivedRowsOp::getFlopsPerRow() { return 0; }
int64_t SendRowsOp::getFlopsPerRow() { return 0; }

LogicalResult RotationsOp::verify() {
  // rotations_c1
  int64_t width = getWidth(getResult().getType());
  if (width != getTable().getType().getRotaryDim())
    return emitOpError() << "makes rows " << width
                         << " wide, but the table has "
                         << getTable().getType().getRotaryDim();
  return success();
}

// A cosine and a sine count as about ten operations each.
int64_t RotationsOp::getFlopsPerRow() {
  return 10 * getWidth(getResult().getType());
}

LogicalResult RotateOp::verify() {
  // rotate_c1
  auto heads = static_cast<int64_t>(getHeads());
  auto headDim = static_cast<int64_t>(getHeadDim());
  int64_t features = 0;
  if (heads <= 0 || headDim <= 0 ||
      __builtin_mul_overflow(heads, headDim, &features) ||
      features != getWidth(getInput().getType()))
    return emitOpError() << "has rows of " << getWidth(getInput().getType())
                         << " features, which are not " << heads << " heads of "
                         << headDim;
  // rotate_c2
  if (getRotaryDim() % 2 != 0 || getRotaryDim() > headDim)
    return emitOpError() << "has rotations of " << getRotaryDim()
                         << " features for heads of " << headDim;
  return success();
}

int64_t RotateOp::getFlopsPerRow() {
  return 3 * static_cast<int64_t>(getHeads()) * getRotaryDim();
}

LogicalResult AddBiasOp::verify() {
  // add_bias_c2
  for (Value bias : getBiases())
    if (cast<RankedTensorType>(bias.getType()).getDimSize(0) !=
        getWidth(getInput().getType()))
      return emitOpError("has a bias that is not as long as a row");
  return success();
}

int64_t AddBiasOp::getFlopsPerRow() {
  return getWidth(getInput().getType()) *
         static_cast<int64_t>(getBiases().size());
}

int64_t AddBiasOp::getWeightBytes() {
  int64_t bytes = 0;
  for (Value bias : getBiases()) {
    auto type = cast<RankedTensorType>(bias.getType());
    bytes += static_cast<int64_t>(
        sluice::ir::getWeightBytes(type, getElementFormat(type)).value_or(0));
  }
  return bytes;
}

int64_t ToOperandOp::getFlopsPerRow() {
  return 2 * getWidth(getInput().getType());
}

//===- SluiceTaskOps.cpp - the tasks of a step ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace sluice::ir;

static BufferType getType(Value buffer) {
  return cast<BufferType>(buffer.getType());
}

/// Adds an access of a task that does not split its work by rows, so that a
/// thread may access any record.
static void addWhole(SmallVectorImpl<MemoryAccess> &accesses, Value memory,
                     bool writes) {
  if (memory)
    accesses.push_back({memory, AccessExtent::All, writes});
}

static LogicalResult verifyDomain(Operation *op, StringRef what, Value buffer,
                                  ValueDomain domain) {
  if (buffer && getType(buffer).getDomain() != domain)
    return op->emitOpError()
           << what << " is of "
           << stringifyValueDomain(getType(buffer).getDomain())
           << ", the task of " << stringifyValueDomain(domain);
  return success();
}

static LogicalResult verifyFloats(Operation *op, StringRef what, Value buffer,
                                  int64_t width) {
  if (!buffer)
    return success();
  if (!getType(buffer).isFloats())
    return op->emitOpError() << what << " must be floats";
  if (getType(buffer).getWidth() != width)
    return op->emitOpError() << what << " is " << getType(buffer).getWidth()
                             << " wide, expected " << width;
  return success();
}

//===----------------------------------------------------------------------===//
// TaskRowsOp
//===----------------------------------------------------------------------===//

void TaskRowsOp::build(OpBuilder &builder, OperationState &state,
                       ValueDomain domain, ValueRange reads, ValueRange weights,
                       ValueRange writes, std::optional<int64_t> layer) {
  state.addOperands(reads);
  state.addOperands(weights);
  state.addOperands(writes);
  Properties &properties = state.getOrAddProperties<Properties>();
  llvm::copy(ArrayRef<int32_t>({static_cast<int32_t>(reads.size()),
                                static_cast<int32_t>(weights.size()),
                                static_cast<int32_t>(writes.size())}),
             properties.operandSegmentSizes.begin());
  properties.domain = ValueDomainAttr::get(builder.getContext(), domain);
  if (layer)
    properties.layer = builder.getI64IntegerAttr(*layer);
  Block &body = state.addRegion()->emplaceBlock();
  for (Value buffer : reads)
    body.addArgument(getRowsType(getType(buffer)), state.location);
  for (Value weight : weights)
    body.addArgument(weight.getType(), state.location);
}

namespace {

/// An item of `reads(%x = %h : type, ...)`.
struct Binding {
  OpAsmParser::Argument argument;
  OpAsmParser::UnresolvedOperand operand;
  Type type;
};

} // namespace

/// Parses `keyword(%x = %h : type, ...)`, or nothing.
static ParseResult parseBindings(OpAsmParser &parser, StringRef keyword,
                                 SmallVectorImpl<Binding> &bindings) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        Binding &binding = bindings.emplace_back();
        return failure(parser.parseArgument(binding.argument) ||
                       parser.parseEqual() ||
                       parser.parseOperand(binding.operand) ||
                       parser.parseColonType(binding.type));
      });
}

/// Parses `writes(%y : type, ...)`, or nothing.
static ParseResult parseWrites(OpAsmParser &parser,
                               SmallVectorImpl<Binding> &writes) {
  if (failed(parser.parseOptionalKeyword("writes")))
    return success();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        Binding &binding = writes.emplace_back();
        return failure(parser.parseOperand(binding.operand) ||
                       parser.parseColonType(binding.type));
      });
}

ParseResult TaskRowsOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Binding> reads, weights, writes;
  StringRef domainName;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseKeyword(&domainName))
    return failure();
  std::optional<ValueDomain> domain = symbolizeValueDomain(domainName);
  if (!domain)
    return parser.emitError(start, "expected 'rows' or 'outputs'");
  auto &properties = result.getOrAddProperties<Properties>();
  properties.domain = ValueDomainAttr::get(parser.getContext(), *domain);
  if (succeeded(parser.parseOptionalKeyword("runtime")))
    properties.runtime = parser.getBuilder().getUnitAttr();
  if (parseBindings(parser, "reads", reads) ||
      parseBindings(parser, "weights", weights) || parseWrites(parser, writes))
    return failure();

  SmallVector<OpAsmParser::Argument> arguments;
  for (Binding &read : reads) {
    auto type = dyn_cast<BufferType>(read.type);
    if (!type)
      return parser.emitError(read.argument.ssaName.location,
                              "rows are read from a !sluice.buffer");
    read.argument.type = getRowsType(type);
    arguments.push_back(read.argument);
  }
  for (Binding &weight : weights) {
    weight.argument.type = weight.type;
    arguments.push_back(weight.argument);
  }
  for (ArrayRef<Binding> bindings :
       {ArrayRef(reads), ArrayRef(weights), ArrayRef(writes)})
    for (const Binding &binding : bindings)
      if (parser.resolveOperand(binding.operand, binding.type, result.operands))
        return failure();
  llvm::copy(ArrayRef<int32_t>({static_cast<int32_t>(reads.size()),
                                static_cast<int32_t>(weights.size()),
                                static_cast<int32_t>(writes.size())}),
             properties.operandSegmentSizes.begin());
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void TaskRowsOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyValueDomain(getDomain());
  if (getRuntime())
    printer << " runtime";
  auto printBindings = [&](StringRef keyword, ValueRange operands,
                           ArrayRef<BlockArgument> arguments) {
    if (operands.empty())
      return;
    printer << ' ' << keyword << '(';
    llvm::interleaveComma(
        llvm::zip_equal(operands, arguments), printer, [&](auto binding) {
          auto [operand, argument] = binding;
          printer << argument << " = " << operand << " : " << operand.getType();
        });
    printer << ')';
  };
  printBindings("reads", getReads(), getRowArguments());
  printBindings("weights", getWeights(), getWeightArguments());
  if (!getWrites().empty()) {
    printer << " writes(";
    llvm::interleaveComma(getWrites(), printer, [&](Value buffer) {
      printer << buffer << " : " << buffer.getType();
    });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getDomainAttrName(), getRuntimeAttrName(), getOperandSegmentSizeAttr()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

TaskYieldOp TaskRowsOp::getYield() {
  return cast<TaskYieldOp>(getBody().front().getTerminator());
}

Value TaskRowsOp::getWeight(Value argument) {
  auto number = cast<BlockArgument>(argument).getArgNumber();
  return getWeights()[number - getReads().size()];
}

Value TaskRowsOp::getBuffer(Value rows) {
  if (auto argument = dyn_cast<BlockArgument>(rows))
    return getReads()[argument.getArgNumber()];
  ValueRange yielded = getYield().getRows();
  auto found = llvm::find(yielded, rows);
  return found == yielded.end() ? Value()
                                : getWrites()[found - yielded.begin()];
}

LogicalResult TaskRowsOp::verify() {
  // task.rows_c1
  auto expected = llvm::map_to_vector(getReads(), [](Value buffer) -> Type {
    return getRowsType(getType(buffer));
  });
  llvm::append_range(expected, getWeights().getTypes());
  if (!llvm::equal(expected, getBody().getArgumentTypes()))
    return emitOpError("the body does not take the rows and weights that the "
                       "task reads");
  for (Value weight : getWeights())
    if (!isVectorWeight(weight.getType()) &&
        !isMatrixWeight(weight.getType()) &&
        !isa<RopeTableType>(weight.getType()))
      return emitOpError("has a weight of type ") << weight.getType();
  // task.rows_c3
  for (Value buffer : getWrites())
    if (failed(verifyDomain(*this, "a buffer that is written", buffer,
                            getDomain())))
      return failure();
  // task.rows_c4
  llvm::SmallPtrSet<Value, 8> buffers;
  for (ValueRange operands : {ValueRange(getReads()), ValueRange(getWrites())})
    for (Value buffer : operands)
      if (!buffers.insert(buffer).second)
        return emitOpError("accesses a buffer twice");
  return success();
}

/// Checks an op of a row loop's body.
static LogicalResult verifyRowOp(TaskRowsOp loop, Operation *op) {
  // task.rows_c2
  auto semantics = dyn_cast<RowSemanticsInterface>(op);
  if (!semantics || semantics.getRowSemantics() != RowSemantics::RowWise ||
      isa<LinearOp, AllReduceOp, AllGatherOp, CheckpointOp, RopeOp>(op))
    return op->emitOpError("is no row-wise op of a row loop");
  for (Value operand : op->getOperands()) {
    if (!loop.getBody().isAncestor(operand.getParentRegion()) &&
        !isa<BatchType>(operand.getType()))
      return op->emitOpError(
          "uses a value from outside of its row loop that is "
          "not the batch");
    // task.rows_c3
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || !isRows(operand.getType()) ||
        argument.getOwner()->getParentOp() != loop)
      continue;
    ValueDomain domain = getType(loop.getBuffer(operand)).getDomain();
    bool selects = isa<SelectOutputsOp>(op);
    if (domain != (selects ? ValueDomain::Rows : loop.getDomain()))
      return op->emitOpError("reads a buffer of ")
             << stringifyValueDomain(domain) << " in a loop over "
             << stringifyValueDomain(loop.getDomain());
  }
  return success();
}

LogicalResult TaskRowsOp::verifyRegions() {
  // task.rows_c1
  auto yield = dyn_cast<TaskYieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError("must end with sluice.task.yield");
  if (yield.getRows().size() != getWrites().size())
    return emitOpError() << "yields " << yield.getRows().size() << " rows for "
                         << getWrites().size() << " buffers";
  for (auto [rows, buffer] : llvm::zip_equal(yield.getRows(), getWrites())) {
    if (rows.getType() != getRowsType(getType(buffer)))
      return emitOpError() << "writes " << rows.getType() << " to a "
                           << buffer.getType();
    auto operand = rows.getDefiningOp<ToOperandOp>();
    if (getType(buffer).getOperand() !=
        (operand ? operand.getOperand() : OperandAttr()))
      return emitOpError() << "writes rows to a " << buffer.getType()
                           << " that are not in its format";
  }
  for (Value buffer : getReads())
    if (!getType(buffer).isFloats())
      return emitOpError("reads operands of products");
  int64_t count = 0;
  for (Operation &op : getRowOps()) {
    ++count;
    if (failed(verifyRowOp(*this, &op)))
      return failure();
  }
  // task.rows_c5
  if (getRuntime() && count != 1)
    return emitOpError() << "has " << count
                         << " ops that the runtime does by itself, expected 1";
  return success();
}

SmallVector<MemoryAccess> TaskRowsOp::getAccesses() {
  AccessExtent share = getDomain() == ValueDomain::Rows ? AccessExtent::Rows
                                                        : AccessExtent::Outputs;
  if (getRuntime())
    share = AccessExtent::All;
  SmallVector<MemoryAccess> accesses;
  for (auto [buffer, rows] : llvm::zip_equal(getReads(), getRowArguments())) {
    // select_outputs picks from the rows of all threads.
    bool isPicked = llvm::any_of(rows.getUsers(), [](Operation *op) {
      return isa<SelectOutputsOp>(op);
    });
    accesses.push_back({buffer, isPicked ? AccessExtent::All : share,
                        /*writes=*/false});
  }
  for (Value buffer : getWrites())
    accesses.push_back({buffer, share, /*writes=*/true});
  return accesses;
}

ValueDomain TaskRowsOp::getTaskDomain() { return getDomain(); }

//===----------------------------------------------------------------------===//
// TaskProductOp
//===----------------------------------------------------------------------===//

int64_t TaskProductOp::getInFeatures() {
  return getWeight().getType().getDimSize(getTransposed() ? 0 : 1);
}

int64_t TaskProductOp::getOutFeatures() {
  return getWeight().getType().getDimSize(getTransposed() ? 1 : 0);
}

int64_t TaskProductOp::getFirstColumn() {
  return static_cast<int64_t>(getColumnsBegin().value_or(0));
}

int64_t TaskProductOp::getEndColumn() {
  return static_cast<int64_t>(getColumnsEnd().value_or(getOutFeatures()));
}

ParamOp TaskProductOp::getWeightParam() {
  return getWeight().getDefiningOp<ParamOp>();
}

static LogicalResult verifyGate(TaskProductOp op) {
  // task.product_c5
  if (!op.getGate() && !op.getPartner() && !op.getPartnerBias())
    return success();
  if (!op.getGate() || !op.getPartner() || !op.isWhole() || op.getResidual())
    return op.emitOpError("needs a gate and a partner of all columns, and no "
                          "residual");
  if (op.getPartner().getType() != op.getWeight().getType() ||
      !op.getBias() != !op.getPartnerBias())
    return op.emitOpError("has a partner that is not like its weight");
  return success();
}

LogicalResult TaskProductOp::verify() {
  if (!getWeightParam())
    return emitOpError("has a weight that no sluice.param brings in");
  // task.product_c1
  if (failed(verifyDomain(*this, "the input", getInput(), getDomain())) ||
      failed(verifyDomain(*this, "the residual", getResidual(), getDomain())) ||
      failed(verifyDomain(*this, "the output", getOutput(), getDomain())))
    return failure();
  // task.product_c4
  if (failed(verifyColumns(*this)))
    return failure();
  // task.product_c2
  if (int64_t width = getType(getInput()).getWidth(); width != getInFeatures())
    return emitOpError() << "the input is " << width
                         << " wide, the weight takes " << getInFeatures();
  int64_t columns = getEndColumn() - getFirstColumn();
  if (failed(verifyFloats(*this, "the output", getOutput(), columns)) ||
      failed(verifyFloats(*this, "the residual", getResidual(), columns)))
    return failure();
  // task.product_c3
  for (Value bias : {getBias(), getPartnerBias()})
    if (bias && cast<RankedTensorType>(bias.getType()).getDimSize(0) !=
                    getOutFeatures())
      return emitOpError(
          "has a bias that is not as long as the weight's 'out'");
  return verifyGate(*this);
}

SmallVector<MemoryAccess> TaskProductOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getInput(), /*writes=*/false);
  addWhole(accesses, getResidual(), /*writes=*/false);
  addWhole(accesses, getOutput(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskProductOp::getTaskDomain() { return getDomain(); }

//===----------------------------------------------------------------------===//
// TaskAppendOp, TaskAttendOp
//===----------------------------------------------------------------------===//

/// Checks keys and values against the cache.
static LogicalResult verifyKeysAndValues(Operation *op, Value key, Value value,
                                         CacheType cache) {
  int64_t width = cache.getKvHeads() * cache.getHeadDim();
  for (Value buffer : {key, value})
    if (failed(verifyFloats(op, "a key or value", buffer, width)) ||
        failed(verifyDomain(op, "a key or value", buffer, ValueDomain::Rows)))
      return failure();
  return success();
}

LogicalResult TaskAppendOp::verify() {
  // task.append_c1
  return verifyKeysAndValues(*this, getKey(), getValue(), getCache().getType());
}

SmallVector<MemoryAccess> TaskAppendOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getKey(), /*writes=*/false);
  addWhole(accesses, getValue(), /*writes=*/false);
  addWhole(accesses, getCache(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskAppendOp::getTaskDomain() { return ValueDomain::Rows; }

LogicalResult TaskAttendOp::verify() {
  // task.attend_c1
  CacheType cache = getCache().getType();
  auto heads = static_cast<int64_t>(getHeads());
  if (heads <= 0 || heads % cache.getKvHeads() != 0)
    return emitOpError() << "has " << heads
                         << " heads, which are no positive multiple of "
                         << cache.getKvHeads();
  for (Value buffer : {getQuery(), getOutput()})
    if (failed(verifyFloats(*this, "query or output", buffer,
                            heads * cache.getHeadDim())) ||
        failed(
            verifyDomain(*this, "query or output", buffer, ValueDomain::Rows)))
      return failure();
  // task.attend_c2
  if (!getKey() != !getValue())
    return emitOpError("needs keys and values together");
  return verifyKeysAndValues(*this, getKey(), getValue(), cache);
}

SmallVector<MemoryAccess> TaskAttendOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getQuery(), /*writes=*/false);
  addWhole(accesses, getKey(), /*writes=*/false);
  addWhole(accesses, getValue(), /*writes=*/false);
  addWhole(accesses, getCache(), /*writes=*/false);
  addWhole(accesses, getOutput(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskAttendOp::getTaskDomain() { return ValueDomain::Rows; }

//===----------------------------------------------------------------------===//
// TaskExchangeOp, TaskCheckpointOp, TaskSampleOp
//===----------------------------------------------------------------------===//

LogicalResult TaskExchangeOp::verify() {
  // task.exchange_c1
  for (Value buffer : {getInput(), getOutput(), getScratch()}) {
    if (!getType(buffer).isFloats())
      return emitOpError("exchanges records that are not floats");
    if (failed(verifyDomain(*this, "a buffer", buffer, getDomain())))
      return failure();
  }
  // task.exchange_c2
  int64_t input = getType(getInput()).getWidth();
  int64_t output = getType(getOutput()).getWidth();
  bool isSum = getKind() == ExchangeKind::Sum;
  if (isSum ? output != input : output <= input)
    return emitOpError() << "makes rows of " << output << " features from rows "
                         << "of " << input;
  // task.exchange_c3
  int64_t members = (*this)->getParentOfType<StepOp>().getMembers();
  if (getType(getScratch()).getWidth() != input * members)
    return emitOpError() << "has room for " << getType(getScratch()).getWidth()
                         << " features, but " << members << " members bring "
                         << input << " each";
  return success();
}

SmallVector<MemoryAccess> TaskExchangeOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getInput(), /*writes=*/false);
  addWhole(accesses, getOutput(), /*writes=*/true);
  addWhole(accesses, getScratch(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskExchangeOp::getTaskDomain() { return getDomain(); }

LogicalResult TaskCheckpointOp::verify() {
  // task.checkpoint_c1
  llvm::SmallPtrSet<Value, 8> buffers;
  for (Value buffer : getBuffers())
    if (!buffers.insert(buffer).second)
      return emitOpError("moves a buffer twice");
  return success();
}

SmallVector<MemoryAccess> TaskCheckpointOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  for (Value buffer : getBuffers()) {
    addWhole(accesses, buffer, /*writes=*/false);
    addWhole(accesses, buffer, /*writes=*/true);
  }
  return accesses;
}

ValueDomain TaskCheckpointOp::getTaskDomain() { return ValueDomain::Rows; }

LogicalResult TaskSampleOp::verify() {
  // task.sample_c1
  for (Value buffer : {getLogits(), getParts()})
    if (buffer && (!getType(buffer).isFloats() ||
                   getType(buffer).getDomain() != ValueDomain::Outputs))
      return emitOpError("needs floats of outputs");
  return success();
}

SmallVector<MemoryAccess> TaskSampleOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getLogits(), /*writes=*/false);
  addWhole(accesses, getParts(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskSampleOp::getTaskDomain() { return ValueDomain::Outputs; }

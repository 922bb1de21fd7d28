//===- SluiceRowLoopOp.cpp - the rows of a step, one after the other ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"
#include "TaskChecks.h"
#include "TaskKernels.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// TaskRowsOp
//===----------------------------------------------------------------------===//

void TaskRowsOp::build(OpBuilder &builder, OperationState &state,
                       ValueDomain domain, ValueRange reads, ValueRange weights,
                       ValueRange writes, std::optional<int64_t> layer,
                       int64_t heads) {
  state.addOperands(reads);
  state.addOperands(weights);
  state.addOperands(writes);
  Properties &properties = state.getOrAddProperties<Properties>();
  llvm::copy(ArrayRef<int32_t>({static_cast<int32_t>(reads.size()),
                                static_cast<int32_t>(weights.size()),
                                static_cast<int32_t>(writes.size())}),
             properties.operandSegmentSizes.begin());
  properties.domain = ValueDomainAttr::get(builder.getContext(), domain);
  if (heads > 1)
    properties.heads = builder.getI64IntegerAttr(heads);
  if (layer)
    properties.layer = builder.getI64IntegerAttr(*layer);
  Block &body = state.addRegion()->emplaceBlock();
  for (Value buffer : reads)
    body.addArgument(getRowsType(getType(buffer), heads), state.location);
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

/// Parses `@f`, or `@kernels::@f threads 32 blocks 1`.
static ParseResult parseKernel(OpAsmParser &parser, KernelAttr &kernel) {
  SymbolRefAttr function;
  int64_t threads = 0, blocks = 0;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseAttribute(function))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("threads")) &&
      (parser.parseInteger(threads) || parser.parseKeyword("blocks") ||
       parser.parseInteger(blocks)))
    return failure();
  kernel =
      KernelAttr::getChecked([&] { return parser.emitError(start); },
                             parser.getContext(), function, threads, blocks);
  return success(kernel != nullptr);
}

static void printKernel(OpAsmPrinter &printer, KernelAttr kernel) {
  printer << " kernel " << kernel.getFunction();
  if (kernel.isForGpu())
    printer << " threads " << kernel.getThreads() << " blocks "
            << kernel.getBlocks();
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
  int64_t heads = 1;
  if (succeeded(parser.parseOptionalKeyword("heads"))) {
    if (parser.parseInteger(heads))
      return failure();
    properties.heads = parser.getBuilder().getI64IntegerAttr(heads);
  }
  if (succeeded(parser.parseOptionalKeyword("runtime")))
    properties.runtime = parser.getBuilder().getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("kernel")) &&
      parseKernel(parser, properties.kernel))
    return failure();
  if (parseBindings(parser, "reads", reads) ||
      parseBindings(parser, "weights", weights) || parseWrites(parser, writes))
    return failure();

  SmallVector<OpAsmParser::Argument> arguments;
  for (Binding &read : reads) {
    auto type = dyn_cast<BufferType>(read.type);
    if (!type)
      return parser.emitError(read.argument.ssaName.location,
                              "rows are read from a !sluice.buffer");
    // task.rows_c7
    if (heads < 1 || type.getWidth() % heads != 0)
      return parser.emitError(read.argument.ssaName.location)
             << "rows of " << type.getWidth() << " features do not divide into "
             << heads << " heads";
    read.argument.type = getRowsType(type, heads);
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
  if (getHeads())
    printer << " heads " << *getHeads();
  if (getRuntime())
    printer << " runtime";
  if (getKernelAttr())
    printKernel(printer, getKernelAttr());
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
      {getDomainAttrName(), getHeadsAttrName(), getRuntimeAttrName(),
       getKernelAttrName(), getOperandSegmentSizeAttr()});
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

std::optional<unsigned> TaskRowsOp::getOperandNumber(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &getBody().front()
               ? std::optional(argument.getArgNumber())
               : std::nullopt;
  ValueRange yielded = getYield().getRows();
  auto found = llvm::find(yielded, value);
  if (found == yielded.end())
    return std::nullopt;
  return getBody().getNumArguments() + (found - yielded.begin());
}

Value TaskRowsOp::getBuffer(Value rows) {
  std::optional<unsigned> number = getOperandNumber(rows);
  return number ? getOperand(*number) : Value();
}

/// Checks that the rows of each buffer divide into the heads of a loop.
static LogicalResult verifyHeads(TaskRowsOp loop) {
  if (!loop.getHeads())
    return success();
  const int64_t heads = loop.countHeads();
  if (heads < 2)
    return loop.emitOpError() << "has " << heads << " heads";
  for (ValueRange buffers :
       {ValueRange(loop.getReads()), ValueRange(loop.getWrites())})
    for (Value buffer : buffers)
      if (int64_t width = getType(buffer).getWidth(); width % heads != 0)
        return loop.emitOpError()
               << "rows of " << width << " features do not divide into "
               << heads << " heads";
  return success();
}

LogicalResult TaskRowsOp::verify() {
  // task.rows_c7
  if (failed(verifyHeads(*this)))
    return failure();
  // task.rows_c1
  auto expected = llvm::map_to_vector(
      getReads(), [&](Value buffer) -> Type { return getBodyType(buffer); });
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
  // task.rows_c7
  auto columns = dyn_cast<ColumnOpInterface>(op);
  if (loop.getHeads() && !columns)
    return op->emitOpError("is in a row loop over heads, and needs whole rows");
  if (columns && columns.countHeads() != 1)
    return op->emitOpError("has heads, which its row loop has to have");
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

/// Returns whether the runtime has code of its own for a row loop of this op.
static bool canRuntimeDo(Operation *op) {
  if (auto operand = dyn_cast<ToOperandOp>(op))
    return operand.getOperand().getFormat() != OperandFormat::Q8;
  return isa<EmbedOp, ReceivedRowsOp, SendRowsOp>(op);
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
    if (rows.getType() != getBodyType(buffer))
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
  if (getRuntime() && !canRuntimeDo(&getBody().front().front()))
    return emitOpError() << "has an op that the runtime does not do by itself";
  if (getRuntime() && getKernelAttr())
    return emitOpError("is done by the runtime, and has a kernel");
  return success();
}

LogicalResult TaskRowsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // task.rows_c6
  if (!getKernelAttr())
    return success();
  auto memory = llvm::map_to_vector(
      getKernelParameters(*this), [&](const KernelParameter &parameter) {
        if (parameter.kind != KernelParameter::Kind::Operand)
          return TaskMemory();
        auto buffer =
            dyn_cast<BufferType>(getOperand(parameter.operand).getType());
        return TaskMemory{!buffer,
                          buffer ? buffer.getFloats() / countHeads() : 0};
      });
  return verifyKernel(*this, getKernelAttr(), memory, symbols);
}

SmallVector<MemoryAccess> TaskRowsOp::getAccesses() {
  AccessExtent share = getDomain() == ValueDomain::Rows ? AccessExtent::Rows
                                                        : AccessExtent::Outputs;
  if (getRuntime())
    share = AccessExtent::All;
  SmallVector<MemoryAccess> accesses;
  for (auto [buffer, rows] : llvm::zip_equal(getReads(), getRowArguments())) {
    // Outputs are picked from the rows of all threads.
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

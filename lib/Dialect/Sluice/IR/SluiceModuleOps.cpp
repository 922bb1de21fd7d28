//===- SluiceModuleOps.cpp - files, weights, models -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"
#include "runtime/formats/ScaleGrid.h"
#include "sluice/Support/AbsolutePath.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// FileOp
//===----------------------------------------------------------------------===//

LogicalResult FileOp::verify() {
  // file_c1
  if (getPath().empty())
    return emitOpError("needs a path");
  // file_c2
  if (static_cast<int64_t>(getSize()) <= 0)
    return emitOpError() << "size must be positive, got "
                         << static_cast<int64_t>(getSize());
  // file_c3
  if (getIdentity().size() != 16 ||
      !llvm::all_of(getIdentity(), [](char c) { return llvm::isHexDigit(c); }))
    return emitOpError("identity must be sixteen hexadecimal digits");
  return success();
}

std::string FileOp::getAbsolutePath() {
  auto *dialect = getContext()->getLoadedDialect<SluiceDialect>();
  return toAbsolutePath(getPath(), dialect->getModuleFolder());
}

//===----------------------------------------------------------------------===//
// WeightOp
//===----------------------------------------------------------------------===//

ElementFormat WeightOp::getElementFormat() {
  return ir::getElementFormat(getTensorType());
}

std::optional<uint64_t> WeightOp::getStoredBytes() {
  if (getScales())
    return static_cast<uint64_t>(getTensorType().getNumElements());
  return getWeightBytes(getTensorType(), getStored());
}

LogicalResult WeightOp::verify() {
  ElementFormat format = getElementFormat();
  int64_t columns = getTensorType().getShape().back();
  for (ElementFormat each : {getStored(), format}) {
    // weight_c2
    if (!rowBytes(toFormat(each), columns))
      return emitOpError() << "a row of " << columns
                           << " elements is not a whole number of "
                           << stringifyElementFormat(each) << " blocks";
    // weight_c6
    if (!getWeightBytes(getTensorType(), each))
      return emitOpError("has more bytes than 64 bits count");
  }
  // weight_c3
  bool plain = getStored() == ElementFormat::F32 ||
               getStored() == ElementFormat::F16 ||
               getStored() == ElementFormat::BF16;
  bool quantises = format == ElementFormat::Q8_0 ||
                   format == ElementFormat::Q4_0 ||
                   format == ElementFormat::E4M3;
  if (getStored() != format && !(plain && quantises))
    return emitOpError() << "cannot compute in "
                         << stringifyElementFormat(format)
                         << " what is stored in "
                         << stringifyElementFormat(getStored());
  // weight_c7
  if (getScales() && getStored() != ElementFormat::E4M3)
    return emitOpError("has scales, but is not stored in e4m3");
  return success();
}

/// Checks that `scales` can be those of the weight.
static LogicalResult verifyScales(WeightOp weight, WeightOp scales) {
  // weight_c7
  ArrayRef<int64_t> shape = weight.getTensorType().getShape();
  RankedTensorType type = scales.getTensorType();
  // A weight that is not in blocks is computed in its stored format
  // (weight_c3).
  if (isa<BlockType>(type.getElementType()))
    return weight.emitOpError() << "has scales of " << type
                                << " that are not f32, f16 or bf16 as stored";
  int64_t rows = type.getDimSize(0);
  int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 1;
  if (!ScaleGrid::find(shape[0], shape[1], rows, columns))
    return weight.emitOpError()
           << "of " << shape[0] << " rows and " << shape[1]
           << " columns cannot have scales of " << type
           << ": needs one, one for each row, or one for each 128 rows and 128 "
              "columns";
  return success();
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // weight_c4
  FailureOr<FileOp> file = lookUp<FileOp>(*this, getFileAttr(), symbols);
  if (failed(file))
    return failure();
  // weight_c5
  uint64_t end = 0;
  if (__builtin_add_overflow(getOffset(), *getStoredBytes(), &end) ||
      end > file->getSize())
    return emitOpError() << "bytes " << getOffset() << " to "
                         << getOffset() + *getStoredBytes()
                         << " lie outside the file's " << file->getSize();
  // weight_c7
  if (!getScalesAttr())
    return success();
  FailureOr<WeightOp> scales =
      lookUp<WeightOp>(*this, getScalesAttr(), symbols);
  return failed(scales) ? failure() : verifyScales(*this, *scales);
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  // slice_c2
  if (getRows().has_value() == getColumns().has_value())
    return emitOpError("needs ranges of either rows or columns");
  if (getRows() && getTensorType().getRank() != 2)
    return emitOpError("has ranges of rows, but is not of a matrix");
  // slice_c3
  ArrayRef<int64_t> ranges = getRanges();
  int64_t end = 0;
  bool isInOrder = !ranges.empty() && ranges.size() % 2 == 0;
  for (size_t i = 0; isInOrder && i < ranges.size(); i += 2) {
    isInOrder = ranges[i] >= end && ranges[i + 1] > ranges[i];
    end = ranges[i + 1];
  }
  if (!isInOrder)
    return emitOpError(
        "has ranges that are empty, overlap or are not in order");
  return success();
}

/// Checks the type of a slice, and its ranges, against the weight.
static LogicalResult verifySlice(SliceOp slice, WeightOp weight) {
  SmallVector<int64_t> shape(weight.getTensorType().getShape());
  int64_t &sliced = slice.getRows() ? shape.front() : shape.back();
  ArrayRef<int64_t> ranges = slice.getRanges();
  // slice_c3
  if (ranges.back() > sliced)
    return slice.emitOpError()
           << "ends at " << ranges.back() << " of " << slice.getWeightAttr()
           << ", which has " << sliced;
  sliced = 0;
  for (size_t i = 0; i < ranges.size(); i += 2)
    sliced += ranges[i + 1] - ranges[i];
  // slice_c4
  Type expected =
      RankedTensorType::get(shape, weight.getTensorType().getElementType());
  if (slice.getType() != expected)
    return slice.emitOpError() << "has type " << slice.getType()
                               << ", but its ranges make it " << expected;
  // slice_c5
  for (ElementFormat format : {weight.getStored(), weight.getElementFormat()})
    for (int64_t bound : ranges)
      if (!slice.getRows() && !rowBytes(toFormat(format), bound))
        return slice.emitOpError()
               << "is cut at column " << bound << ", inside a "
               << stringifyElementFormat(format) << " block";
  return success();
}

LogicalResult SliceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // slice_c1
  FailureOr<WeightOp> weight =
      lookUp<WeightOp>(*this, getWeightAttr(), symbols);
  if (failed(weight))
    return failure();
  return verifySlice(*this, *weight);
}

//===----------------------------------------------------------------------===//
// TokenizerOp
//===----------------------------------------------------------------------===//

LogicalResult TokenizerOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // tokenizer_c1
  return lookUp<FileOp>(*this, getFileAttr(), symbols);
}

//===----------------------------------------------------------------------===//
// ModelOp
//===----------------------------------------------------------------------===//

ParseResult ModelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  OpAsmParser::Argument batch;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseLParen() || parser.parseArgument(batch, /*allowType=*/true) ||
      parser.parseRParen() ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), {batch});
}

void ModelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  printer.printRegionArgument(getBody().getArgument(0));
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {SymbolTable::getSymbolAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ModelOp::verify() {
  // model_c1
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 || !isStepRows(body.getArgument(0).getType()))
    return emitOpError("the body must take one !sluice.chunk or !sluice.batch");
  // model_c2
  int64_t vocabSize = getVocabSize(), contextLength = getContextLength();
  if (vocabSize <= 0 || contextLength <= 0)
    return emitOpError()
           << "vocab_size and context_length must be positive, got "
           << vocabSize << " and " << contextLength;
  // model_c3
  for (int64_t token : getEosTokens())
    if (token < 0 || token >= vocabSize)
      return emitOpError() << "eos token " << token
                           << " is not in the vocabulary of " << vocabSize;
  // model_c6
  auto members = static_cast<int64_t>(getTensorParallel().value_or(2));
  if (members < minMembers || members > maxMembers)
    return emitOpError() << "tensor_parallel must be 2 to " << maxMembers
                         << ", got " << members;
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  // model_c4
  if (failed(verifyLayerNumbers(getBody(), 0)))
    return failure();
  // model_c5
  if (!isa<ReturnOp>(getBody().front().back()))
    return emitOpError("must end with sluice.return");
  return verifyRowFlow(*this);
}

//===----------------------------------------------------------------------===//
// ReturnOp
//===----------------------------------------------------------------------===//

LogicalResult ReturnOp::verify() {
  // return_c1
  auto model = cast<ModelOp>((*this)->getParentOp());
  int64_t vocabSize = model.getVocabSize();
  if (getWidth(getLogits().getType()) != vocabSize)
    return emitOpError() << "logits are " << getWidth(getLogits().getType())
                         << " wide, the vocabulary has " << vocabSize;
  return success();
}

//===- SluiceModuleOps.cpp - files, weights, models -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"

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

//===----------------------------------------------------------------------===//
// WeightOp
//===----------------------------------------------------------------------===//

ElementFormat WeightOp::getElementFormat() {
  return ir::getElementFormat(getTensorType());
}

std::optional<uint64_t> WeightOp::getStoredBytes() {
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
  bool quantises =
      format == ElementFormat::Q8_0 || format == ElementFormat::Q4_0;
  if (getStored() != format && !(plain && quantises))
    return emitOpError() << "cannot compute in "
                         << stringifyElementFormat(format)
                         << " what is stored in "
                         << stringifyElementFormat(getStored());
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
  return success();
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

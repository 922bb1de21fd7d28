//===- SluiceDialect.cpp - the dialect sluice -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceDialect.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;

#include "sluice/Dialect/Sluice/IR/SluiceDialect.cpp.inc"

#include "sluice/Dialect/Sluice/IR/SluiceEnums.cpp.inc"

/// Parses the parameter Floats: `[1.0, 0.316227764]`. DenseF32ArrayAttr by
/// itself prints seven digits, which can read back as other floats.
static FailureOr<DenseF32ArrayAttr> parseFloats(AsmParser &parser) {
  SmallVector<float> floats;
  auto parseOne = [&]() -> ParseResult {
    double value = 0;
    if (parser.parseFloat(value))
      return failure();
    floats.push_back(static_cast<float>(value));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  return DenseF32ArrayAttr::get(parser.getContext(), floats);
}

static void printFloats(AsmPrinter &printer, DenseF32ArrayAttr floats) {
  printer << '[';
  llvm::interleaveComma(floats.asArrayRef(), printer, [&](float value) {
    printer.printFloat(APFloat(value));
  });
  printer << ']';
}

#define GET_ATTRDEF_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceTypes.cpp.inc"

#include "sluice/Dialect/Sluice/IR/SluiceInterfaces.cpp.inc"

/// Parses the directive StepRows: `%batch`, or `chunk %chunk`.
static ParseResult parseStepRows(OpAsmParser &parser,
                                 OpAsmParser::UnresolvedOperand &rows,
                                 Type &type) {
  if (succeeded(parser.parseOptionalKeyword("chunk")))
    type = ChunkType::get(parser.getContext());
  else
    type = BatchType::get(parser.getContext());
  return parser.parseOperand(rows);
}

static void printStepRows(OpAsmPrinter &printer, Operation *, Value rows,
                          Type type) {
  if (isa<ChunkType>(type))
    printer << "chunk ";
  printer << rows;
}

/// Parses the directive Ranges, `0 to 64, 128 to 192`, into two numbers for
/// each range.
static ParseResult parseRanges(OpAsmParser &parser, DenseI64ArrayAttr &ranges) {
  SmallVector<int64_t> bounds;
  auto parseRange = [&]() -> ParseResult {
    return failure(parser.parseInteger(bounds.emplace_back()) ||
                   parser.parseKeyword("to") ||
                   parser.parseInteger(bounds.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(parseRange))
    return failure();
  ranges = parser.getBuilder().getDenseI64ArrayAttr(bounds);
  return success();
}

static void printRanges(OpAsmPrinter &printer, Operation *,
                        DenseI64ArrayAttr ranges) {
  ArrayRef<int64_t> bounds = ranges.asArrayRef();
  for (size_t i = 0; i + 1 < bounds.size(); i += 2)
    printer << (i ? ", " : "") << bounds[i] << " to " << bounds[i + 1];
}

#define GET_OP_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceOps.cpp.inc"

void SluiceDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sluice/Dialect/Sluice/IR/SluiceAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "sluice/Dialect/Sluice/IR/SluiceTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sluice/Dialect/Sluice/IR/SluiceOps.cpp.inc"
      >();
  // The conversion to each target implements the interface.
  declarePromisedInterfaces<PlanTargetInterface, CpuTargetAttr,
                            CudaTargetAttr>();
}

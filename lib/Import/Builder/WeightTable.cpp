//===- WeightTable.cpp - a model's tensors as weights of a module ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightTable.h"

#include "runtime/base/FileIdentity.h"
#include "runtime/formats/Float8.h"
#include "runtime/formats/ScaleGrid.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Import/Support/Quote.h"
#include "sluice/Support/AbsolutePath.h"

using namespace sluice;
using namespace sluice::importer;

namespace {

/// Returns "[512, 64]".
std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t dim : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

/// Returns the rows and columns of a tensor of scales.
std::pair<int64_t, int64_t> scalesShape(llvm::ArrayRef<int64_t> shape) {
  int64_t rows = shape.empty() ? 1 : shape[0];
  return {rows, shape.size() > 1 ? shape[1] : 1};
}

/// Returns whether each scale is positive and its product with the largest e4m3
/// number is finite.
bool areUsable(Format format, std::span<const uint8_t> bytes) {
  std::vector<float> scales(bytes.size() /
                            size_t(formatInfo(format).blockBytes));
  dequantizeRow(format, bytes.data(), scales.data(), int64_t(scales.size()));
  return llvm::all_of(scales, [](float scale) {
    return scale > 0 && std::isfinite(scale * largestE4M3);
  });
}

ir::ElementFormat toElementFormat(Format format) {
  return static_cast<ir::ElementFormat>(format);
}

} // namespace

void WeightTable::declareFilesBefore(mlir::Operation *op) {
  moduleBuilder.setInsertionPoint(op);
  mlir::Location loc = moduleBuilder.getUnknownLoc();
  for (size_t i = 0; i < model.files().size(); ++i) {
    const SourceFile &file = model.files()[i];
    ir::FileOp::create(
        moduleBuilder, loc, fileSymbol(i), toAbsolutePath(file.path),
        static_cast<int64_t>(file.bytes.size()), fileIdentity(file.bytes));
  }
  if (const std::optional<TokenizerFile> &tokenizer = model.tokenizer())
    ir::TokenizerOp::create(moduleBuilder, loc, "tokenizer",
                            fileSymbol(tokenizer->file),
                            tokenizer->kind == TokenizerKind::GGUF
                                ? ir::TokenizerSource::GGUF
                                : ir::TokenizerSource::TokenizerJson);
}

void WeightTable::fail(const Status &status) {
  if (firstError.ok())
    firstError = status;
}

/// Returns the format in which a weight is computed: the stored one, unless it
/// is to be quantised.
Expected<Format> WeightTable::computedFormat(Format stored,
                                             llvm::ArrayRef<int64_t> shape,
                                             TensorUse use) const {
  bool isMatrix = use == TensorUse::Tokens || use == TensorUse::Linear ||
                  use == TensorUse::Transposed;
  if (!quantize || !isMatrix || stored == *quantize)
    return stored;
  std::string_view wanted = formatInfo(*quantize).name;
  if (isQuantized(stored))
    return failure("cannot be quantised to ", wanted, ": it is stored as ",
                   formatInfo(stored).name, " already");
  if (use == TensorUse::Transposed)
    return failure("cannot be quantised to ", wanted,
                   ": it is stored as [in, out], and blocks run along 'in'");
  if (!rowBytes(*quantize, shape.back()))
    return failure("cannot be quantised to ", wanted, ": its rows of ",
                   shape.back(), " values are not whole blocks of ",
                   formatInfo(*quantize).blockElements);
  return *quantize;
}

Expected<mlir::RankedTensorType>
WeightTable::typeOf(const StoredTensor &tensor, llvm::ArrayRef<int64_t> shape,
                    TensorUse use) {
  if (llvm::ArrayRef(tensor.shape) != shape)
    return failure("its shape is ", shapeText(tensor.shape),
                   ", the configuration asks for ", shapeText(shape));
  if (!tensor.format)
    return failure("elements of type ", quote(tensor.type),
                   " are not supported (F32, F16, BF16 and F8_E4M3 are)");
  // These numbers have their scales in another tensor.
  bool isE4M3 = tensor.format == Format::E4M3;
  bool needsPlain = use == TensorUse::Vector || use == TensorUse::Transposed ||
                    (isE4M3 && use != TensorUse::Linear);
  if (needsPlain && isQuantized(*tensor.format))
    return failure("is stored as ", tensor.type,
                   "; f32, f16 or bf16 is supported for it");
  if (isE4M3 && !rowBytes(Format::E4M3, shape.back()))
    return failure("its rows of ", shape.back(),
                   " values are not whole blocks of ",
                   formatInfo(Format::E4M3).blockElements);
  Expected<Format> format = computedFormat(*tensor.format, shape, use);
  if (!format)
    return format.status();
  return mlir::RankedTensorType::get(
      shape,
      ir::getElementType(moduleBuilder.getContext(), toElementFormat(*format)));
}

Expected<mlir::FlatSymbolRefAttr>
WeightTable::declareScales(const StoredTensor &tensor) {
  const StoredTensor *scales = model.find(tensor.name + "_scale_inv");
  if (!scales)
    scales = model.find(tensor.name + "_scale");
  if (!scales)
    return failure(model.files()[tensor.file].path, ": tensor ",
                   quote(tensor.name), ": its scales ",
                   quote(tensor.name + "_scale"),
                   " or '..._scale_inv' are missing");
  auto bad = [&](const auto &...reason) {
    return failure(model.files()[scales->file].path, ": tensor ",
                   quote(scales->name), ": ", reason...);
  };
  if (!scales->format || isQuantized(*scales->format))
    return bad("scales of type ", quote(scales->type),
               " are not supported (F32, F16 and BF16 are)");
  auto [rows, cols] = scalesShape(scales->shape);
  if (scales->shape.size() > 2 ||
      !ScaleGrid::find(tensor.shape[0], tensor.shape[1], rows, cols))
    return bad("its shape is ", shapeText(scales->shape), ", but weights of ",
               shapeText(tensor.shape),
               " have one scale, one a row or one for each block of 128 rows "
               "and 128 columns");
  if (!areUsable(*scales->format, model.bytesOf(*scales)))
    return bad("a scale is not positive, or not finite");
  mlir::MLIRContext *context = moduleBuilder.getContext();
  ir::ElementFormat format = toElementFormat(*scales->format);
  auto type = mlir::RankedTensorType::get(scales->shape.empty()
                                              ? llvm::ArrayRef<int64_t>(rows)
                                              : llvm::ArrayRef(scales->shape),
                                          ir::getElementType(context, format));
  ir::WeightOp::create(moduleBuilder, moduleBuilder.getUnknownLoc(),
                       scales->name, fileSymbol(scales->file),
                       static_cast<int64_t>(scales->offset), format,
                       /*scales=*/nullptr, type);
  types[scales->name] = type;
  return mlir::FlatSymbolRefAttr::get(context, scales->name);
}

/// Finds the tensor and makes its `sluice.weight`. Returns null on an error.
mlir::RankedTensorType WeightTable::declare(const std::string &name,
                                            llvm::ArrayRef<int64_t> shape,
                                            TensorUse use) {
  const StoredTensor *tensor = model.find(name);
  if (!tensor) {
    fail(failure(model.path(), ": tensor ", quote(name), ": missing"));
    return {};
  }
  Expected<mlir::RankedTensorType> type = typeOf(*tensor, shape, use);
  if (!type) {
    fail(type.status().withContext(model.files()[tensor->file].path +
                                   ": tensor " + quote(name)));
    return {};
  }
  mlir::FlatSymbolRefAttr scales;
  if (tensor->format == Format::E4M3) {
    Expected<mlir::FlatSymbolRefAttr> declared = declareScales(*tensor);
    if (!declared) {
      fail(declared.status());
      return {};
    }
    scales = *declared;
  }
  ir::WeightOp::create(moduleBuilder, moduleBuilder.getUnknownLoc(), name,
                       fileSymbol(tensor->file),
                       static_cast<int64_t>(tensor->offset),
                       toElementFormat(*tensor->format), scales, *type);
  return *type;
}

mlir::Value WeightTable::get(mlir::OpBuilder &builder, const std::string &name,
                             llvm::ArrayRef<int64_t> shape, TensorUse use) {
  mlir::RankedTensorType &type = types[name];
  if (!type && firstError.ok())
    type = declare(name, shape, use);
  mlir::RankedTensorType usable =
      type ? type : mlir::RankedTensorType::get(shape, builder.getF32Type());
  return ir::ParamOp::create(builder, builder.getUnknownLoc(), usable, name);
}

Status WeightTable::finish() const {
  if (!firstError.ok())
    return firstError;
  for (const StoredTensor &tensor : model.tensors())
    if (!types.contains(tensor.name) && !model.mayBeUnused(tensor.name))
      return failure(model.files()[tensor.file].path, ": tensor ",
                     quote(tensor.name),
                     ": is in the file, but the model does not use it");
  return {};
}

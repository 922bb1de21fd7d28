//===- WeightStore.cpp - a module's weights as float32 --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/WeightStore.h"

#include "OpError.h"
#include "runtime/base/FileIdentity.h"
#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/ScaleGrid.h"

using namespace sluice;
using namespace sluice::interpreter;

/// Maps the file that `op` names and checks its size and identity.
static Expected<MappedFile> openModelFile(ir::FileOp op) {
  std::string path = op.getAbsolutePath();
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return opError(op, file.status().message());
  if (file->bytes().size() != static_cast<uint64_t>(op.getSize()))
    return opError(op, path, ": has ", file->bytes().size(),
                   " bytes, but the model was imported from one of ",
                   op.getSize(), "; import it again");
  if (fileIdentity(file->bytes()) != op.getIdentity().str())
    return opError(op, path,
                   ": changed since the model was imported; import it again");
  return file;
}

Expected<WeightStore> WeightStore::open(mlir::ModuleOp module) {
  WeightStore store;
  mlir::SymbolTable symbols(module);
  for (auto weight : module.getOps<ir::WeightOp>()) {
    store.ops[weight.getSymName()] = weight;
    llvm::StringRef name = weight.getFile();
    if (store.files.contains(name))
      continue;
    auto op = symbols.lookup<ir::FileOp>(name);
    if (!op)
      return opError(weight, "@", name.str(), " is no file of the module");
    Expected<MappedFile> file = openModelFile(op);
    if (!file)
      return file.status();
    store.files.try_emplace(name, file.take());
  }
  for (auto slice : module.getOps<ir::SliceOp>())
    store.slices[slice.getSymName()] = slice;
  return store;
}

namespace {

/// Returns the address of a weight in its mapped file. Fails if the weight is
/// not inside the file.
Expected<const uint8_t *> placeOf(ir::WeightOp op, const MappedFile &file) {
  const uint8_t *place =
      file.range(op.getOffset(), op.getStoredBytes().value_or(0));
  if (!place)
    return opError(op, "@", op.getSymName().str(), " is not inside ",
                   file.path());
  return place;
}

/// Dequantises the rows of a weight. Quantises them before if the op says so.
class RowReader {
public:
  static Expected<RowReader> open(ir::WeightOp op, const MappedFile &file) {
    RowReader reader(op, file);
    // The verifier has checked that rows consist of whole blocks.
    uint64_t bytes = op.getStoredBytes().value_or(0);
    Expected<const uint8_t *> place = placeOf(op, file);
    if (!place)
      return place.status();
    reader.source = *place;
    reader.storedRow = bytes / uint64_t(reader.rows());
    if (reader.stored != reader.computed)
      reader.quantized.resize(
          rowBytes(reader.computed, reader.cols()).value_or(0));
    return reader;
  }

  /// Opens the weight's scales, which are a weight of their own in
  /// `scalesFile`.
  Status openScales(ir::WeightOp scales, const MappedFile &scalesFile) {
    Expected<const uint8_t *> place = placeOf(scales, scalesFile);
    if (!place)
      return place.status();
    mlir::RankedTensorType shape = scales.getTensorType();
    // The verifier has checked that there is such a grid.
    grid = ScaleGrid::find(rows(), cols(), shape.getDimSize(0),
                           shape.getRank() == 2 ? shape.getDimSize(1) : 1);
    grid->data = *place;
    grid->format = ir::toFormat(scales.getStored());
    blocks.resize(rowBytes(stored, cols()).value_or(0));
    return {};
  }

  int64_t rows() const { return type.getRank() == 2 ? type.getDimSize(0) : 1; }
  int64_t cols() const { return type.getShape().back(); }

  /// Reads row `r` of cols() values into `to`. Fails if a value is not finite.
  Status read(int64_t r, float *to) {
    const uint8_t *from = source + uint64_t(r) * storedRow;
    if (grid) {
      grid->gather(from, r, 0, cols() / formatInfo(stored).blockElements,
                   blocks.data());
      from = blocks.data();
    }
    if (!rowIsFinite(stored, from, cols()))
      return opError(op, "@", op.getSymName().str(), ", row ", r, " in ",
                     file->path(), ": a value or scale is not finite");
    dequantizeRow(stored, from, to, cols());
    if (quantized.empty())
      return {};
    quantizeRow(computed, to, quantized.data(), cols());
    dequantizeRow(computed, quantized.data(), to, cols());
    return {};
  }

private:
  RowReader(ir::WeightOp op, const MappedFile &file)
      : op(op), type(op.getTensorType()), file(&file),
        stored(ir::toFormat(op.getStored())),
        computed(ir::toFormat(op.getElementFormat())) {}

  ir::WeightOp op;
  mlir::RankedTensorType type;
  const MappedFile *file;
  Format stored, computed;
  const uint8_t *source = nullptr;
  uint64_t storedRow = 0;
  std::vector<uint8_t> quantized;
  std::optional<ScaleGrid> grid;
  std::vector<uint8_t> blocks; ///< a row with its scales
};

} // namespace

static Expected<std::unique_ptr<WeightData>> load(RowReader &reader) {
  auto weight = std::make_unique<WeightData>();
  weight->rows = reader.rows();
  weight->cols = reader.cols();
  weight->data.resize(weight->rows * weight->cols);
  for (int64_t r = 0; r < weight->rows; ++r)
    SLUICE_RETURN_IF_ERROR(
        reader.read(r, weight->data.data() + r * weight->cols));
  return weight;
}

/// Loads the slice's ranges of rows, or its ranges of columns of all rows, one
/// range after the other.
static Expected<std::unique_ptr<WeightData>> loadSlice(RowReader &reader,
                                                       ir::SliceOp slice) {
  auto weight = std::make_unique<WeightData>();
  mlir::RankedTensorType type = slice.getTensorType();
  weight->rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
  weight->cols = type.getShape().back();
  llvm::ArrayRef<int64_t> ranges = slice.getRanges();
  std::vector<float> row(reader.cols());
  auto append = [&](int64_t r) -> Status {
    Status status = reader.read(r, row.data());
    if (slice.getRows())
      weight->data.insert(weight->data.end(), row.begin(), row.end());
    for (size_t i = 0; !slice.getRows() && i < ranges.size(); i += 2)
      weight->data.insert(weight->data.end(), row.begin() + ranges[i],
                          row.begin() + ranges[i + 1]);
    return status;
  };
  std::vector<int64_t> rows = {0, reader.rows()};
  if (slice.getRows())
    rows.assign(ranges.begin(), ranges.end());
  for (size_t i = 0; i < rows.size(); i += 2)
    for (int64_t r = rows[i]; r < rows[i + 1]; ++r)
      SLUICE_RETURN_IF_ERROR(append(r));
  return weight;
}

Expected<const WeightData *> WeightStore::get(llvm::StringRef name) {
  std::unique_ptr<WeightData> &slot = loaded[name];
  if (slot)
    return slot.get();
  auto slice = slices.find(name);
  bool isSlice = slice != slices.end();
  auto op = ops.find(isSlice ? slice->second.getWeight() : name);
  if (op == ops.end())
    return failure("@", name.str(), " is no weight of the module");
  Expected<RowReader> reader =
      RowReader::open(op->second, files.find(op->second.getFile())->second);
  if (!reader)
    return reader.status();
  if (std::optional<llvm::StringRef> apart = op->second.getScales()) {
    ir::WeightOp scales = ops.find(*apart)->second;
    SLUICE_RETURN_IF_ERROR(
        reader->openScales(scales, files.find(scales.getFile())->second));
  }
  Expected<std::unique_ptr<WeightData>> weight =
      isSlice ? loadSlice(*reader, slice->second) : load(*reader);
  if (!weight)
    return weight.status();
  slot = weight.take();
  return slot.get();
}

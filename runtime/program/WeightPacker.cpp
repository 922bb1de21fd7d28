//===- WeightPacker.cpp - conversion of weights to kernels' form ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightPacker.h"

#include "runtime/program/WeightDigests.h"
#include "runtime/program/WeightVerifier.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sluice;

namespace {

// A piece is large enough to share between threads and to write at once, and
// small compared with any weight that is worth packing.
constexpr uint64_t pieceBytes = uint64_t(8) << 20;

// The bytes that a thread takes at a time: few enough to stay in its cache
// between checking and packing.
constexpr uint64_t grainBytes = uint64_t(128) << 10;

/// Returns the packed bytes of a weight that is not linear, or none if it
/// cannot be packed.
std::optional<uint64_t> unpackedBytes(const WeightDescriptor &weight) {
  if (weight.stored != weight.format && !canQuantize(weight.format))
    return std::nullopt;
  std::optional<uint64_t> row = rowBytes(weight.format, weight.usedCols());
  if (row && weight.use == WeightUse::Vector)
    row = rowBytes(Format::F32, weight.usedCols());
  uint64_t total = 0;
  if (!row || __builtin_mul_overflow(*row, uint64_t(weight.rows), &total))
    return std::nullopt;
  return total;
}

std::optional<uint64_t> sectionBytes(const WeightDescriptor &weight,
                                     PackedContents contents) {
  if (weight.use == WeightUse::Linear)
    return cpu::packedBytes(linearSpec(weight));
  std::optional<uint64_t> bytes = unpackedBytes(weight);
  bool usedFromFile = weight.use == WeightUse::Rows &&
                      weight.stored == weight.format &&
                      contents == PackedContents::NotInFiles;
  return bytes && usedFromFile ? uint64_t(0) : bytes;
}

/// Divides [first, last) between the pool's threads, which take some items at a
/// time, because a thread may share its processor with the writing thread. Each
/// item has `bytes` bytes.
template <typename Fn>
void shareOut(cpu::ThreadPool &pool, int64_t first, int64_t last,
              uint64_t bytes, Fn body) {
  auto grain = int64_t(std::max<uint64_t>(1, grainBytes / bytes));
  std::atomic<int64_t> next = first;
  auto share = [&](int64_t) {
    int64_t begin;
    while ((begin = next.fetch_add(grain)) < last)
      body(begin, std::min(last, begin + grain));
  };
  pool.run(share);
}

/// The first of the rows that threads find to be bad.
class FirstBad {
public:
  void note(int64_t row) {
    int64_t seen = first.load();
    while (row < seen && !first.compare_exchange_weak(seen, row)) {
    }
  }
  std::optional<int64_t> row() const {
    int64_t found = first.load();
    return found == none ? std::nullopt : std::optional(found);
  }

private:
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first = none;
};

/// Returns whether the largest magnitude of a row is finite in `format`.
bool fits(Format format, const float *row, int64_t cols,
          std::vector<uint8_t> &block) {
  const FormatInfo &info = formatInfo(format);
  float largest = 0;
  for (int64_t i = 0; i < cols; ++i)
    largest = std::max(largest, std::fabs(row[i]));
  std::vector<float> same(size_t(info.blockElements), largest);
  block.resize(size_t(info.blockBytes));
  quantizeRow(format, same.data(), block.data(), info.blockElements);
  return rowIsFinite(format, block.data(), info.blockElements);
}

/// Notes the first row of [begin, end), in the used part of the weight, that is
/// not finite.
void checkRows(const WeightDescriptor &weight, const SlicedMatrix &matrix,
               int64_t begin, int64_t end, FirstBad &bad) {
  uint64_t stride = *weight.storedRowBytes();
  bool converts = weight.stored != weight.format;
  int64_t cols = weight.usedCols();
  std::vector<float> values(converts ? size_t(cols) : 0);
  std::vector<uint8_t> block, part;
  for (int64_t row = begin; row < end; ++row) {
    const uint8_t *from = matrix.data + uint64_t(row) * stride;
    if (!weight.isAsInFile()) {
      matrix.copy(row, row + 1, 0, cols, part);
      from = part.data();
    }
    if (!rowIsFinite(weight.stored, from, cols))
      return bad.note(row);
    if (!converts)
      continue;
    dequantizeRow(weight.stored, from, values.data(), cols);
    if (!fits(weight.format, values.data(), cols, block))
      return bad.note(row);
  }
}

/// Converts rows [begin, end) of a table or vector to `to`.
void convertRows(const WeightDescriptor &weight, const uint8_t *data,
                 uint8_t *to, int64_t begin, int64_t end) {
  uint64_t stored = *rowBytes(weight.stored, weight.cols);
  uint64_t packed = *rowBytes(weight.format, weight.cols);
  if (weight.use == WeightUse::Rows && weight.stored == weight.format) {
    std::memcpy(to, data + uint64_t(begin) * stored,
                uint64_t(end - begin) * packed);
    return;
  }
  std::vector<float> values(static_cast<size_t>(weight.cols));
  std::vector<uint8_t> quantized(packed);
  for (int64_t row = begin; row < end; ++row) {
    dequantizeRow(weight.stored, data + uint64_t(row) * stored, values.data(),
                  weight.cols);
    if (weight.use == WeightUse::Rows) {
      quantizeRow(weight.format, values.data(), to, weight.cols);
      to += packed;
      continue;
    }
    if (weight.stored != weight.format) {
      quantizeRow(weight.format, values.data(), quantized.data(), weight.cols);
      dequantizeRow(weight.format, quantized.data(), values.data(),
                    weight.cols);
    }
    uint64_t bytes = uint64_t(weight.cols) * sizeof(float);
    std::memcpy(to, values.data(), bytes);
    to += bytes;
  }
}

/// Packs units [begin, end) of a part of a weight, or of a weight whose scales
/// are apart. Gathers what these units need and packs it as if it were a whole
/// weight.
void packPart(const WeightDescriptor &weight, const SlicedMatrix &matrix,
              uint8_t *to, int64_t begin, int64_t end) {
  std::vector<uint8_t> part;
  WeightDescriptor whole = weight;
  whole.slice = {};
  whole.scales = {};
  whole.rows = matrix.usedRows();
  whole.cols = matrix.usedCols();
  if (weight.use == WeightUse::Vector) {
    matrix.copy(begin, end, 0, whole.cols, part);
    return convertRows(whole, part.data(), to, 0, end - begin);
  }
  // Output columns; they are columns of the matrix if the weight is transposed.
  int64_t first = begin * cpu::panelColumns;
  int64_t &outputs = weight.transposed ? whole.cols : whole.rows;
  int64_t last = std::min(outputs, end * cpu::panelColumns);
  outputs = last - first;
  if (weight.transposed)
    matrix.copy(0, whole.rows, first, last, part);
  else
    matrix.copy(first, last, 0, whole.cols, part);
  cpu::packPanels(linearSpec(whole), part.data(), to, 0, end - begin);
}

} // namespace

cpu::LinearSpec sluice::linearSpec(const WeightDescriptor &weight) {
  cpu::LinearSpec spec;
  int64_t rows = weight.usedRows(), cols = weight.usedCols();
  spec.outFeatures = weight.transposed ? cols : rows;
  spec.inFeatures = weight.transposed ? rows : cols;
  spec.stored = weight.stored;
  spec.format = weight.format;
  spec.transposed = weight.transposed;
  return spec;
}

Expected<PackedFileLayout>
sluice::planPackedFile(std::span<const ModelFile> files,
                       const ProgramDescriptor &program,
                       PackedContents contents) {
  std::vector<uint64_t> sizes;
  for (const WeightDescriptor &weight : program.weights) {
    std::optional<uint64_t> bytes = sectionBytes(weight, contents);
    if (!bytes)
      return failure(files[weight.file].path, ": weight '", weight.name,
                     "': ", weight.usedRows(), " x ", weight.usedCols(), " of ",
                     formatInfo(weight.stored).name, " cannot be used as ",
                     formatInfo(weight.format).name);
    sizes.push_back(*bytes);
  }
  return PackedFileLayout::plan(sizes);
}

bool WeightPacker::markChecked(const WeightDescriptor &weight,
                               const SlicedMatrix &matrix) {
  const WeightSlice &slice = weight.slice;
  return checked
      .insert({matrix.data, weight.format, slice.ofColumns, slice.bounds})
      .second;
}

Status WeightPacker::result(const WeightDescriptor &weight,
                            std::optional<int64_t> badRow) const {
  if (!badRow)
    return {};
  return failure(files.path(weight.file), ": weight '", weight.name, "': row ",
                 *badRow, " is not finite as ", formatInfo(weight.format).name);
}

Status WeightPacker::checkUnchanged(const WeightDescriptor &weight) {
  std::vector<KnownBytes> known;
  addKnownBytes(files, weight, known);
  for (const KnownBytes &each : known)
    if (unchanged.insert(each.bytes.data()).second &&
        digestOf(each.bytes, pool) != each.digest)
      return reportDamage(each);
  return {};
}

Status WeightPacker::check(const WeightDescriptor &weight) {
  const SlicedMatrix matrix = files.matrix(weight);
  if (!markChecked(weight, matrix))
    return {};
  FirstBad bad;
  shareOut(pool, 0, weight.usedRows(), *weight.storedRowBytes(),
           [&](int64_t begin, int64_t end) {
             checkRows(weight, matrix, begin, end, bad);
           });
  return result(weight, bad.row());
}

Status WeightPacker::pack(const WeightDescriptor &weight, PieceTarget &target) {
  const SlicedMatrix matrix = files.matrix(weight);
  bool linear = weight.use == WeightUse::Linear;
  // The units of a transposed weight are not whole rows, so it is checked as a
  // whole first.
  if (weight.transposed)
    SLUICE_RETURN_IF_ERROR(check(weight));
  bool isNew = markChecked(weight, matrix);
  cpu::LinearSpec spec = linearSpec(weight);
  // A unit is the least that a thread packs at a time: a panel or a row.
  int64_t unitRows = linear ? cpu::panelColumns : 1;
  int64_t units = linear ? cpu::panelCount(spec.outFeatures) : weight.rows;
  uint64_t total = *sectionBytes(weight, PackedContents::Everything);
  uint64_t unitBytes = total / uint64_t(units);
  auto step = int64_t(std::max<uint64_t>(1, pieceBytes / unitBytes));
  for (int64_t first = 0; first < units; first += step) {
    int64_t last = std::min(units, first + step);
    uint64_t from = uint64_t(first) * unitBytes;
    uint64_t to = uint64_t(last) * unitBytes;
    Expected<uint8_t *> piece = target.begin(from, to);
    if (!piece)
      return piece.status();
    FirstBad bad;
    shareOut(pool, first, last, unitBytes, [&](int64_t begin, int64_t end) {
      if (isNew)
        checkRows(weight, matrix, begin * unitRows,
                  std::min(weight.usedRows(), end * unitRows), bad);
      uint8_t *share = *piece + uint64_t(begin - first) * unitBytes;
      if (!weight.isAsInFile())
        packPart(weight, matrix, share, begin, end);
      else if (linear)
        cpu::packPanels(spec, matrix.data, share, begin, end);
      else
        convertRows(weight, matrix.data, share, begin, end);
    });
    SLUICE_RETURN_IF_ERROR(result(weight, bad.row()));
    SLUICE_RETURN_IF_ERROR(target.end(from, to));
  }
  return {};
}

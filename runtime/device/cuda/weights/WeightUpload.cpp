//===- WeightUpload.cpp - uploads weights from mapped files to the device -===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace sluice::cuda {

namespace {

constexpr uint64_t bufferBytes = uint64_t{16} << 20;
constexpr float largestHalf = 65504;
constexpr const char *uploading = "the upload of weights";

/// Some rows and columns of a stored matrix.
class MatrixPart {
public:
  MatrixPart(const StoredMatrix &matrix, int64_t rowBegin, int64_t rowEnd,
             int64_t colBegin, int64_t colEnd) {
    if (matrix.slice.isWhole() && !matrix.scales) {
      stride = *rowBytes(matrix.stored, matrix.cols);
      first = matrix.data + uint64_t(rowBegin) * stride +
              *rowBytes(matrix.stored, colBegin);
      return;
    }
    const bool isWhole = matrix.slice.isWhole();
    SlicedMatrix{matrix.data,
                 isWhole ? matrix.rows : matrix.wholeRows,
                 isWhole ? matrix.cols : matrix.wholeCols,
                 matrix.stored,
                 matrix.slice,
                 matrix.scales}
        .copy(rowBegin, rowEnd, colBegin, colEnd, copied);
    stride = *rowBytes(matrix.stored, colEnd - colBegin);
    first = copied.data();
  }

  /// Returns a row; numbers count from the part's first row.
  const uint8_t *row(int64_t number) const {
    return first + uint64_t(number) * stride;
  }

private:
  /// Holds the numbers of a slice whose ranges are not adjacent, or of a matrix
  /// whose scales lie apart.
  std::vector<uint8_t> copied;
  const uint8_t *first = nullptr;
  uint64_t stride = 0;
};

/// Reads output columns of a weight in the format in which it is computed.
class ColumnReader {
public:
  ColumnReader(const StoredMatrix &matrix, bool transposed, bool asHalves)
      : matrix(matrix), transposed(transposed),
        asHalves(asHalves && isQuantized(matrix.format)),
        features(transposed ? matrix.rows : matrix.cols),
        bytes(*rowBytes(matrix.format, features)) {}

  /// Writes columns [first, last) to `to`. Returns the first column that is not
  /// good, or `last`.
  int64_t read(int64_t first, int64_t last, uint8_t *to) const {
    const MatrixPart part =
        transposed ? MatrixPart(matrix, 0, matrix.rows, first, last)
                   : MatrixPart(matrix, first, last, 0, matrix.cols);
    std::vector<float> values(static_cast<size_t>(features));
    for (int64_t column = first; column < last; ++column, to += bytes) {
      if (transposed) {
        gather(part, column - first, values.data());
      } else {
        const uint8_t *row = part.row(column - first);
        if (matrix.stored == matrix.format) {
          std::memcpy(to, row, bytes);
          if (!isGood(to, values))
            return column;
          continue;
        }
        dequantizeRow(matrix.stored, row, values.data(), features);
      }
      quantizeRow(matrix.format, values.data(), to, features);
      if (!isGood(to, values))
        return column;
    }
    return last;
  }

private:
  /// Returns whether the column at `row` is finite, and if asHalves, whether
  /// its numbers are in the range of f16. `values` is scratch memory.
  bool isGood(const uint8_t *row, std::vector<float> &values) const {
    if (!rowIsFinite(matrix.format, row, features))
      return false;
    if (!asHalves)
      return true;
    dequantizeRow(matrix.format, row, values.data(), features);
    return std::ranges::all_of(
        values, [](float value) { return std::fabs(value) <= largestHalf; });
  }

  /// Reads column `column` from every row of the part, which is of a plain
  /// format.
  void gather(const MatrixPart &part, int64_t column, float *values) const {
    uint64_t offset = *rowBytes(matrix.stored, column);
    for (int64_t i = 0; i < features; ++i)
      dequantizeRow(matrix.stored, part.row(i) + offset, values + i, 1);
  }

  const StoredMatrix &matrix;
  bool transposed;
  bool asHalves;
  int64_t features;
  uint64_t bytes;
};

/// Reads a row as f32, with the values that the program computes with.
bool readVector(const StoredMatrix &matrix, int64_t row, float *to) {
  const MatrixPart part(matrix, row, row + 1, 0, matrix.cols);
  dequantizeRow(matrix.stored, part.row(0), to, matrix.cols);
  if (matrix.stored != matrix.format) {
    std::vector<uint8_t> rounded(*rowBytes(matrix.format, matrix.cols));
    quantizeRow(matrix.format, to, rounded.data(), matrix.cols);
    dequantizeRow(matrix.format, rounded.data(), to, matrix.cols);
  }
  return rowIsFinite(Format::F32, to, matrix.cols);
}

} // namespace

Expected<WeightSpec> weightSpec(const LinearWeight &weight) {
  const StoredMatrix &matrix = weight.matrix;
  std::optional<WeightKind> kind = weightKind(matrix.format);
  if (!kind)
    return failure("weight '", weight.name, "': there are no CUDA kernels for ",
                   formatInfo(matrix.format).name);
  WeightSpec spec;
  spec.kind = *kind;
  spec.outFeatures = weight.transposed ? matrix.cols : matrix.rows;
  spec.inFeatures = weight.transposed ? matrix.rows : matrix.cols;
  spec.gated = weight.partner.has_value();
  bool converts = matrix.stored != matrix.format || weight.transposed;
  bool sameShape =
      !weight.partner || (weight.partner->rows == matrix.rows &&
                          weight.partner->cols == matrix.cols &&
                          weight.partner->format == matrix.format &&
                          weight.partner->stored == matrix.stored);
  if (!layoutBytes(spec) || !rowBytes(matrix.format, spec.inFeatures) ||
      !sameShape || (converts && !canQuantize(matrix.format)) ||
      (weight.transposed && isQuantized(matrix.stored)) ||
      (converts && matrix.scales))
    return failure("weight '", weight.name, "': ", matrix.rows, " x ",
                   matrix.cols, " of ", formatInfo(matrix.stored).name,
                   " cannot be used as ", formatInfo(matrix.format).name,
                   " on a GPU");
  return spec;
}

WeightUpload::WeightUpload(Device &device, Stream stream, cpu::ThreadPool &pool,
                           Progress progress)
    : device(device), stream(stream), pool(pool),
      progress(std::move(progress)) {}

Expected<std::unique_ptr<WeightUpload>>
WeightUpload::create(Device &device, Stream stream, cpu::ThreadPool &pool,
                     Progress progress) {
  std::unique_ptr<WeightUpload> upload(
      new WeightUpload(device, stream, pool, std::move(progress)));
  SLUICE_RETURN_IF_ERROR(upload->makeBuffers());
  return upload;
}

Status WeightUpload::makeBuffers() {
  for (Buffer &buffer : buffers) {
    Expected<HostMemory> memory = device.allocateHost(bufferBytes);
    if (!memory)
      return memory.status();
    buffer.memory = *memory;
    Expected<Event> event = device.makeEvent();
    if (!event)
      return event.status();
    buffer.sent = *event;
  }
  return {};
}

WeightUpload::~WeightUpload() {
  // Nothing may be in flight when the buffers are destroyed, also after an
  // error.
  (void)device.enter();
  (void)device.settle(stream, uploading);
  for (Buffer &buffer : buffers) {
    if (buffer.sent)
      device.destroy(buffer.sent);
    if (buffer.memory.host)
      device.releaseHost(buffer.memory);
  }
}

Expected<WeightUpload::Buffer *> WeightUpload::nextBuffer() {
  Buffer &buffer = buffers[turn];
  turn = 1 - turn;
  SLUICE_RETURN_IF_ERROR(device.await(buffer.sent, uploading));
  return &buffer;
}

Status WeightUpload::send(Buffer &buffer, DeviceAddress to, uint64_t bytes) {
  SLUICE_RETURN_IF_ERROR(
      device.copyToDevice(to, buffer.memory.host, bytes, stream));
  SLUICE_RETURN_IF_ERROR(device.record(buffer.sent, stream));
  return progress ? progress(bytes) : Status();
}

/// Writes tiles [firstTile, lastTile) of the weight to `to`, on all threads.
Status WeightUpload::tiles(const LinearWeight &weight, const WeightSpec &spec,
                           int64_t firstTile, int64_t lastTile, bool asHalves,
                           uint8_t *to) {
  const ColumnReader reader(weight.matrix, weight.transposed, asHalves);
  const int64_t columns = spec.gated ? tileColumns / 2 : tileColumns;
  const uint64_t rowBytes = *storedRowBytes(spec);
  const uint64_t tileRowBytes =
      *layoutBytes(spec) / static_cast<uint64_t>(columnTiles(spec));
  std::atomic<int64_t> bad{spec.outFeatures};
  auto body = [&](int64_t thread) {
    int64_t count = lastTile - firstTile, threads = pool.threads();
    int64_t begin = firstTile + count * thread / threads;
    int64_t end = firstTile + count * (thread + 1) / threads;
    std::vector<uint8_t> rows(uint64_t(columns) * rowBytes);
    std::vector<uint8_t> others(spec.gated ? rows.size() : 0);
    for (int64_t tile = begin; tile < end; ++tile) {
      int64_t first = tile * columns;
      int64_t last = std::min(first + columns, spec.outFeatures);
      int64_t read = reader.read(first, last, rows.data());
      if (spec.gated)
        read = std::min(
            read, ColumnReader(*weight.partner, weight.transposed, asHalves)
                      .read(first, last, others.data()));
      // Lays out one tile as a weight of its own.
      WeightSpec alone = spec;
      alone.outFeatures = last - first;
      layoutTiles(alone, rows.data(), spec.gated ? others.data() : nullptr,
                  to + uint64_t(tile - firstTile) * tileRowBytes, 0, 1);
      int64_t seen = bad.load();
      while (read < last && read < seen &&
             !bad.compare_exchange_weak(seen, read)) {
      }
    }
  };
  pool.run(body);
  if (bad == spec.outFeatures)
    return {};
  return failure("weight '", weight.name, "': row ", bad.load(),
                 " is not finite as ", formatInfo(weight.matrix.format).name,
                 asHalves ? ", or beyond 65504, which products of "
                            "--fast-math-batch do not have"
                          : "");
}

Status WeightUpload::linear(const LinearWeight &weight, DeviceAddress to,
                            bool asHalves) {
  Expected<WeightSpec> spec = weightSpec(weight);
  if (!spec)
    return spec.status();
  const int64_t count = columnTiles(*spec);
  const uint64_t each = *layoutBytes(*spec) / static_cast<uint64_t>(count);
  if (each > bufferBytes)
    return failure("weight '", weight.name, "': ", spec->inFeatures,
                   " input features are too many");
  const auto step = static_cast<int64_t>(bufferBytes / each);
  for (int64_t first = 0; first < count; first += step) {
    int64_t last = std::min(count, first + step);
    Expected<Buffer *> buffer = nextBuffer();
    if (!buffer)
      return buffer.status();
    SLUICE_RETURN_IF_ERROR(
        tiles(weight, *spec, first, last, asHalves, (*buffer)->memory.host));
    SLUICE_RETURN_IF_ERROR(send(**buffer, to + uint64_t(first) * each,
                                uint64_t(last - first) * each));
  }
  return {};
}

Status WeightUpload::vector(const VectorWeight &weight, DeviceAddress to) {
  const StoredMatrix &matrix = weight.matrix;
  std::vector<float> row(static_cast<size_t>(matrix.cols));
  uint64_t rowBytes = row.size() * sizeof(float);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    if (!readVector(matrix, i, row.data()))
      return failure("weight '", weight.name, "': row ", i,
                     " is not finite as ", formatInfo(matrix.format).name);
    SLUICE_RETURN_IF_ERROR(
        bytes(row.data(), rowBytes, to + uint64_t(i) * rowBytes));
  }
  return {};
}

Status WeightUpload::bytes(const void *from, uint64_t count, DeviceAddress to) {
  for (uint64_t first = 0; first < count; first += bufferBytes) {
    uint64_t piece = std::min(bufferBytes, count - first);
    Expected<Buffer *> buffer = nextBuffer();
    if (!buffer)
      return buffer.status();
    std::memcpy((*buffer)->memory.host,
                static_cast<const uint8_t *>(from) + first, piece);
    SLUICE_RETURN_IF_ERROR(send(**buffer, to + first, piece));
  }
  return {};
}

Status WeightUpload::finish() { return device.settle(stream, uploading); }

} // namespace sluice::cuda

//===- CpuProgramABI.cpp - the functions that emitted code calls ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cpu/Step.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace sluice;
using namespace sluice::cpu;

static_assert(SLUICE_QUANTIZED_ROW_FLOATS(64) * sizeof(float) ==
              quantizedRowBytes(64));

void sluice_receive_rows(SluiceStep *step, float *h, int64_t cols,
                         int64_t rowBegin, int64_t rowEnd) {
  const device::StepInput &input = step->input;
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    decodeActivations(input.incomingFormat, input.incoming[row], h + row * cols,
                      cols);
}

void sluice_send_rows(SluiceStep *step, const float *h, int64_t cols,
                      int64_t rowBegin, int64_t rowEnd) {
  const device::StepInput &input = step->input;
  int64_t bytes = cols * activationBytes(input.outgoingFormat);
  assert(static_cast<size_t>(rowEnd * bytes) <= input.outgoing.size());
  encodeActivations(input.outgoingFormat, h + rowBegin * cols,
                    input.outgoing.data() + rowBegin * bytes,
                    (rowEnd - rowBegin) * cols);
}

void sluice_embed(SluiceStep *step, const SluiceTable *opaque,
                  int32_t byPosition, float *out, int64_t rowBegin,
                  int64_t rowEnd) {
  const auto &table = *reinterpret_cast<const EmbeddingTable *>(opaque);
  std::span<const int32_t> index =
      byPosition ? step->input.batch->positions() : step->input.batch->tokens();
  const FormatInfo &info = formatInfo(table.format);
  int64_t bytes = table.cols / info.blockElements * info.blockBytes;
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    assert(index[row] >= 0 && index[row] < table.rows);
    dequantizeRow(table.format, table.data + index[row] * bytes,
                  out + row * table.cols, table.cols);
  }
}

void sluice_quantize_rows(SluiceStep *step, const float *x, void *q,
                          int64_t cols, int64_t rowBegin, int64_t rowEnd) {
  quantizeRows(*step->linear, x, q, cols, rowBegin, rowEnd);
}

void sluice_rope_table(SluiceStep *step, const SluiceRopeTable *table,
                       float *cosSin, int64_t rowBegin, int64_t rowEnd) {
  const auto &rope = *reinterpret_cast<const device::RopeTable *>(table);
  int64_t pairs = static_cast<int64_t>(rope.inverseFrequencies.size());
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    float position = static_cast<float>(step->input.batch->positions()[row]);
    float *cosines = cosSin + row * 2 * pairs;
    float *sines = cosines + pairs;
    for (int64_t i = 0; i < pairs; ++i) {
      float angle = position * rope.inverseFrequencies[i];
      cosines[i] = std::cos(angle) * rope.attentionFactor;
      sines[i] = std::sin(angle) * rope.attentionFactor;
    }
  }
}

void sluice_select_outputs(SluiceStep *step, const float *h, float *out,
                           int64_t cols, int64_t outBegin, int64_t outEnd) {
  for (int64_t output = outBegin; output < outEnd; ++output)
    std::memcpy(out + output * cols,
                h + step->input.batch->outputRows()[output] * cols,
                static_cast<size_t>(cols) * sizeof(float));
}

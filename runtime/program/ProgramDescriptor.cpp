//===- ProgramDescriptor.cpp - what an executable knows of itself ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramDescriptor.h"

#include "runtime/base/FileIdentity.h"

#include <cmath>
#include <set>
#include <tuple>

using namespace sluice;

namespace {

// Limits on what a descriptor may say. They are far above any real model and
// low enough that no product of two of them overflows 64 bits.
constexpr int64_t maxTokens = (int64_t(1) << 31) - 1;
constexpr int64_t maxDimension = int64_t(1) << 31;
constexpr int64_t maxArenaFloats = int64_t(1) << 40;
constexpr int64_t maxLayers = 1 << 16;
constexpr int64_t maxHeads = 1 << 16;
constexpr int64_t maxHeadDim = 1024; // what the attention kernels take
constexpr size_t maxRotaryPairs = 1 << 16;

Status checkRange(std::string_view what, int64_t value, int64_t low,
                  int64_t high) {
  if (value >= low && value <= high)
    return {};
  return failure("program descriptor: ", what, " is ", value, ", not within ",
                 low, " to ", high);
}

Status checkScalars(const ProgramDescriptor &program) {
  const struct {
    std::string_view what;
    int64_t value, low, high;
  } ranges[] = {
      {"context_length", program.contextLength, 1, maxTokens},
      {"vocab_size", program.vocabSize, 1, maxTokens},
      {"hidden_size", program.hiddenSize, 1, maxDimension},
      {"layers", program.layers, 0, maxLayers},
      {"number of caches", int64_t(program.caches.size()), 0, maxLayers},
      {"row_floats", program.rowFloats, 0, maxArenaFloats},
      {"output_floats", program.outputFloats, program.vocabSize,
       maxArenaFloats},
      {"logits_offset", program.logitsOffset, 0,
       program.outputFloats - program.vocabSize},
  };
  for (const auto &range : ranges)
    if (Status s = checkRange(range.what, range.value, range.low, range.high);
        !s.ok())
      return s;
  return {};
}

Status checkTables(const ProgramDescriptor &program) {
  for (const CacheShape &cache : program.caches) {
    if (Status s = checkRange("kv_heads", cache.kvHeads, 1, maxHeads); !s.ok())
      return s;
    if (Status s = checkRange("head_dim", cache.headDim, 1, maxHeadDim);
        !s.ok())
      return s;
  }
  for (const RopeTable &table : program.ropeTables) {
    if (table.inverseFrequencies.size() > maxRotaryPairs)
      return failure("program descriptor: a rope table has ",
                     table.inverseFrequencies.size(), " frequencies");
    bool finite = std::isfinite(table.attentionFactor);
    for (float frequency : table.inverseFrequencies)
      finite &= std::isfinite(frequency);
    if (!finite)
      return failure("program descriptor: a rope table is not finite");
  }
  for (int32_t token : program.eosTokens)
    if (Status s = checkRange("eos token", token, 0, program.vocabSize - 1);
        !s.ok())
      return s;
  return {};
}

Status checkFile(const ModelFile &file) {
  if (file.path.empty() || file.path.find('\0') != std::string::npos)
    return failure("program descriptor: a file's path is not usable");
  bool hex = file.identity.size() == 16;
  for (char c : file.identity)
    hex &= (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  if (!hex)
    return failure("program descriptor: file '", file.path,
                   "': identity is not 16 hex digits");
  return {};
}

Status checkWeight(const ProgramDescriptor &program,
                   const WeightDescriptor &weight) {
  auto bad = [&](const auto &...reason) {
    return failure("program descriptor: weight '", weight.name,
                   "': ", reason...);
  };
  if (weight.file < 0 || size_t(weight.file) >= program.files.size())
    return bad("no file ", weight.file);
  if (weight.rows < 1 || weight.rows > maxDimension || weight.cols < 1 ||
      weight.cols > maxDimension)
    return bad("shape ", weight.rows, " x ", weight.cols, " is out of range");
  std::optional<uint64_t> row = rowBytes(weight.stored, weight.cols);
  uint64_t total = 0;
  if (!row || __builtin_mul_overflow(*row, uint64_t(weight.rows), &total) ||
      total != weight.bytes)
    return bad(weight.bytes, " bytes do not hold ", weight.rows, " x ",
               weight.cols, " of ", formatInfo(weight.stored).name);
  uint64_t size = program.files[weight.file].size;
  if (weight.offset > size || weight.bytes > size - weight.offset)
    return bad("reaches past the end of '", program.files[weight.file].path,
               "'");
  if (weight.transposed && weight.use != WeightUse::Linear)
    return bad("only a linear weight can be transposed");
  if (weight.use == WeightUse::Vector && weight.rows != 1)
    return bad("a vector has ", weight.rows, " rows");
  return {};
}

} // namespace

std::string_view sluice::weightUseName(WeightUse use) {
  switch (use) {
  case WeightUse::Linear:
    return "linear";
  case WeightUse::Rows:
    return "rows";
  case WeightUse::Vector:
    break;
  }
  return "vector";
}

Status ProgramDescriptor::validate() const {
  if (Status s = checkScalars(*this); !s.ok())
    return s;
  if (Status s = checkTables(*this); !s.ok())
    return s;
  for (const ModelFile &file : files)
    if (Status s = checkFile(file); !s.ok())
      return s;
  for (const WeightDescriptor &weight : weights)
    if (Status s = checkWeight(*this, weight); !s.ok())
      return s;
  return {};
}

uint64_t ProgramDescriptor::packingHash() const {
  uint64_t hash = fnv1a({});
  auto mixNumber = [&hash](uint64_t value) {
    hash =
        fnv1a({reinterpret_cast<const uint8_t *>(&value), sizeof(value)}, hash);
  };
  auto mixText = [&](std::string_view text) {
    mixNumber(text.size());
    hash = fnv1a({reinterpret_cast<const uint8_t *>(text.data()), text.size()},
                 hash);
  };
  mixNumber(formatVersion);
  mixText(cpu);
  for (const WeightDescriptor &weight : weights) {
    const ModelFile &file = files[weight.file];
    mixNumber(file.size);
    mixText(file.identity);
    mixText(weight.name);
    for (uint64_t value : {weight.offset, weight.bytes, uint64_t(weight.rows),
                           uint64_t(weight.cols), uint64_t(weight.stored),
                           uint64_t(weight.format), uint64_t(weight.transposed),
                           uint64_t(weight.use)})
      mixNumber(value);
  }
  return hash;
}

int64_t ProgramDescriptor::parameterCount() const {
  std::set<std::tuple<int64_t, uint64_t>> seen;
  int64_t count = 0;
  for (const WeightDescriptor &weight : weights)
    if (seen.insert({weight.file, weight.offset}).second)
      count += weight.rows * weight.cols;
  return count;
}

int64_t ProgramDescriptor::cacheBytesPerToken(int64_t elementBytes) const {
  int64_t elements = 0;
  for (const CacheShape &cache : caches)
    elements += 2 * cache.kvHeads * cache.headDim; // keys and values
  return elements * elementBytes;
}

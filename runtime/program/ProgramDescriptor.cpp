//===- ProgramDescriptor.cpp - the description of one program -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramDescriptor.h"

#include "runtime/base/FileIdentity.h"
#include "runtime/program/DescriptorChecks.h"

#include <algorithm>
#include <cmath>

using namespace sluice;

namespace {

// Limits on the numbers of a descriptor. They are far above any real model, and
// so low that no product of two of them overflows 64 bits.
constexpr int64_t maxArenaFloats = int64_t(1) << 40;
constexpr int64_t maxHeads = 1 << 16;
constexpr int64_t maxHeadDim = 1024; // limit of the attention kernels
constexpr size_t maxRotaryPairs = 1 << 16;

/// A name becomes part of a file's name, and a word in messages.
bool isUsableName(std::string_view name) {
  if (name.empty() || name.size() > maxProgramName || name.front() == '.')
    return false;
  for (char c : name)
    if (c == '/' || static_cast<unsigned char>(c) <= ' ')
      return false;
  return true;
}

Status checkScalars(const ProgramDescriptor &program) {
  int64_t logits = program.hasOutput ? program.vocabSize : 0;
  const CheckedNumber ranges[] = {
      {"context_length", program.contextLength, 1, maxTokens},
      {"vocab_size", program.vocabSize, 1, maxTokens},
      {"hidden_size", program.hiddenSize, 1, maxDimension},
      {"first_layer", program.firstLayer, 0, maxLayers},
      {"members", program.members, 1, maxGroupMembers},
      {"layers", program.layers, 0, maxLayers},
      {"number of caches", int64_t(program.caches.size()), 0, maxLayers},
      {"row_floats", program.rowFloats, 0, maxArenaFloats},
      {"output_floats", program.outputFloats, logits, maxArenaFloats},
      {"logits_offset", program.logitsOffset, 0, program.outputFloats - logits},
      {"checkpoints", program.checkpoints, 0, maxCheckpoints},
      {"step_rows", program.stepRows, 1, maxStepRows},
  };
  return checkRanges(ranges);
}

Status checkTables(const ProgramDescriptor &program) {
  for (const device::CacheShape &cache : program.caches) {
    const CheckedNumber ranges[] = {{"kv_heads", cache.kvHeads, 1, maxHeads},
                                    {"head_dim", cache.headDim, 1, maxHeadDim}};
    SLUICE_RETURN_IF_ERROR(checkRanges(ranges));
  }
  for (const device::RopeTable &table : program.ropeTables) {
    if (table.inverseFrequencies.size() > maxRotaryPairs)
      return failure("program descriptor: a rope table has ",
                     table.inverseFrequencies.size(), " frequencies");
    bool finite = std::isfinite(table.attentionFactor);
    for (float frequency : table.inverseFrequencies)
      finite &= std::isfinite(frequency);
    if (!finite)
      return failure("program descriptor: a rope table is not finite");
  }
  return {};
}

/// The error is text for use after the weight's name.
Status checkScales(const WeightDescriptor &weight,
                   std::span<const ModelFile> files) {
  if (!weight.scales)
    return {};
  const ScalesDescriptor &scales = *weight.scales;
  if (weight.stored != Format::E4M3)
    return failure("has scales, but is stored in ",
                   formatInfo(weight.stored).name);
  if (weight.use != WeightUse::Linear || weight.transposed)
    return failure("its scales lie apart, but it is used as ",
                   weight.transposed ? "transposed" : weightUseName(weight.use),
                   ": only products of its rows can");
  if (isQuantized(scales.format) ||
      !ScaleGrid::find(weight.rows, weight.cols, scales.rows, scales.cols))
    return failure(scales.rows, " x ", scales.cols, " scales of ",
                   formatInfo(scales.format).name, " are not those of ",
                   weight.rows, " x ", weight.cols, " numbers");
  if (scales.file < 0 || size_t(scales.file) >= files.size())
    return failure("its scales are in no file ", scales.file);
  const ModelFile &file = files[scales.file];
  if (scales.offset > file.size || scales.bytes() > file.size - scales.offset)
    return failure("its scales reach past the end of '", file.path, "'");
  return {};
}

Status checkWeight(const WeightDescriptor &weight,
                   std::span<const ModelFile> files) {
  auto bad = [&](const auto &...reason) {
    return failure("program descriptor: weight '", weight.name,
                   "': ", reason...);
  };
  if (weight.file < 0 || size_t(weight.file) >= files.size())
    return bad("no file ", weight.file);
  if (weight.rows < 1 || weight.rows > maxDimension || weight.cols < 1 ||
      weight.cols > maxDimension)
    return bad("shape ", weight.rows, " x ", weight.cols, " is out of range");
  if (Status s = checkScales(weight, files); !s.ok())
    return bad(s.message());
  std::optional<uint64_t> row = weight.storedRowBytes();
  uint64_t total = 0;
  if (!row || __builtin_mul_overflow(*row, uint64_t(weight.rows), &total) ||
      total != weight.bytes)
    return bad(weight.bytes, " bytes do not hold ", weight.rows, " x ",
               weight.cols, " of ", formatInfo(weight.stored).name);
  const ModelFile &file = files[weight.file];
  if (weight.offset > file.size || weight.bytes > file.size - weight.offset)
    return bad("reaches past the end of '", file.path, "'");
  if (weight.transposed && weight.use != WeightUse::Linear)
    return bad("only a linear weight can be transposed");
  if (weight.use == WeightUse::Vector && weight.rows != 1)
    return bad("a vector has ", weight.rows, " rows");
  if (!weight.slice.isWhole() && weight.use == WeightUse::Rows)
    return bad("a table is looked up whole");
  if (Status s = checkSlice(weight.slice, weight.rows, weight.cols,
                            weight.stored, weight.format, weight.transposed);
      !s.ok())
    return bad(s.message());
  return {};
}

/// Checks that the partner of a weight, if it has one, is a weight of the same
/// kind.
Status checkPartner(const ProgramDescriptor &program,
                    const WeightDescriptor &weight) {
  if (weight.partner == -1)
    return {};
  auto bad = [&](const auto &...reason) {
    return failure("program descriptor: weight '", weight.name,
                   "': ", reason...);
  };
  if (program.target != ProgramTarget::Cuda || weight.use != WeightUse::Linear)
    return bad("only a linear weight for cuda has a partner");
  if (weight.partner < 0 || size_t(weight.partner) >= program.weights.size())
    return bad("no weight ", weight.partner);
  const WeightDescriptor &partner = program.weights[size_t(weight.partner)];
  if (&partner == &weight || partner.partner != -1 ||
      partner.use != WeightUse::Linear || partner.rows != weight.rows ||
      partner.cols != weight.cols || partner.format != weight.format ||
      partner.stored != weight.stored ||
      partner.transposed != weight.transposed)
    return bad("its partner '", partner.name, "' is not of its kind");
  return {};
}

/// Checks the tasks of a step; an executor refuses a program that has none. The
/// error is fit to follow the program's name.
Status checkStep(const ProgramDescriptor &program) {
  const std::vector<device::StepTask> &tasks = program.step.tasks;
  if (tasks.empty())
    return {};
  auto checkpoints = std::ranges::count_if(tasks, [](const auto &task) {
    return std::holds_alternative<device::CheckpointTask>(task);
  });
  if (checkpoints != program.checkpoints)
    return failure("has ", checkpoints, " checkpoints, not ",
                   program.checkpoints);
  return device::checkStepPlan(program, int64_t(program.weights.size()));
}

} // namespace

uint64_t ScalesDescriptor::bytes() const {
  return uint64_t(rows * cols) * uint64_t(formatInfo(format).blockBytes);
}

std::optional<uint64_t> WeightDescriptor::storedRowBytes() const {
  std::optional<uint64_t> bytes = rowBytes(stored, cols);
  return bytes && scales ? uint64_t(cols) : bytes;
}

SlicedMatrix WeightDescriptor::matrix(const uint8_t *data,
                                      const uint8_t *scalesData) const {
  SlicedMatrix matrix = {data, rows, cols, stored, slice, {}};
  if (!scales)
    return matrix;
  matrix.scales = ScaleGrid::find(rows, cols, scales->rows, scales->cols);
  matrix.scales->data = scalesData;
  matrix.scales->format = scales->format;
  return matrix;
}

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

std::string_view sluice::programTargetName(ProgramTarget target) {
  return target == ProgramTarget::Cpu ? "cpu" : "cuda";
}

Status sluice::checkRanges(std::span<const CheckedNumber> ranges) {
  for (const CheckedNumber &range : ranges)
    if (range.value < range.low || range.value > range.high)
      return failure("program descriptor: ", range.what, " is ", range.value,
                     ", not within ", range.low, " to ", range.high);
  return {};
}

Status ProgramDescriptor::validate(std::span<const ModelFile> files) const {
  if (!isUsableName(name))
    return failure("program descriptor: a program cannot be named '", name,
                   "'");
  if (target == ProgramTarget::Cuda && !cpu.empty())
    return failure("program descriptor: program '", name,
                   "' is for cuda and for the CPU ", cpu);
  SLUICE_RETURN_IF_ERROR(checkScalars(*this));
  SLUICE_RETURN_IF_ERROR(checkTables(*this));
  for (const WeightDescriptor &weight : weights) {
    SLUICE_RETURN_IF_ERROR(checkWeight(weight, files));
    SLUICE_RETURN_IF_ERROR(checkPartner(*this, weight));
  }
  return checkStep(*this).withContext("program descriptor: program '" + name +
                                      "'");
}

uint64_t
ProgramDescriptor::packingHash(std::span<const ModelFile> files) const {
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
  auto mixDigest = [&](const std::optional<uint64_t> &digest) {
    mixNumber(digest.has_value());
    mixNumber(digest.value_or(0));
  };
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
    mixDigest(weight.digest);
    if (weight.scales) {
      const ScalesDescriptor &scales = *weight.scales;
      mixText(files[scales.file].identity);
      for (uint64_t value : {scales.offset, uint64_t(scales.format),
                             uint64_t(scales.rows), uint64_t(scales.cols)})
        mixNumber(value);
      mixDigest(scales.digest);
    }
    if (weight.slice.isWhole())
      continue;
    mixNumber(weight.slice.ofColumns);
    mixNumber(weight.slice.bounds.size());
    for (int64_t bound : weight.slice.bounds)
      mixNumber(uint64_t(bound));
  }
  return hash;
}

int64_t ProgramDescriptor::cacheBytesPerToken(int64_t elementBytes) const {
  int64_t elements = 0;
  for (const device::CacheShape &cache : caches)
    elements += 2 * cache.kvHeads * cache.headDim; // keys and values
  return elements * elementBytes;
}

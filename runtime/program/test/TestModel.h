//===- TestModel.h - a model small enough to write by hand ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model that runtime/app/test/TestProgram.cpp computes and that tests write
// files of:
//
//   h = embedding[token] * norm + place[position]
//   logits = output * (h + attention(h, h, h))
//
// The output table is computed in the format under test.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_TEST_TESTMODEL_H
#define SLUICE_RUNTIME_PROGRAM_TEST_TESTMODEL_H

#include "runtime/base/FileIdentity.h"
#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/program/ExecutableDescriptor.h"

#include <cstring>
#include <fstream>
#include <vector>

namespace sluice::test {

constexpr int64_t vocab = 300;
constexpr int64_t hidden = 64;
constexpr int64_t context = 96;

// Floats of a row: h, place, attention. Floats of an output: x, x quantised,
// logits.
constexpr int64_t rowFloats = 3 * hidden;
constexpr int64_t quantizedOffset = hidden;
constexpr int64_t logitsOffset =
    quantizedOffset + (SLUICE_QUANTIZED_ROW_FLOATS(hidden) + 15) / 16 * 16;
constexpr int64_t outputFloats = logitsOffset + vocab;

// The numbers of the weights.
enum : int64_t { Embedding, Place, Norm, Output };

// The numbers of the buffers in every plan, and the names of the row kernels.
enum : int64_t { H, PlaceRows, Mixed, Selected, Quantized, Logits };
constexpr const char *embedKernel = "test_embed";
constexpr const char *addKernel = "test_add";
constexpr const char *selectKernel = "test_select";

inline device::KernelArgument buffer(int64_t number) {
  return {device::KernelArgument::Kind::Buffer, number};
}
inline device::KernelArgument weight(int64_t number) {
  return {device::KernelArgument::Kind::Weight, number};
}

/// Adds tasks for h + attention(h, h, h), in the buffer `Mixed`.
inline void addAttention(device::StepPlan &plan, int64_t kernel) {
  plan.tasks.insert(plan.tasks.end(),
                    {device::AppendTask{H, H, 0}, device::BarrierTask(),
                     device::AttendTask{H, Mixed, 0, 0}, device::BarrierTask(),
                     device::RowLoopTask{device::RecordKind::Rows,
                                         kernel,
                                         {buffer(H), buffer(Mixed)}}});
}

/// Adds tasks for the logits of `value`, with a table that computes in
/// `format`.
inline void addLogits(device::StepPlan &plan, int64_t kernel, int64_t value,
                      int64_t table, Format format) {
  plan.tasks.insert(
      plan.tasks.end(),
      {device::RowLoopTask{
           device::RecordKind::Outputs,
           kernel,
           {buffer(value), buffer(Selected), buffer(Quantized)}},
       device::BarrierTask(),
       device::ProductTask{device::RecordKind::Outputs,
                           isQuantized(format) ? Quantized : Selected, table,
                           device::noOperand, Logits, 0, vocab}});
}

inline std::vector<device::PlannedBuffer> testBuffers() {
  using device::RecordKind;
  return {{RecordKind::Rows, hidden, 0},
          {RecordKind::Rows, hidden, hidden},
          {RecordKind::Rows, hidden, 2 * hidden},
          {RecordKind::Outputs, hidden, 0},
          {RecordKind::Outputs, SLUICE_QUANTIZED_ROW_FLOATS(hidden),
           quantizedOffset},
          {RecordKind::Outputs, vocab, logitsOffset}};
}

inline device::RowLoopTask testEmbed() {
  return {device::RecordKind::Rows,
          0,
          {weight(Embedding), weight(Place), weight(Norm), buffer(H),
           buffer(PlaceRows)}};
}

/// Returns the step of the whole model.
inline device::StepPlan testStep(Format format) {
  device::StepPlan plan;
  plan.kernelNames = {embedKernel, addKernel, selectKernel};
  plan.buffers = testBuffers();
  plan.attentions = {{1, 0, 0.125f, 0, {}}};
  plan.tasks = {testEmbed(), device::BarrierTask()};
  addAttention(plan, 1);
  plan.tasks.emplace_back(device::BarrierTask());
  addLogits(plan, 2, Mixed, Output, format);
  return plan;
}

/// Returns a number in [-1, 1) that depends on `index` alone.
inline float noise(uint64_t index) {
  uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 32;
  return float(double(x >> 40) / double(1 << 23) - 1.0);
}

/// Returns the bytes of the model's file: embedding f16, place f32, norm bf16,
/// output f16.
inline std::vector<uint8_t> modelBytes() {
  std::vector<uint8_t> bytes(64);
  auto append = [&bytes](Format format, int64_t rows, int64_t cols,
                         uint64_t salt, float base, float scale) {
    std::vector<float> row(static_cast<size_t>(cols));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c)
        row[c] = base + scale * noise(salt + uint64_t(r * cols + c));
      size_t at = bytes.size();
      bytes.resize(at + *rowBytes(format, cols));
      quantizeRow(format, row.data(), bytes.data() + at, cols);
    }
  };
  append(Format::F16, vocab, hidden, 0, 0, 1);
  append(Format::F32, context, hidden, 1000000, 0, 0.5f);
  append(Format::BF16, 1, hidden, 2000000, 1, 0.1f);
  append(Format::F16, vocab, hidden, 3000000, 0, 0.5f);
  return bytes;
}

/// Returns the descriptor of an executable with one program for the model at
/// `path`, whose output table computes in `format`.
inline ExecutableDescriptor testDescriptor(const std::string &path,
                                           const std::vector<uint8_t> &bytes,
                                           Format format = Format::Q8_0) {
  ExecutableDescriptor executable;
  executable.name = "test model";
  executable.architecture = "hand-written";
  executable.quantization = formatInfo(format).name;
  executable.contextLength = context;
  executable.vocabSize = vocab;
  executable.hiddenSize = hidden;
  executable.layers = 1;
  executable.files = {{path, bytes.size(), fileIdentity(bytes)}};
  executable.phases = {"model", "kernels"};

  ProgramDescriptor program;
  program.name = "main";
  program.cpu = "avx2";
  program.contextLength = context;
  program.vocabSize = vocab;
  program.hiddenSize = hidden;
  program.layers = 1;
  program.rowFloats = rowFloats;
  program.outputFloats = outputFloats;
  program.logitsOffset = logitsOffset;
  program.caches = {{1, hidden}};
  uint64_t tableBytes = uint64_t(vocab * hidden * 2);
  uint64_t placeBytes = uint64_t(context * hidden * 4);
  WeightDescriptor embedding{
      "embedding", 0,           64,          tableBytes, vocab,
      hidden,      Format::F16, Format::F16, false,      WeightUse::Rows};
  WeightDescriptor place{
      "place", 0,           64 + tableBytes, placeBytes, context,
      hidden,  Format::F32, Format::F32,     false,      WeightUse::Rows};
  WeightDescriptor norm{
      "norm",           0,           64 + tableBytes + placeBytes,
      hidden * 2,       1,           hidden,
      Format::BF16,     Format::F32, false,
      WeightUse::Vector};
  WeightDescriptor output = embedding;
  output.name = "output";
  output.offset = norm.offset + norm.bytes;
  output.use = WeightUse::Linear;
  output.format = format;
  program.weights = {embedding, place, norm, output};
  program.step = testStep(format);
  executable.programs = {program};
  executable.plan = makeLocalPlan({"main"});
  return executable;
}

inline void writeFile(const std::string &path, const void *data, size_t size) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char *>(data), std::streamsize(size));
}

} // namespace sluice::test

#endif // SLUICE_RUNTIME_PROGRAM_TEST_TESTMODEL_H

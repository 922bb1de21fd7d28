//===- KernelBench.cpp - times the kernels --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/KernelBench.h"

#include "runtime/device/cuda/bench/Cases.h"

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

using Json = nlohmann::ordered_json;

namespace {

/// Several times the size of a chip's second-level cache.
constexpr uint64_t beyondCaches = uint64_t{256} << 20;

struct Bench {
  Device &device;
  KernelLibrary &kernels;
  bool isTiny;
  const std::function<void(const Json &)> &print;

  Footprint footprint() const { return {isTiny ? 0 : beyondCaches}; }
};

/// Adds a case's time and rates to the line.
Json timed(Json line, const KernelCase &made, double seconds) {
  double each = seconds / made.pieces;
  line["us"] = each * 1e6;
  line["bytes"] = made.bytes;
  line["gigabytesPerSecond"] =
      each > 0 ? static_cast<double>(made.bytes) / each / 1e9 : 0.0;
  line["teraflops"] = each > 0 ? made.flops / each / 1e12 : 0.0;
  return line;
}

/// Counts both the bytes read and the bytes written.
Status timeCopies(const Bench &bench) {
  Lab lab(bench.device, bench.kernels);
  uint64_t bytes = bench.isTiny ? 1 << 16 : uint64_t{2} << 30;
  DeviceAddress from = lab.zeros(bytes), to = lab.zeros(bytes);
  double seconds = lab.timeCopy(to, from, bytes);
  if (lab.status().ok())
    bench.print({{"part", "copy"},
                 {"us", seconds * 1e6},
                 {"bytes", 2 * bytes},
                 {"gigabytesPerSecond",
                  2 * static_cast<double>(bytes) / seconds / 1e9}});
  return lab.status();
}

struct NamedShape {
  const char *name;
  int32_t in, out;
  bool gated;
};

/// The layers of Llama 8B, and its output layer.
constexpr NamedShape shapes8b[] = {{"qkv", 4096, 6144, false},
                                   {"output", 4096, 4096, false},
                                   {"gate-up", 4096, 14336, true},
                                   {"down", 14336, 4096, false},
                                   {"logits", 4096, 128256, false}};
constexpr NamedShape shapesTiny[] = {{"qkv", 256, 96, false},
                                     {"gate-up", 256, 64, true}};

std::span<const NamedShape> shapesOf(const Bench &bench) {
  if (bench.isTiny)
    return shapesTiny;
  return shapes8b;
}

Status timeLinear(const Bench &bench, WeightKind kind, const NamedShape &shape,
                  int32_t rows) {
  Lab lab(bench.device, bench.kernels);
  LinearShape linear = {kind,        shape.in, shape.out,
                        shape.gated, rows,     linearKernelRows(rows)};
  KernelCase made = makeLinear(lab, linear, bench.footprint(),
                               bench.device.properties().sharedBytes);
  double seconds = lab.time(made.nodes);
  if (!lab.status().ok())
    return lab.status().withContext(std::string(kindName(kind)) + " " +
                                    shape.name);
  bench.print(timed({{"part", rows > 64 ? "prompt" : "linear"},
                     {"kind", kindName(kind)},
                     {"shape", shape.name},
                     {"in", shape.in},
                     {"out", shape.out},
                     {"rows", rows}},
                    made, seconds));
  return {};
}

Status timeLinears(const Bench &bench) {
  constexpr int32_t allRows[] = {1, 4, 8, 16, 32, 64};
  std::span<const int32_t> rows = allRows;
  if (bench.isTiny)
    rows = rows.first(2);
  for (int kind = 0; kind < weightKindCount; ++kind)
    for (const NamedShape &shape : shapesOf(bench))
      for (int32_t each : rows)
        SLUICE_RETURN_IF_ERROR(
            timeLinear(bench, static_cast<WeightKind>(kind), shape, each));
  return {};
}

Status timePrompts(const Bench &bench) {
  int32_t rows = bench.isTiny ? 130 : 2048;
  for (int number = 0; number < weightKindCount; ++number) {
    auto kind = static_cast<WeightKind>(number);
    if (kind == WeightKind::F32 ||
        linearTileStages(kind, bench.device.properties().sharedBytes) < 2)
      continue;
    for (const NamedShape &shape : shapesOf(bench))
      if (std::string_view(shape.name) != "logits")
        SLUICE_RETURN_IF_ERROR(timeLinear(bench, kind, shape, rows));
  }
  return {};
}

Status timeAttend(const Bench &bench, const AttendShape &shape) {
  Lab lab(bench.device, bench.kernels);
  KernelCase made = makeAttend(lab, shape, bench.footprint());
  double seconds = lab.time(made.nodes);
  if (lab.status().ok())
    bench.print(timed({{"part", "attend"},
                       {"kind", kindName(shape.kind)},
                       {"prompt", shape.isPrompt},
                       {"rows", shape.rows},
                       {"context", shape.context}},
                      made, seconds));
  return lab.status();
}

Status timeAttention(const Bench &bench) {
  AttendShape shape;
  if (bench.isTiny) {
    shape.heads = 4;
    shape.kvHeads = 2;
    shape.headDim = 64;
  }
  for (int kind = 0; kind < cacheKindCount; ++kind) {
    shape.kind = static_cast<CacheKind>(kind);
    shape.isPrompt = false;
    for (int32_t context : {512, 2048, 8192, 32768})
      for (int32_t rows : {1, 8, 32}) {
        shape.rows = bench.isTiny ? 2 : rows;
        shape.context = bench.isTiny ? 200 : context;
        // Leaves out cases that need a larger cache.
        if (int64_t{rows} * context > 8 * 32768)
          continue;
        SLUICE_RETURN_IF_ERROR(timeAttend(bench, shape));
        if (bench.isTiny)
          break;
      }
    shape.isPrompt = true;
    shape.rows = bench.isTiny ? 40 : 2048;
    for (int32_t context : {2048, 8192}) {
      shape.context = bench.isTiny ? 70 : context;
      SLUICE_RETURN_IF_ERROR(timeAttend(bench, shape));
    }
  }
  return {};
}

Status timeCompact(const Bench &bench) {
  Lab lab(bench.device, bench.kernels);
  CompactShape shape;
  if (bench.isTiny)
    shape.features = 64;
  int32_t pieces = bench.isTiny ? 1 : 200;
  // A first run loads the code.
  (void)lab.timeOnce(makeCompact(lab, shape, 1).nodes);
  KernelCase made = makeCompact(lab, shape, pieces);
  double seconds = lab.timeOnce(made.nodes);
  if (lab.status().ok())
    bench.print(timed({{"part", "compact"},
                       {"rows", shape.rows},
                       {"dead", shape.dead},
                       {"features", shape.features}},
                      made, seconds));
  return lab.status();
}

struct NamedBench {
  std::string_view part;
  Status (*run)(const Bench &bench);
};
constexpr NamedBench benches[] = {{"copy", timeCopies},
                                  {"linear", timeLinears},
                                  {"prompt", timePrompts},
                                  {"attend", timeAttention},
                                  {"compact", timeCompact}};

} // namespace

Status bench::runKernelBench(std::string_view part, Device &device,
                             KernelLibrary &kernels, bool isTiny,
                             const std::function<void(const Json &)> &print) {
  for (const NamedBench &each : benches)
    if (each.part == part)
      return each.run({device, kernels, isTiny, print});
  return failure("there is no bench '", part, "'");
}

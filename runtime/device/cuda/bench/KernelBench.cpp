//===- KernelBench.cpp - how fast the kernels are, and whether right ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   sluice-cuda-bench PART [--tiny]
//
// Parts: device, copy, linear, prompt, attend, compact: what takes how long;
// check: the device against the emulator, and against itself; probe: what only
// a GPU can show (probe/Probe.h). One JSON object for each measurement, a line
// each, on standard output. --tiny: small shapes, for the emulator. Status 1:
// something is wrong, with one line on stderr. SLUICE_CUDA_OPTIONS says how the
// device is used (driver/DeviceOptions.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Check.h"
#include "runtime/device/cuda/probe/Probe.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

using Json = nlohmann::ordered_json;

namespace {

/// A chip's second-level cache several times over.
constexpr uint64_t beyondCaches = uint64_t{256} << 20;

struct Bench {
  Device &device;
  KernelLibrary &kernels;
  bool isTiny;

  Footprint footprint() const { return {isTiny ? 0 : beyondCaches}; }
};

void print(const Json &line) { std::cout << line.dump() << std::endl; }

/// A case's time, and what it comes to.
Json timed(Json line, const KernelCase &made, double seconds) {
  double each = seconds / made.pieces;
  line["us"] = each * 1e6;
  line["bytes"] = made.bytes;
  line["gigabytesPerSecond"] =
      each > 0 ? static_cast<double>(made.bytes) / each / 1e9 : 0.0;
  line["teraflops"] = each > 0 ? made.flops / each / 1e12 : 0.0;
  return line;
}

Status showDevice(const Bench &bench) {
  const DeviceProperties &known = bench.device.properties();
  Expected<MemoryState> memory = bench.device.memory();
  if (!memory)
    return memory.status();
  print({{"part", "device"},
         {"name", known.name},
         {"capability",
          std::to_string(known.major) + "." + std::to_string(known.minor)},
         {"multiprocessors", known.multiprocessors},
         {"sharedBytes", known.sharedBytes},
         {"memoryBytes", known.memoryBytes},
         {"freeBytes", memory->freeBytes}});
  return {};
}

/// Bytes read and bytes written both count.
Status timeCopies(const Bench &bench) {
  Lab lab(bench.device, bench.kernels);
  uint64_t bytes = bench.isTiny ? 1 << 16 : uint64_t{2} << 30;
  DeviceAddress from = lab.zeros(bytes), to = lab.zeros(bytes);
  double seconds = lab.timeCopy(to, from, bytes);
  if (lab.status().ok())
    print({{"part", "copy"},
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

/// Llama 8B's layers, and its output.
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
  print(timed({{"part", rows > 64 ? "prompt" : "linear"},
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
        if (Status s =
                timeLinear(bench, static_cast<WeightKind>(kind), shape, each);
            !s.ok())
          return s;
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
        if (Status s = timeLinear(bench, kind, shape, rows); !s.ok())
          return s;
  }
  return {};
}

Status timeAttend(const Bench &bench, const AttendShape &shape) {
  Lab lab(bench.device, bench.kernels);
  KernelCase made = makeAttend(lab, shape, bench.footprint());
  double seconds = lab.time(made.nodes);
  if (lab.status().ok())
    print(timed({{"part", "attend"},
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
        // What a cache of these rows takes, and no more than that.
        if (int64_t{rows} * context > 8 * 32768)
          continue;
        if (Status s = timeAttend(bench, shape); !s.ok())
          return s;
        if (bench.isTiny)
          break;
      }
    shape.isPrompt = true;
    shape.rows = bench.isTiny ? 40 : 2048;
    for (int32_t context : {2048, 8192}) {
      shape.context = bench.isTiny ? 70 : context;
      if (Status s = timeAttend(bench, shape); !s.ok())
        return s;
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
  // Once, so that the code is there.
  (void)lab.timeOnce(makeCompact(lab, shape, 1).nodes);
  KernelCase made = makeCompact(lab, shape, pieces);
  double seconds = lab.timeOnce(made.nodes);
  if (lab.status().ok())
    print(timed({{"part", "compact"},
                 {"rows", shape.rows},
                 {"dead", shape.dead},
                 {"features", shape.features}},
                made, seconds));
  return lab.status();
}

Status runPart(const std::string &part, const Bench &bench) {
  if (part == "device")
    return showDevice(bench);
  if (part == "copy")
    return timeCopies(bench);
  if (part == "linear")
    return timeLinears(bench);
  if (part == "prompt")
    return timePrompts(bench);
  if (part == "attend")
    return timeAttention(bench);
  if (part == "compact")
    return timeCompact(bench);
  if (part == "check")
    return checkKernels(bench.device, bench.kernels, print);
  if (part == "probe")
    return probe::runProbe(bench.device, bench.kernels, {bench.isTiny}, print);
  return failure("no part '", part, "'");
}

/// Says what is wrong, if anything; the process's status. Where the device has
/// been given up the process ends here: what the driver's library does at an
/// end in order would wait for the device.
int endWith(const Status &status) {
  if (!status.ok())
    std::cerr << "sluice-cuda-bench: error: " << status.message() << std::endl;
  if (Device::anyGivenUp())
    std::_Exit(1);
  return status.ok() ? 0 : 1;
}

int run(const std::string &part, bool isTiny) {
  probe::emulateProbe(); // for the emulator alone
  Expected<std::unique_ptr<Driver>> driver = openDriver();
  if (!driver)
    return endWith(driver.status());
  Expected<std::unique_ptr<Device>> device = (*driver)->open(0);
  if (!device)
    return endWith(device.status());
  Expected<DeviceOptions> options =
      deviceOptionsOfEnvironment((*device)->options());
  if (!options)
    return endWith(options.status());
  (*device)->use(*options);
  Expected<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(**device, {});
  if (!kernels)
    return endWith(kernels.status());
  return endWith(runPart(part, {**device, **kernels, isTiny}));
}

} // namespace

int main(int count, char **arguments) {
  std::string part;
  bool isTiny = false;
  for (int i = 1; i < count; ++i) {
    std::string each = arguments[i];
    if (each == "--tiny")
      isTiny = true;
    else if (part.empty() && each[0] != '-')
      part = each;
    else
      part = "-";
  }
  if (part.empty() || part == "-") {
    std::fputs("usage: sluice-cuda-bench PART [--tiny]\n", stderr);
    return 2;
  }
  return run(part, isTiny);
}

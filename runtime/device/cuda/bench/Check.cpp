//===- Check.cpp - the device against the emulator ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Check.h"

#include "runtime/device/cuda/emulator/EmulatedDriver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

using Json = nlohmann::ordered_json;

namespace {

/// Of the largest magnitude: 0, the same bits; a product's sums, which the
/// tensor units round in their own way at each 16 features; probabilities, of
/// which some then round to another number of 16 bits.
constexpr double exact = 0, sums = 1e-4, probabilities = 2e-3;

using Make = std::function<KernelCase(Lab &)>;
using Values = std::vector<float>;

/// What a case makes, with memory of its own.
Expected<Values> outputOf(Device &device, KernelLibrary &kernels,
                          const Make &make) {
  Lab lab(device, kernels);
  KernelCase made = make(lab);
  lab.run(made.nodes);
  Values values = lab.download<float>(made.output, made.outputFloats);
  if (!lab.status().ok())
    return lab.status();
  return values;
}

bool sameBits(const Values &a, const Values &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Infinite where one is not a number.
double differenceOf(const Values &found, const Values &expected) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double distance = std::abs(double{found[i]} - double{expected[i]});
    largest = std::max(largest, std::abs(double{expected[i]}));
    difference = std::isfinite(distance)
                     ? std::max(difference, distance)
                     : std::numeric_limits<double>::infinity();
  }
  return largest > 0 ? difference / largest : difference;
}

class Checker {
public:
  Checker(Device &device, KernelLibrary &kernels, Device &emulated,
          KernelLibrary &emulatedKernels,
          std::function<void(const Json &)> print)
      : device(device), kernels(kernels), emulated(emulated),
        emulatedKernels(emulatedKernels), print(std::move(print)) {}

  /// `others` make the same numbers by other kernels; of those with other rows
  /// the ones that both have.
  void check(const std::string &name, const Make &make, double allowed,
             const std::vector<Make> &others = {}) {
    Expected<Values> once = outputOf(device, kernels, make);
    Expected<Values> again = outputOf(device, kernels, make);
    Expected<Values> expected = outputOf(emulated, emulatedKernels, make);
    for (const auto *each : {&once, &again, &expected})
      if (!*each) {
        fail(name, each->status().message());
        return;
      }
    bool isInvariant = true;
    for (const Make &other : others) {
      Expected<Values> values = outputOf(device, kernels, other);
      if (!values) {
        fail(name, values.status().message());
        return;
      }
      size_t shared = std::min(values->size(), once->size());
      Values head(values->begin(), values->begin() + shared);
      isInvariant &=
          sameBits(head, Values(once->begin(), once->begin() + shared));
    }
    double difference = differenceOf(*once, *expected);
    bool isRepeated = sameBits(*once, *again);
    bool isEqual = sameBits(*once, *expected);
    bool holds = isRepeated && isInvariant &&
                 (allowed == exact ? isEqual : difference <= allowed);
    print({{"part", "check"},
           {"case", name},
           {"isEqual", isEqual},
           {"difference", difference},
           {"isRepeated", isRepeated},
           {"isInvariant", isInvariant},
           {"holds", holds}});
    if (!holds)
      ++failed;
  }

  int failed = 0;

private:
  void fail(const std::string &name, const std::string &why) {
    ++failed;
    print({{"part", "check"}, {"case", name}, {"holds", false}, {"why", why}});
  }

  Device &device;
  KernelLibrary &kernels;
  Device &emulated;
  KernelLibrary &emulatedKernels;
  std::function<void(const Json &)> print;
};

void checkLinear(Checker &checker, WeightKind kind, bool isGated,
                 int32_t sharedBytes) {
  auto maker = [=](int32_t rows, int32_t kernelRows) -> Make {
    LinearShape shape = {kind,    1100, isGated ? 72 : 200,
                         isGated, rows, kernelRows};
    return [=](Lab &lab) { return makeLinear(lab, shape, {}, sharedBytes); };
  };
  std::vector<Make> others;
  for (int32_t rows : {16, 32, 64})
    others.push_back(maker(rows - 3, rows));
  others.push_back(maker(1, 8));
  if (kind != WeightKind::F32 && linearTileStages(kind, sharedBytes) >= 2)
    others.push_back(maker(130, linearTileRows));
  std::string name = "linear " + std::string(kindName(kind));
  checker.check(name + (isGated ? " gated" : ""), maker(7, 8),
                kind == WeightKind::F32 ? exact : sums, others);
}

void checkEmbed(Checker &checker, WeightKind kind) {
  checker.check(
      "embed " + std::string(kindName(kind)),
      [=](Lab &lab) {
        return makeEmbed(lab, kind, 2304, 200, std::array{0, 199, 17, 17, 8});
      },
      exact);
}

void checkAttend(Checker &checker, CacheKind kind, int32_t headDim) {
  AttendShape shape;
  shape.kind = kind;
  shape.heads = 8;
  shape.kvHeads = 2;
  shape.headDim = headDim;
  shape.rows = 3;
  shape.context = 300;
  checker.check(
      "append " + std::string(kindName(kind)) + " of " +
          std::to_string(headDim),
      [=](Lab &lab) { return makeAppend(lab, shape); }, exact);
  std::string name = "attend " + std::string(kindName(kind)) + " of " +
                     std::to_string(headDim);
  checker.check(
      name, [=](Lab &lab) { return makeAttend(lab, shape, {}); },
      probabilities);
  shape.isPrompt = true;
  shape.rows = 37;
  checker.check(
      name + ", prompt", [=](Lab &lab) { return makeAttend(lab, shape, {}); },
      probabilities);
}

} // namespace

Status bench::checkKernels(Device &device, KernelLibrary &kernels,
                           const std::function<void(const Json &)> &print) {
  Expected<std::unique_ptr<Driver>> driver =
      emulator::openEmulated(emulator::EmulatedOptions());
  if (!driver)
    return driver.status();
  Expected<std::unique_ptr<Device>> emulated = (*driver)->open(0);
  if (!emulated)
    return emulated.status();
  Expected<std::unique_ptr<KernelLibrary>> emulatedKernels =
      KernelLibrary::load(**emulated, {});
  if (!emulatedKernels)
    return emulatedKernels.status();
  Checker checker(device, kernels, **emulated, **emulatedKernels, print);
  for (int kind = 0; kind < weightKindCount; ++kind)
    for (bool isGated : {false, true})
      checkLinear(checker, static_cast<WeightKind>(kind), isGated,
                  device.properties().sharedBytes);
  for (int kind = 0; kind < weightKindCount; ++kind)
    checkEmbed(checker, static_cast<WeightKind>(kind));
  for (int kind = 0; kind < cacheKindCount; ++kind)
    for (int32_t headDim : {64, 80, 128, 256})
      checkAttend(checker, static_cast<CacheKind>(kind), headDim);
  checker.check(
      "tokens are drawn", [](Lab &lab) { return makeSample(lab, 5003, 6); },
      exact);
  CompactShape compact;
  compact.features = 64;
  checker.check(
      "rows leave", [=](Lab &lab) { return makeCompact(lab, compact, 1); },
      exact);
  if (checker.failed > 0)
    return failure(checker.failed, " checks do not hold");
  return {};
}

//===- StepMemory.cpp - the device memory that a step leaves --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/StepMemory.h"

#include "runtime/device/cuda/test/bed/KernelFacts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sluice;
using namespace sluice::devicecheck;
using namespace sluice::cuda;

namespace {

constexpr const char *waiting = "a copy of a step's memory";

template <typename T> T load(const HostBytes &bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// Returns the distance of two floats with different bits. It is infinite if
/// one is not finite, or is so small that it is probably an integer.
double distance(double found, double expected) {
  for (double each : {found, expected})
    if (!std::isfinite(each) ||
        (each != 0 && std::abs(each) < std::numeric_limits<float>::min()))
      return std::numeric_limits<double>::infinity();
  return std::abs(found - expected);
}

const std::string &nameOf(const CudaWeight &weight) {
  return std::visit(
      [](const auto &each) -> const std::string & { return each.name; },
      weight);
}

} // namespace

StepMemory::StepMemory(CudaExecutor &executor, Device &device)
    : device(device), plan(executor.inside(1).plan),
      arena(executor.inside(1).arena), stream(executor.inside(1).stream),
      begin(plan.weightBytes), addressesBegin(plan.layerPages - begin),
      addressesEnd(addressesBegin + plan.caches.size() * sizeof(LayerPages)) {
  const CudaProgram &program = executor.inside(1).program;
  for (size_t i = 0; i < plan.weights.size(); ++i)
    regions.push_back(
        {plan.weights[i], "weight " + nameOf(program.weights[i])});
  for (size_t i = 0; i < plan.ropes.size(); ++i)
    regions.push_back({plan.ropes[i], "rotations " + std::to_string(i)});
  for (size_t i = 0; i < plan.caches.size(); ++i)
    regions.push_back({plan.caches[i], "cache " + std::to_string(i)});
  for (auto [offset, name] :
       {std::pair{plan.layerPages, "page addresses"},
        std::pair{plan.values, "values"},
        std::pair{plan.partials, "partial sums"},
        std::pair{plan.tickets, "tickets"},
        std::pair{plan.tailTicket, "tail ticket"},
        std::pair{plan.spans, "spans"}, std::pair{plan.slopes, "slopes"},
        std::pair{plan.tables, "tables"}, std::pair{plan.moves, "moves"},
        std::pair{plan.greedy, "tokens"},
        std::pair{plan.candidates, "candidates"},
        std::pair{plan.found, "found"}})
    regions.push_back({offset, name});
  std::ranges::sort(regions, {}, &Region::begin);
}

Expected<HostBytes> StepMemory::readAt(uint64_t offset, uint64_t count) const {
  HostBytes bytes(count);
  SLUICE_RETURN_IF_ERROR(device.enter());
  SLUICE_RETURN_IF_ERROR(
      device.copyToHost(bytes.data(), arena + offset, count, stream));
  SLUICE_RETURN_IF_ERROR(device.settle(stream, waiting));
  return bytes;
}

Status StepMemory::writeAt(uint64_t offset,
                           std::span<const uint8_t> bytes) const {
  SLUICE_RETURN_IF_ERROR(device.enter());
  SLUICE_RETURN_IF_ERROR(
      device.copyToDevice(arena + offset, bytes.data(), bytes.size(), stream));
  return device.settle(stream, waiting);
}

Expected<HostBytes> StepMemory::read() const {
  Expected<HostBytes> found = readAt(begin, plan.bytes - begin);
  if (!found)
    return found.status();
  HostBytes bytes = found.take();
  // Addresses differ from device to device and are not compared.
  std::fill(bytes.begin() + std::ptrdiff_t(addressesBegin),
            bytes.begin() + std::ptrdiff_t(addressesEnd), 0);
  return bytes;
}

Expected<HostBytes> StepMemory::readWeights() const {
  return readAt(0, plan.weightBytes);
}

Status StepMemory::writeWeights(const HostBytes &bytes) const {
  return writeAt(0, bytes);
}

Status StepMemory::write(const HostBytes &bytes) const {
  const std::span<const uint8_t> all = bytes;
  SLUICE_RETURN_IF_ERROR(writeAt(begin, all.first(addressesBegin)));
  return writeAt(begin + addressesEnd, all.subspan(addressesEnd));
}

Difference StepMemory::compare(const HostBytes &found,
                               const HostBytes &expected,
                               const HostBytes &before) const {
  Difference difference;
  double size = 0;
  for (uint64_t at = 0; at + 4 <= expected.size(); at += 4) {
    const auto wanted = load<uint32_t>(expected, at);
    const auto have = load<uint32_t>(found, at);
    const double number = load<float>(expected, at);
    if (wanted != load<uint32_t>(before, at) && std::isfinite(number))
      size = std::max(size, std::abs(number));
    if (wanted == have)
      continue;
    if (difference.isEqual)
      difference.at = at;
    difference.isEqual = false;
    difference.largest =
        std::max(difference.largest, distance(load<float>(found, at), number));
  }
  if (size > 0)
    difference.largest /= size;
  return difference;
}

std::string StepMemory::describe(uint64_t offset) const {
  auto next = std::ranges::upper_bound(regions, offset, {}, &Region::begin);
  const Region &region = next == regions.begin() ? *next : *std::prev(next);
  return region.name + " + " + std::to_string(offset - region.begin);
}

std::string StepMemory::placeOf(uint64_t at) const {
  return describe(begin + at);
}

std::string StepMemory::operandsOf(const GraphNode &node) const {
  const auto *kernel = std::get_if<KernelNode>(&node);
  std::string operands;
  if (!kernel)
    return operands;
  for (size_t i = 0; i < kernel->words.size(); ++i) {
    const uint64_t word = kernel->words[i];
    if (word >= arena && word < arena + plan.bytes)
      operands += (operands.empty() ? "" : ", ") + fieldName(kernel->name, i) +
                  " = " + describe(word - arena);
  }
  return operands;
}

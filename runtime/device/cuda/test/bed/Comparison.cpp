//===- Comparison.cpp - compares two arrays -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/Comparison.h"

#include "runtime/formats/BlockFormat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// Returns an array's element as a number. 64-bit integers lose the bits that a
/// double does not have.
double numberAt(Elements elements, std::span<const uint8_t> array, size_t i) {
  auto load = [&]<typename T>(T value) {
    std::memcpy(&value, array.data() + i * sizeof(T), sizeof(T));
    return value;
  };
  switch (elements) {
  case Elements::Int8:
    return array[i];
  case Elements::Int16:
    return load(uint16_t());
  case Elements::Int32:
    return load(int32_t());
  case Elements::Int64:
    return static_cast<double>(load(int64_t()));
  case Elements::Half:
    return halfToFloat(load(uint16_t()));
  case Elements::Bfloat:
    return std::bit_cast<float>(uint32_t{load(uint16_t())} << 16);
  case Elements::Float:
    break;
  }
  return load(float());
}

/// Compares the elements of two arrays whose bytes differ.
class Comparer {
public:
  Comparer(Elements elements, const ArraySide &expected, const ArraySide &found)
      : elements(elements), bytes(elementBytes(elements)),
        count(expected.bytes.size() / bytes), expected(expected), found(found) {
  }

  Comparison compare(double allowed) {
    measure();
    if (elements != Elements::Float)
      allowed = 0;
    Comparison result;
    result.equalBits = !firstBeyond(0);
    result.difference = largest > 0 ? max / largest : max;
    std::optional<size_t> first = firstBeyond(allowed);
    if (!first)
      return result;
    std::ostringstream text;
    text << "element " << *first << " is " << wanted(*first) << " "
         << expected.where << " and " << got(*first) << " " << found.where
         << "; the largest difference is " << result.difference
         << " of the largest magnitude";
    if (allowed > 0)
      text << ", and " << allowed << " is allowed";
    result.complaint = text.str();
    return result;
  }

private:
  Elements elements;
  size_t bytes, count;
  ArraySide expected, found;
  double largest = 0; ///< largest finite magnitude of the expected array
  double max = 0;     ///< the largest difference of two elements

  double wanted(size_t i) const {
    return numberAt(elements, expected.bytes, i);
  }
  double got(size_t i) const { return numberAt(elements, found.bytes, i); }

  /// Returns whether all bits are set, as in unwritten memory; no kernel makes
  /// that NaN.
  static bool isUntouched(std::span<const uint8_t> element) {
    return std::ranges::all_of(element,
                               [](uint8_t byte) { return byte == 0xff; });
  }

  bool isSame(size_t i) const {
    const auto one = expected.bytes.subspan(i * bytes, bytes);
    const auto other = found.bytes.subspan(i * bytes, bytes);
    return std::ranges::equal(one, other) ||
           (std::isnan(wanted(i)) && std::isnan(got(i)) && !isUntouched(one) &&
            !isUntouched(other));
  }
  /// Returns the distance; infinite if one of the two is not a finite number.
  double distance(size_t i) const {
    double difference = std::abs(wanted(i) - got(i));
    return std::isfinite(difference) ? difference
                                     : std::numeric_limits<double>::infinity();
  }

  void measure() {
    for (size_t i = 0; i < count; ++i) {
      if (double size = std::abs(wanted(i)); std::isfinite(size))
        largest = std::max(largest, size);
      if (!isSame(i))
        max = std::max(max, distance(i));
    }
  }
  /// Returns the first element that differs by more than is allowed.
  std::optional<size_t> firstBeyond(double allowed) const {
    for (size_t i = 0; i < count; ++i)
      if (!isSame(i) && (allowed == 0 || distance(i) > allowed * largest))
        return i;
    return std::nullopt;
  }
};

} // namespace

Comparison cuda::compareArrays(Elements elements, const ArraySide &expected,
                               const ArraySide &found, double allowed) {
  if (expected.bytes.empty() ||
      std::memcmp(expected.bytes.data(), found.bytes.data(),
                  expected.bytes.size()) == 0)
    return {};
  return Comparer(elements, expected, found).compare(allowed);
}

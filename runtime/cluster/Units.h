//===- Units.h - parsing and formatting of quantities ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and formats quantities as users write them: "64 GiB", "85 GB/s", "1
// Gb/s", "450 GFLOP/s", "50 us".
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_UNITS_H
#define SLUICE_RUNTIME_CLUSTER_UNITS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::cluster {

enum class Quantity : uint8_t {
  Bytes,          ///< B kB MB GB TB, KiB MiB GiB TiB
  BytesPerSecond, ///< the same with /s; b kb Mb Gb Tb with /s are bits
  FlopsPerSecond, ///< FLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s
  Seconds         ///< ns us ms s
};

/// Parses a number and a unit, with or without a space between them. Fails if
/// the number is missing, negative or not finite, or if the unit is missing or
/// of another quantity (lists the possible ones).
Expected<double> parseQuantity(std::string_view text, Quantity quantity);

/// Parses a number without a sign; an exponent is allowed.
std::optional<double> parseNumber(std::string_view text);
/// Parses an integer without a sign.
std::optional<int64_t> parseInteger(std::string_view text);

/// Returns three significant digits in a fitting unit: "41.2 GiB".
std::string formatBytes(double bytes);
/// Returns "60.1 ms", "85 us".
std::string formatSeconds(double seconds);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_UNITS_H

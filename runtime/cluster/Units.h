//===- Units.h - quantities as people write them --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantities as people write them: "64 GiB", "85 GB/s", "1 Gb/s",
// "450 GFLOP/s", "50 us".
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

/// A number, a space or none, and a unit. Errors: no number, one that is not
/// finite or negative, no unit, a unit of another quantity (with those there
/// are).
Expected<double> parseQuantity(std::string_view text, Quantity quantity);

/// A number without sign, exponent allowed; nothing else.
std::optional<double> parseNumber(std::string_view text);
/// A whole number without sign.
std::optional<int64_t> parseInteger(std::string_view text);

/// With three significant digits, in the unit that fits: "41.2 GiB".
std::string formatBytes(double bytes);
/// "60.1 ms", "85 us".
std::string formatSeconds(double seconds);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_UNITS_H

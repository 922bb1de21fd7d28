//===- Wire.h - writer and reader of packed numbers -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_WIRE_H
#define SLUICE_RUNTIME_COMM_WIRE_H

#include "runtime/base/Status.h"
#include "runtime/comm/Bytes.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::comm {

// Numbers are copied in the byte order of memory.
static_assert(std::endian::native == std::endian::little);

/// Appends packed numbers to a buffer.
class WireWriter {
public:
  explicit WireWriter(Bytes &out) : out(out) {}

  template <typename T> void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    std::array<uint8_t, sizeof(T)> raw;
    std::memcpy(raw.data(), &value, sizeof(T));
    out.insert(out.end(), raw.begin(), raw.end());
  }
  void put(std::span<const uint8_t> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  void put(std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
  }
  template <typename List> void putCount(const List &list) {
    put(static_cast<uint32_t>(list.size()));
  }

private:
  Bytes &out;
};

/// Reads packed numbers. Keeps its first error; afterwards every read returns
/// 0, so that several reads need only one check.
class WireReader {
public:
  explicit WireReader(std::span<const uint8_t> bytes) : rest(bytes) {}

  template <typename T> T get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    if (std::span<const uint8_t> raw = take(sizeof(T)); !raw.empty())
      std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// Returns the next `bytes` bytes; empty after an error.
  std::span<const uint8_t> take(size_t bytes) {
    if (!firstError.ok())
      return {};
    if (bytes > rest.size()) {
      fail(failure(bytes - rest.size(), " bytes too short"));
      return {};
    }
    std::span<const uint8_t> taken = rest.first(bytes);
    rest = rest.subspan(bytes);
    return taken;
  }

  /// Reads a number that must be in [low, high].
  template <typename T>
  T getInRange(const char *what, int64_t low, int64_t high) {
    T value = get<T>();
    if (firstError.ok() && (value < low || value > high))
      fail(failure(what, " ", int64_t{value}, " is not in ", low, "..", high));
    return firstError.ok() ? value : T{};
  }

  bool getFlag(const char *what) {
    return getInRange<uint8_t>(what, 0, 1) != 0;
  }

  /// Reads the number of entries that follow, each of at least `entryBytes`
  /// bytes. It must not exceed `limit` or what is left. Returns 0 after an
  /// error.
  size_t getCount(const char *what, int64_t limit, size_t entryBytes) {
    uint32_t count = get<uint32_t>();
    if (firstError.ok() && count > limit)
      fail(failure(count, " ", what, ", the limit is ", limit));
    else if (firstError.ok() && count * entryBytes > rest.size())
      fail(failure(count, " ", what, " take ", count * entryBytes, " bytes, ",
                   rest.size(), " are left"));
    return firstError.ok() ? count : 0;
  }

  size_t remaining() const { return rest.size(); }

  void fail(Status error) {
    if (firstError.ok())
      firstError = std::move(error);
  }

  bool ok() const { return firstError.ok(); }
  /// Returns the first error, which is that of unread bytes if there was no
  /// other.
  Status finish() {
    if (!rest.empty())
      fail(failure(rest.size(), " bytes too long"));
    return firstError;
  }

private:
  std::span<const uint8_t> rest;
  Status firstError;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_WIRE_H

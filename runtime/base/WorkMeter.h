//===- WorkMeter.h - limits on the work of one request --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits work whose size a request determines: grammars, schemas, patterns.
// Every loop of such work charges the meter for what it inspects, compares and
// allocates, and stops when the meter says so. One meter counts all work of a
// request.
//
//   WorkMeter meter({.time = 4s, .steps = 1 << 24, .bytes = 64 << 20});
//   for (const Item &item : items) {
//     if (Status ended = meter.spend(item.size()); !ended.ok())
//       return ended;
//     ...
//   }
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_WORKMETER_H
#define SLUICE_RUNTIME_BASE_WORKMETER_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace sluice {

/// Counts steps, bytes and time, and remembers which limit ended the work. Not
/// thread-safe: only one thread may work at a time.
class WorkMeter {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t unlimited = std::numeric_limits<size_t>::max();

  struct Limits {
    std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
    size_t steps = unlimited;
    size_t bytes = unlimited;
  };
  /// Why the work has ended.
  enum class End : uint8_t {
    None,
    Steps,
    Bytes,
    Time,
    Unwanted ///< the result is not needed any more
  };
  using Unwanted = std::function<bool()>;

  /// The time starts now. `isUnwanted` returns whether the result is not needed
  /// any more; it is called on the working thread, as often as the clock is
  /// read, and may be empty. `now` is the clock; a test can pass another one.
  explicit WorkMeter(Limits limits, Unwanted isUnwanted = {},
                     Clock::time_point (*now)() = Clock::now);

  /// Counts `steps` elementary steps: inspecting an item, or comparing two.
  /// Returns false if the work must end.
  [[nodiscard]] bool charge(size_t steps = 1) {
    if (steps > untilLook)
      return look(steps);
    untilLook -= steps;
    return true;
  }
  /// Like charge(), but returns a Status that says what ended the work.
  Status spend(size_t steps = 1) { return charge(steps) ? Status() : status(); }

  /// Counts bytes that the work allocates, until release(). Returns false if
  /// the work must end.
  [[nodiscard]] bool hold(size_t bytes);
  void release(size_t bytes) { held -= bytes; }

  /// Returns success while the work may go on; the error names the limit.
  Status status() const;
  End end() const { return ended; }
  /// Returns whether the same work would always end for this reason.
  bool endsAlways() const { return ended == End::Steps || ended == End::Bytes; }

  size_t steps() const { return looked - untilLook; }
  size_t heldBytes() const { return held; }
  /// Returns the most bytes held at once.
  size_t peakBytes() const { return peak; }

private:
  /// Steps between two readings of the clock, which take some tens of
  /// microseconds.
  static constexpr size_t stepsBetweenLooks = 1 << 12;

  bool look(size_t steps);

  Limits limits;
  Unwanted isUnwanted;
  Clock::time_point (*now)();
  Clock::time_point begin;
  size_t looked = 0;    ///< steps at which the clock is read next
  size_t untilLook = 0; ///< steps until then; 0 once the work has ended
  size_t held = 0, peak = 0;
  End ended = End::None;
};

/// The bytes that one object of the work holds; released with the object. Not
/// thread-safe. The meter must outlive it.
class HeldBytes {
public:
  /// Counts nothing.
  HeldBytes() = default;
  explicit HeldBytes(WorkMeter &meter) : meter(&meter) {}
  HeldBytes(HeldBytes &&other) noexcept
      : meter(other.meter), bytes(std::exchange(other.bytes, 0)) {}
  HeldBytes &operator=(HeldBytes other) noexcept {
    std::swap(meter, other.meter);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~HeldBytes() { clear(); }

  /// Adds bytes. Returns false if the work must end.
  [[nodiscard]] bool add(size_t more) {
    bytes += more;
    return !meter || meter->hold(more);
  }
  void clear() {
    if (meter)
      meter->release(bytes);
    bytes = 0;
  }

private:
  WorkMeter *meter = nullptr;
  size_t bytes = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_WORKMETER_H

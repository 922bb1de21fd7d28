//===- WorkMeter.h - what work on a request's behalf may cost -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A meter for work whose size a request decides: grammars, schemas, patterns.
// Every loop of such work charges the meter for what it looks at, compares and
// allocates, and ends once the meter says so. One meter runs through all of the
// work of a request.
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

/// Counts steps, bytes and time, and remembers which of them ended the work.
/// Thread-compatible: one thread works at a time.
class WorkMeter {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t unlimited = std::numeric_limits<size_t>::max();

  struct Limits {
    std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
    size_t steps = unlimited;
    size_t bytes = unlimited;
  };
  /// What has ended the work.
  enum class End : uint8_t {
    None,
    Steps,
    Bytes,
    Time,
    Unwanted ///< nobody waits for its outcome any more
  };
  using Unwanted = std::function<bool()>;

  /// The time runs from now on. `isUnwanted` is asked on the thread that works,
  /// as often as the clock; it may be empty. `now` is the clock; a test can
  /// have its own.
  explicit WorkMeter(Limits limits, Unwanted isUnwanted = {},
                     Clock::time_point (*now)() = Clock::now);

  /// Counts `steps` elementary steps: items that are looked at, or comparisons
  /// of two. False: the work must end.
  [[nodiscard]] bool charge(size_t steps = 1) {
    if (steps > untilLook)
      return look(steps);
    untilLook -= steps;
    return true;
  }
  /// The same as a Status, whose error says what has ended the work.
  Status spend(size_t steps = 1) { return charge(steps) ? Status() : status(); }

  /// Counts bytes that the work allocates, and then holds until it releases
  /// them. False: the work must end.
  [[nodiscard]] bool hold(size_t bytes);
  void release(size_t bytes) { held -= bytes; }

  /// Success while the work may go on. The error names the limit.
  Status status() const;
  End end() const { return ended; }
  /// Whether the same work would end in the same way at any other time.
  bool endsAlways() const { return ended == End::Steps || ended == End::Bytes; }

  size_t steps() const { return looked - untilLook; }
  size_t heldBytes() const { return held; }
  /// The most bytes that have been held at once.
  size_t peakBytes() const { return peak; }

private:
  /// Steps between two looks at the clock: some tens of microseconds.
  static constexpr size_t stepsBetweenLooks = 1 << 12;

  bool look(size_t steps);

  Limits limits;
  Unwanted isUnwanted;
  Clock::time_point (*now)();
  Clock::time_point begin;
  size_t looked = 0;    ///< steps at which the next look is due
  size_t untilLook = 0; ///< of them, those that are left; 0 once it has ended
  size_t held = 0, peak = 0;
  End ended = End::None;
};

/// The bytes that one object of the work holds; released with the object.
/// Thread-compatible. The meter outlives it.
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

  /// False: the work must end.
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

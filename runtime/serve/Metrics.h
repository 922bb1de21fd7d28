//===- Metrics.h - counters in Prometheus' text format --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that a server counts, and the text in which a monitoring system asks
// for them (Prometheus' text-based exposition format, version 0.0.4).
//
//   MetricRegistry registry({{"model_name", "demo"}});
//   Counter &tokens = registry.counter("tokens_total", "Tokens so far.");
//   tokens.add(3);
//   std::string page = registry.text();
//
// A small registry of our own, because an executable has to run on a bare
// machine, and the usual library is there as a shared one only.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_METRICS_H
#define SLUICE_RUNTIME_SERVE_METRICS_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::serve {

/// Names and values, in the order in which they are written. Values are any
/// UTF-8 text.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A number that only rises. Thread-safe, without a lock.
class Counter {
public:
  void add(uint64_t amount = 1) { count.fetch_add(amount, relaxed); }
  /// For a number that is counted elsewhere: it is at least `total` now.
  void raiseTo(uint64_t total);
  uint64_t value() const { return count.load(relaxed); }

private:
  // A number by itself: it orders nothing else.
  static constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<uint64_t> count{0};
};

/// A number that rises and falls. Thread-safe, without a lock.
class Gauge {
public:
  void set(double value) { current.store(value, std::memory_order_relaxed); }
  double value() const { return current.load(std::memory_order_relaxed); }

private:
  std::atomic<double> current{0};
};

/// How many values were at most how large. Thread-safe, without a lock: a text
/// that is made meanwhile has the number of values that its buckets add up to;
/// its sum may be that of one more or less.
class Histogram {
public:
  /// `bounds` ascend strictly and are finite; a last bucket, without a bound,
  /// is added.
  explicit Histogram(std::vector<double> bounds);

  /// NaN is left out.
  void observe(double value);
  uint64_t count() const;
  double sum() const { return total.load(std::memory_order_relaxed); }

private:
  friend class MetricRegistry;

  const std::vector<double> bounds;
  /// [bucket]: of values in that bucket alone; one more than the bounds.
  const std::unique_ptr<std::atomic<uint64_t>[]> buckets;
  std::atomic<double> total{0};
};

/// All metrics of a program. Metrics live as long as their registry and are
/// asked for once, where the program starts. Thread-safe.
class MetricRegistry {
public:
  /// `common` goes on every metric, before its own labels.
  explicit MetricRegistry(Labels common = {});
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry &) = delete;
  MetricRegistry &operator=(const MetricRegistry &) = delete;

  /// The metric of that name with those labels; makes it where there is none.
  /// `name` is [a-zA-Z_:][a-zA-Z0-9_:]*, a label's [a-zA-Z_][a-zA-Z0-9_]*. The
  /// first help of a name counts. A name is of one kind, and a histogram's has
  /// the same bounds for all labels: anything else is a mistake of the program.
  Counter &counter(const std::string &name, const std::string &help,
                   const Labels &labels = {});
  Gauge &gauge(const std::string &name, const std::string &help,
               const Labels &labels = {});
  Histogram &histogram(const std::string &name, const std::string &help,
                       const std::vector<double> &bounds,
                       const Labels &labels = {});

  /// All of them by name, with their HELP and TYPE lines.
  std::string text() const;
  /// The Content-Type of text().
  static constexpr std::string_view contentType =
      "text/plain; version=0.0.4; charset=utf-8";

private:
  struct Family;
  Family &family(const std::string &name, const std::string &help,
                 std::string_view kind);
  std::string inBraces(const Labels &labels) const;

  const Labels common;
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<Family>> families;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_METRICS_H

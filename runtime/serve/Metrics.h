//===- Metrics.h - counters in Prometheus' text format --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts numbers and writes them as the text that a monitoring system reads
// (Prometheus' text-based exposition format, version 0.0.4).
//
//   MetricRegistry registry({{"model_name", "demo"}});
//   Counter &tokens = registry.counter("tokens_total", "Tokens so far.");
//   tokens.add(3);
//   std::string page = registry.text();
//
// The registry is our own, because an executable has to run on a bare machine
// and prometheus-cpp is available as a shared library only.
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

/// Pairs of name and value, in the order in which they are written. A value may
/// be any UTF-8 text.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A number that only rises. Thread-safe, without a lock.
class Counter {
public:
  void add(uint64_t amount = 1) { count.fetch_add(amount, relaxed); }
  /// Sets a number that is counted elsewhere, if `total` is larger.
  void raiseTo(uint64_t total);
  uint64_t value() const { return count.load(relaxed); }

private:
  // Relaxed, because the number orders nothing else.
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

/// Counts values by size, in buckets. Thread-safe, without a lock: a text that
/// is written during observe() has a count that equals the sum of its buckets,
/// but its sum may be off by the values that are being added.
class Histogram {
public:
  /// `bounds` are finite and strictly ascending; a last bucket without a bound
  /// is added.
  explicit Histogram(std::vector<double> bounds);

  /// Adds a value; ignores NaN.
  void observe(double value);
  uint64_t count() const;
  double sum() const { return total.load(std::memory_order_relaxed); }

private:
  friend class MetricRegistry;

  const std::vector<double> bounds;
  /// [bucket], each with its own values only; there is one more than `bounds`.
  const std::unique_ptr<std::atomic<uint64_t>[]> buckets;
  std::atomic<double> total{0};
};

/// All metrics of a program. A metric lives as long as its registry; a program
/// looks its metrics up once, when it starts. Thread-safe.
class MetricRegistry {
public:
  /// Every metric gets the labels `common`, before its own.
  explicit MetricRegistry(Labels common = {});
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry &) = delete;
  MetricRegistry &operator=(const MetricRegistry &) = delete;

  /// Returns the metric with this name and these labels; makes it if needed.
  /// `name` is [a-zA-Z_:][a-zA-Z0-9_:]*, a label's name [a-zA-Z_][a-zA-Z0-9_]*.
  /// The first help text of a name counts. All metrics of a name have one kind,
  /// and all histograms of a name have the same bounds; anything else is a
  /// programming error.
  Counter &counter(const std::string &name, const std::string &help,
                   const Labels &labels = {});
  Gauge &gauge(const std::string &name, const std::string &help,
               const Labels &labels = {});
  Histogram &histogram(const std::string &name, const std::string &help,
                       const std::vector<double> &bounds,
                       const Labels &labels = {});

  /// Returns all metrics, sorted by name, with their HELP and TYPE lines.
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

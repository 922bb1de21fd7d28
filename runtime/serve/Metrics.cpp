//===- Metrics.cpp - counters in Prometheus' text format ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Metrics.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

using namespace sluice::serve;

static constexpr auto relaxed = std::memory_order_relaxed;

void Counter::raiseTo(uint64_t newTotal) {
  uint64_t known = count.load(relaxed);
  while (known < newTotal &&
         !count.compare_exchange_weak(known, newTotal, relaxed)) {
  }
}

Histogram::Histogram(std::vector<double> bounds)
    : bounds(std::move(bounds)),
      buckets(
          std::make_unique<std::atomic<uint64_t>[]>(this->bounds.size() + 1)) {
  assert(std::is_sorted(this->bounds.begin(), this->bounds.end(),
                        std::less_equal<>()) &&
         "bounds ascend");
}

void Histogram::observe(double value) {
  if (std::isnan(value))
    return;
  // A value equal to a bound belongs to the bucket below it.
  auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value);
  buckets[static_cast<size_t>(bucket - bounds.begin())].fetch_add(1, relaxed);
  total.fetch_add(value, relaxed);
}

uint64_t Histogram::count() const {
  uint64_t all = 0;
  for (size_t i = 0; i <= bounds.size(); ++i)
    all += buckets[i].load(relaxed);
  return all;
}

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

/// All metrics of one name, by their labels in braces.
struct MetricRegistry::Family {
  std::string help;
  std::string_view kind;
  std::map<std::string, std::unique_ptr<Counter>> counters;
  std::map<std::string, std::unique_ptr<Gauge>> gauges;
  std::map<std::string, std::unique_ptr<Histogram>> histograms;
};

static void appendEscaped(std::string &out, std::string_view text,
                          bool quoted) {
  for (char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (quoted && c == '"')
      out += "\\\"";
    else
      out += c;
  }
}

static void appendNumber(std::string &out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end);
  }
}

MetricRegistry::MetricRegistry(Labels common) : common(std::move(common)) {}
MetricRegistry::~MetricRegistry() = default;

std::string MetricRegistry::inBraces(const Labels &labels) const {
  std::string out;
  auto append = [&out](const Labels &more) {
    for (const auto &[name, value] : more) {
      out += out.empty() ? "" : ",";
      out += name;
      out += "=\"";
      appendEscaped(out, value, /*quoted=*/true);
      out += '"';
    }
  };
  append(common);
  append(labels);
  return out;
}

MetricRegistry::Family &MetricRegistry::family(const std::string &name,
                                               const std::string &help,
                                               std::string_view kind) {
  std::unique_ptr<Family> &found = families[name];
  if (!found) {
    found = std::make_unique<Family>();
    found->help = help;
    found->kind = kind;
  }
  assert(found->kind == kind && "a name is of one kind");
  return *found;
}

Counter &MetricRegistry::counter(const std::string &name,
                                 const std::string &help,
                                 const Labels &labels) {
  std::lock_guard lock(mutex);
  auto &found = family(name, help, "counter").counters[inBraces(labels)];
  if (!found)
    found = std::make_unique<Counter>();
  return *found;
}

Gauge &MetricRegistry::gauge(const std::string &name, const std::string &help,
                             const Labels &labels) {
  std::lock_guard lock(mutex);
  auto &found = family(name, help, "gauge").gauges[inBraces(labels)];
  if (!found)
    found = std::make_unique<Gauge>();
  return *found;
}

Histogram &MetricRegistry::histogram(const std::string &name,
                                     const std::string &help,
                                     const std::vector<double> &bounds,
                                     const Labels &labels) {
  std::lock_guard lock(mutex);
  auto &found = family(name, help, "histogram").histograms[inBraces(labels)];
  if (!found)
    found = std::make_unique<Histogram>(bounds);
  return *found;
}

static void appendSample(std::string &out, const std::string &name,
                         const std::string &labels) {
  out += name;
  if (!labels.empty())
    out += '{' + labels + '}';
  out += ' ';
}

std::string MetricRegistry::text() const {
  std::lock_guard lock(mutex);
  std::string out;
  for (const auto &[name, family] : families) {
    out += "# HELP " + name + ' ';
    appendEscaped(out, family->help, /*quoted=*/false);
    out += "\n# TYPE " + name + ' ';
    out += family->kind;
    out += '\n';
    for (const auto &[labels, counter] : family->counters) {
      appendSample(out, name, labels);
      out += std::to_string(counter->value()) + '\n';
    }
    for (const auto &[labels, gauge] : family->gauges) {
      appendSample(out, name, labels);
      appendNumber(out, gauge->value());
      out += '\n';
    }
    for (const auto &[labels, histogram] : family->histograms) {
      const std::string before = labels.empty() ? labels : labels + ',';
      uint64_t below = 0;
      for (size_t i = 0; i <= histogram->bounds.size(); ++i) {
        below += histogram->buckets[i].load(relaxed);
        std::string bound;
        appendNumber(bound, i < histogram->bounds.size() ? histogram->bounds[i]
                                                         : HUGE_VAL);
        appendSample(out, name + "_bucket", before + "le=\"" + bound + '"');
        out += std::to_string(below) + '\n';
      }
      appendSample(out, name + "_sum", labels);
      appendNumber(out, histogram->sum());
      out += '\n';
      appendSample(out, name + "_count", labels);
      out += std::to_string(below) + '\n';
    }
  }
  return out;
}

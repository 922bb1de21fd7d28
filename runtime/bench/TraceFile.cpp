//===- TraceFile.cpp - traces of arrivals and lengths ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/TraceFile.h"

#include "runtime/base/MappedFile.h"
#include "runtime/bench/LengthDistribution.h"
#include "runtime/bench/Numbers.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::bench;

using nlohmann::json;

namespace {

constexpr size_t maxEntries = 1'000'000;
constexpr double maxTimestampMs = 366.0 * 24 * 3600 * 1000;
constexpr std::string_view names[] = {"timestamp", "input_length",
                                      "output_length"};
constexpr std::string_view heading = "timestamp,input_length,output_length";

/// Converts the three numbers of a line, in the order of the names.
Status toEntry(const double (&numbers)[3], TraceEntry &entry) {
  if (!(numbers[0] >= 0 && numbers[0] <= maxTimestampMs))
    return failure("timestamp is not from 0 to a year");
  for (int i : {1, 2})
    if (!(numbers[i] >= 1 && numbers[i] <= static_cast<double>(maxLength)) ||
        numbers[i] != std::floor(numbers[i]))
      return failure(names[i], " is not a whole number from 1 to ", maxLength);
  entry.arrival = Time(std::llround(numbers[0] * 1e6));
  entry.promptTokens = static_cast<int64_t>(numbers[1]);
  entry.outputTokens = static_cast<int64_t>(numbers[2]);
  return {};
}

Status parseObject(std::string_view line, TraceEntry &entry) {
  json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return failure("it is not a JSON object");
  double numbers[3];
  for (int i = 0; i < 3; ++i) {
    auto found = object.find(names[i]);
    if (found == object.end() || !found->is_number())
      return failure("it has no number '", names[i], "'");
    numbers[i] = found->get<double>();
  }
  return toEntry(numbers, entry);
}

Status parseNumbers(std::string_view line, TraceEntry &entry) {
  std::vector<std::string_view> parts = splitAt(line, ',');
  double numbers[3];
  if (parts.size() != 3)
    return failure("it is neither a JSON object nor three numbers with commas "
                   "between them");
  for (size_t i = 0; i < 3; ++i)
    if (!readWhole(parts[i], numbers[i]))
      return failure("'", parts[i].substr(0, 40), "' is not a number");
  return toEntry(numbers, entry);
}

Status parseLine(std::string_view line, std::vector<TraceEntry> &entries) {
  if (entries.size() == maxEntries)
    return failure("more than ", maxEntries, " requests");
  TraceEntry entry;
  Status parsed = line.front() == '{' ? parseObject(line, entry)
                                      : parseNumbers(line, entry);
  if (!parsed.ok())
    return parsed;
  if (!entries.empty() && entry.arrival < entries.back().arrival)
    return failure("it comes before the request above it");
  entries.push_back(entry);
  return {};
}

} // namespace

Expected<std::vector<TraceEntry>> bench::parseTrace(std::string_view text) {
  std::vector<TraceEntry> entries;
  size_t number = 0;
  for (std::string_view line : splitAt(text, '\n')) {
    ++number;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.empty() || (entries.empty() && line == heading))
      continue;
    if (Status s = parseLine(line, entries); !s.ok())
      return failure("line ", number, ": ", s.message());
  }
  if (entries.empty())
    return failure("it has no request");
  return entries;
}

Expected<std::vector<TraceEntry>>
bench::readTraceFile(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const uint8_t> bytes = file->bytes();
  Expected<std::vector<TraceEntry>> entries =
      parseTrace({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  if (!entries)
    return entries.status().withContext(path);
  return entries;
}

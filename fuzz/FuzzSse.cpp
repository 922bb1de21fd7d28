//===- FuzzSse.cpp - fuzzes the reader of server-sent events --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/SseParser.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::http;

namespace {

constexpr size_t maxBytes = 64;

struct Outcome {
  std::vector<std::pair<std::string, std::string>> events;
  std::string error;

  bool operator==(const Outcome &) const = default;
};

/// Feeds the stream in pieces of `size` bytes.
Outcome parse(std::string_view stream, size_t size) {
  SseParser parser(maxBytes);
  Outcome outcome;
  for (size_t at = 0; at < stream.size() && outcome.error.empty(); at += size) {
    Status fed =
        parser.feed(stream.substr(at, size), [&](const SseEvent &event) {
          if (event.data.size() > maxBytes || event.name.size() > maxBytes ||
              event.data.find('\r') != std::string_view::npos)
            std::abort();
          outcome.events.emplace_back(event.name, event.data);
        });
    outcome.error = fed.message();
  }
  return outcome;
}

} // namespace

/// The events are the same however the stream is cut, and within the limits.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view stream(reinterpret_cast<const char *>(data), size);
  Outcome whole = parse(stream, std::max<size_t>(1, size));
  for (size_t piece : {1, 2, 3, 7, 61})
    if (parse(stream, piece) != whole)
      std::abort();
  return 0;
}

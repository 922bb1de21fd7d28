//===- DeviceOptions.cpp - options for the use of a GPU -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/DeviceOptions.h"

#include <charconv>
#include <cstdlib>

namespace sluice::cuda {

static constexpr const char *variable = "SLUICE_CUDA_OPTIONS";

/// Reads a positive number of seconds, which must be below a day.
static Status readPatience(std::string_view text, DeviceOptions &options) {
  double seconds = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double day = 86400;
  if (error != std::errc() || end != text.data() + text.size() ||
      !(seconds > 0 && seconds < day))
    return failure("patience=", text, " is no number of seconds");
  options.patience = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
  return {};
}

static Status readOption(std::string_view word, DeviceOptions &options) {
  constexpr std::string_view patience = "patience=";
  if (word.starts_with(patience))
    return readPatience(word.substr(patience.size()), options);
  if (word == "no-pdl")
    options.dependentLaunch = false;
  else if (word == "carveout=max" || word == "carveout=default")
    options.largestCarveout = word == "carveout=max";
  else if (word == "one-task")
    options.oneTask = true;
  else if (word == "one-node")
    options.oneNode = true;
  else if (word == "marks")
    options.marks = true;
  else
    return failure("'", word,
                   "' is none of no-pdl, carveout=max, carveout=default, "
                   "one-task, one-node, marks, patience=SECONDS");
  return {};
}

Expected<DeviceOptions> readDeviceOptions(std::string_view text,
                                          const DeviceOptions &usual) {
  DeviceOptions options = usual;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    SLUICE_RETURN_IF_ERROR(readOption(text.substr(0, comma), options));
    text = comma == text.npos ? "" : text.substr(comma + 1);
  }
  return options;
}

Expected<DeviceOptions> deviceOptionsOfEnvironment(const DeviceOptions &usual) {
  const char *text = std::getenv(variable);
  Expected<DeviceOptions> options = readDeviceOptions(text ? text : "", usual);
  if (!options)
    return options.status().withContext(variable);
  return options;
}

} // namespace sluice::cuda

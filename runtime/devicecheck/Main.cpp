//===- Main.cpp - sluice-device-check -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one program that utils/check-device takes to a machine with a GPU: models
// of several shapes, the tests of all kernels, and measurements of both.
//
//   sluice-device-check [--tiny] [--options WORDS] PART [MODEL] [ARGUMENTS]
//   sluice-device-check model MODEL ARGUMENTS   as the model's own executable
//   sluice-device-check tests ARGUMENTS         unit tests, in the emulator
//
// WORDS are those of runtime/device/cuda/driver/DeviceOptions.h. Results are
// JSON objects, one a line on standard output; an error is one line on standard
// error. The status is 0 if all results hold, 1 if one does not or there was an
// error, and 2 for wrong usage.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/LinkedProgram.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/device/cuda/probe/Probe.h"
#include "runtime/devicecheck/CheckParts.h"
#include "runtime/devicecheck/LinkedModels.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

using namespace sluice;
using namespace sluice::devicecheck;

const char SLUICE_ABI_SYMBOL = 0;

namespace {

struct Arguments {
  bool isTiny = false;
  std::string options;
  std::string part;
  std::vector<char *> rest; ///< arguments after the part
};

void showUsage() {
  std::cerr << "usage: sluice-device-check [--tiny] [--options WORDS] PART "
               "[MODEL] [ARGUMENTS]\n";
  for (const Part &part : parts())
    std::cerr << "  " << part.name << (part.wantsModel ? " MODEL" : "") << ": "
              << part.description << '\n';
  std::cerr << "  model MODEL ARGUMENTS: as the model's own executable\n"
               "  tests ARGUMENTS: unit tests, in the emulator\n";
}

/// Returns nothing for wrong usage.
std::optional<Arguments> read(int count, char **arguments) {
  Arguments given;
  int at = 1;
  for (; at < count && arguments[at][0] == '-'; ++at) {
    const std::string_view word = arguments[at];
    if (word == "--tiny")
      given.isTiny = true;
    else if (word == "--options" && at + 1 < count)
      given.options = arguments[++at];
    else
      return std::nullopt;
  }
  if (at == count)
    return std::nullopt;
  given.part = arguments[at];
  given.rest.assign(arguments + at + 1, arguments + count);
  return given;
}

/// Opens the device with the options of the environment, over which `words`
/// take precedence. Its patience is short, as for a short run.
Expected<std::shared_ptr<cuda::Device>> openDevice(const std::string &words) {
  cuda::probe::emulateProbe();
  Expected<std::unique_ptr<cuda::Driver>> driver = cuda::openDriver();
  if (!driver)
    return driver.status();
  Expected<std::unique_ptr<cuda::Device>> device = (*driver)->open(0);
  if (!device)
    return device.status();
  cuda::DeviceOptions usual = (*device)->options();
  usual.patience = std::min<std::chrono::nanoseconds>(usual.patience,
                                                      std::chrono::seconds(10));
  Expected<cuda::DeviceOptions> named = cuda::deviceOptionsOfEnvironment(usual);
  if (!named)
    return named.status();
  Expected<cuda::DeviceOptions> wanted = cuda::readDeviceOptions(words, *named);
  if (!wanted)
    return wanted.status().withContext("--options");
  (*device)->use(*wanted);
  return std::shared_ptr<cuda::Device>(device.take());
}

/// Returns the status, or ends the process at once if a device has been given
/// up, since a normal end would wait for what runs on it.
int endWith(int status) {
  if (!cuda::Device::anyGivenUp())
    return status;
  std::fflush(nullptr);
  std::_Exit(status);
}

int complain(const Status &status) {
  std::cerr << "sluice-device-check: error: " << status.message() << '\n';
  return 1;
}

int runPart(const Part &part, const Arguments &given) {
  PartInput input;
  input.part = part.name;
  input.isTiny = given.isTiny;
  input.rest = given.rest;
  if (part.wantsModel) {
    if (given.rest.empty()) {
      showUsage();
      return 2;
    }
    Expected<const LinkedModel *> model = findModel(given.rest[0]);
    if (!model)
      return complain(model.status());
    input.model = *model;
    input.rest = input.rest.subspan(1);
  }
  Expected<std::shared_ptr<cuda::Device>> device = openDevice(given.options);
  if (!device)
    return complain(device.status());
  input.device = device.take();
  int failures = 0;
  Status status = part.run(input, [&](const CheckJson &line) {
    failures += !line.value("holds", true);
    std::cout << line.dump() << std::endl;
  });
  return endWith(status.ok() ? failures > 0 : complain(status));
}

/// Runs like the model's own executable.
int runModel(const Arguments &given) {
  if (given.rest.empty()) {
    showUsage();
    return 2;
  }
  Expected<const LinkedModel *> model = findModel(given.rest[0]);
  if (!model)
    return complain(model.status());
  engine::ProgramImage image = (*model)->image;
  image.executable = std::string((*model)->name);
  return endWith(app::runProgram(image, static_cast<int>(given.rest.size()),
                                 given.rest.data()));
}

int runTests(Arguments given, char *program) {
  given.rest.insert(given.rest.begin(), program);
  int count = static_cast<int>(given.rest.size());
  testing::InitGoogleTest(&count, given.rest.data());
  return RUN_ALL_TESTS();
}

} // namespace

int main(int count, char **arguments) {
  holdStandardDescriptors();
  std::optional<Arguments> given = read(count, arguments);
  if (!given) {
    showUsage();
    return 2;
  }
  if (given->part == "model")
    return runModel(*given);
  if (given->part == "tests")
    return runTests(*given, arguments[0]);
  for (const Part &part : parts())
    if (part.name == given->part)
      return runPart(part, *given);
  showUsage();
  return 2;
}

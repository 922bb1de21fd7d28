//===- KernelCases.cpp - runs the tests of kernels on a device ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/KernelCases.h"

#include "runtime/device/cuda/test/bed/DeviceBed.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

using namespace sluice;
using namespace sluice::cuda;

using Json = nlohmann::ordered_json;

namespace {

/// Returns whether the test is in one of the files of CMake's list.
bool isKernelCase(const testing::TestInfo &test) {
  std::string_view file = test.file();
  const std::string name =
      "," + std::string(file.substr(file.rfind('/') + 1)) + ",";
  return std::string("," SLUICE_KERNEL_CASES ",").find(name) !=
         std::string::npos;
}

/// Returns the patterns, and each of them also after the prefixes of
/// INSTANTIATE_TEST_SUITE_P.
std::string withPrefixes(const std::string &patterns) {
  std::string all;
  std::istringstream stream(patterns);
  for (std::string each; std::getline(stream, each, ':');)
    all += (all.empty() ? "" : ":") + each + ":*/" + each;
  return all;
}

/// Lets the filter use the names of cases as they are printed, and leave out
/// all suites that have no cases.
void chooseCases() {
  const testing::UnitTest &tests = *testing::UnitTest::GetInstance();
  const std::string filter = GTEST_FLAG_GET(filter);
  const size_t dash = std::min(filter.find('-'), filter.size());
  const size_t behind = std::min(dash + 1, filter.size());
  std::string others = withPrefixes(filter.substr(behind));
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const testing::TestSuite &suite = *tests.GetTestSuite(i);
    if (suite.total_test_count() > 0 && !isKernelCase(*suite.GetTestInfo(0)))
      others += (others.empty() ? "" : ":") + std::string(suite.name()) + ".*";
  }
  GTEST_FLAG_SET(filter, withPrefixes(filter.substr(0, dash)) + "-" + others);
}

/// Returns the name of the case as it is printed, without that prefix.
std::string nameOf(const testing::TestInfo &test) {
  std::string suite = test.test_suite_name();
  return suite.substr(suite.find('/') + 1) + "." + test.name();
}

/// Ends the run after a case that has made the device useless.
class EndWithDevice : public testing::EmptyTestEventListener {
public:
  explicit EndWithDevice(const DeviceBed &bed) : bed(bed) {}
  void OnTestEnd(const testing::TestInfo &) override {
    if (!bed.broken().ok())
      GTEST_FLAG_SET(fail_fast, true);
  }

private:
  const DeviceBed &bed;
};

/// Prints the lines of --json.
class CasePrinter : public testing::EmptyTestEventListener {
public:
  explicit CasePrinter(DeviceBed &bed) : bed(bed) {}

  void OnTestStart(const testing::TestInfo &test) override {
    // GoogleTest cannot be asked for the name while it reports something.
    present = nameOf(test);
    why.clear();
    (void)bed.takeFigures();
  }

  void OnTestPartResult(const testing::TestPartResult &part) override {
    if (part.passed())
      return;
    if (part.failed())
      std::cerr << present << ": " << part << std::flush;
    if (why.empty())
      why = part.message();
  }

  void OnTestEnd(const testing::TestInfo &test) override {
    const testing::TestResult &result = *test.result();
    if (result.Skipped()) {
      // The cases after the one that broke the device have not begun.
      if (wasBroken)
        ++notRun;
      else
        printSkipped();
      return;
    }
    wasBroken = !bed.broken().ok();
    ++cases;
    failed += result.Failed();
    const BedFigures figures = bed.takeFigures();
    Json line = {{"case", present},
                 {"holds", result.Passed()},
                 {"seconds", static_cast<double>(result.elapsed_time()) / 1e3},
                 {"launches", figures.launches},
                 {"equalBits", figures.equalBits},
                 {"difference", std::isfinite(figures.difference)
                                    ? Json(figures.difference)
                                    : Json("infinite")}};
    if (figures.tooLarge > 0)
      line["tooLarge"] = figures.tooLarge;
    if (result.Failed())
      line["why"] = lineOf(why);
    print(line);
  }

  void OnTestProgramEnd(const testing::UnitTest &) override {
    Json line = {{"cases", cases},
                 {"failed", failed},
                 {"skipped", skipped},
                 {"notRun", notRun}};
    if (!bed.broken().ok())
      line["why"] = bed.broken().message();
    print(line);
  }

private:
  DeviceBed &bed;
  std::string present; ///< the current case
  std::string why;     ///< its first message
  bool wasBroken = false;
  int cases = 0, failed = 0, skipped = 0, notRun = 0;

  void printSkipped() {
    ++skipped;
    print({{"case", present}, {"skipped", lineOf(why)}});
  }
  static std::string lineOf(std::string text) {
    if (text.starts_with("Failed\n"))
      text.erase(0, 7);
    while (text.ends_with('\n'))
      text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    return text;
  }
  static void print(const Json &line) {
    // A message of a test may have invalid characters.
    std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace)
              << std::endl;
  }
};

struct Options {
  bool isJson = false;
  CopyPlace place = CopyPlace::Device;
};

/// Reads the options that GoogleTest has left.
Expected<Options> readOptions(int count, char **arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string_view each = arguments[i];
    if (each == "--json")
      options.isJson = true;
    else if (each == "--apart")
      options.place = CopyPlace::Apart;
    else
      return failure("there is no option ", each);
  }
  return options;
}

int fail(const Status &status, int exitStatus) {
  std::cerr << "kernel cases: error: " << status.message() << std::endl;
  return exitStatus;
}

} // namespace

int cuda::runKernelCases(int count, char **arguments, Device &device) {
  testing::InitGoogleMock(&count, arguments);
  Expected<Options> options = readOptions(count, arguments);
  if (!options)
    return fail(options.status(), 2);
  const std::string asked = GTEST_FLAG_GET(filter);
  chooseCases();
  Expected<std::unique_ptr<DeviceBed>> bed =
      DeviceBed::open(device, options->place);
  if (!bed)
    return fail(bed.status(), 1);
  testing::TestEventListeners &listeners =
      testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new EndWithDevice(**bed));
  if (options->isJson) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new CasePrinter(**bed));
  }
  setDeviceBed(bed->get());
  const int status = RUN_ALL_TESTS();
  setDeviceBed(nullptr);
  const bool isPart = std::getenv("GTEST_TOTAL_SHARDS") != nullptr;
  if (!isPart && !GTEST_FLAG_GET(list_tests) &&
      testing::UnitTest::GetInstance()->test_to_run_count() == 0)
    return fail(failure("no case is called ", asked), 1);
  return status;
}

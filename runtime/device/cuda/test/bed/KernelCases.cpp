//===- KernelCases.cpp - tests of kernels on a device ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/KernelCases.h"

#include "runtime/device/cuda/test/bed/DeviceBed.h"

#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

using namespace sluice;
using namespace sluice::cuda;

using Json = nlohmann::ordered_json;

namespace {

/// Where the case is written: one of CMake's list.
bool isKernelCase(const testing::TestInfo &test) {
  std::string_view file = test.file();
  const std::string name =
      "," + std::string(file.substr(file.rfind('/') + 1)) + ",";
  return std::string("," SLUICE_KERNEL_CASES ",").find(name) !=
         std::string::npos;
}

/// Adds all other suites to those that the filter leaves out.
void leaveOutOtherTests() {
  const testing::UnitTest &tests = *testing::UnitTest::GetInstance();
  std::string filter = GTEST_FLAG_GET(filter);
  bool leavesOut = filter.find('-') != std::string::npos;
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const testing::TestSuite &suite = *tests.GetTestSuite(i);
    if (suite.total_test_count() == 0 || isKernelCase(*suite.GetTestInfo(0)))
      continue;
    filter += std::string(leavesOut ? ":" : "-") + suite.name() + ".*";
    leavesOut = true;
  }
  GTEST_FLAG_SET(filter, filter);
}

/// Without what INSTANTIATE_TEST_SUITE_P puts before it.
std::string nameOf(const testing::TestInfo &test) {
  std::string suite = test.test_suite_name();
  return suite.substr(suite.find('/') + 1) + "." + test.name();
}

/// Ends the run behind a case with which the device has become useless.
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

/// --json.
class CasePrinter : public testing::EmptyTestEventListener {
public:
  explicit CasePrinter(DeviceBed &bed) : bed(bed) {}

  void OnTestStart(const testing::TestInfo &) override {
    why.clear();
    (void)bed.takeFigures();
  }

  void OnTestPartResult(const testing::TestPartResult &part) override {
    if (part.passed())
      return;
    if (part.failed())
      std::cerr << part << std::flush;
    if (why.empty())
      why = part.message();
  }

  void OnTestEnd(const testing::TestInfo &test) override {
    const testing::TestResult &result = *test.result();
    if (result.Skipped()) {
      // Those behind the one that broke the device have not begun.
      if (wasBroken)
        ++notRun;
      else
        printSkipped(test);
      return;
    }
    wasBroken = !bed.broken().ok();
    ++cases;
    failed += result.Failed();
    const BedFigures figures = bed.takeFigures();
    Json line = {{"case", nameOf(test)},
                 {"holds", result.Passed()},
                 {"seconds", static_cast<double>(result.elapsed_time()) / 1e3},
                 {"launches", figures.launches},
                 {"equalBits", figures.equalBits},
                 {"difference", figures.difference}};
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
  std::string why; ///< of the present case, what was said first
  bool wasBroken = false;
  int cases = 0, failed = 0, skipped = 0, notRun = 0;

  void printSkipped(const testing::TestInfo &test) {
    ++skipped;
    print({{"case", nameOf(test)}, {"skipped", lineOf(why)}});
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
    // Also of what a test may have put into a message.
    std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace)
              << std::endl;
  }
};

/// Whether --json is among the options, which must be no others.
Expected<bool> readOptions(int count, char **arguments) {
  bool json = false;
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) != "--json")
      return failure("there is no option ", arguments[i]);
    json = true;
  }
  return json;
}

int fail(const Status &status, int exitStatus) {
  std::cerr << "kernel cases: error: " << status.message() << std::endl;
  return exitStatus;
}

} // namespace

int cuda::runKernelCases(int count, char **arguments, Device &device) {
  testing::InitGoogleMock(&count, arguments);
  Expected<bool> json = readOptions(count, arguments);
  if (!json)
    return fail(json.status(), 2);
  leaveOutOtherTests();
  Expected<std::unique_ptr<DeviceBed>> bed = DeviceBed::open(device);
  if (!bed)
    return fail(bed.status(), 1);
  testing::TestEventListeners &listeners =
      testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new EndWithDevice(**bed));
  if (*json) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new CasePrinter(**bed));
  }
  setDeviceBed(bed->get());
  const int status = RUN_ALL_TESTS();
  setDeviceBed(nullptr);
  const bool isPart = std::getenv("GTEST_TOTAL_SHARDS") != nullptr;
  if (!isPart && !GTEST_FLAG_GET(list_tests) &&
      testing::UnitTest::GetInstance()->test_to_run_count() == 0)
    return fail(failure("no case is called ", GTEST_FLAG_GET(filter)), 1);
  return status;
}

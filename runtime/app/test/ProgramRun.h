//===- ProgramRun.h - runs of the test program ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_TEST_PROGRAMRUN_H
#define SLUICE_RUNTIME_APP_TEST_PROGRAMRUN_H

#include "runtime/program/test/TestModel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice::test {

/// The result of a process.
struct Finished {
  int code = -1; // exit status, or 128 + the signal's number
  std::string out;
  std::string err;
};

/// A fixture with a copy of the test program, its model and its descriptor in a
/// temporary folder.
class ProgramTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  std::string executable() const { return folder + "/model"; }

  /// Writes `program` as the executable's descriptor.
  void describe(const ExecutableDescriptor &program);

  /// Gives the program a byte-level tokenizer: ids 0 to 255 are bytes, 256 is
  /// the special token <s>, 257 is </s>.
  void addTokenizer();

  /// Starts the program; its output goes to files, or stdout goes to `output`.
  pid_t start(const std::vector<std::string> &arguments,
              const std::string &output = "", int input = -1);
  Finished finish(pid_t process);

  Finished run(const std::vector<std::string> &arguments,
               const std::string &output = "") {
    return finish(start(arguments, output));
  }

  /// Runs the program with --json and parses the output. Expects success, and
  /// only a warning about threads on stderr.
  nlohmann::json runJson(std::vector<std::string> arguments);

  /// Runs the program. Expects an exit status, one line on stderr and no
  /// output; returns the line.
  std::string runFailing(const std::vector<std::string> &arguments, int code);

  std::string folder;
  std::string modelPath;
  std::vector<uint8_t> model;
  ExecutableDescriptor program;
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_APP_TEST_PROGRAMRUN_H

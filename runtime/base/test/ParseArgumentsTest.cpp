//===- ParseArgumentsTest.cpp - errors about wrong usage ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ParseArguments.h"
#include "runtime/base/OptionChecks.h"

#include <gmock/gmock.h>

using namespace sluice;
using testing::HasSubstr;

namespace {

/// A program with two commands, one of which has an argument.
class ParseArgumentsTest : public testing::Test {
protected:
  ParseArgumentsTest() {
    app.set_version_flag("--version", "1.2");
    CLI::App &serve = *app.add_subcommand("serve", "Serves");
    serve.add_option("-p,--port", port, "Where to listen")
        ->type_name("N")
        ->check(within(0, 65535))
        ->capture_default_str();
    serve.add_option("--host", host, "Which address")->type_name("ADDRESS");
    serve.add_flag("--quiet", quiet, "Say nothing");
    CLI::App &read = *app.add_subcommand("read", "Reads");
    read.add_option("file", file, "What is read")
        ->type_name("FILE")
        ->required();
    CLI::Option_group *group =
        read.add_option_group("How", "exactly one of these");
    group->add_flag("--fast", fast, "At once");
    group->add_flag("--slow", slow, "Bit by bit");
    group->require_option(1);
  }

  /// Returns the error; empty if there is none.
  std::string error(std::vector<const char *> arguments) {
    arguments.insert(arguments.begin(), "m");
    std::optional<ExitNow> exit =
        parseArguments(app, int(arguments.size()), arguments.data());
    if (!exit)
      return "";
    EXPECT_EQ(exit->output, "");
    EXPECT_EQ(exit->code, 2);
    return exit->error;
  }

  std::string output(std::vector<const char *> arguments) {
    arguments.insert(arguments.begin(), "m");
    std::optional<ExitNow> exit =
        parseArguments(app, int(arguments.size()), arguments.data());
    if (!exit)
      return "";
    EXPECT_EQ(exit->error, "");
    EXPECT_EQ(exit->code, 0);
    return exit->output;
  }

  CLI::App app{"A program", "m"};
  int port = 80;
  std::string host, file;
  bool quiet = false, fast = false, slow = false;
};

TEST_F(ParseArgumentsTest, WhatIsRightIsRead) {
  EXPECT_EQ(error({"serve", "--port", "8000"}), "");
  EXPECT_EQ(port, 8000);
}

TEST_F(ParseArgumentsTest, TheFirstUnknownOptionIsReported) {
  EXPECT_EQ(error({"serve", "--prot", "3", "--nope", "stray"}),
            "serve: unknown option '--prot', did you mean '--port'? (see m "
            "serve --help)");
  EXPECT_EQ(error({"serve", "--nope", "--prot=3"}),
            "serve: unknown option '--nope' (see m serve --help)");
  EXPECT_EQ(error({"serve", "--prot=3"}),
            "serve: unknown option '--prot', did you mean '--port'? (see m "
            "serve --help)");
  EXPECT_EQ(error({"serve", "-quiet"}),
            "serve: unknown option '-quiet', did you mean '--quiet'? (see m "
            "serve --help)");
  EXPECT_EQ(error({"serve", "-z"}),
            "serve: unknown option '-z' (see m serve --help)");
}

TEST_F(ParseArgumentsTest, OptionsOfGroupsAreKnown) {
  EXPECT_EQ(error({"read", "f", "--fsat"}),
            "read: unknown option '--fsat', did you mean '--fast'? (see m read "
            "--help)");
}

TEST_F(ParseArgumentsTest, AStrayWordIsNamed) {
  EXPECT_EQ(error({"serve", "foo", "--nope"}),
            "serve: 'foo' is not an argument of this command (see m serve "
            "--help)");
  EXPECT_EQ(error({"serve", ""}),
            "serve: '' is not an argument of this command (see m serve "
            "--help)");
  EXPECT_EQ(error({"serve", "-"}),
            "serve: '-' is not an argument of this command (see m serve "
            "--help)");
  EXPECT_EQ(error({"serve", "--", "foo"}),
            "'foo' is not an argument of this program (see m --help)");
}

TEST_F(ParseArgumentsTest, CommandsHaveNamesToo) {
  EXPECT_EQ(error({"sreve", "--port", "1"}),
            "'sreve' is not a command of this program, did you mean 'serve'? "
            "(see m --help)");
  EXPECT_EQ(error({"--port", "1", "serve"}),
            "unknown option '--port' (see m --help)");
}

/// A misspelt option explains why the right one is missing.
TEST_F(ParseArgumentsTest, UnknownWordsGoBeforeOtherMistakes) {
  EXPECT_EQ(error({"read", "f", "--fsat"}),
            "read: unknown option '--fsat', did you mean '--fast'? (see m read "
            "--help)");
  EXPECT_THAT(error({"serve", "--port", "many", "--nope"}),
              HasSubstr("unknown option '--nope'"));
  EXPECT_EQ(error({"serve", "--port", "many"}),
            "--port: Value many not in range 0 to 65535 (see m serve --help)");
  EXPECT_EQ(error({"read"}), "file is required (see m read --help)");
}

TEST_F(ParseArgumentsTest, HelpAndVersionAreNoErrors) {
  EXPECT_THAT(output({"--help"}), HasSubstr("A program"));
  EXPECT_THAT(output({"serve", "--nope", "--help"}), HasSubstr("--port"));
  EXPECT_EQ(output({"--version"}), "1.2\n");
}

} // namespace

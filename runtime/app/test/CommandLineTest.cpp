//===- CommandLineTest.cpp - help and wrong usage of every command --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/CommandLine.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;
using testing::HasSubstr;
using testing::Not;

namespace {

ExitNow parse(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "/some/folder/m");
  Command command =
      parseCommandLine(int(arguments.size()), arguments.data(), "version 1");
  const ExitNow *exit = std::get_if<ExitNow>(&command);
  return exit ? *exit : ExitNow();
}

constexpr const char *commands[] = {"generate", "score", "steps",
                                    "info",     "serve", "bench"};

TEST(CommandLineTest, HelpHasEightyColumnsAndNoTypesOfTheParser) {
  std::vector<std::string> all = {parse({"--help"}).output};
  for (const char *command : commands)
    all.push_back(parse({command, "--help"}).output);
  for (const std::string &help : all) {
    SCOPED_TRACE(help.substr(0, help.find('\n')));
    EXPECT_THAT(help, HasSubstr("Usage: m "));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 80u) << line;
    for (const char *type :
         {"INT", "FLOAT", "TEXT", ":{", "{false}", " in [", "Excludes",
          "Needs:", "Env:", "[--", "[Option", "REQUIRED", " ...", "kb(="})
      EXPECT_THAT(help, Not(HasSubstr(type)));
  }
}

TEST(CommandLineTest, HelpNamesValues) {
  std::string serve = parse({"serve", "--help"}).output;
  for (const char *option :
       {"--host ADDRESS=127.0.0.1", "--port N=8000", "--tls-cert FILE ",
        "--cache-bytes SIZE=4GiB ", "--device DEVICE ", "--no-prefix-cache "})
    EXPECT_THAT(serve, HasSubstr(option));
}

TEST(CommandLineTest, WeightsAreVerifiedWhenItIsSaid) {
  auto when = [](std::vector<std::string> arguments) {
    std::vector<const char *> argv = {"m"};
    for (const std::string &argument : arguments)
      argv.push_back(argument.c_str());
    Command command = parseCommandLine(int(argv.size()), argv.data(), "1");
    const auto *serve = std::get_if<ServeCommandOptions>(&command);
    return serve ? std::optional(serve->engine.verify) : std::nullopt;
  };
  EXPECT_EQ(when({"serve"}), VerifyOption::Background);
  EXPECT_EQ(when({"serve", "--verify", "background"}),
            VerifyOption::Background);
  EXPECT_EQ(when({"serve", "--verify", "full"}), VerifyOption::Full);
  EXPECT_EQ(when({"serve", "--verify", "off"}), VerifyOption::Off);
  EXPECT_EQ(when({"serve", "--verify", "later"}), std::nullopt);
}

TEST(CommandLineTest, HelpKnowsTheCachesSize) {
  EXPECT_EQ(ServingOptions().cacheBytes, int64_t{4} << 30);
}

TEST(CommandLineTest, WhatIsNotKnownIsNamedWithItsCommand) {
  for (const char *command : commands) {
    const std::string before = std::string(command) + ": ";
    const std::string help = " (see m " + std::string(command) + " --help)";
    ExitNow exit = parse({command, "--thread", "1", "--nope"});
    EXPECT_EQ(exit.code, 2);
    EXPECT_EQ(exit.error,
              before + "unknown option '--thread', did you mean '--threads'?" +
                  help);
    EXPECT_EQ(parse({command, "foo", "--nope"}).error,
              before + "'foo' is not an argument of this command" + help);
    EXPECT_THAT(parse({command, "-t", "0"}).error, HasSubstr(help));
  }
  EXPECT_EQ(parse({"serv"}).error, "'serv' is not a command of this program, "
                                   "did you mean 'serve'? (see m --help)");
  EXPECT_EQ(parse({}).error, "A command is required (see m --help)");
}

TEST(CommandLineTest, PromptsOfTheOptionGroupAreSuggested) {
  EXPECT_EQ(parse({"generate", "--promt", "x"}).error,
            "generate: unknown option '--promt', did you mean '--prompt'? (see "
            "m generate --help)");
}

} // namespace

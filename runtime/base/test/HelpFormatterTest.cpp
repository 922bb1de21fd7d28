//===- HelpFormatterTest.cpp - the layout of --help -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HelpFormatter.h"
#include "runtime/base/OptionChecks.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

class HelpFormatterTest : public testing::Test {
protected:
  HelpFormatterTest() {
    app.formatter(std::make_shared<HelpFormatter>());
    app.set_version_flag("--version", "1.2");
    addServe();
    addRead();
  }

  void addServe() {
    CLI::App &serve = *app.add_subcommand("serve", "Serves");
    serve.add_option("-p,--port", port, "Where to listen")
        ->type_name("N")
        ->check(within(0, 65535))
        ->capture_default_str();
    serve.add_option("--host", host, "Which address")
        ->type_name("ADDRESS")
        ->envname("TEST_HOST");
    serve.add_option("--how", how, "Fast or slow")
        ->type_name("HOW")
        ->check(oneOf({"fast", "slow"}));
    serve.add_flag("--quiet", quiet, "Say nothing")->needs("--host");
    serve.footer("Ctrl-C ends it.");
  }

  void addRead() {
    CLI::App &read = *app.add_subcommand("read", "Reads");
    read.add_option("file", file, "What is read")
        ->type_name("FILE")
        ->required();
    CLI::Option_group *group =
        read.add_option_group("How", "exactly one of these");
    group->add_flag("--fast", fast,
                    "At once; this text is long enough to need a second line "
                    "beside its option");
    group->add_flag("--slow", slow, "Bit by bit");
    group->require_option(1);
  }

  std::string helpOf(const char *command) {
    return app.get_subcommand(command)->help("m");
  }

  CLI::App app{"A program", "m"};
  int port = 80;
  std::string host, how, file;
  bool quiet = false, fast = false, slow = false;
};

TEST_F(HelpFormatterTest, OfAProgram) {
  EXPECT_EQ(app.help(), R"(A program

Usage: m COMMAND [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  --version                   Display program version information and exit

Commands:
  serve                       Serves
  read                        Reads

m COMMAND --help has a command's options.
)");
}

TEST_F(HelpFormatterTest, OfACommand) {
  EXPECT_EQ(helpOf("serve"), R"(Serves

Usage: m serve [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  -p,--port N=80              Where to listen
  --host ADDRESS              Which address (also the variable TEST_HOST)
  --how HOW                   Fast or slow
  --quiet                     Say nothing (needs --host)

Ctrl-C ends it.
)");
}

TEST_F(HelpFormatterTest, OfArgumentsAndGroups) {
  EXPECT_EQ(helpOf("read"), R"(Reads

Usage: m read [OPTIONS] FILE

Arguments:
  FILE                        What is read

How: exactly one of these
  --fast                      At once; this text is long enough to need a second
                              line beside its option
  --slow                      Bit by bit

Options:
  -h,--help                   Print this help message and exit
)");
}

} // namespace

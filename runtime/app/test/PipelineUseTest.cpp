//===- PipelineUseTest.cpp - wrong uses of a pipeline ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No option is silently ignored, and an impossible request is reported once.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/app/test/TestPipeline.h"

#include <cstdlib>
#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

/// The environment of a rank that Open MPI has started, as far as it is read.
class RankEnvironment {
public:
  RankEnvironment(int rank, int size, int localSize) {
    set("OMPI_COMM_WORLD_RANK", rank);
    set("OMPI_COMM_WORLD_SIZE", size);
    set("OMPI_COMM_WORLD_LOCAL_SIZE", localSize);
  }
  ~RankEnvironment() {
    for (const char *name : names)
      ::unsetenv(name);
  }

private:
  void set(const char *name, int value) {
    ::setenv(name, std::to_string(value).c_str(), 1);
    names.push_back(name);
  }
  std::vector<const char *> names;
};

using PipelineUseTest = ProgramTest;

TEST_F(PipelineUseTest, RefusesWhatThePlanCannotDo) {
  describe(inStages(program));
  EXPECT_THAT(runFailing(base + Arguments{"--speculate", "async"}, 1),
              HasSubstr("has no draft"));
  EXPECT_THAT(runFailing(base + Arguments{"--speculate", "often"}, 2),
              HasSubstr("--speculate"));
  EXPECT_THAT(runFailing(base + Arguments{"--trace", folder + "/t"}, 1),
              HasSubstr("several stages on one rank"));
  describe(withDraft(program, DraftPlacement::Own));
  EXPECT_THAT(runFailing(base + Arguments{"--emulate", "/nowhere.yaml"}, 1),
              HasSubstr("/nowhere.yaml"));
  EXPECT_THAT(runFailing(base + Arguments{"--prefill-chunk", "60000"}, 1),
              HasSubstr("--prefill-chunk: 60000: this program's steps have at "
                        "most "));
}

TEST_F(PipelineUseTest, RefusesWhatWouldHaveNoEffect) {
  auto refuses = [&](const Arguments &options, const char *reason) {
    EXPECT_THAT(runFailing(base + options, 1), HasSubstr(reason));
  };
  for (const Arguments &option :
       std::vector<Arguments>{{"--activations", "bf16"},
                              {"--speculate-depth", "3"},
                              {"--speculate-width", "3"},
                              {"--no-cancel"},
                              {"--no-continuous"},
                              {"--no-fuse"}}) {
    SCOPED_TRACE(json(option));
    describe(program);
    refuses(option, ": this program is one stage without a draft");
    describe(withDraft(program, DraftPlacement::Own));
    refuses(option + Arguments{"--logits", "--json"},
            (option[0] + " does not go with --logits").c_str());
  }
  for (const Arguments &option :
       std::vector<Arguments>{{"--speculate", "async"},
                              {"--trace", folder + "/t"},
                              {"--emulate", "/nowhere.yaml"},
                              {"--oracle-acceptance", "0.5"}}) {
    SCOPED_TRACE(json(option));
    refuses(option + Arguments{"--company", "2"},
            (option[0] + " does not go with --company").c_str());
  }
  describe(program);
  refuses(emulation(folder) + Arguments{"--emulate-draft", "draft"},
          "--emulate-draft: this program has no draft");
  describe(withDraft(program, DraftPlacement::Own));
  // These options have an effect.
  Arguments plain = base + Arguments{"--speculate", "off"};
  EXPECT_EQ(runJson(plain + Arguments{"--logits"})["last_logits"].size(),
            size_t(vocab));
  describe(program);
  runJson(plain);
}

/// Every rank finds an error of the command line by itself, and the first rank
/// reports it.
TEST_F(PipelineUseTest, WrongUsageIsSaidOnce) {
  describe(withDraft(program, DraftPlacement::Own));
  struct Case {
    Arguments options;
    int code;
    const char *reason;
  };
  for (const Case &wrong : std::vector<Case>{
           {base + Arguments{"--speculate", "often"}, 2, "--speculate"},
           {base + Arguments{"-c", "999"}, 1, "a context of 999"},
           {base + Arguments{"--stop-token", "999"}, 1, "--stop-token"},
           {base + Arguments{"--stop", "x"}, 1, "--stop"},
           {base + Arguments{"--logits", "--json"}, 1, "--logits"},
           {base + Arguments{"--emulate", "/nowhere.yaml"}, 1, "/nowhere"},
       }) {
    SCOPED_TRACE(json(wrong.options));
    {
      RankEnvironment first(0, 3, 3);
      EXPECT_THAT(runFailing(wrong.options, wrong.code),
                  HasSubstr(wrong.reason));
    }
    RankEnvironment other(1, 3, 3);
    Finished result = run(wrong.options);
    EXPECT_EQ(result.code, wrong.code);
    EXPECT_EQ(result.out + result.err, "");
  }
  ExecutableDescriptor foreign = withDraft(program, DraftPlacement::Own);
  foreign.programs[0].cpu = "avx9000";
  describe(foreign);
  RankEnvironment other(1, 3, 3);
  EXPECT_THAT(runFailing(base, 1), HasSubstr("error: rank 1: "));
}

/// Emulated messages carry the time of their arrival, by a clock that two
/// machines do not share.
TEST_F(PipelineUseTest, EmulatesOnOneMachineOnly) {
  describe(withDraft(program, DraftPlacement::Own));
  {
    RankEnvironment first(0, 3, 2);
    EXPECT_THAT(runFailing(base + emulation(folder), 1),
                HasSubstr("--emulate: all ranks must be on one machine, and 2 "
                          "of 3 are on this one"));
  }
  RankEnvironment other(2, 3, 1);
  Finished result = run(base + emulation(folder));
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out + result.err, "");
}

} // namespace

//===- MpiTest.cpp - the conformance suite under mpirun -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the conformance suite under the mpirun of each MPI that is installed.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/test/Conformance.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::comm::test;
using testing::HasSubstr;

namespace {

/// An mpirun, and the options that keep its ranks on this machine.
struct Launcher {
  const char *name;
  const char *command; ///< null: not installed
  const char *options;
};

#ifdef SLUICE_MPIRUN_OPENMPI
constexpr const char *openMpiRun = SLUICE_MPIRUN_OPENMPI;
#else
constexpr const char *openMpiRun = nullptr;
#endif
#ifdef SLUICE_MPIRUN_MPICH
constexpr const char *mpichRun = SLUICE_MPIRUN_MPICH;
#else
constexpr const char *mpichRun = nullptr;
#endif

constexpr const char *openMpiOptions =
    "--allow-run-as-root --oversubscribe --bind-to none "
    "--mca btl_vader_single_copy_mechanism none";

constexpr Launcher launchers[] = {
    {"openmpi", openMpiRun, openMpiOptions},
    {"mpich", mpichRun, "-iface lo"},
};
/// The launchers with their sockets, for what differs there.
constexpr Launcher socketLaunchers[] = {
    {"openmpi_tcp", openMpiRun,
     "--allow-run-as-root --oversubscribe --bind-to none "
     "--mca btl self,tcp --mca btl_tcp_if_include lo"},
    {"mpich_tcp", mpichRun,
     "-iface lo -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES lo"},
};

/// Only this project's code is checked. The leak checker would report memory
/// that MPI keeps until the end. UCX, which MPICH uses, overwrites functions in
/// memory that the sanitizers have replaced.
#if __has_feature(address_sanitizer)
constexpr const char *sanitizerSettings =
    "ASAN_OPTIONS=detect_leaks=0 UCX_MEM_MMAP_HOOK_MODE=none ";
#elif __has_feature(thread_sanitizer)
constexpr const char *sanitizerSettings =
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:detect_deadlocks=0 "
    "UCX_MEM_MMAP_HOOK_MODE=none ";
#else
constexpr const char *sanitizerSettings = "";
#endif

/// Prints a launcher as gtest shows it when a case fails.
[[maybe_unused]] std::ostream &operator<<(std::ostream &out,
                                          const Launcher &launcher) {
  return out << launcher.name;
}

struct Outcome {
  int status = 0; ///< exit status, or 128 + signal
  double seconds = 0;
  std::string output; ///< of all ranks and the launcher
};

/// Runs a command whose words are separated by spaces.
Outcome runCommand(const std::string &command) {
  std::istringstream stream(command);
  std::vector<std::string> words(std::istream_iterator<std::string>(stream),
                                 {});
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);

  auto start = std::chrono::steady_clock::now();
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t process = fork();
  if (process == 0) {
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    outcome.output.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  outcome.status =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return outcome;
}

/// Runs a case with its ranks. Kills it after 60 s.
Outcome launch(const Launcher &launcher, int64_t ranks,
               const std::string &arguments,
               const std::string &environment = "") {
  const char *home = std::getenv("HOME");
  Outcome outcome = runCommand(
      std::string("env HOME=") + (home ? home : "/tmp") + " " +
      sanitizerSettings + environment + " timeout -k 2 60 " + launcher.command +
      " " + launcher.options + " -n " + std::to_string(ranks) + " " +
      SLUICE_MPI_TEST + " " + arguments);
  // A rank that is expected to fail does not show a sanitizer's report by its
  // status.
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("Sanitizer: ")));
  return outcome;
}

#define SKIP_WITHOUT(launcher)                                                 \
  if (!(launcher).command)                                                     \
  GTEST_SKIP() << "no mpirun of " << (launcher).name                           \
               << " was found when this "                                      \
               << "was configured"

std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class MpiConformance
    : public testing::TestWithParam<std::tuple<Launcher, ConformanceCase>> {
protected:
  void check(const std::string &suffix) {
    auto [launcher, which] = GetParam();
    SKIP_WITHOUT(launcher);
    if (std::string_view(launcher.name) == "mpich_tcp" &&
        !std::filesystem::exists("/sys/class/net/lo"))
      GTEST_SKIP() << "UCX finds network devices in /sys/class/net, which is "
                      "not here";
    Outcome outcome = launch(launcher, which.ranks, which.name + suffix);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    for (int64_t rank = 0; rank < which.ranks; ++rank)
      EXPECT_THAT(outcome.output, HasSubstr("rank " + std::to_string(rank) +
                                            ": " + which.name + ": passed"));
  }
};

TEST_P(MpiConformance, Holds) { check(""); }

const auto nameConformance = [](const auto &info) {
  return identifier(std::string(std::get<0>(info.param).name) + "_" +
                    std::get<1>(info.param).name);
};

INSTANTIATE_TEST_SUITE_P(
    , MpiConformance,
    testing::Combine(testing::ValuesIn(launchers),
                     testing::ValuesIn(conformanceCases().begin(),
                                       conformanceCases().end())),
    nameConformance);
INSTANTIATE_TEST_SUITE_P(
    Sockets, MpiConformance,
    testing::Combine(testing::ValuesIn(socketLaunchers),
                     testing::ValuesIn(conformanceCases().begin(),
                                       conformanceCases().end())),
    nameConformance);

class MpiEmulated : public MpiConformance {};
TEST_P(MpiEmulated, Holds) { check(" emulated"); }
INSTANTIATE_TEST_SUITE_P(
    , MpiEmulated,
    testing::Combine(testing::ValuesIn(launchers),
                     testing::Values(conformanceCases()[0],
                                     conformanceCases()[6])),
    nameConformance);

class MpiFailure
    : public testing::TestWithParam<std::tuple<Launcher, FailureCase>> {};

/// Each case ends the whole job. Its code checks that a rank that lives has
/// seen that within 5 s.
TEST_P(MpiFailure, EndsTheJob) {
  auto [launcher, which] = GetParam();
  SKIP_WITHOUT(launcher);
  Outcome outcome = launch(launcher, which.ranks, which.name);
  EXPECT_NE(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.status, 124) << "hangs: " << outcome.output;
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("no failure was seen")));
  EXPECT_THAT(outcome.output, HasSubstr(which.reason));
  if (std::string_view(which.name).starts_with("killed")) {
    // In this case the launcher notices the failure and reports it.
    EXPECT_THAT(outcome.output, testing::ContainsRegex("signal 9|SIGNAL: 9|"
                                                       "EXIT CODE: 9"));
    EXPECT_LT(outcome.seconds, 20);
  } else {
    EXPECT_EQ(outcome.status, 1) << outcome.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , MpiFailure,
    testing::Combine(testing::ValuesIn(launchers),
                     testing::ValuesIn(failureCases().begin(),
                                       failureCases().end())),
    nameConformance);

class MpiLibraryChoice : public testing::TestWithParam<Launcher> {};

TEST_P(MpiLibraryChoice, RefusesTheOtherLibrary) {
  Launcher launcher = GetParam();
  SKIP_WITHOUT(launcher);
  bool openMpi = std::string(launcher.name) == "openmpi";
  Outcome outcome = launch(launcher, 1, "refuses-bad-messages",
                           std::string("SLUICE_MPI_LIBRARY=") +
                               (openMpi ? "libmpich.so.12" : "libmpi.so.40"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(
      outcome.output,
      testing::AnyOf(HasSubstr(openMpi ? "is not Open MPI" : "is not MPICH"),
                     HasSubstr("cannot be opened")));
}

TEST_P(MpiLibraryChoice, SaysWhatIsMissing) {
  Launcher launcher = GetParam();
  SKIP_WITHOUT(launcher);
  Outcome outcome = launch(launcher, 2, "refuses-bad-messages",
                           "SLUICE_MPI_LIBRARY=/nowhere/libmpi.so");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("/nowhere/libmpi.so"));
}

INSTANTIATE_TEST_SUITE_P(, MpiLibraryChoice, testing::ValuesIn(launchers),
                         [](const auto &info) { return info.param.name; });

} // namespace

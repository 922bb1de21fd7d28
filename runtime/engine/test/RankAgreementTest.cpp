//===- RankAgreementTest.cpp - tests of the agreement of ranks ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/RankAgreement.h"

#include "runtime/comm/inproc/InprocCommunicator.h"

#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::engine;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns the result of each rank of a job, each run on its own thread.
template <typename T, typename Fn>
std::vector<T> onRanks(int64_t ranks, Fn body) {
  auto job = comm::makeInprocJob(ranks);
  std::vector<std::optional<T>> results(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < job.size(); ++rank)
    threads.emplace_back(
        [&, rank] { results[rank].emplace(body(*job[rank])); });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<T> all;
  for (std::optional<T> &each : results)
    all.push_back(std::move(*each));
  return all;
}

/// Returns the decision of all ranks, and the notes of rank 0.
std::pair<bool, std::vector<std::string>>
agree(const std::vector<DeviceFinding> &found) {
  std::vector<std::string> notes;
  auto results =
      onRanks<Expected<bool>>(std::ssize(found), [&](comm::Communicator &comm) {
        return agreeOnGpus(comm, found[size_t(comm.rank())],
                           [&](const std::string &n) { notes.push_back(n); });
      });
  for (Expected<bool> &each : results) {
    EXPECT_TRUE(each.ok()) << each.status().message();
    if (each.ok() && results[0].ok())
      EXPECT_EQ(*each, *results[0]);
  }
  return {results[0].ok() && *results[0], notes};
}

TEST(RankAgreement, AllComputeOnGpusOrNone) {
  const DeviceFinding gpu = {true, ""}, none = {false, "no driver"};
  auto [all, quiet] = agree({gpu, gpu, gpu});
  EXPECT_TRUE(all);
  EXPECT_TRUE(quiet.empty());

  auto [two, said] = agree({gpu, gpu, none});
  EXPECT_FALSE(two);
  EXPECT_THAT(said, ElementsAre("rank 2: no driver; all ranks use the CPU"));

  auto [others, first] = agree({none, gpu, none});
  EXPECT_FALSE(others);
  EXPECT_THAT(first, ElementsAre("rank 0: no driver; all ranks use the CPU"));
}

TEST(RankAgreement, WhatOthersSayIsOneLine) {
  auto [gpus, notes] = agree({{true, ""}, {false, "no\ndriver\n"}});
  EXPECT_FALSE(gpus);
  EXPECT_THAT(notes, ElementsAre("rank 1: no driver ; all ranks use the CPU"));
}

/// Reports when it has sent something; otherwise like the communicator behind
/// it.
class TellsOfSending final : public comm::Communicator {
public:
  TellsOfSending(comm::Communicator &inner, std::promise<void> &sent)
      : inner(inner), sent(sent) {}
  int64_t rank() const override { return inner.rank(); }
  int64_t size() const override { return inner.size(); }
  void start(Receiver receiver) override { inner.start(std::move(receiver)); }
  void detach() override { inner.detach(); }
  void roomChanged() override { inner.roomChanged(); }
  Status send(int64_t to, comm::Lane lane, comm::Bytes bytes,
              int64_t emulatedBytes) override {
    Status status = inner.send(to, lane, std::move(bytes), emulatedBytes);
    sent.set_value();
    return status;
  }
  Status receive(int64_t source, comm::Bytes &bytes,
                 comm::Deadline end) override {
    return inner.receive(source, bytes, end);
  }
  void stopReceiving() override { inner.stopReceiving(); }
  Status finish(std::chrono::milliseconds patience) override {
    return inner.finish(patience);
  }
  void abort(const Status &reason) override { inner.abort(reason); }
  std::vector<comm::Traffic> traffic() const override {
    return inner.traffic();
  }
  comm::BufferPool &buffers() override { return inner.buffers(); }

private:
  comm::Communicator &inner;
  std::promise<void> &sent;
};

/// A message that arrives just at the deadline counts, and the ranks go on.
TEST(RankAgreement, AMessageAtTheDeadlineIsTaken) {
  std::promise<void> sent;
  auto results = onRanks<Expected<bool>>(2, [&](comm::Communicator &comm) {
    TellsOfSending telling(comm, sent);
    const bool isHead = comm.rank() == 0;
    if (isHead)
      sent.get_future().wait();
    comm::Communicator &used = isHead ? comm : telling;
    Expected<bool> agreed =
        agreeOnGpus(used, {true, ""}, nullptr, std::chrono::milliseconds(0));
    if (!agreed)
      return agreed;
    Status next = compareTerms(comm, {{"name", "value"}});
    return next.ok() ? agreed : Expected<bool>(next);
  });
  for (Expected<bool> &each : results)
    EXPECT_TRUE(each.ok() && *each) << each.status().message();
}

TEST(RankAgreement, SaysNothingOfProgramsForCpus) {
  auto [gpus, notes] = agree({{}, {}});
  EXPECT_FALSE(gpus);
  EXPECT_TRUE(notes.empty());
}

TEST(RankAgreement, EndsARankThatDiffers) {
  const RankTerms terms = {{"cache type", "f16"}, {"context length", "512"}};
  auto compare = [&](RankTerms second) {
    auto results = onRanks<Status>(3, [&](comm::Communicator &comm) {
      return compareTerms(comm, comm.rank() == 1 ? second : terms);
    });
    EXPECT_TRUE(results[0].ok()) << results[0].message();
    EXPECT_TRUE(results[2].ok()) << results[2].message();
    return results[1].message();
  };
  EXPECT_EQ(compare(terms), "");
  EXPECT_EQ(compare({{"cache type", "f32"}, {"context length", "64"}}),
            "its cache type is f32, the head's is f16");
  EXPECT_EQ(compare({{"cache type", "f16"}, {"context length", "64"}}),
            "its context length is 64, the head's is 512");
  EXPECT_THAT(compare({{"cache type", "f16"}}), HasSubstr("another version"));
}

TEST(RankAgreement, RefusesOtherMessages) {
  for (size_t length : {size_t(0), size_t(3), size_t(200)}) {
    auto results = onRanks<Status>(2, [&](comm::Communicator &comm) {
      if (comm.rank() == 0)
        return comm.send(1, comm::Lane::Group, comm::Bytes(length, 7));
      return compareTerms(comm, {});
    });
    EXPECT_THAT(results[1].message(), HasSubstr("another version"));
  }
}

/// A rank is alive and sends nothing.
TEST(RankAgreement, DoesNotWaitForEver) {
  std::promise<void> ended;
  auto results = onRanks<Status>(3, [&](comm::Communicator &comm) {
    if (comm.rank() == 2) {
      ended.get_future().wait();
      return Status();
    }
    Status status = agreeOnGpus(
                        comm, {true, ""}, [](const std::string &) {},
                        std::chrono::milliseconds(comm.rank() == 0 ? 100 : 50))
                        .status();
    if (comm.rank() == 0) {
      comm.abort(status);
      ended.set_value();
    }
    return status;
  });
  EXPECT_EQ(results[0].message(), "rank 0: rank 2 says nothing in time");
  EXPECT_THAT(results[1].message(), HasSubstr("rank 2 says nothing in time"));
}

TEST(RankAgreement, EndsWithARankThatIsLost) {
  auto results = onRanks<Status>(2, [&](comm::Communicator &comm) {
    if (comm.rank() == 1) {
      comm.abort(failure("--device cuda: no driver"));
      return Status();
    }
    return agreeOnGpus(comm, {true, ""}, [](const std::string &) {}).status();
  });
  EXPECT_THAT(results[0].message(), HasSubstr("rank 1: --device cuda"));
}

} // namespace

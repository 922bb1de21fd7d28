//===- Conformance.cpp - tests that every communicator must pass ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/test/Conformance.h"

#include "runtime/comm/test/CollectingReceiver.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{60000};

template <typename... Parts> Status require(bool holds, const Parts &...parts) {
  return holds ? Status() : failure(parts...);
}

/// Returns the status from the case if it is an error.
#define CHECK(expression)                                                      \
  if (Status checked = (expression); !checked.ok())                            \
  return checked

/// Sends the numbers 0 to `count` - 1.
Status sendNumbers(Communicator &comm, int64_t to, Lane lane, uint64_t count,
                   size_t bytes = 0) {
  for (uint64_t i = 0; i < count; ++i)
    CHECK(comm.send(to, lane, makeMessage(i, bytes)));
  return {};
}

/// Checks that the messages of each source and lane are 0, 1, 2 ... count - 1,
/// and intact.
Status checkNumbers(const std::vector<Message> &messages, int64_t size,
                    uint64_t data, uint64_t control) {
  for (int64_t source = 0; source < size; ++source)
    for (Lane lane : {Lane::Data, Lane::Control}) {
      uint64_t next = 0;
      for (const Message &message : messages) {
        if (message.source != source || message.lane != lane)
          continue;
        CHECK(require(isIntact(message.bytes), "a message from rank ", source,
                      " is damaged"));
        CHECK(require(numberOf(message.bytes) == next, "from rank ", source,
                      " came ", numberOf(message.bytes), " instead of ", next));
        ++next;
      }
      uint64_t expected = lane == Lane::Data ? data : control;
      CHECK(require(next == expected, next, " messages from rank ", source,
                    " instead of ", expected));
    }
  return {};
}

/// Each rank sends to every rank, itself included, on both lanes.
Status allPairsInOrder(Communicator &comm) {
  constexpr uint64_t count = 300;
  CollectingReceiver receiver(comm);
  for (uint64_t i = 0; i < count; ++i)
    for (int64_t to = 0; to < comm.size(); ++to)
      for (Lane lane : {Lane::Data, Lane::Control})
        CHECK(comm.send(to, lane, makeMessage(i, i % 97)));
  CHECK(comm.finish(patience));
  CHECK(checkNumbers(receiver.all(), comm.size(), count, count));
  std::vector<Traffic> sent = comm.traffic();
  CHECK(
      require(int64_t(sent.size()) == comm.size(), "traffic of ", sent.size()));
  for (int64_t to = 0; to < comm.size(); ++to)
    CHECK(require(sent[to].to == to && sent[to].dataMessages == count &&
                      sent[to].controlMessages == count &&
                      sent[to].dataBytes == sent[to].controlBytes &&
                      sent[to].dataBytes >= count * frameHeaderBytes,
                  "the traffic to rank ", to, " is wrong"));
  return {};
}

/// Data without room at the receiver does not hold up control messages.
Status controlOvertakesData(Communicator &comm) {
  constexpr uint64_t count = defaultCapacity / 2;
  CollectingReceiver receiver(comm);
  if (comm.rank() == 1)
    receiver.setRoom(0, false);
  // Rank 0 begins when rank 1 has no room left.
  if (comm.rank() == 1)
    CHECK(comm.send(0, Lane::Control, makeMessage(0)));
  if (comm.rank() == 0) {
    CHECK(require(receiver.waitForCount(1), "nothing came to begin with"));
    CHECK(sendNumbers(comm, 1, Lane::Data, count, 1000));
    CHECK(sendNumbers(comm, 1, Lane::Control, count));
  } else {
    CHECK(require(receiver.waitForCount(count), "control does not come"));
    for (const Message &message : receiver.all())
      CHECK(require(message.lane == Lane::Control, "data without room"));
    receiver.setRoom(0, true);
  }
  CHECK(comm.finish(patience));
  if (comm.rank() == 1) {
    std::vector<Message> all = receiver.all();
    std::erase_if(all, [](const Message &each) { return each.source != 0; });
    CHECK(require(all.size() == 2 * count, all.size(), " messages"));
    for (uint64_t i = 0; i < 2 * count; ++i)
      CHECK(require(numberOf(all[i].bytes) == i % count &&
                        all[i].lane == (i < count ? Lane::Control : Lane::Data),
                    "message ", i, " is out of order"));
  }
  return {};
}

/// Sends in both directions at once, which deadlocks if sends wait for each
/// other.
Status bigMessages(Communicator &comm) {
  CollectingReceiver receiver(comm);
  CHECK(sendNumbers(comm, 1 - comm.rank(), Lane::Data, 3, size_t{8} << 20));
  CHECK(sendNumbers(comm, 1 - comm.rank(), Lane::Control, 2, size_t{1} << 20));
  CHECK(comm.finish(patience));
  std::vector<Message> all = receiver.all();
  CHECK(require(all.size() == 5, all.size(), " messages instead of 5"));
  for (Message &message : all)
    message.source = 0;
  return checkNumbers(all, 1, 3, 2);
}

Status manySmallMessages(Communicator &comm) {
  constexpr uint64_t count = 10000;
  CollectingReceiver receiver(comm);
  int64_t right = (comm.rank() + 1) % comm.size();
  CHECK(sendNumbers(comm, right, Lane::Data, count));
  CHECK(comm.finish(patience));
  std::vector<Message> all = receiver.all();
  for (Message &message : all)
    message.source = 0;
  return checkNumbers(all, 1, count, 0);
}

/// Sends messages to rank 1 until the sender has to wait, reports that by a
/// control message, and sends the rest. Sets `onWay` to the number that had
/// left by then.
Status sendUntilStill(Communicator &comm, Lane lane, uint64_t count,
                      uint64_t &onWay) {
  std::atomic<uint64_t> sent{0};
  Status status;
  std::thread sender([&] {
    for (uint64_t i = 0; i < count && status.ok(); ++i) {
      status = comm.send(1, lane, makeMessage(i, 5000));
      ++sent;
    }
  });
  // Wait until the count has not changed for a while.
  onWay = ~uint64_t{0};
  while (sent != onWay) {
    onWay = sent;
    std::this_thread::sleep_for(milliseconds(300));
  }
  Status reported = comm.send(1, Lane::Control, makeMessage(0));
  sender.join();
  return status.ok() ? reported : status;
}

/// A sender that is faster than the receiver waits, so the number of messages
/// under way is bounded.
Status backPressure(Communicator &comm) {
  constexpr uint64_t count = 40 * defaultCapacity;
  // The messages that the receiver of an emulated link keeps, and one that MPI
  // has matched.
  constexpr uint64_t maxOnWay = 2 * defaultCapacity + 2;
  CollectingReceiver receiver(comm);
  if (comm.rank() == 1) {
    receiver.setRoom(0, false);
    CHECK(comm.send(0, Lane::Control, makeMessage(0)));
    CHECK(
        require(receiver.waitForCount(1), "the sender does not say it waits"));
    receiver.setRoom(0, true);
    CHECK(comm.finish(patience));
    std::vector<Message> all = receiver.all();
    std::erase_if(all, [](const Message &m) { return m.lane != Lane::Data; });
    CHECK(require(all.size() == count, all.size(), " messages"));
    return {};
  }
  CHECK(require(receiver.waitForCount(1), "nothing came to begin with"));
  uint64_t last = 0;
  CHECK(sendUntilStill(comm, Lane::Data, count, last));
  CHECK(require(last >= defaultCapacity && last <= maxOnWay, last,
                " messages went out before the sender waited"));
  return comm.finish(patience);
}

/// A source without room does not hold up another source.
Status roomIsPerSource(Communicator &comm) {
  constexpr uint64_t count = 3 * defaultCapacity;
  CollectingReceiver receiver(comm);
  if (comm.rank() == 2)
    receiver.setRoom(0, false);
  else
    CHECK(sendNumbers(comm, 2, Lane::Data, comm.rank() == 0 ? 8 : count));
  if (comm.rank() == 2) {
    auto fromOne = [&](const std::vector<Message> &all) {
      return std::count_if(all.begin(), all.end(), [](const Message &each) {
               return each.source == 1;
             }) == int64_t(count);
    };
    CHECK(require(receiver.waitFor(fromOne), "rank 1 is held up"));
    receiver.setRoom(0, true);
  }
  CHECK(comm.finish(patience));
  if (comm.rank() == 2)
    CHECK(require(receiver.all().size() == count + 8, "messages are missing"));
  return {};
}

/// finish() right after the last send loses no message, even with a slow
/// receiver.
Status finishLosesNothing(Communicator &comm) {
  constexpr uint64_t count = 100;
  std::atomic<uint64_t> taken{0};
  CollectingReceiver receiver(comm, [&](const Message &) {
    if (comm.rank() == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    ++taken;
  });
  CHECK(sendNumbers(comm, 0, Lane::Data, count, 3000));
  CHECK(sendNumbers(comm, 0, Lane::Control, count));
  CHECK(comm.finish(patience));
  uint64_t expected = comm.rank() == 0 ? 2 * count * comm.size() : 0;
  CHECK(require(taken == expected, taken, " of ", expected, " were taken"));
  Status after = comm.send(0, Lane::Control, makeMessage(0));
  return require(!after.ok(), "a message after the end");
}

/// A control message may be answered from the callback.
Status answersFromCallbacks(Communicator &comm) {
  constexpr uint64_t rounds = 500;
  std::atomic<bool> failed{false};
  CollectingReceiver receiver(comm, [&](const Message &message) {
    uint64_t next = numberOf(message.bytes) + 1;
    if (next < 2 * rounds &&
        !comm.send(1 - comm.rank(), Lane::Control, makeMessage(next)).ok())
      failed = true;
  });
  if (comm.rank() == 0)
    CHECK(comm.send(1, Lane::Data, makeMessage(0)));
  CHECK(require(receiver.waitForCount(rounds), "the answers stop"));
  CHECK(require(!failed, "a callback cannot send"));
  return comm.finish(patience);
}

Status refusesBadMessages(Communicator &comm) {
  CollectingReceiver receiver(comm);
  for (int64_t to : {int64_t{-1}, comm.size()}) {
    Status status = comm.send(to, Lane::Control, makeMessage(0));
    CHECK(require(!status.ok() &&
                      status.message().find("no rank") != std::string::npos,
                  "rank ", to, " is not refused"));
  }
  CHECK(comm.finish(patience));
  return require(!comm.finish(patience).ok(), "a second end");
}

/// No callback runs after detach(), and messages that arrive later hold nothing
/// up.
Status detachesQuietly(Communicator &comm) {
  constexpr uint64_t count = 3 * defaultCapacity;
  auto taken = std::make_unique<std::atomic<uint64_t>>(0);
  {
    CollectingReceiver receiver(comm, [&](const Message &) { ++*taken; });
    for (int64_t source = 0; source < comm.size(); ++source)
      receiver.setRoom(source, comm.rank() == 0);
    CHECK(comm.send(1 - comm.rank(), Lane::Control, makeMessage(0)));
    CHECK(require(receiver.waitForCount(1), "nothing came to begin with"));
    comm.detach();
  }
  CHECK(require(*taken == 1, *taken, " messages before the end"));
  taken.reset();
  if (comm.rank() == 0)
    CHECK(sendNumbers(comm, 1, Lane::Data, count, 100));
  return comm.finish(patience);
}

/// Messages of the group lane come in order from each source, past data without
/// room, and also at a rank that has not started.
Status groupsExchange(Communicator &comm) {
  constexpr uint64_t rounds = 200;
  auto exchange = [&](size_t bytes) -> Status {
    for (uint64_t i = 0; i < rounds; ++i) {
      for (int64_t to = 0; to < comm.size(); ++to)
        if (to != comm.rank())
          CHECK(comm.send(to, Lane::Group, makeMessage(i, bytes)));
      Bytes came;
      for (int64_t from = 0; from < comm.size(); ++from) {
        if (from == comm.rank())
          continue;
        CHECK(comm.receive(from, came));
        CHECK(require(isIntact(came) && numberOf(came) == i, "round ", i,
                      ": rank ", from, " says ", numberOf(came)));
      }
    }
    return {};
  };
  CHECK(exchange(0));
  CollectingReceiver receiver(comm);
  if (comm.rank() == 1)
    receiver.setRoom(0, false);
  if (comm.rank() == 0)
    CHECK(sendNumbers(comm, 1, Lane::Data, defaultCapacity / 2, 1000));
  CHECK(exchange(20000));
  receiver.setRoom(0, true);
  CHECK(comm.finish(patience));
  Traffic sent = comm.traffic()[(comm.rank() + 1) % comm.size()];
  return require(sent.groupMessages == 2 * rounds &&
                     sent.groupBytes > rounds * 20000,
                 sent.groupMessages, " messages of a group were counted");
}

/// receive() does not wait beyond its deadline. A later call receives what
/// comes later, and a message that is there is taken even after the deadline.
Status groupDeadline(Communicator &comm) {
  CollectingReceiver receiver(comm);
  const int64_t other = 1 - comm.rank();
  Bytes came;
  if (comm.rank() == 1) {
    CHECK(comm.receive(other, came));
    CHECK(comm.send(other, Lane::Group, makeMessage(1)));
    CHECK(comm.send(other, Lane::Group, makeMessage(2)));
    return comm.finish(patience);
  }
  auto now = [] { return Deadline::clock::now(); };
  Status late =
      comm.receive(other, came, now() + std::chrono::milliseconds(20));
  CHECK(require(late.message() == "rank 0: rank 1 says nothing in time",
                "a rank that says nothing: ", late.message()));
  CHECK(comm.send(other, Lane::Group, makeMessage(0)));
  CHECK(comm.receive(other, came, now() + patience));
  CHECK(require(numberOf(came) == 1, "rank 1 says ", numberOf(came)));
  const Deadline begun = now();
  while (!comm.receive(other, came, begun).ok())
    CHECK(require(now() < begun + patience, "a message is not taken"));
  CHECK(require(numberOf(came) == 2, "rank 1 says ", numberOf(came)));
  return comm.finish(patience);
}

/// A sender on the group lane that is faster than the receiver waits, too, and
/// holds up no other sender.
Status groupBackPressure(Communicator &comm) {
  constexpr uint64_t count = 20 * defaultCapacity;
  // The messages that both ends keep, and one that MPI has matched.
  constexpr uint64_t maxOnWay = 2 * defaultCapacity + 1;
  CollectingReceiver receiver(comm);
  Bytes came;
  if (comm.rank() == 0) {
    uint64_t onWay = 0;
    CHECK(sendUntilStill(comm, Lane::Group, count, onWay));
    CHECK(require(onWay >= defaultCapacity && onWay <= maxOnWay, onWay,
                  " messages went out before the sender waited"));
  } else if (comm.rank() == 2) {
    CHECK(comm.send(1, Lane::Group, makeMessage(7)));
  } else {
    CHECK(
        require(receiver.waitForCount(1), "the sender does not say it waits"));
    CHECK(comm.receive(2, came));
    CHECK(require(numberOf(came) == 7, "rank 2 says ", numberOf(came)));
    for (uint64_t i = 0; i < count; ++i) {
      CHECK(comm.receive(0, came));
      CHECK(require(isIntact(came) && numberOf(came) == i, "message ", i,
                    ": rank 0 says ", numberOf(came)));
    }
  }
  return comm.finish(patience);
}

constexpr ConformanceCase cases[] = {
    {"all-pairs-in-order", 4, allPairsInOrder},
    {"control-overtakes-data", 2, controlOvertakesData},
    {"big-messages", 2, bigMessages},
    {"many-small-messages", 3, manySmallMessages},
    {"back-pressure", 2, backPressure},
    {"room-is-per-source", 3, roomIsPerSource},
    {"finish-loses-nothing", 5, finishLosesNothing},
    {"answers-from-callbacks", 2, answersFromCallbacks},
    {"groups-exchange", 3, groupsExchange},
    {"group-deadline", 2, groupDeadline},
    {"group-back-pressure", 3, groupBackPressure},
    {"detaches-quietly", 2, detachesQuietly},
    {"refuses-bad-messages", 1, refusesBadMessages},
};

} // namespace

std::span<const ConformanceCase> sluice::comm::test::conformanceCases() {
  return cases;
}

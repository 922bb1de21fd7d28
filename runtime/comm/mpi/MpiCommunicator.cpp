//===- MpiCommunicator.cpp - ranks as processes under MPI -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiCommunicator.h"

#include "runtime/base/BriefWait.h"
#include "runtime/base/Guarded.h"
#include "runtime/comm/ReceiverGate.h"
#include "runtime/comm/mpi/MpiPump.h"

#include <cassert>
#include <cstdlib>
#include <future>
#include <limits>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

namespace {

using std::chrono::milliseconds;

/// The longest time from an abort to the end of the process, even if a call of
/// MPI hangs.
constexpr milliseconds abortPatience{2000};

/// The longest time for MPI_Finalize, which all ranks have entered or are about
/// to enter.
constexpr milliseconds finalizePatience{10000};

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(const MpiLaunch &launch, const CommunicatorOptions &options)
      : launch(launch), options(options) {
    auto ranks = static_cast<size_t>(launch.size);
    shared.out.resize(ranks);
    shared.group.resize(ranks);
    shared.groupWaiting = std::vector<std::atomic<size_t>>(ranks);
    for (size_t to = 0; to < shared.out.size(); ++to)
      shared.out[to].sent.to = static_cast<int64_t>(to);
  }

  ~MpiCommunicator() override {
    if (connected)
      abort(reasonToLeave()); // does nothing if the job has ended
    if (thread.joinable())
      thread.join();
  }

  Status connect(std::unique_ptr<MpiLibrary> library);
  /// After connect(), holds also what the launcher has not set.
  const MpiLaunch &launched() const { return launch; }

  int64_t rank() const override { return launch.rank; }
  int64_t size() const override { return launch.size; }
  void start(Receiver receiver) override;
  void detach() override;
  void roomChanged() override;
  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t emulatedBytes) override;
  Status receive(int64_t source, Bytes &bytes, Deadline end) override;
  void stopReceiving() override;
  Status finish(milliseconds patience) override;
  void abort(const Status &reason) override;
  std::vector<Traffic> traffic() const override;
  BufferPool &buffers() override { return pool; }

private:
  /// Returns the reason of an abort by the destructor.
  Status reasonToLeave() const {
    std::lock_guard lock(shared.mutex);
    return shared.broken.ok() ? failure("has left before the end")
                              : shared.broken;
  }

  void signal() {
    shared.changed = true;
    shared.wake.notify_one();
  }

  MpiLaunch launch;
  CommunicatorOptions options;
  BufferPool pool;
  ReceiverGate gate;
  mutable MpiShared shared;
  bool connected = false;
  std::thread thread;
};

/// Starts the thread of MPI's calls, which must also initialize the library.
Status MpiCommunicator::connect(std::unique_ptr<MpiLibrary> library) {
  std::promise<Status> initialized;
  std::future<Status> result = initialized.get_future();
  thread = std::thread([this, initialized = std::move(initialized),
                        library = std::move(library)]() mutable {
    MpiPump pump(std::move(library), shared, pool, options);
    Status status = guarded([&] { return pump.initialize(launch); });
    bool ok = status.ok();
    initialized.set_value(std::move(status));
    if (ok)
      pump.run();
  });
  Status status = result.get();
  connected = status.ok();
  return status;
}

void MpiCommunicator::start(Receiver receiver) {
  std::lock_guard lock(shared.mutex);
  assert(!shared.receiver && "start() is called once");
  shared.receiver = gate.open(std::move(receiver));
  signal();
}

void MpiCommunicator::detach() {
  gate.close();
  roomChanged(); // delivers what is dropped from now on
}

void MpiCommunicator::roomChanged() {
  std::lock_guard lock(shared.mutex);
  signal();
}

Status MpiCommunicator::send(int64_t to, Lane lane, Bytes bytes,
                             int64_t /*emulatedBytes*/) {
  if (to < 0 || to >= launch.size)
    return failure("rank ", launch.rank, ": no rank ", to, " in a job of ",
                   launch.size);
  if (static_cast<int64_t>(bytes.size()) > options.messageBytes)
    return failure("rank ", launch.rank, ": a message of ", bytes.size(),
                   " bytes, the limit is ", options.messageBytes);
  std::unique_lock lock(shared.mutex);
  MpiShared::Outbox &box = shared.out[to];
  if (lane != Lane::Control)
    shared.progress.wait(lock, [&] {
      int64_t onWay = lane == Lane::Data ? box.dataOnWay : box.groupOnWay;
      return onWay < options.capacity || !shared.broken.ok() ||
             shared.finishing;
    });
  if (!shared.broken.ok())
    return shared.broken;
  if (shared.finishing)
    return failure("rank ", launch.rank, ": sends after its end");
  if (lane == Lane::Control && box.controlOnWay >= options.controlLimit)
    return failure("rank ", to,
                   " does not take control messages: ", box.controlOnWay,
                   " from rank ", launch.rank, " wait");
  if (lane == Lane::Control) {
    ++box.controlOnWay;
    ++box.sent.controlMessages;
    box.sent.controlBytes += bytes.size();
    box.control.push(std::move(bytes));
  } else if (lane == Lane::Group) {
    ++box.groupOnWay;
    ++box.sent.groupMessages;
    box.sent.groupBytes += bytes.size();
    box.group.push(std::move(bytes));
  } else {
    ++box.dataOnWay;
    ++box.sent.dataMessages;
    box.sent.dataBytes += bytes.size();
    box.data.push(std::move(bytes));
  }
  signal();
  return {};
}

Status MpiCommunicator::receive(int64_t source, Bytes &bytes, Deadline end) {
  bytes.clear();
  if (source < 0 || source >= launch.size)
    return failure("rank ", launch.rank, ": no rank ", source, " in a job of ",
                   launch.size);
  std::unique_lock lock(shared.mutex);
  Ring<Bytes> &queue = shared.group[source];
  std::atomic<size_t> &waiting = shared.groupWaiting[source];
  auto isOver = [&] {
    return !queue.empty() || !shared.receives || !shared.broken.ok();
  };
  if (!isOver()) {
    ++shared.groupAwaited;
    signal();
    lock.unlock();
    (void)waitBriefly(
        [&] { return waiting.load(std::memory_order_acquire) > 0; });
    lock.lock();
    shared.progress.wait_until(lock, end, isOver);
    --shared.groupAwaited;
  }
  if (!shared.broken.ok())
    return shared.broken;
  if (!shared.receives)
    return failure("rank ", launch.rank, ": receives no more");
  if (queue.empty())
    return failure("rank ", launch.rank, ": rank ", source,
                   " says nothing in time");
  if (int64_t(queue.size()) == options.capacity)
    signal(); // the next message may come
  bytes = queue.pop();
  waiting.fetch_sub(1, std::memory_order_relaxed);
  return {};
}

void MpiCommunicator::stopReceiving() {
  std::lock_guard lock(shared.mutex);
  shared.receives = false;
  shared.progress.notify_all();
}

Status MpiCommunicator::finish(milliseconds patience) {
  std::unique_lock lock(shared.mutex);
  if (!shared.broken.ok())
    return shared.broken;
  if (shared.finishing)
    return failure("rank ", launch.rank, ": ends a second time");
  shared.finishing = true;
  shared.finishBy = std::chrono::steady_clock::now() + patience;
  shared.progress.notify_all(); // wakes senders that wait
  signal();
  auto over = [&] { return shared.ended || !shared.broken.ok(); };
  // The thread watches the time itself, but may hang in MPI_Finalize.
  bool ends = shared.progress.wait_for(lock, patience + abortPatience, [&] {
    return over() || shared.finalizing;
  }) && shared.progress.wait_for(lock, finalizePatience, over);
  if (!ends)
    shared.broken = failure("rank ", launch.rank, ": MPI_Finalize hangs");
  return shared.broken;
}

void MpiCommunicator::abort(const Status &reason) {
  std::lock_guard lock(shared.mutex);
  if (shared.ended || shared.abortReason)
    return;
  shared.abortReason = reason.message();
  if (shared.broken.ok())
    shared.broken = failure("rank ", launch.rank, ": ", reason.message());
  shared.progress.notify_all();
  signal();
  // If no thread can be started, MPI_Abort ends the process, unless it hangs.
  (void)guarded([] {
    std::thread([] {
      std::this_thread::sleep_for(abortPatience);
      std::_Exit(1);
    }).detach();
    return Status();
  });
}

std::vector<Traffic> MpiCommunicator::traffic() const {
  std::vector<Traffic> sent;
  std::lock_guard lock(shared.mutex);
  for (const MpiShared::Outbox &box : shared.out)
    sent.push_back(box.sent);
  return sent;
}

} // namespace

Expected<std::unique_ptr<Communicator>>
comm::connectMpi(MpiLaunch &launch, const CommunicatorOptions &options) {
  CommunicatorOptions checked = options;
  checked.messageBytes =
      std::min<int64_t>(options.messageBytes, std::numeric_limits<int>::max());
  assert(options.capacity >= 1 && options.controlLimit >= 1);
  Expected<std::unique_ptr<MpiLibrary>> library = openMpiLibrary(launch);
  if (!library)
    return library.status();
  auto made = std::make_unique<MpiCommunicator>(launch, checked);
  SLUICE_RETURN_IF_ERROR(made->connect(library.take()));
  launch = made->launched();
  return std::unique_ptr<Communicator>(std::move(made));
}

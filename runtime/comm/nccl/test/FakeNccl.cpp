//===- FakeNccl.cpp - an NCCL for ranks that are threads ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/FakeNccl.h"
#include "runtime/comm/nccl/test/FakeNcclState.h"
#include "runtime/device/cuda/emulator/EmulatedStream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using namespace sluice::comm::test::fake;
using cuda::emulator::EmulatedStream;

namespace {

/// How many polls report that a call is in progress.
constexpr int questionsOfACall = 2;

/// How long an abort waits for graphs before the wait counts as a deadlock.
constexpr std::chrono::seconds graphPatience{20};

All &all() {
  static All state;
  return state;
}

/// The operations of the calling thread between its group calls.
struct Group {
  int depth = 0;
  std::vector<Operation> operations;
  NcclComm comm = nullptr;
  cuda::Stream stream = nullptr;
};
thread_local Group group;

EmulatedStream &streamOf(cuda::Stream stream) {
  return *reinterpret_cast<EmulatedStream *>(stream);
}

using Lock = std::unique_lock<std::mutex>;

/// Counts the call, and returns whether this call must fail. Other calls then
/// fail only through what they are told of this failure.
bool fails(const std::string &name) {
  All &state = all();
  int before = state.calls[name]++;
  return state.faults.failingCall == name && before == state.faults.failAfter;
}

std::shared_ptr<Comm> find(NcclComm comm) {
  auto found = all().comms.find(comm);
  return found == all().comms.end() ? nullptr : found->second;
}

NcclResult failWith(Comm &comm, NcclResult result, const char *said) {
  comm.error = result;
  comm.said = said;
  return result;
}

bool isInProgress(const Comm &comm) {
  const FakeWorld &world = *comm.world;
  return comm.questions > 0 || (comm.isJoining && world.joined < world.ranks) ||
         (comm.isFinalizing && world.finalized < world.ranks);
}

/// Begins each call that may not be made while another is in progress.
NcclResult begin(const char *name, NcclComm handle,
                 std::shared_ptr<Comm> &comm) {
  bool isFailing = fails(name);
  comm = find(handle);
  if (!comm)
    return NcclResult::InvalidArgument;
  if (isFailing)
    return failWith(*comm, NcclResult::UnhandledCudaError, "a planned fault");
  if (comm->error != NcclResult::Success)
    return comm->error;
  if (comm->isOver || comm->isRevoking)
    return failWith(*comm, NcclResult::InvalidUsage,
                    "a call of a revoked communicator");
  if (isInProgress(*comm))
    return failWith(*comm, NcclResult::InvalidUsage,
                    "a call while another is in progress");
  return NcclResult::Success;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void receive(Lock &lock, Comm &comm, const Operation &operation) {
  auto &channel = comm.world->channels[{operation.peer, comm.rank}];
  all().changed.wait(lock, [&] { return comm.isOver || !channel.empty(); });
  if (comm.isOver)
    return;
  std::shared_ptr<Sent> sent = channel.front();
  channel.pop_front();
  if (sent->bytes != operation.bytes) {
    failWith(comm, NcclResult::InvalidUsage, "lengths differ");
    return;
  }
  std::memcpy(operation.memory, sent->from, sent->bytes);
  sent->isTaken = true;
  all().changed.notify_all();
}

/// Transfers in the stream. All sends of a group are offered before one is
/// awaited.
void transfer(const std::shared_ptr<Comm> &comm,
              const std::vector<Operation> &operations) {
  All &state = all();
  Lock lock(state.mutex);
  if (comm->isOver)
    return;
  int number = comm->transfers++;
  bool isFaulty = comm->rank == state.faults.faultyRank;
  if (isFaulty && number == state.faults.lostTransfer)
    failWith(*comm, NcclResult::RemoteError, "a lost rank");
  if (isFaulty && (number == state.faults.stuckTransfer ||
                   number == state.faults.lostTransfer)) {
    state.changed.wait(lock, [&] { return comm->isOver; });
    return;
  }
  std::vector<std::shared_ptr<Sent>> offered;
  for (const Operation &each : operations)
    if (each.isSend) {
      offered.push_back(std::make_shared<Sent>(Sent{each.memory, each.bytes}));
      comm->world->channels[{comm->rank, each.peer}].push_back(offered.back());
    }
  state.changed.notify_all();
  for (const Operation &each : operations)
    if (!each.isSend)
      receive(lock, *comm, each);
  for (const std::shared_ptr<Sent> &sent : offered)
    state.changed.wait(lock, [&] { return comm->isOver || sent->isTaken; });
  // The memory of sends that were not taken may be freed.
  for (const std::shared_ptr<Sent> &sent : offered)
    if (!sent->isTaken)
      for (auto &[ranks, channel] : comm->world->channels)
        std::erase(channel, sent);
}

/// Gives work to the stream after the call has returned, from another thread,
/// as a nonblocking communicator does.
NcclResult submit(Comm &comm, cuda::Stream stream,
                  std::vector<Operation> operations) {
  comm.questions = questionsOfACall;
  comm.launch = {stream, std::move(operations), streamOf(stream).added()};
  return NcclResult::InProgress;
}

/// Marks work that a graph has captured, until the graph is destroyed.
class InGraph {
public:
  /// Called with the lock held.
  explicit InGraph(std::shared_ptr<Comm> given) : comm(std::move(given)) {
    ++comm->graphs;
    ++comm->world->graphs;
  }
  ~InGraph() {
    Lock lock(all().mutex);
    --comm->graphs;
    --comm->world->graphs;
    all().changed.notify_all();
  }
  InGraph(const InGraph &) = delete;
  InGraph &operator=(const InGraph &) = delete;

private:
  std::shared_ptr<Comm> comm;
};

/// Completes the call that was in progress.
void launch(const std::shared_ptr<Comm> &comm) {
  Launch given = std::move(*comm->launch);
  EmulatedStream &stream = streamOf(given.stream);
  comm->launch.reset();
  if (stream.added() != given.enteredBefore) {
    failWith(*comm, NcclResult::InvalidUsage,
             "other work has come into the stream of a call in progress");
    return;
  }
  std::shared_ptr<InGraph> inGraph;
  if (stream.isCapturing())
    inGraph = std::make_shared<InGraph>(comm);
  stream.addOwned([comm, inGraph, operations = std::move(given.operations)] {
    transfer(comm, operations);
    return Status();
  });
}

NcclResult operate(const char *name, NcclComm handle, cuda::Stream stream,
                   std::vector<Operation> operations) {
  Lock lock(all().mutex);
  std::shared_ptr<Comm> comm;
  if (NcclResult result = begin(name, handle, comm);
      result != NcclResult::Success)
    return result;
  for (const Operation &each : operations)
    if (each.peer < 0 || each.peer >= comm->world->ranks)
      return failWith(*comm, NcclResult::InvalidArgument, "no such rank");
  if (group.depth == 0)
    return submit(*comm, stream, std::move(operations));
  group.comm = handle;
  group.stream = stream;
  group.operations.insert(group.operations.end(), operations.begin(),
                          operations.end());
  return NcclResult::Success;
}

NcclResult send(const void *from, size_t count, int type, int peer,
                NcclComm comm, cuda::Stream stream) {
  return type != ncclBytes
             ? NcclResult::InvalidArgument
             : operate("ncclSend", comm, stream,
                       {{true, const_cast<void *>(from), count, peer}});
}

NcclResult recv(void *to, size_t count, int type, int peer, NcclComm comm,
                cuda::Stream stream) {
  return type != ncclBytes
             ? NcclResult::InvalidArgument
             : operate("ncclRecv", comm, stream, {{false, to, count, peer}});
}

NcclResult groupStart() {
  Lock lock(all().mutex);
  if (fails("ncclGroupStart"))
    return NcclResult::InternalError;
  ++group.depth;
  return NcclResult::Success;
}

NcclResult groupEnd() {
  Lock lock(all().mutex);
  if (group.depth == 0)
    return NcclResult::InvalidUsage;
  if (--group.depth > 0)
    return NcclResult::Success;
  std::vector<Operation> operations = std::exchange(group.operations, {});
  if (fails("ncclGroupEnd"))
    return NcclResult::InternalError;
  std::shared_ptr<Comm> comm = find(group.comm);
  return operations.empty() || !comm
             ? NcclResult::Success
             : submit(*comm, group.stream, std::move(operations));
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

NcclResult getVersion(int *version) {
  Lock lock(all().mutex);
  *version = all().faults.version;
  return fails("ncclGetVersion") ? NcclResult::SystemError
                                 : NcclResult::Success;
}

NcclResult getUniqueId(NcclUniqueId *id) {
  Lock lock(all().mutex);
  if (fails("ncclGetUniqueId"))
    return NcclResult::SystemError;
  uint64_t number = ++all().ids;
  std::memcpy(id->bytes, &number, sizeof(number));
  return NcclResult::Success;
}

NcclResult commInitRankConfig(NcclComm *comm, int ranks, NcclUniqueId id,
                              int rank, NcclConfig *config) {
  All &state = all();
  Lock lock(state.mutex);
  bool isFailing = fails("ncclCommInitRankConfig");
  if (config->blocking != 0 || config->magic != NcclConfig().magic ||
      rank < 0 || rank >= ranks)
    return NcclResult::InvalidArgument;
  if (isFailing)
    return NcclResult::UnhandledCudaError;
  uint64_t number = 0;
  std::memcpy(&number, id.bytes, sizeof(number));
  std::shared_ptr<FakeWorld> &world = state.worlds[number];
  if (!world)
    world = std::make_shared<FakeWorld>();
  world->ranks = ranks;
  *comm = reinterpret_cast<NcclComm>(++state.handles);
  auto made = std::make_shared<Comm>();
  made->world = world;
  made->rank = rank;
  made->questions = questionsOfACall;
  state.comms[*comm] = made;
  if (rank != state.faults.missingRank)
    ++world->joined;
  return NcclResult::InProgress;
}

NcclResult commFinalize(NcclComm handle) {
  Lock lock(all().mutex);
  std::shared_ptr<Comm> comm;
  if (NcclResult result = begin("ncclCommFinalize", handle, comm);
      result != NcclResult::Success)
    return result;
  comm->isFinalizing = true;
  comm->questions = questionsOfACall;
  ++comm->world->finalized;
  return NcclResult::InProgress;
}

NcclResult commDestroy(NcclComm handle) {
  Lock lock(all().mutex);
  std::shared_ptr<Comm> comm;
  if (NcclResult result = begin("ncclCommDestroy", handle, comm);
      result != NcclResult::Success)
    return result;
  ++comm->world->departed;
  all().comms.erase(handle);
  return NcclResult::Success;
}

NcclResult commRevoke(NcclComm handle, int flags) {
  Lock lock(all().mutex);
  bool isFailing = fails("ncclCommRevoke");
  std::shared_ptr<Comm> comm = find(handle);
  if (!comm || flags != 0 || isFailing)
    return NcclResult::InvalidArgument;
  // Work in streams goes on until revoking has been polled often enough.
  comm->isRevoking = true;
  comm->questions = questionsOfACall;
  comm->launch.reset();
  return NcclResult::InProgress;
}

[[noreturn]] void endTest(const char *why) {
  std::fprintf(stderr, "fake NCCL: %s\n", why);
  std::abort();
}

/// Ends the work in streams, and then waits for graphs, also for a nonblocking
/// communicator. Each rank waits for its own graphs, and the last rank of the
/// process for all. (In NCCL only the last rank waits.)
NcclResult commAbort(NcclComm handle) {
  Lock lock(all().mutex);
  bool isFailing = fails("ncclCommAbort");
  std::shared_ptr<Comm> comm = find(handle);
  if (!comm)
    return NcclResult::InvalidArgument;
  if (comm->isRevoking && comm->graphs > 0)
    endTest("a revoked communicator is freed without waiting for graphs");
  comm->isOver = true;
  all().changed.notify_all();
  const FakeWorld &world = *comm->world;
  const bool isLast = ++comm->world->departed == world.ranks;
  if (!all().changed.wait_for(lock, graphPatience, [&] {
        return (isLast ? world.graphs : comm->graphs) == 0;
      }))
    endTest("ncclCommAbort waits for graphs that nobody destroys");
  all().comms.erase(handle);
  return isFailing ? NcclResult::InternalError : NcclResult::Success;
}

NcclResult commGetAsyncError(NcclComm handle, NcclResult *error) {
  Lock lock(all().mutex);
  bool isFailing = fails("ncclCommGetAsyncError");
  std::shared_ptr<Comm> comm = find(handle);
  if (!comm || isFailing)
    return NcclResult::InvalidArgument;
  bool isOver = !isInProgress(*comm);
  if (isOver && comm->launch)
    launch(comm);
  *error = comm->error != NcclResult::Success ? comm->error
           : isOver                           ? NcclResult::Success
                                              : NcclResult::InProgress;
  if (comm->questions > 0)
    --comm->questions;
  if (*error == NcclResult::Success)
    comm->isJoining = false;
  if (isOver && comm->isRevoking) {
    comm->isOver = true;
    all().changed.notify_all();
  }
  return NcclResult::Success;
}

const char *getErrorString(NcclResult result) {
  switch (result) {
  case NcclResult::UnhandledCudaError:
    return "unhandled cuda error";
  case NcclResult::RemoteError:
    return "remote process exited or there was a network error";
  case NcclResult::InvalidUsage:
    return "invalid usage";
  case NcclResult::InvalidArgument:
    return "invalid argument";
  default:
    return "another error";
  }
}

const char *getLastError(NcclComm handle) {
  Lock lock(all().mutex);
  std::shared_ptr<Comm> comm = find(handle);
  return comm ? comm->said : "";
}

} // namespace

void FakeNccl::reset(const Faults &faults) {
  Lock lock(all().mutex);
  all().faults = faults;
  all().calls.clear();
  all().worlds.clear();
  all().comms.clear();
}

NcclFunctions FakeNccl::functions() {
  Lock lock(all().mutex);
  NcclFunctions table;
  table.getVersion = getVersion;
  table.getUniqueId = getUniqueId;
  table.commInitRankConfig = commInitRankConfig;
  table.commFinalize = commFinalize;
  table.commDestroy = commDestroy;
  table.commRevoke = all().faults.hasRevoke ? commRevoke : nullptr;
  table.commAbort = commAbort;
  table.commGetAsyncError = commGetAsyncError;
  table.getErrorString = getErrorString;
  table.getLastError = getLastError;
  table.groupStart = groupStart;
  table.groupEnd = groupEnd;
  table.send = send;
  table.recv = recv;
  return table;
}

int FakeNccl::calls(const std::string &name) {
  Lock lock(all().mutex);
  return all().calls[name];
}

int FakeNccl::open() {
  Lock lock(all().mutex);
  return static_cast<int>(all().comms.size());
}

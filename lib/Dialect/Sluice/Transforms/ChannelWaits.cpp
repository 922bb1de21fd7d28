//===- ChannelWaits.cpp - deadlock check of channels between ranks --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/Transforms/ChannelWaits.h"
#include "runtime/core/Head.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

/// One channel operation of a process.
struct Action {
  StringRef channel;
  bool sends;
};

/// The head or a worker, which repeats its actions.
struct Process {
  Operation *op;
  StringRef rank;
  SmallVector<Action> actions;
  /// The rounds that the head has left. A worker has no limit.
  std::optional<unsigned> rounds;
  size_t next = 0;

  bool isOver() const { return rounds && *rounds == 0; }
};

struct Channel {
  ChannelOp op;
  int64_t frames = 0;
  SmallVector<Process *, 1> senders, receivers;
};

/// Executes the sends and receives of head and workers, without computing.
class Execution {
public:
  explicit Execution(ModuleOp module);

  LogicalResult verifyEnds();
  LogicalResult verifyWaits();

private:
  void addHead(GenerateOp generate);
  void connect();
  bool advance(Process &process);
  Process *blocker(const Process &process);
  LogicalResult report(ArrayRef<Process *> cycle);

  SmallVector<std::unique_ptr<Process>> processes;
  llvm::MapVector<StringRef, Channel> channels;
};

} // namespace

//===----------------------------------------------------------------------===//
// Processes and channels
//===----------------------------------------------------------------------===//

/// The second round starts with the frames that the first one has left in the
/// channels.
static constexpr unsigned headRounds = 2;

void Execution::addHead(GenerateOp generate) {
  auto head = std::make_unique<Process>();
  head->op = generate;
  head->rank = *generate.getRank();
  head->rounds = headRounds;
  StringRef via = *generate.getLaunch().getVia();
  StringRef results = *generate.getLaunch().getResults();
  head->actions.push_back({via, true});
  int64_t guesses = 0;
  if (SpeculateOp speculate = generate.getSpeculate()) {
    guesses = std::min<int64_t>(speculate.getDepth() * speculate.getWidth(),
                                HeadLimits().framesInFlight - 1);
    for (int64_t guess = 0; guess < guesses; ++guess) {
      head->actions.push_back({*speculate.getVia(), true});
      head->actions.push_back({*speculate.getResults(), false});
      head->actions.push_back({via, true});
    }
  }
  head->actions.append(guesses + 1, {results, false});
  processes.push_back(std::move(head));
}

Execution::Execution(ModuleOp module) {
  for (auto channel : module.getOps<ChannelOp>())
    channels[channel.getSymName()].op = channel;
  addHead(*module.getOps<GenerateOp>().begin());
  for (auto worker : module.getOps<WorkerOp>()) {
    // The members of a group send and receive as one process.
    if (auto name = worker.getGroupAttr();
        name && getFirstWorker(SymbolTable::lookupNearestSymbolFrom(
                    worker, name)) != worker)
      continue;
    auto process = std::make_unique<Process>();
    process->op = worker;
    process->rank = worker.getRank();
    process->actions = {{worker.getReceive().getChannel(), false},
                        {worker.getSend().getChannel(), true}};
    processes.push_back(std::move(process));
  }
  connect();
}

void Execution::connect() {
  for (auto &process : processes) {
    llvm::SmallSetVector<StringRef, 4> sent, received;
    for (const Action &action : process->actions)
      (action.sends ? sent : received).insert(action.channel);
    for (StringRef channel : sent)
      channels[channel].senders.push_back(process.get());
    for (StringRef channel : received)
      channels[channel].receivers.push_back(process.get());
  }
}

LogicalResult Execution::verifyEnds() {
  for (auto &[name, channel] : channels)
    if (channel.senders.size() != 1 || channel.receivers.size() != 1)
      return channel.op.emitError()
             << "channel @" << name << " has " << channel.senders.size()
             << " senders and " << channel.receivers.size()
             << " receivers, expected one of each";
  return success();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Executes the process's actions until it has to wait. Returns whether there
/// was any.
bool Execution::advance(Process &process) {
  bool moved = false;
  while (!process.isOver()) {
    const Action &action = process.actions[process.next];
    Channel &channel = channels[action.channel];
    int64_t capacity = channel.op.getCapacity();
    if (action.sends ? channel.frames == capacity : channel.frames == 0)
      break;
    channel.frames += action.sends ? 1 : -1;
    moved = true;
    if (++process.next < process.actions.size())
      continue;
    process.next = 0;
    if (process.rounds)
      --*process.rounds;
  }
  return moved;
}

/// Returns the process that a blocked process waits for, or null if it has
/// ended.
Process *Execution::blocker(const Process &process) {
  if (process.isOver())
    return nullptr;
  const Action &action = process.actions[process.next];
  Channel &channel = channels[action.channel];
  return action.sends ? channel.receivers.front() : channel.senders.front();
}

/// Emits an error with the cycle: which rank waits for which channel and rank.
LogicalResult Execution::report(ArrayRef<Process *> cycle) {
  auto name = [](Process *process) {
    return "@" + SymbolTable::getSymbolName(process->op).getValue().str();
  };
  InFlightDiagnostic error = cycle.front()->op->emitError("cyclic wait: ");
  error << '@' << cycle.front()->rank << " (" << name(cycle.front()) << ")";
  for (size_t i = 0; i < cycle.size(); ++i) {
    const Action &action = cycle[i]->actions[cycle[i]->next];
    Process *other = cycle[(i + 1) % cycle.size()];
    error << (i == 0 ? " waits for " : ", which waits for ");
    if (action.sends)
      error << "room in @" << action.channel << " to";
    else
      error << "@" << action.channel << " from";
    error << " @" << other->rank << " (" << name(other) << ")";
  }
  for (Process *process : cycle) {
    const Action &action = process->actions[process->next];
    Channel &channel = channels[action.channel];
    error.attachNote(channel.op.getLoc())
        << "@" << action.channel << " holds " << channel.frames << " of "
        << channel.op.getCapacity() << " frames";
  }
  return error;
}

LogicalResult Execution::verifyWaits() {
  // The loop ends because only the head creates frames, and the head ends.
  for (bool moved = true; moved;) {
    moved = false;
    for (auto &process : processes)
      moved |= advance(*process);
  }
  for (auto &process : processes) {
    llvm::SetVector<Process *> path;
    for (Process *at = process.get(); at; at = blocker(*at))
      if (!path.insert(at)) {
        ArrayRef<Process *> all = path.getArrayRef();
        return report(all.drop_until([&](Process *p) { return p == at; }));
      }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The stages' order
//===----------------------------------------------------------------------===//

/// Checks that frames go from `via` through the pipeline's workers in order to
/// `results`.
static LogicalResult verifyRoute(PipelineOp pipeline, StringRef via,
                                 StringRef results, SymbolTable &symbols) {
  StringRef channel = via;
  WorkerOp last;
  for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
    WorkerOp worker = getFirstWorker(symbols.lookup(name.getValue()));
    if (worker.getReceive().getChannel() != channel)
      return worker.getReceive().emitError()
             << "stage " << name << " of @" << pipeline.getSymName()
             << " receives from @" << worker.getReceive().getChannel()
             << ", but its rows come on @" << channel;
    channel = worker.getSend().getChannel();
    last = worker;
  }
  if (channel != results)
    return last.getSend().emitError()
           << "the last stage of @" << pipeline.getSymName() << " sends on @"
           << channel << ", but its answers are awaited on @" << results;
  return success();
}

LogicalResult sluice::verifyChannels(ModuleOp module) {
  Execution execution(module);
  if (failed(execution.verifyEnds()) || failed(execution.verifyWaits()))
    return mlir::failure();
  SymbolTable symbols(module);
  GenerateOp generate = *module.getOps<GenerateOp>().begin();
  LaunchOp launch = generate.getLaunch();
  if (failed(verifyRoute(symbols.lookup<PipelineOp>(generate.getTarget()),
                         *launch.getVia(), *launch.getResults(), symbols)))
    return mlir::failure();
  SpeculateOp speculate = generate.getSpeculate();
  if (!speculate)
    return success();
  return verifyRoute(symbols.lookup<PipelineOp>(speculate.getDraft()),
                     *speculate.getVia(), *speculate.getResults(), symbols);
}

//===- HeadBackend.cpp - a benchmark backend on top of the head -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/HeadBackend.h"

#include "runtime/bench/RandomPrompt.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

using pipeline::RequestEvent;

/// Passes the head's events of one request to the benchmark's thread.
class HeadBackend::Sink final : public pipeline::TokenSink {
public:
  Sink(uint64_t start, std::shared_ptr<pipeline::Mailbox<Arrived>> mailbox)
      : start(start), mailbox(std::move(mailbox)) {}
  void push(RequestEvent event) override {
    mailbox->push({start, std::move(event)});
  }

private:
  uint64_t start;
  std::shared_ptr<pipeline::Mailbox<Arrived>> mailbox;
};

HeadBackend::HeadBackend(pipeline::HeadLoop &head,
                         const bench::BenchOptions &options, int64_t vocabSize)
    : head(head), prompt(options.prompt), temperature(options.temperature),
      workloadSeed(options.workload.seed),
      mailbox(std::make_shared<pipeline::Mailbox<Arrived>>(
          pipeline::Mailbox<Arrived>::unlimited)) {
  if (prompt.vocabularySize == 0)
    prompt.vocabularySize = vocabSize;
}

Time HeadBackend::now() { return pipeline::now(); }

void HeadBackend::prepare(const bench::BenchRequest &spec) {
  prompts[spec.index] = bench::promptTokens(prompt, spec, workloadSeed);
}

void HeadBackend::start(const bench::BenchRequest &spec,
                        bench::Observer &observer) {
  ScheduledRequest request;
  auto made = prompts.extract(spec.index);
  request.spec.prompt = made ? std::move(made.mapped())
                             : bench::promptTokens(prompt, spec, workloadSeed);
  request.spec.maxTokens = spec.outputTokens;
  request.spec.sampling.temperature = temperature;
  request.spec.sampling.seed = spec.seed;
  uint64_t number = starts++;
  auto sink = std::make_shared<Sink>(number, mailbox);
  running[number] = {spec.index, sink, &observer,
                     std::ssize(request.spec.prompt), 0};
  head.submit(std::move(request), sink);
}

void HeadBackend::abort(size_t index) {
  auto at = std::ranges::find_if(
      running, [&](const auto &each) { return each.second.index == index; });
  if (at == running.end())
    return;
  head.finish(*at->second.sink, FinishReason::Cancelled);
  running.erase(at);
}

void HeadBackend::wait(Time until) {
  arrived.clear();
  mailbox->takeUntil(arrived, until);
  for (const Arrived &each : arrived)
    // It may have been aborted meanwhile, also by the observer.
    if (auto at = running.find(each.start); at != running.end())
      tell(at, each.event);
}

static std::string kindOf(const RequestEnd &end) {
  if (end.isBroken)
    return "server";
  if (end.refusal != Refusal::None)
    return end.refusal == Refusal::QueueFull ? "queue_full" : "invalid";
  switch (end.reason) {
  case FinishReason::Timeout:
    return "timeout";
  case FinishReason::Error:
    return "server";
  default:
    return "";
  }
}

void HeadBackend::tell(std::map<uint64_t, Running>::iterator at,
                       const RequestEvent &event) {
  Running &request = at->second;
  if (const auto *token = std::get_if<TokenEvent>(&event)) {
    ++request.tokens;
    request.observer->onTokens(request.index, token->at, 1);
    return;
  }
  const auto &end = std::get<RequestEnd>(event);
  bench::Ending ending;
  ending.at = end.at;
  ending.errorKind = kindOf(end);
  ending.error = end.failure.message();
  ending.promptTokens = request.promptTokens;
  ending.outputTokens = request.tokens;
  bench::Observer *observer = request.observer;
  size_t index = request.index;
  running.erase(at);
  observer->onEnd(index, ending);
}

//===- HeadBackend.h - a benchmark backend on top of the head -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_HEADBACKEND_H
#define SLUICE_RUNTIME_APP_HEADBACKEND_H

#include "runtime/bench/BenchOptions.h"
#include "runtime/pipeline/HeadLoop.h"

#include <map>

namespace sluice::app {

/// Gives a benchmark's requests directly to the head, without a server. For one
/// thread.
class HeadBackend final : public bench::Backend {
public:
  /// `head` must outlive the backend.
  HeadBackend(pipeline::HeadLoop &head, const bench::BenchOptions &options,
              int64_t vocabSize);

  Time now() override;
  void prepare(const bench::BenchRequest &spec) override;
  void start(const bench::BenchRequest &spec,
             bench::Observer &observer) override;
  void abort(size_t index) override;
  void wait(Time until) override;

private:
  /// An event and the number of its request's start().
  struct Arrived {
    uint64_t start = 0;
    pipeline::RequestEvent event;
  };
  class Sink;
  struct Running {
    size_t index = 0;
    std::shared_ptr<Sink> sink;
    bench::Observer *observer = nullptr;
    int64_t promptTokens = 0;
    int64_t tokens = 0;
  };

  void tell(std::map<uint64_t, Running>::iterator at,
            const pipeline::RequestEvent &event);

  pipeline::HeadLoop &head;
  bench::PromptShape prompt;
  double temperature;
  uint64_t workloadSeed;
  std::shared_ptr<pipeline::Mailbox<Arrived>>
      mailbox; ///< shared with the sinks
  std::vector<Arrived> arrived;
  std::map<size_t, std::vector<int32_t>> prompts; ///< made in advance, by index
  std::map<uint64_t, Running> running;            ///< by number of start()
  uint64_t starts = 0;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_HEADBACKEND_H

//===- PipelineStream.h - tokens from a pipeline's head -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates tokens through the head of a pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PIPELINESTREAM_H
#define SLUICE_RUNTIME_APP_PIPELINESTREAM_H

#include "runtime/app/TokenStream.h"
#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/TokenQueue.h"

namespace sluice::app {

/// The tokens of one request to the head, which must outlive the stream.
class PipelineStream final : public TokenStream {
public:
  /// The prompt of `spec` is not used.
  PipelineStream(pipeline::HeadLoop &head, const RequestSpec &spec)
      : head(head), spec(spec) {}

  Expected<bool> start(std::span<const int32_t> prompt) override;
  Expected<std::optional<StreamedToken>> next() override;
  FinishReason finish() const override { return reason; }
  void stop() override;

private:
  pipeline::TokenItem wait();

  pipeline::HeadLoop &head;
  const RequestSpec &spec;
  std::shared_ptr<pipeline::TokenQueue> queue;
  bool running = false;   // the head's end of the request has not come
  bool cancelled = false; // the head was told that the user interrupted it
  FinishReason reason = FinishReason::Length;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINESTREAM_H

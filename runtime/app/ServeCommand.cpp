//===- ServeCommand.cpp - the command `serve` -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/JobLaunch.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/core/CachePages.h"
#include "runtime/serve/ApiServer.h"
#include "runtime/serve/HeadEngine.h"

#include <sstream>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

openai::ModelOptions describeModel(Engine &engine,
                                   const ServingOptions &serving) {
  const ExecutableDescriptor &executable = engine.descriptor();
  openai::ModelOptions model{.names = {executable.name},
                             .tokenizer = engine.tokenizer()
                                              ? *engine.tokenizer()
                                              : text::Tokenizer::none()};
  model.vocabularySize = executable.vocabSize;
  model.endTokens = executable.eosTokens;
  model.contextLength = engine.contextLength();
  // If the cache is small, one request may use all of it.
  if (Expected<CacheStorage> storage = engine.cacheStorage())
    if (Expected<int64_t> pages =
            pagesOf(serving, executable, *storage, model.contextLength))
      model.contextLength =
          std::min(model.contextLength, *pages * CachePages::pageTokens);
  model.fingerprint = "sluice_" + formatIdentity(executable.plan.identity);
  return model;
}

/// Serves as the process of rank 0: listens, loads, and serves until a signal.
Expected<int> serveApi(PipelineSession &session, Engine &engine,
                       const ServeCommandOptions &options) {
  serve::HeadEngine served(failure("the model is being loaded"));
  Expected<std::unique_ptr<serve::ApiServer>> made = serve::ApiServer::create(
      options.server, describeModel(engine, options.serving), versionText(),
      served);
  if (!made)
    return made.status();
  serve::ApiServer &server = **made;
  for (const std::string &warning : server.warnings())
    writeNote("warning: " + warning);
  SLUICE_RETURN_IF_ERROR(server.start());
  SLUICE_RETURN_IF_ERROR(session.open());
  served.ready(session.head(), [&engine] {
    const VerifiedCounts verified = engine.verified();
    return serve::WeightCounters{verified.bytes, verified.passes};
  });
  writeNote("serving " + engine.descriptor().name + " at " + server.url());
  while (!interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (Status broken = session.head().broken(); !broken.ok()) {
      served.fail(broken);
      return broken;
    }
  }
  std::ostringstream ending;
  ending << "ending: no new requests are taken; those that run have "
         << options.server.drainSeconds << " s";
  writeNote(ending.str());
  // No hurry, because a second signal ends the process at once.
  server.drain(/*hurry=*/[] { return false; });
  server.stop();
  Expected<pipeline::PipelineOutcome> outcome = session.shutDown();
  return outcome ? Expected<int>(0) : outcome.status();
}

Expected<int> serveRank(PipelineSession &session, Engine &engine,
                        const ServeCommandOptions &options,
                        const std::optional<comm::MpiLaunch> &launch) {
  PipelineNeeds needs;
  needs.serving = options.serving;
  needs.verifiesOn = true;
  SLUICE_RETURN_IF_ERROR(session.agree(launch, needs));
  if (session.isHead())
    return serveApi(session, engine, options);
  SLUICE_RETURN_IF_ERROR(session.open());
  Status served = session.serve(/*drains=*/true);
  return served.ok() ? Expected<int>(0) : served;
}

} // namespace

Expected<int> app::runServe(const ProgramImage &image,
                            const ServeCommandOptions &options) {
  ignoreBrokenPipes();
  Expected<Job> job = beginJob(image, options.engine);
  if (!job)
    return job.status();
  auto &[launch, engine] = *job;
  if (Status usable = checkUse(*engine, options.pipeline, launch); !usable.ok())
    return saidOnce(usable, launch);
  return runOnRanks(*engine, options.pipeline, launch,
                    [&](PipelineSession &session) {
                      return serveRank(session, *engine, options, launch);
                    });
}

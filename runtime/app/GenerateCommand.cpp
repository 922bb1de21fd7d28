//===- GenerateCommand.cpp - the command `generate` -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/BatchMates.h"
#include "runtime/app/CommandPrompt.h"
#include "runtime/app/Commands.h"
#include "runtime/app/GenerationJson.h"
#include "runtime/app/Generator.h"
#include "runtime/app/JobLaunch.h"
#include "runtime/app/PipelineReport.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/engine/InlineModel.h"
#include "runtime/engine/PipelineSession.h"
#include "runtime/text/JsonWriter.h"

#include <cstdio>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

using pipeline::PipelineOutcome;

namespace {

/// `text` is null if the model has no tokenizer, `outcome` if there was no
/// pipeline.
std::string toJson(const Generation &result, const GenerateOptions &options,
                   const std::string *text, const PipelineOutcome *outcome) {
  text::JsonWriter json;
  json.beginObject();
  writeGeneration(json, result, options, text);
  if (outcome)
    writePipelineReport(json, *outcome);
  json.endObject();
  return json.text() + "\n";
}

void noteSpeed(const GenerationTiming &timing, const GenerateOptions &options) {
  char prompt[100], generation[100];
  if (timing.promptSeconds)
    std::snprintf(prompt, sizeof(prompt), "prompt: %lld tokens, %.1f tokens/s",
                  static_cast<long long>(timing.promptTokens),
                  double(timing.promptTokens) / *timing.promptSeconds);
  else
    std::snprintf(prompt, sizeof(prompt), "prompt: %lld tokens",
                  static_cast<long long>(timing.promptTokens));
  std::snprintf(generation, sizeof(generation),
                "; generation: %lld tokens, %.1f tokens/s",
                static_cast<long long>(timing.generatedTokens),
                timing.tokensPerSecond());
  std::string text = std::string(prompt) + generation;
  if (!options.sampling.greedy())
    text += "; seed " + std::to_string(options.sampling.seed);
  writeNote(text);
}

/// Writes generated tokens as they come: as text, or as ids without a
/// tokenizer.
Status writePiece(int32_t token, std::string_view text, bool asText) {
  if (asText)
    return writeOutput(text);
  return writeOutput(std::to_string(token) + " ");
}

/// One run of the command in this process.
class GenerateRun {
public:
  GenerateRun(Engine &engine, const GenerateOptions &options,
              Generator generator, std::vector<int32_t> prompt)
      : engine(engine), options(options), generator(std::move(generator)),
        prompt(std::move(prompt)) {}

  Expected<int> local();
  Expected<int> pipelined(const std::optional<comm::MpiLaunch> &launch);

private:
  Expected<int> runPipeline(PipelineSession &session,
                            const std::optional<comm::MpiLaunch> &launch);
  Expected<Generation> generate(TokenStream &stream);
  Expected<int> finish(const Generation &result,
                       const PipelineOutcome *outcome);
  Expected<std::vector<int32_t>> tellTruth();

  Engine &engine;
  const GenerateOptions &options;
  Generator generator;
  std::vector<int32_t> prompt;
  std::string echoed;
};

Expected<Generation> GenerateRun::generate(TokenStream &stream) {
  const text::Tokenizer *tokenizer = engine.tokenizer();
  if (options.echo && tokenizer)
    echoed = tokenizer->decode(prompt);
  if (!options.json)
    SLUICE_RETURN_IF_ERROR(writeOutput(echoed));
  generator.start(prompt, stream);
  return generator.run(stream, [&](int32_t token, std::string_view text) {
    return options.json ? Status() : writePiece(token, text, tokenizer);
  });
}

/// Writes the rest of the output. Returns the exit status.
Expected<int> GenerateRun::finish(const Generation &result,
                                  const PipelineOutcome *outcome) {
  if (options.json) {
    std::string text = echoed + result.text;
    SLUICE_RETURN_IF_ERROR(writeOutput(toJson(
        result, options, engine.tokenizer() ? &text : nullptr, outcome)));
    return 0;
  }
  SLUICE_RETURN_IF_ERROR(writeOutput("\n"));
  noteSpeed(result.timing, options);
  if (outcome && outcome->options.mode != SpeculationMode::Off)
    writeNote(describeSpeculation(*outcome));
  return result.finish == FinishReason::Cancelled ? interruptedExitCode() : 0;
}

Expected<int> GenerateRun::local() {
  const int64_t mates = engine.options().batchMates;
  const InlineNeeds needs = {.requests = 1 + mates,
                             .keepsLogits = options.lastLogits};
  Expected<std::unique_ptr<pipeline::InlinePipeline>> model =
      loadInline(engine, needs);
  if (!model)
    return model.status();
  BatchMates others(**model, mates, engine.descriptor().vocabSize,
                    engine.contextLength());
  TokenStream stream((*model)->head(), generator.request(), [&] {
    others.renew();
    (*model)->turn();
  });
  Expected<Generation> result = generate(stream);
  if (!result)
    return result.status();
  std::span<const float> logits =
      (*model)->promptLogits(generator.request().tenant);
  result->lastLogits.assign(logits.begin(), logits.end());
  return finish(*result, nullptr);
}

/// Returns the tokens that the pipeline will generate, for an oracle.
Expected<std::vector<int32_t>> GenerateRun::tellTruth() {
  StreamClock::time_point begin = StreamClock::now();
  Expected<std::unique_ptr<pipeline::InlinePipeline>> model =
      loadInline(engine, {.activations = options.pipeline.activations});
  if (!model)
    return model.status();
  TokenStream stream((*model)->head(), generator.request(),
                     [&] { (*model)->turn(); });
  stream.start(prompt);
  std::vector<int32_t> truth;
  while (true) {
    Expected<std::optional<TokenEvent>> token = stream.next();
    if (!token)
      return token.status();
    if (!*token)
      break;
    truth.push_back((*token)->token);
  }
  generator.leaveOut(StreamClock::now() - begin);
  return truth;
}

Expected<int>
GenerateRun::pipelined(const std::optional<comm::MpiLaunch> &launch) {
  return runOnRanks(
      engine, options.pipeline, launch,
      [&](PipelineSession &session) { return runPipeline(session, launch); });
}

/// Runs this rank until the job has ended properly; after an error, it has not.
Expected<int>
GenerateRun::runPipeline(PipelineSession &session,
                         const std::optional<comm::MpiLaunch> &launch) {
  PipelineNeeds needs;
  if (options.pipeline.oracleAcceptance && (!launch || launch->rank == 0)) {
    Expected<std::vector<int32_t>> truth = tellTruth();
    if (!truth)
      return truth.status();
    needs.truth = truth.take();
  }
  SLUICE_RETURN_IF_ERROR(session.agree(launch, needs));
  SLUICE_RETURN_IF_ERROR(session.open());
  if (!session.isHead()) {
    Status served = session.serve();
    return served.ok() ? Expected<int>(0) : served;
  }
  TokenStream stream(session.head(), generator.request());
  Expected<Generation> result = generate(stream);
  if (!result)
    return result.status();
  Expected<PipelineOutcome> outcome = session.shutDown();
  Expected<int> code = finish(*result, outcome ? &*outcome : nullptr);
  // The generated text is complete, even if the report about the ranks failed.
  return outcome ? code : outcome.status();
}

/// Returns an option that needs a model in this thread, or null: logits stay
/// with the last stage, and the head has no batch mates.
const char *localOnlyOption(const GenerateOptions &options) {
  if (options.lastLogits)
    return "--logits";
  return options.engine.batchMates > 0 ? "--company" : nullptr;
}

bool isPipelined(const Engine &engine, const GenerateOptions &options,
                 const std::optional<comm::MpiLaunch> &launch) {
  return !localOnlyOption(options) &&
         PipelineSession::isWanted(engine.descriptor(), options.pipeline,
                                   launch);
}

/// Checks the options of a command that runs without a pipeline.
Status checkLocal(const GenerateOptions &options,
                  const std::optional<comm::MpiLaunch> &launch) {
  std::string wanted = options.pipeline.needsPipeline();
  const char *local = localOnlyOption(options);
  if (local && launch && launch->size > 1)
    return failure(local, " works in one process: without mpirun");
  if (wanted.empty())
    return {};
  if (local)
    return failure(wanted, " does not go with ", local,
                   ", for which all stages are computed in one thread");
  return failure(wanted, ": this program is one stage without a draft, and "
                         "has no use for it");
}

/// Checks the command line against the executable and the job; the result is
/// the same on all ranks.
Status checkGenerate(const Engine &engine, const GenerateOptions &options,
                     const std::optional<comm::MpiLaunch> &launch) {
  SLUICE_RETURN_IF_ERROR(app::checkUse(engine, options.pipeline, launch));
  return isPipelined(engine, options, launch) ? Status()
                                              : checkLocal(options, launch);
}

} // namespace

Expected<int>
app::runGenerate(const ProgramImage &image, const GenerateOptions &options,
                 std::chrono::steady_clock::time_point programStart) {
  Expected<Job> job = beginJob(image, options.engine);
  if (!job)
    return job.status();
  auto &[launch, engine] = *job;
  const TextModel model = {engine->descriptor().vocabSize,
                           engine->descriptor().eosTokens, engine->tokenizer()};
  Expected<Generator> generator =
      Generator::create(model, options, programStart);
  Status usable = checkGenerate(*engine, options, launch);
  if (usable.ok() && !generator)
    usable = generator.status();
  if (!usable.ok())
    return saidOnce(usable, launch);
  // Only the head's process has the user's standard input.
  Expected<std::vector<int32_t>> prompt = std::vector<int32_t>{0};
  if (job->isHead())
    prompt = readPrompt(options.prompt, *engine, /*addSpecial=*/true);
  if (!prompt)
    return prompt.status();
  if (job->isHead())
    SLUICE_RETURN_IF_ERROR(
        generator->fitBehind(std::ssize(*prompt), engine->contextLength()));
  GenerateRun run(*engine, options, generator.take(), prompt.take());
  return isPipelined(*engine, options, launch) ? run.pipelined(launch)
                                               : run.local();
}

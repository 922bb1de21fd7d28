//===- Engine.h - a model, its weights and its tokenizer ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<Engine>> engine = Engine::create(image, options);
//   ... the prompt is read and checked, with engine->tokenizer() ...
//   if (Status s = engine->load({.rows = 512}); !s.ok()) return s;
//   engine->model().execute(batch);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_ENGINE_H
#define SLUICE_RUNTIME_APP_ENGINE_H

#include "runtime/app/CommandLine.h"
#include "runtime/app/LocalModel.h"
#include "runtime/program/ExecutableDescriptor.h"
#include "runtime/program/WeightStore.h"
#include "runtime/text/Tokenizer.h"

#include <memory>
#include <optional>

namespace sluice::app {

/// What the compiler put into the executable; everything outlives the Engine.
struct ProgramImage {
  std::string_view descriptor;
  std::span<const uint8_t> tokenizer; // empty: none
  std::span<const SluiceProgramEntry> programs;
  std::string executable; // path of the running program
};

/// What a command asks of the model.
struct EngineNeeds {
  int64_t rows = 1;      // of a step, strangers not counted
  int64_t outputs = 1;   // of a step
  int64_t sequences = 1; // open at the same time
  ActivationFormat activations = ActivationFormat::F32; // between stages
};

/// A program that can be given to an Executor, as long as its weights live.
struct LoadedProgram {
  WeightStore weights;
  cpu::Program program;
};

/// Thread-compatible.
class Engine {
public:
  /// Reads the descriptor and the tokenizer, which takes milliseconds. Errors:
  /// either is damaged, the CPU lacks what a program was built for.
  static Expected<std::unique_ptr<Engine>> create(const ProgramImage &image,
                                                  const EngineOptions &options);

  /// Whether the options fit the model. Error: a context longer than the
  /// model's.
  Status checkOptions() const;

  /// Loads the weights of all stages of the target and makes the model, which
  /// may take long.
  Status load(const EngineNeeds &needs);

  /// Loads the weights of one program, which may take long: for those who run
  /// stages or the draft by themselves. Errors: no program of that name, those
  /// of WeightStore::load().
  Expected<LoadedProgram> loadProgram(std::string_view name) const;

  const ExecutableDescriptor &descriptor() const { return described; }
  const EngineOptions &options() const { return settings; }
  int64_t contextLength() const { return settings.contextLength; }

  /// Null when the model has none.
  const text::Tokenizer *tokenizer() const { return words ? &*words : nullptr; }

  /// Only after load().
  LocalModel &model() { return *local; }

private:
  Engine(const ProgramImage &image, const EngineOptions &options)
      : image(image), settings(options) {}

  ProgramImage image;
  EngineOptions settings; // contextLength is settled
  ExecutableDescriptor described;
  std::optional<text::Tokenizer> words;
  std::vector<WeightStore> weights; // of the stages; outlive `local`
  std::unique_ptr<LocalModel> local;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_ENGINE_H

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
#include "runtime/app/GpuChoice.h"
#include "runtime/app/LocalModel.h"
#include "runtime/app/RankAgreement.h"
#include "runtime/program/ExecutableDescriptor.h"
#include "runtime/program/PackedWeightStore.h"
#include "runtime/program/WeightVerifier.h"
#include "runtime/text/Tokenizer.h"

#include <list>
#include <memory>
#include <optional>

namespace sluice::app {

/// What the compiler put into the executable; everything outlives the Engine.
struct ProgramImage {
  std::string_view descriptor;
  std::span<const uint8_t> tokenizer;               // empty: none
  std::span<const SluiceRowKernelEntry> rowKernels; // of programs for a CPU
  std::span<const SluiceGraphEntry> graphs;         // empty: none for a GPU
  std::span<const uint8_t> cudaImage;               // their kernels
  std::string executable; // path of the running program
};

/// What a command asks of the model.
struct EngineNeeds {
  int64_t rows = 1;      // of a step, batch mates not counted
  int64_t outputs = 1;   // of a step
  int64_t sequences = 1; // open at the same time
  bool resident = false; // device::StepLimits has it
  ActivationFormat activations = ActivationFormat::F32; // between stages
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

  /// A program on the device that was chosen, for those who run stages or the
  /// draft by themselves. Loads its weights, now or when its executor is made,
  /// which may take long; the engine outlives that. `team`: of the CPU. `gpu`:
  /// the number of the GPU, where there are several. `group` or `members`: of a
  /// member, which meets the others by it, on the CPU or between GPUs; it
  /// outlives the executor. Errors: no program of that name, no such device,
  /// those of PackedWeightStore::load().
  Expected<LocalStage> loadStage(std::string_view name, const CpuTeam &team,
                                 int64_t gpu,
                                 comm::Collectives *group = nullptr,
                                 cuda::DeviceGroup *members = nullptr);

  /// Compares what has been loaded with what it was, by a thread of its own; a
  /// weight that differs ends the process. `goesOn`: over and over, as long as
  /// the engine lives; but once on a GPU, which has copies. Nothing where
  /// --verify is off, or full and it does not go on. When called again it
  /// begins anew, with what has been loaded since.
  void startVerifying(bool goesOn);

  /// What has been verified since startVerifying(). Thread-safe after it.
  VerifiedCounts verified() const {
    return verifier ? verifier->counts() : VerifiedCounts();
  }

  /// Where the model can be computed: on GPU `gpu` of this machine, modulo how
  /// many there are, or on the CPU. Error: --device asks for what cannot be
  /// had, or there is code for neither.
  Expected<DeviceFinding> findDevice(int64_t gpu);

  /// GPU `number` of this machine, modulo how many there are; it lives as long
  /// as the engine. Where usesGpu().
  Expected<std::shared_ptr<cuda::Device>> gpu(int64_t number) {
    return gpus.device(number);
  }

  /// Settles where it is computed, as all ranks have agreed. Errors: --device
  /// or
  /// --cache-type is another device's, or there is no code for it.
  Status useDevice(bool gpu);

  /// Whether the model is computed on a GPU. Where useDevice() has not settled
  /// it, this process decides alone, and says so. Errors: theirs.
  Expected<bool> usesGpu();

  /// How the cache is stored there. Errors: as usesGpu().
  Expected<CacheStorage> cacheStorage();

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
  Expected<LocalStage>
  loadCpuStage(std::string_view name, const CpuTeam &team,
               std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool,
               comm::Collectives *group);
  Expected<LocalStage> loadCpuGroup(const PlanStage &stage);
  CpuTeam wholeTeam() const;
  Expected<cpu::CpuProgram> loadCpuProgram(std::string_view name);
  Status noteFiles(std::string_view name);

  std::list<PackedWeightStore> weights; // of the stages; outlive `local`
  std::list<MappedModelFiles> files;    // the same on a GPU
  std::vector<KnownBytes> ofFiles;      // of these
  std::optional<bool> onGpu;            // nothing: not settled
  GpuChoice gpus;
  std::unique_ptr<LocalModel> local;
  std::unique_ptr<WeightVerifier> verifier; // refers to the weights and files
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_ENGINE_H

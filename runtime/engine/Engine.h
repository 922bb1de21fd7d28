//===- Engine.h - a model, its weights and its tokenizer ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads a model and computes it in this process, or loads single stages for the
// ranks of a pipeline.
//
//   Expected<std::unique_ptr<Engine>> engine = Engine::create(image, options);
//   ... read and check the prompt with engine->tokenizer() ...
//   auto executor = engine->load({.rows = 512, .pages = 8});
//   (*executor)->execute(step);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_ENGINE_H
#define SLUICE_RUNTIME_ENGINE_ENGINE_H

#include "runtime/engine/EngineOptions.h"
#include "runtime/engine/GpuChoice.h"
#include "runtime/engine/LocalStage.h"
#include "runtime/engine/RankAgreement.h"
#include "runtime/program/ExecutableDescriptor.h"
#include "runtime/program/PackedWeightStore.h"
#include "runtime/program/WeightVerifier.h"
#include "runtime/text/Tokenizer.h"

#include <list>
#include <memory>
#include <optional>

namespace sluice::engine {

/// The compiler's data in the executable; they outlive the Engine.
struct ProgramImage {
  std::string_view descriptor;
  std::span<const uint8_t> tokenizer;               // empty: none
  std::span<const SluiceRowKernelEntry> rowKernels; // of programs for a CPU
  std::span<const uint8_t> cudaImage;               // of programs for a GPU
  std::string executable; // path of the running program
};

/// Owns a model, its weights and its tokenizer. Thread-compatible.
class Engine {
public:
  /// Reads the descriptor and the tokenizer, which takes milliseconds. Errors:
  /// one of them is damaged; the CPU lacks instructions that a program needs.
  static Expected<std::unique_ptr<Engine>> create(const ProgramImage &image,
                                                  const EngineOptions &options);

  /// Checks that the options fit the model. Error: a context longer than the
  /// model's.
  Status checkOptions() const;

  /// Loads the weights of all stages of the target, which may take long, and
  /// makes an executor of the whole model (see makeModelChain()), which the
  /// engine must outlive. The context length is the options'.
  Expected<std::unique_ptr<device::StepExecutor>>
  load(device::StepLimits limits,
       ActivationFormat activations = ActivationFormat::F32);

  /// Loads a single program on the chosen device, for callers that run stages
  /// or the draft themselves. Loads its weights now, or when its executor is
  /// made, which may take long; the engine must outlive the executor. `team`
  /// has the CPU's threads; `gpu` is the number of the GPU if there are
  /// several. A member of a tensor-parallel group exchanges rows through
  /// `group` on a CPU, or through `members` between GPUs; these must outlive
  /// the executor. Errors: no program of that name; no such device; those of
  /// PackedWeightStore::load().
  Expected<LocalStage> loadStage(std::string_view name, const CpuTeam &team,
                                 int64_t gpu,
                                 comm::Collectives *group = nullptr,
                                 cuda::DeviceGroup *members = nullptr);

  /// Starts to verify everything that has been loaded, on a thread of its own;
  /// a damaged weight ends the process. If `goesOn` is true, verifies again and
  /// again while the engine lives, but only once on a GPU, which has copies.
  /// Does nothing if --verify is off, or if it is full and verification does
  /// not go on. Another call starts again and includes what has been loaded
  /// since.
  void startVerifying(bool goesOn);

  /// Returns how much has been verified since startVerifying(). Thread-safe
  /// after it.
  VerifiedCounts verified() const {
    return verifier ? verifier->counts() : VerifiedCounts();
  }

  /// Returns where the model can be computed: on GPU `gpu` of this machine,
  /// modulo the number of GPUs, or on the CPU. Error: --device asks for a
  /// device that is not available, or there is code for neither.
  Expected<DeviceFinding> findDevice(int64_t gpu);

  /// Returns GPU `number` of this machine, modulo the number of GPUs. It lives
  /// as long as the engine. Only if usesGpu() is true.
  Expected<std::shared_ptr<cuda::Device>> gpu(int64_t number) {
    return gpus.device(number);
  }

  /// Sets where the model is computed, as all ranks have agreed. Errors:
  /// --device or --cache-type is for another device; there is no code for the
  /// device.
  Status useDevice(bool gpu);

  /// Returns whether the model is computed on a GPU. If useDevice() has not
  /// been called, this process decides alone and tells the user. Errors: those
  /// of findDevice() and useDevice().
  Expected<bool> usesGpu();

  /// Returns how the cache is stored on the device. Errors: those of usesGpu().
  Expected<CacheStorage> cacheStorage();

  const ExecutableDescriptor &descriptor() const { return described; }
  const EngineOptions &options() const { return settings; }
  int64_t contextLength() const { return settings.contextLength; }

  /// Returns null if the model has no tokenizer.
  const text::Tokenizer *tokenizer() const { return words ? &*words : nullptr; }

private:
  Engine(const ProgramImage &image, const EngineOptions &options)
      : image(image), settings(options) {}

  Expected<std::vector<LocalStage>> loadStages();
  Expected<LocalStage>
  loadCpuStage(std::string_view name, const CpuTeam &team,
               std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool,
               comm::Collectives *group);
  Expected<LocalStage> loadCpuGroup(const PlanStage &stage);
  CpuTeam wholeTeam() const;
  Expected<cpu::CpuProgram> loadCpuProgram(std::string_view name);
  Status noteFiles(std::string_view name);

  ProgramImage image;
  EngineOptions settings; // its contextLength is final
  ExecutableDescriptor described;
  std::optional<text::Tokenizer> words;
  std::list<PackedWeightStore> weights; // of the stages
  std::list<MappedModelFiles> files;    // of stages on GPUs
  std::vector<KnownBytes> ofFiles;      // of `files`
  std::optional<bool> onGpu;            // nothing if not decided yet
  GpuChoice gpus;
  std::unique_ptr<WeightVerifier> verifier; // refers to the weights and files
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_ENGINE_H

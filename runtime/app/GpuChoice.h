//===- GpuChoice.h - programs on this machine's GPUs ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GPUCHOICE_H
#define SLUICE_RUNTIME_APP_GPUCHOICE_H

#include "runtime/app/LocalModel.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/program/MappedModelFiles.h"

#include <list>
#include <map>

namespace sluice::app {

struct GpuStageOptions {
  FileSearch search;
  std::span<const SluiceGraphEntry> graphs;
  std::span<const uint8_t> image;
  cuda::CacheKind cacheKind = cuda::CacheKind::F16;
  bool fastMathBatch = false;         // as cuda::CudaExecutorLimits has it
  int64_t threads = 0;                // that lay weights out; 0: all
  int64_t gpu = 0;                    // modulo how many there are
  std::optional<uint64_t> randomSeed; // of weights that no file has
  cuda::DeviceGroup *group = nullptr; // of a member; outlives the executor
};

/// The driver, and the GPUs that are in use. For one thread.
class GpuChoice {
public:
  /// Opens the driver, once. Errors: there is none, it is too old, there is no
  /// GPU.
  Status open();

  /// Instead of open(): every number is this device.
  void use(std::shared_ptr<cuda::Device> device) { only = std::move(device); }

  /// Whether kernels can be loaded on GPU `number`, modulo how many there are.
  /// After open(). Errors: none of the code is for its chip; the device's.
  Status checkChip(int64_t number, std::span<const uint8_t> image);

  /// What GPU `number`, modulo how many there are, calls itself. After open().
  Expected<std::string> nameOf(int64_t number);

  /// What a program takes of a GPU's memory, without its files. With `exact`,
  /// after open(): of GPU 0; otherwise without what depends on the chip.
  /// Errors: a program and limits that do not fit together.
  Expected<cuda::MemoryNeed> memoryNeed(const ProgramDescriptor &descriptor,
                                        const GpuStageOptions &options,
                                        const device::StepLimits &needs,
                                        bool exact);

  /// The GPU program of that name; its memory is counted when it is planned,
  /// and its weights are loaded, with a progress line, when its executor is
  /// made. Its files are added to `files`, which outlives the executor; this
  /// outlives the stage. After open(). Errors: no such program, files that are
  /// missing.
  Expected<LocalStage> load(const ExecutableDescriptor &executable,
                            std::string_view name,
                            const GpuStageOptions &options,
                            std::list<MappedModelFiles> &files);

  /// GPU `number`, modulo how many there are; it lives as long as this. After
  /// open().
  Expected<std::shared_ptr<cuda::Device>> device(int64_t number);
  Status count(const std::shared_ptr<cuda::Device> &device,
               const cuda::MemoryNeed &need);

private:
  std::unique_ptr<cuda::Driver> driver;
  std::shared_ptr<cuda::Device> only; // of use(); null: the driver's
  std::map<int64_t, std::shared_ptr<cuda::Device>> devices; // in use
  /// Planned and not made.
  std::map<const cuda::Device *, cuda::MemoryNeed> expected;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GPUCHOICE_H

//===- GpuChoice.h - the GPUs of this machine and their programs ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_GPUCHOICE_H
#define SLUICE_RUNTIME_ENGINE_GPUCHOICE_H

#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/engine/LocalStage.h"
#include "runtime/program/MappedModelFiles.h"

#include <list>
#include <map>

namespace sluice::engine {

struct GpuStageOptions {
  FileSearch search;
  std::span<const uint8_t> image;
  cuda::CacheKind cacheKind = cuda::CacheKind::F16;
  bool fastMathBatch = false;         // see cuda::CudaExecutorOptions
  int64_t threads = 0;                // that lay weights out; 0: all
  int64_t gpu = 0;                    // modulo the number of GPUs
  std::optional<uint64_t> randomSeed; // for weights without a file
  cuda::DeviceGroup *group = nullptr; // for members; must outlive the executor
};

/// The CUDA driver, and the GPUs that are in use. For one thread.
class GpuChoice {
public:
  /// Opens the driver, once. Fails if there is no driver, it is too old, or
  /// there is no GPU.
  Status open();

  /// Uses this device for every number, instead of open().
  void use(std::shared_ptr<cuda::Device> device) { only = std::move(device); }

  /// Fails if kernels cannot be loaded on GPU `number` (modulo the number of
  /// GPUs): there is no code for its chip, or the device fails. Needs open().
  Status checkChip(int64_t number, std::span<const uint8_t> image);

  /// Returns the name of GPU `number`, modulo the number of GPUs. Needs open().
  Expected<std::string> nameOf(int64_t number);

  /// Returns the GPU memory that a program needs, computed without its files.
  /// With `exact`, which needs open(), the result is for GPU 0; otherwise it
  /// lacks the parts that depend on the chip. Fails if program and limits do
  /// not fit together.
  Expected<cuda::MemoryNeed> memoryNeed(const ProgramDescriptor &descriptor,
                                        const GpuStageOptions &options,
                                        const device::StepLimits &needs,
                                        bool exact);

  /// Loads a GPU program by name. Its memory is counted when the stage is
  /// planned; its weights are loaded, with a progress line, when its executor
  /// is made. Adds its files to `files`, which must outlive the executor; this
  /// object must outlive the stage. Needs open(). Fails if there is no such
  /// program or files are missing.
  Expected<LocalStage> load(const ExecutableDescriptor &executable,
                            std::string_view name,
                            const GpuStageOptions &options,
                            std::list<MappedModelFiles> &files);

  /// Returns GPU `number`, modulo the number of GPUs. It lives as long as this
  /// object. Needs open().
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

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_GPUCHOICE_H

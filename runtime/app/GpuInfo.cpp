//===- GpuInfo.cpp - the GPU part of the command `info` -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/GpuInfo.h"

#include "runtime/device/cuda/driver/FatBinary.h"
#include "runtime/engine/RowTransport.h"

#include <algorithm>
#include <cstdio>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

Expected<std::optional<GpuInfo>> app::gatherGpuInfo(
    const ProgramImage &image, const ExecutableDescriptor &executable,
    const EngineOptions &options, const device::StepLimits &limits) {
  if (!executable.isFor(ProgramTarget::Cuda))
    return std::optional<GpuInfo>();
  GpuInfo info;
  info.chips = cuda::chipsOf(image.cudaImage);
  GpuChoice gpus;
  info.why = gpus.open().message();
  if (info.why.empty()) {
    Expected<std::string> name = gpus.nameOf(0);
    if (!name)
      info.why = name.status().message();
    else
      info.device = *name;
  }
  GpuStageOptions stage;
  stage.image = image.cudaImage;
  stage.cacheKind = gpuCacheKind(options.cacheType);
  stage.fastMathBatch = options.fastMathBatch;
  if (executable.plan.stages.size() > 1)
    info.ringBytes = ringBytesOf(limits.rows * executable.hiddenSize *
                                 int64_t(sizeof(float)));
  info.cacheType = cacheStorageName(stage.cacheKind);
  for (const ProgramDescriptor &program : executable.programs) {
    if (program.target != ProgramTarget::Cuda)
      continue;
    // A draft's context may be shorter.
    device::StepLimits needs = limits;
    needs.contextLength = std::min(limits.contextLength, program.contextLength);
    needs.pages = CachePages::pagesFor(needs.contextLength);
    Expected<cuda::MemoryNeed> need =
        gpus.memoryNeed(program, stage, needs, !info.device.empty());
    if (!need)
      return need.status();
    info.need += *need;
  }
  return std::optional<GpuInfo>(std::move(info));
}

void app::writeGpuInfo(text::JsonWriter &json, const GpuInfo &info) {
  json.key("gpu").beginObject();
  json.key("chips").beginArray();
  for (const std::string &chip : info.chips)
    json.string(chip);
  json.endArray();
  json.key("device");
  if (info.device.empty())
    json.null();
  else
    json.string(info.device);
  json.key("cache_type").string(info.cacheType);
  json.key("weights_bytes").number(info.need.weightBytes);
  json.key("cache_bytes").number(info.need.cacheBytes);
  json.key("step_bytes").number(info.need.stepBytes);
  json.key("graph_bytes").number(info.need.graphBytes);
  json.key("code_bytes").number(info.need.codeBytes);
  json.key("ring_bytes").number(info.ringBytes);
  json.endObject();
}

std::string app::describeGpu(const GpuInfo &info) {
  std::string text = "code for ";
  if (info.chips.empty())
    text += "GPUs";
  for (const std::string &chip : info.chips)
    text += (&chip == &info.chips.front() ? "" : ", ") + chip;
  auto megabytes = [](uint64_t bytes) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.1f MB", double(bytes) / 1e6);
    return std::string(number);
  };
  const cuda::MemoryNeed &need = info.need;
  text += "; " + megabytes(need.weightBytes) + " weights, " +
          megabytes(need.cacheBytes) + " cache (" +
          std::string(info.cacheType) + "), " + megabytes(need.stepBytes) +
          " for steps";
  if (!info.device.empty())
    text += ", " + megabytes(need.graphBytes + need.codeBytes) +
            " for graphs and code";
  text += ", beside what the driver takes";
  if (info.ringBytes > 0)
    text += " and NCCL, with " + megabytes(uint64_t(info.ringBytes)) +
            " at each end of a way";
  return text + "; " +
         (info.device.empty() ? info.why : "here: " + info.device);
}

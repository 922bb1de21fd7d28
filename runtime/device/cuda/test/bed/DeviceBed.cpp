//===- DeviceBed.cpp - runs kernels of tests on a device ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/DeviceBed.h"

#include "runtime/device/cuda/test/bed/Comparison.h"
#include "runtime/device/cuda/test/bed/KernelFacts.h"

#include <array>
#include <utility>

using namespace sluice;
using namespace sluice::cuda;

Expected<std::unique_ptr<DeviceBed>> DeviceBed::open(Device &device,
                                                     CopyPlace place) {
  SLUICE_RETURN_IF_ERROR(device.enter());
  Expected<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(device, {});
  if (!kernels)
    return kernels.status();
  Expected<Stream> stream = device.makeStream();
  if (!stream)
    return stream.status();
  return std::unique_ptr<DeviceBed>(
      new DeviceBed(device, kernels.take(), *stream, place));
}

DeviceBed::DeviceBed(Device &device, std::unique_ptr<KernelLibrary> kernels,
                     Stream stream, CopyPlace place)
    : device(device), kernels(std::move(kernels)), stream(stream),
      copies(device, stream, place) {}

DeviceBed::~DeviceBed() {
  (void)device.enter();
  device.destroy(stream);
}

BedFigures DeviceBed::takeFigures() { return std::exchange(figures, {}); }

Status DeviceBed::run(const BedLaunch &launch) {
  if (!failed.ok())
    return failed;
  if (launch.options.sharedBytes > uint64_t(device.properties().sharedBytes)) {
    ++figures.tooLarge;
    return emulateKernel(launch);
  }
  if (Status s = device.enter(); !s.ok())
    return failed = s;
  if (Status s = copies.place(launch); !s.ok())
    return s.withContext(launch.kernel);
  if (Status s = runOnDevice(launch); !s.ok()) {
    // The error of a device that has been given up already names the kernel.
    const Status error = device.isGivenUp() ? s : s.withContext(launch.kernel);
    if (!device.synchronize(stream).ok())
      failed = error;
    return error;
  }
  ++figures.launches;
  SLUICE_RETURN_IF_ERROR(emulateKernel(launch));
  return compare(launch);
}

/// Keeps the contents of the arrays after both runs.
Status DeviceBed::runOnDevice(const BedLaunch &launch) {
  made.assign(copies.arrays().size(), {});
  beside.clear();
  for (auto times : {&Made::once, &Made::again}) {
    SLUICE_RETURN_IF_ERROR(launchOnce(launch));
    if (beside.empty())
      beside = copies.writtenBeside();
    for (size_t i = 0; i < made.size(); ++i) {
      std::span<const uint8_t> found = copies.found(copies.arrays()[i]);
      (made[i].*times).assign(found.begin(), found.end());
    }
  }
  return {};
}

Status DeviceBed::launchOnce(const BedLaunch &launch) {
  KernelNode node;
  node.name = launch.kernel;
  const emulator::LaunchOptions &options = launch.options;
  node.grid = {options.grid.x, options.grid.y, options.grid.z};
  node.threads = options.threads;
  node.sharedBytes = static_cast<uint32_t>(options.sharedBytes);
  node.words = copies.words();
  node.parameterWords = static_cast<uint32_t>(node.words.size());
  Expected<Function> function = kernels->find(launch.kernel, node.sharedBytes);
  if (!function)
    return function.status();
  node.function = *function;
  SLUICE_RETURN_IF_ERROR(copies.upload());
  Expected<Graph> graph = device.makeGraph(std::array<GraphNode, 1>{node});
  if (!graph)
    return graph.status();
  Status status = device.launch(*graph, stream);
  if (status.ok())
    status = device.settle(stream, launch.kernel.c_str());
  device.destroy(*graph);
  return status.ok() ? copies.download() : status;
}

/// Returns the error of the array, or an empty text.
std::string DeviceBed::complaintOf(const ArrayCopy &copy, const Made &made,
                                   double allowed) {
  const Elements elements = copy.array->elements;
  Comparison repeated =
      compareArrays(elements, {made.once, "the first time"},
                    {made.again, "the second time on the device"}, 0);
  if (!repeated.complaint.empty())
    return repeated.complaint;
  Comparison emulated = compareArrays(
      elements, {{copy.array->data(), copy.array->bytes()}, "in the emulator"},
      {made.once, "on the device"}, allowed);
  figures.equalBits &= emulated.equalBits;
  figures.difference = std::max(figures.difference, emulated.difference);
  return emulated.complaint;
}

/// Compares the emulator's results in the arrays with the device's, and
/// replaces them by the latter.
Status DeviceBed::compare(const BedLaunch &launch) {
  std::string complaints;
  auto complain = [&](const std::string &what) {
    complaints += (complaints.empty() ? "" : "; ") + what;
  };
  if (!beside.empty())
    complain("the device has written beside its arrays, " + beside);
  for (size_t i = 0; i < made.size(); ++i) {
    const ArrayCopy &copy = copies.arrays()[i];
    std::string complaint =
        complaintOf(copy, made[i], differenceAllowed(launch.kernel));
    if (!complaint.empty())
      complain(copy.name + ": " + complaint);
    std::ranges::copy(made[i].once, copy.array->data());
  }
  if (complaints.empty())
    return {};
  return failure(launch.kernel, ": ", complaints);
}

//===- DeviceBed.h - runs kernels of tests on a device --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   std::unique_ptr<DeviceBed> bed = DeviceBed::open(*device).take();
//   setDeviceBed(bed.get());
//
// From then on, each launch of a test goes through run().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEBED_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEBED_H

#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/test/bed/DeviceCopies.h"

namespace sluice::cuda {

/// The results of a test's launches.
struct BedFigures {
  int64_t launches = 0; ///< launches on the device
  /// Launches that only the emulator has run, since the device's blocks have
  /// too little shared memory.
  int64_t tooLarge = 0;
  bool equalBits = true; ///< whether all bits were the emulator's
  double difference = 0; ///< the largest over all arrays; see Comparison
};

/// Launches one kernel at a time on a device and in the emulator. Used by one
/// thread, for which each call enters the device.
class DeviceBed {
public:
  /// Opens a bed. `device` outlives it. `place` says where arrays lie: Device
  /// or Apart. Errors: those of KernelLibrary and of the device.
  static Expected<std::unique_ptr<DeviceBed>>
  open(Device &device, CopyPlace place = CopyPlace::Device);
  ~DeviceBed();

  /// Runs the kernel on the contents of the arrays, twice on the device and
  /// then in the emulator. After that the arrays have the device's results.
  /// Errors, one line each, which begin with the kernel's name:
  /// - an error that DeviceCopies::place() finds in the arguments;
  /// - an error of the device. If the device does not work any more, for
  ///   instance after an illegal access, or after a kernel that has not ended
  ///   within its patience (the device is then given up), this error is also
  ///   that of broken() and of all later launches;
  /// - the kernel has written outside its arrays;
  /// - the second run has other bits than the first;
  /// - an array differs from the emulator's by more than KernelFacts.h allows;
  /// - an error of emulateKernel().
  Status run(const BedLaunch &launch);

  /// Returns the error with which the device became useless, or ok.
  const Status &broken() const { return failed; }

  /// Returns the figures of the launches since the last call.
  BedFigures takeFigures();

private:
  DeviceBed(Device &device, std::unique_ptr<KernelLibrary> kernels,
            Stream stream, CopyPlace place);

  /// The device's results for an array, of both runs.
  struct Made {
    std::vector<uint8_t> once, again;
  };
  Status runOnDevice(const BedLaunch &launch);
  Status launchOnce(const BedLaunch &launch);
  std::string complaintOf(const ArrayCopy &copy, const Made &made,
                          double allowed);
  Status compare(const BedLaunch &launch);

  Device &device;
  std::unique_ptr<KernelLibrary> kernels;
  Stream stream;
  DeviceCopies copies;
  std::vector<Made> made; ///< [array of copies]
  std::string beside;     ///< what was written outside the arrays
  Status failed;
  BedFigures figures;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEBED_H

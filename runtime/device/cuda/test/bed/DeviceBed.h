//===- DeviceBed.h - kernels of tests on a device -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   std::unique_ptr<DeviceBed> bed = DeviceBed::open(*device).take();
//   setDeviceBed(bed.get());
//
// From then on each launch of a test goes through run().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEBED_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEBED_H

#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/test/bed/DeviceCopies.h"

namespace sluice::cuda {

/// What the launches of a test have shown.
struct BedFigures {
  int64_t launches = 0; ///< on the device
  /// Only in the emulator, as the device's blocks have too little shared
  /// memory.
  int64_t tooLarge = 0;
  bool equalBits = true; ///< as the emulator's, everywhere
  double difference = 0; ///< the largest of all arrays'; see Comparison
};

/// Launches one kernel at a time on a device and in the emulator. One thread,
/// which each call lets enter the device.
class DeviceBed {
public:
  /// Errors: KernelLibrary's, the device's. `device` outlives the bed.
  /// `place`: of arrays, Device or Apart.
  static Expected<std::unique_ptr<DeviceBed>>
  open(Device &device, CopyPlace place = CopyPlace::Device);
  ~DeviceBed();

  /// Gives the kernel what the arrays have, twice on the device and then in the
  /// emulator; the arrays then have what the device made. Errors, one line
  /// each, which begin with the kernel's name:
  /// - one that DeviceCopies::place() finds in the arguments;
  /// - the device's; where it does not work any more, as behind an illegal
  ///   access, or a kernel that has not ended within its patience (it is given
  ///   up then), the error is broken() and all later launches';
  /// - the kernel has written beside its arrays;
  /// - the second time it makes other bits than the first;
  /// - an array differs from the emulator's by more than KernelFacts.h allows;
  /// - emulateKernel()'s.
  Status run(const BedLaunch &launch);

  /// The error with which the device became useless, if it has.
  const Status &broken() const { return failed; }

  /// Of the launches since the last call.
  BedFigures takeFigures();

private:
  DeviceBed(Device &device, std::unique_ptr<KernelLibrary> kernels,
            Stream stream, CopyPlace place);

  /// What the device has made of an array, both times.
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
  std::string beside;     ///< what was written beside the arrays
  Status failed;
  BedFigures figures;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEBED_H

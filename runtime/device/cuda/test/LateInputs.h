//===- LateInputs.h - what comes with the kernel before, for tests --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels start before the kernel before has ended. Until they have waited for
// it they may read weights, and write nothing; and every block waits. A launch
// with its memory named here fails the test where that is broken:
//
//   LateInputs late;
//   late.hide(x);
//   late.hide(y);
//   late.expectLaunch(options, "sluice_some_kernel", arguments);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_LATEINPUTS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_LATEINPUTS_H

#include "runtime/device/cuda/test/TestUtils.h"
#include "runtime/device/cuda/test/bed/KernelBed.h"

namespace sluice::cuda {

class LateInputs {
public:
  /// Memory that a kernel before may still read and write: it has bytes 0xff
  /// until a block has waited, and must have them then.
  void hide(void *memory, size_t bytes);
  template <typename T> void hide(DeviceArray<T> &array) {
    hide(array.data(), array.bytes());
  }

  /// Launches (bed/KernelBed.h), and expects that there is no error.
  template <typename Arguments>
  void expectLaunch(const emulator::LaunchOptions &options,
                    const std::string &kernel, const Arguments &arguments) {
    expect(kernelLaunch(kernel, options, arguments));
  }

private:
  struct Region {
    uint8_t *memory;
    std::vector<uint8_t> ready; ///< what is there after the wait
  };
  void expect(BedLaunch launch);
  void begin();
  void ready();
  void expectWaited();

  std::vector<Region> regions;
  size_t bytes = 0; ///< of all regions
  /// One group of blocks (of those that run together) of so many is started
  /// with its memory hidden, so that large grids take no longer than small
  /// ones do; that it has waited is seen of each.
  size_t every = 1;
  size_t group = 0; ///< number of the present one, from 1
  bool hidden = false, waited = true;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_LATEINPUTS_H

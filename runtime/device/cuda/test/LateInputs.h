//===- LateInputs.h - checks what kernels do before they wait -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel may start before the previous kernel has ended. Until it has waited
// for that kernel it may only read weights, and write nothing; and every block
// must wait. A launch whose memory is named here fails the test if the kernel
// breaks these rules:
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
  /// Hides memory that a previous kernel may still read and write. It has bytes
  /// 0xff until a block has waited, and must still have them at that time.
  void hide(void *memory, size_t bytes);
  template <typename T> void hide(DeviceArray<T> &array) {
    hide(array.data(), array.bytes());
  }

  /// Launches the kernel (bed/KernelBed.h), and expects that there is no error.
  template <typename Arguments>
  void expectLaunch(const emulator::LaunchOptions &options,
                    const std::string &kernel, const Arguments &arguments) {
    expect(kernelLaunch(kernel, options, arguments));
  }

private:
  struct Region {
    uint8_t *memory;
    std::vector<uint8_t> ready; ///< the contents after the wait
  };
  void expect(BedLaunch launch);
  void begin();
  void ready();
  void expectWaited();

  std::vector<Region> regions;
  size_t bytes = 0; ///< the size of all regions
  /// Of this many groups of blocks (which are resident together), one is
  /// started with its memory hidden, so that large grids take no longer than
  /// small ones. For every group it is checked that it has waited.
  size_t every = 1;
  size_t group = 0; ///< number of the current group, from 1
  bool hidden = false, waited = true;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_LATEINPUTS_H

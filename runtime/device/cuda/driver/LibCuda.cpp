//===- LibCuda.cpp - opens NVIDIA's library -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/LibCuda.h"

#include "runtime/base/SharedLibrary.h"

namespace sluice::cuda {

namespace {

/// The version of the toolkit that compiled the kernels: a driver does not load
/// code of a later major version.
constexpr int32_t minVersion = 13000;

std::string versionText(int32_t version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Expected<LibCuda> loadCalls(const std::string &library) {
  Expected<SharedLibrary> opened = SharedLibrary::open(library);
  if (!opened)
    return opened.status().withContext("no NVIDIA driver is here");
  LibCuda lib = {};
#define SLUICE_FIND_CALL(member, symbol, ...)                                  \
  if (Status s = opened->find(#symbol, lib.member); !s.ok())                   \
    return failure(library, " ", s.message(), ": the NVIDIA driver is too old");
  SLUICE_CUDA_CALLS(SLUICE_FIND_CALL)
#undef SLUICE_FIND_CALL
  return lib;
}

class LibCudaDriver final : public Driver {
public:
  LibCudaDriver(const LibCuda &lib, int32_t version, int32_t devices)
      : lib(lib), versionNumber(version), devices(devices) {}

  int32_t deviceCount() const override { return devices; }
  int32_t version() const override { return versionNumber; }
  Expected<std::unique_ptr<Device>> open(int32_t number) override {
    if (number < 0 || number >= devices)
      return failure("GPU ", number, " is not here: there are ", devices);
    return openLibCudaDevice(lib, number);
  }

private:
  LibCuda lib;
  int32_t versionNumber;
  int32_t devices;
};

} // namespace

Status LibCuda::check(int result, const char *call) const {
  if (result == lib::success)
    return {};
  const char *text = nullptr;
  if (errorString(result, &text) != lib::success || !text)
    return failure(call, ": error ", result);
  return failure(call, ": ", text);
}

Expected<std::unique_ptr<Driver>> openLibCuda(const std::string &library) {
  Expected<LibCuda> lib = loadCalls(library);
  if (!lib)
    return lib.status();
  // This call needs no initialisation, which an old driver may refuse for other
  // reasons.
  int version = 0;
  SLUICE_RETURN_IF_ERROR(
      lib->check(lib->driverVersion(&version), "cuDriverGetVersion"));
  if (version < minVersion)
    return failure("the NVIDIA driver is too old: it is for CUDA ",
                   versionText(version), ", and ", versionText(minVersion),
                   " is needed");
  int result = lib->init(0);
  int devices = 0;
  if (result == lib::success)
    result = lib->deviceCount(&devices);
  if (result == lib::errorNoDevice || (result == lib::success && devices < 1))
    return failure("no NVIDIA GPU is here");
  if (Status s = lib->check(result, "cuInit"); !s.ok())
    return s.withContext("the NVIDIA driver does not start");
  return std::unique_ptr<Driver>(
      std::make_unique<LibCudaDriver>(*lib, version, devices));
}

} // namespace sluice::cuda

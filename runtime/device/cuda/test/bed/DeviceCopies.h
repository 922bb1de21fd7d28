//===- DeviceCopies.h - a launch's arrays on a device ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's arguments are words, some of which are addresses in arrays of the
// host. Here each of these arrays gets a place in memory of the device, with
// guard bytes around it, and the words lead there.
//
//   copies.place(launch);
//   copies.upload();    // and a kernel runs with copies.words()
//   copies.download();  // says what was written beside the arrays
//   for (const ArrayCopy &copy : copies.arrays())
//     copies.found(copy) ...
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICECOPIES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICECOPIES_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/test/bed/DeviceArray.h"
#include "runtime/device/cuda/test/bed/KernelBed.h"

#include <span>

namespace sluice::cuda {

/// What the arrays of a launch may take of a device's memory, and guards.
constexpr uint64_t maxCopiedBytes = uint64_t{100} << 20;

struct ArrayCopy {
  ArrayMemory *array;
  std::string name; ///< the fields that lead to it: "residual = y"
  uint64_t offset;  ///< in its arena
};

/// Where copies lie.
enum class CopyPlace : uint8_t {
  Device, ///< one behind the other, with guard bytes between them
  Apart,  ///< each in memory of its own, as large as the array: guard bytes are
          ///< not there, and compute-sanitizer sees who reads beside an array
  Host    ///< as Device, in the host's memory, mapped
};

/// Memory that the arrays of one launch after another lie in.
class CopyArena {
public:
  explicit CopyArena(CopyPlace place) : place(place) {}

  /// Empty again; what lies together keeps its memory.
  void begin(Device &device);
  /// The offset of so many bytes, aligned to 256, behind guard bytes.
  uint64_t add(uint64_t bytes);
  uint64_t bytes() const { return image.size(); }

  /// Memory for all that has been added.
  Status reserve(Device &device);
  void release(Device &device);
  /// On the device, of what was added at the offset.
  DeviceAddress address(uint64_t offset) const;

  /// What is uploaded: guard bytes, but where arrays have been put.
  std::span<uint8_t> at(uint64_t offset, uint64_t count) {
    return std::span(image).subspan(offset, count);
  }
  std::span<uint8_t> foundAt(uint64_t offset, uint64_t count) {
    return std::span(found).subspan(offset, count);
  }
  Status upload(Device &device, Stream stream) const;
  /// Waits for nothing: the stream's work is done.
  Status download(Device &device, Stream stream);

private:
  /// What lies together on the device.
  struct Piece {
    uint64_t offset, bytes;
    DeviceAddress memory;
  };
  Status reserveApart(Device &device);
  /// How many of the piece's bytes this launch has.
  uint64_t used(const Piece &piece) const {
    return std::min<uint64_t>(piece.bytes, image.size() - piece.offset);
  }

  CopyPlace place;
  uint64_t capacity = 0;     ///< not Apart: bytes that there is memory for
  HostMemory mapped;         ///< Host
  std::vector<Piece> pieces; ///< Apart: each array; Device: one
  std::vector<uint8_t> image, found;
};

/// One thread, which has entered the device.
class DeviceCopies {
public:
  /// `device` and `stream` outlive it. `place`: Device or Apart, of arrays that
  /// are not the host's.
  DeviceCopies(Device &device, Stream stream, CopyPlace place)
      : device(device), stream(stream), own(place) {}
  ~DeviceCopies();

  /// Finds the arrays and makes room for them. Errors: an argument is an
  /// address of the host that no array has; they take more than
  /// maxCopiedBytes; the device's.
  Status place(const BedLaunch &launch);
  /// The launch's arguments for the device.
  const std::vector<uint64_t> &words() const { return translated; }
  const std::vector<ArrayCopy> &arrays() const { return copies; }

  /// What the arrays had when place() was called.
  Status upload();
  /// What they have on the device. Nothing of the stream's is left to be done.
  /// Errors: the device's.
  Status download();
  /// Of the last download.
  std::span<const uint8_t> found(const ArrayCopy &copy);
  /// A line that says where the kernel has written beside its arrays; empty
  /// where it has not.
  std::string writtenBeside();

private:
  Device &device;
  Stream stream;
  CopyArena own, hosts{CopyPlace::Host};
  std::vector<ArrayCopy> copies;
  std::vector<uint64_t> translated;

  CopyArena &arenaOf(const ArrayCopy &copy) {
    return copy.array->isHosts ? hosts : own;
  }
  Status refer(uint64_t word, const std::string &name);
  uint64_t translate(uint64_t word);
  void fill(const ArrayCopy &copy);
  void restoreAddresses(const ArrayCopy &copy);
  std::string writtenBeside(CopyArena &arena);
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICECOPIES_H

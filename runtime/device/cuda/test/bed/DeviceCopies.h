//===- DeviceCopies.h - copies a launch's arrays to a device --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some words of a kernel's arguments are addresses in arrays of the host. Here
// each of these arrays gets a place in device memory, with guard bytes around
// it, and the words are translated to addresses there.
//
//   copies.place(launch);
//   copies.upload();    // and a kernel runs with copies.words()
//   copies.download();  // after that, writtenBeside() reports stray writes
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

/// The maximum that a launch's arrays and guard bytes take of a device's
/// memory.
constexpr uint64_t maxCopiedBytes = uint64_t{100} << 20;

struct ArrayCopy {
  ArrayMemory *array;
  /// The fields that point to it: "residual = y".
  std::string name;
  uint64_t offset; ///< the offset in its arena
};

/// The places of copies.
enum class CopyPlace : uint8_t {
  Device, ///< one after the other, with guard bytes between them
  /// Each in an allocation of its own, as large as the array. There are no
  /// guard bytes; compute-sanitizer finds reads outside an array.
  Apart,
  Host ///< like Device, but in mapped host memory
};

/// The memory for the arrays of one launch after another.
class CopyArena {
public:
  explicit CopyArena(CopyPlace place) : place(place) {}

  /// Empties the arena. Memory that is used for several arrays is kept.
  void begin(Device &device);
  /// Adds `bytes` bytes after guard bytes, and returns their offset, aligned to
  /// 256.
  uint64_t add(uint64_t bytes);
  uint64_t bytes() const { return image.size(); }

  /// Allocates memory for all that has been added.
  Status reserve(Device &device);
  void release(Device &device);
  /// Returns the address on the device of what was added at the offset.
  DeviceAddress address(uint64_t offset) const;

  /// Returns the bytes that are uploaded: guard bytes, unless an array was put
  /// there.
  std::span<uint8_t> at(uint64_t offset, uint64_t count) {
    return std::span(image).subspan(offset, count);
  }
  std::span<uint8_t> foundAt(uint64_t offset, uint64_t count) {
    return std::span(found).subspan(offset, count);
  }
  Status upload(Device &device, Stream stream) const;
  /// Puts the copies into the stream, whose earlier work must be done. Does not
  /// wait for them.
  Status download(Device &device, Stream stream);

private:
  /// A contiguous piece of memory on the device.
  struct Piece {
    uint64_t offset, bytes;
    DeviceAddress memory;
  };
  Status reserveApart(Device &device);
  /// Returns how many of the piece's bytes this launch uses.
  uint64_t used(const Piece &piece) const {
    return std::min<uint64_t>(piece.bytes, image.size() - piece.offset);
  }

  CopyPlace place;
  /// Unless Apart: the bytes for which there is memory.
  uint64_t capacity = 0;
  HostMemory mapped;         ///< for Host
  std::vector<Piece> pieces; ///< for Apart, each array; for Device, one piece
  std::vector<uint8_t> image, found;
};

/// Copies the arrays of one launch after another. Used by one thread, which has
/// entered the device.
class DeviceCopies {
public:
  /// `device` and `stream` outlive it. `place` says where arrays lie that are
  /// not in host memory: Device or Apart.
  DeviceCopies(Device &device, Stream stream, CopyPlace place)
      : device(device), stream(stream), own(place) {}
  ~DeviceCopies();

  /// Finds the arrays and makes room for them. Errors: an argument is a host
  /// address that is in no array; the arrays take more than maxCopiedBytes;
  /// those of the device.
  Status place(const BedLaunch &launch);
  /// Returns the launch's arguments for the device.
  const std::vector<uint64_t> &words() const { return translated; }
  const std::vector<ArrayCopy> &arrays() const { return copies; }

  /// Uploads the contents that the arrays had at the time of place().
  Status upload();
  /// Downloads the arrays' contents on the device, and waits for the stream.
  /// Errors: those of the device.
  Status download();
  /// Returns an array's bytes from the last download.
  std::span<const uint8_t> found(const ArrayCopy &copy);
  /// Returns a line that says where the kernel has written outside its arrays,
  /// or an empty one.
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

//===- PackedFileWriter.cpp - making a file of packed weights -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedFileWriter.h"

#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cpu/ZeroedMemory.h"
#include "runtime/program/Progress.h"

#include <algorithm>
#include <sys/mman.h>

using namespace sluice;

namespace {

int64_t threadCount(const PackingOptions &options) {
  return options.threads > 0 ? options.threads : cpu::defaultThreadCount();
}

Status checkCancelled(const PackingOptions &options) {
  if (options.cancelled && options.cancelled())
    return failure("interrupted");
  return {};
}

/// Writes zeros up to `position` of the file.
Status padTo(AtomicFile &out, uint64_t position) {
  static const uint8_t zeros[packedPageBytes] = {};
  while (out.position() < position) {
    uint64_t missing = position - out.position();
    if (Status s = out.write(zeros, std::min(missing, packedPageBytes));
        !s.ok())
      return s;
  }
  return {};
}

/// A weight is packed in address space for all of it, of which only the piece
/// at hand takes memory: what has been written is given back.
class StagingArea {
public:
  static Expected<StagingArea> create(const PackedLayout &layout) {
    uint64_t largest = 0;
    for (const PackedSection &section : layout.sections)
      largest = std::max(largest, section.bytes);
    Expected<cpu::ZeroedMemory> memory =
        cpu::ZeroedMemory::allocate(largest, "packing weights");
    if (!memory)
      return memory.status();
    return StagingArea(memory.take());
  }

  uint8_t *data() const { return reinterpret_cast<uint8_t *>(memory.floats()); }

  /// Forgets what is in the whole pages of [first, last).
  void release(uint64_t first, uint64_t last) {
    first = (first + packedPageBytes - 1) / packedPageBytes * packedPageBytes;
    last = last / packedPageBytes * packedPageBytes;
    // Advice only: a kernel that ignores it costs memory, not correctness.
    if (first < last)
      (void)::madvise(data() + first, last - first, MADV_DONTNEED);
  }

private:
  explicit StagingArea(cpu::ZeroedMemory memory) : memory(std::move(memory)) {}

  cpu::ZeroedMemory memory;
};

} // namespace

Status sluice::writePackedFile(const ExecutableDescriptor &executable,
                               int64_t programIndex, const ModelFiles &files,
                               PackedContents contents,
                               const PackingOptions &options, AtomicFile &out,
                               bool *outFailed) {
  const ProgramDescriptor &program = executable.programs[size_t(programIndex)];
  Expected<PackedLayout> layout =
      planPackedFile(executable.files, program, contents);
  if (!layout)
    return layout.status();
  Expected<StagingArea> staging = StagingArea::create(*layout);
  if (!staging)
    return staging.status();
  uint64_t start = out.position();
  auto wrote = [outFailed](Status status) {
    if (outFailed && !status.ok())
      *outFailed = true;
    return status;
  };
  std::vector<uint8_t> header = encodePackedHeader(
      *layout, {program.cpu, program.packingHash(executable.files)});
  if (Status s = wrote(out.write(header.data(), header.size())); !s.ok())
    return s;

  cpu::ThreadPool pool(threadCount(options));
  WeightPacker packer(files, pool);
  Progress progress("packing weights", layout->totalBytes);
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const PackedSection &section = layout->sections[i];
    if (Status s = packer.check(program.weights[i]); !s.ok())
      return s;
    if (section.bytes == 0)
      continue;
    if (Status s = wrote(padTo(out, start + section.offset)); !s.ok())
      return s;
    auto ready = [&](uint64_t first, uint64_t last) -> Status {
      if (Status s = checkCancelled(options); !s.ok())
        return s;
      Status status = wrote(out.write(staging->data() + first, last - first));
      staging->release(first, last);
      progress.update(out.position() - start);
      return status;
    };
    if (Status s = packer.pack(program.weights[i], staging->data(), ready);
        !s.ok())
      return s;
  }
  return wrote(padTo(out, start + layout->totalBytes));
}

Status sluice::packIntoMemory(const ProgramDescriptor &program,
                              const ModelFiles &files,
                              const PackedLayout &layout,
                              const PackingOptions &options, uint8_t *memory) {
  cpu::ThreadPool pool(threadCount(options));
  WeightPacker packer(files, pool);
  Progress progress("packing weights", layout.totalBytes);
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const PackedSection &section = layout.sections[i];
    if (Status s = packer.check(program.weights[i]); !s.ok())
      return s;
    if (section.bytes == 0)
      continue;
    auto ready = [&](uint64_t first, uint64_t last) {
      progress.update(section.offset + last);
      return checkCancelled(options);
    };
    if (Status s =
            packer.pack(program.weights[i], memory + section.offset, ready);
        !s.ok())
      return s;
  }
  return {};
}

Status sluice::appendEmbeddedWeights(const ExecutableDescriptor &executable,
                                     const FileSearch &search,
                                     const PackingOptions &options,
                                     AtomicFile &out) {
  std::vector<PackedSection> payloads;
  // Those for a CPU come first; others' weights are laid out on their device.
  for (size_t i = 0; i < executable.programs.size(); ++i) {
    if (executable.programs[i].target != ProgramTarget::Cpu)
      break;
    Expected<ModelFiles> files =
        ModelFiles::open(executable.files, executable.programs[i], search);
    if (!files)
      return files.status();
    uint64_t start = (out.position() + packedPageBytes - 1) / packedPageBytes *
                     packedPageBytes;
    if (Status s = padTo(out, start); !s.ok())
      return s;
    if (Status s = writePackedFile(executable, int64_t(i), *files,
                                   PackedContents::Everything, options, out);
        !s.ok())
      return s;
    payloads.push_back({start, out.position() - start});
  }
  std::vector<uint8_t> trailer = encodePackedTrailer(payloads);
  return out.write(trailer.data(), trailer.size());
}

//===- PackedFileWriter.cpp - making a file of packed weights -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedFileWriter.h"

#include "runtime/device/cpu/CorePlan.h"
#include "runtime/program/PieceWriter.h"
#include "runtime/program/Progress.h"

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

/// Writes a program's packed file behind its header.
class FileTarget final : public PieceTarget {
public:
  FileTarget(PieceWriter &writer, const PackingOptions &options,
             uint64_t totalBytes)
      : writer(writer), options(options),
        progress("packing weights", totalBytes) {}

  /// `offset`: of the section in the packed file, which begins at `start` of
  /// the one that is written.
  void setSection(uint64_t start, uint64_t offset) {
    position = start + offset;
    done = offset;
  }

  Expected<uint8_t *> begin(uint64_t first, uint64_t last) override {
    if (Status s = checkCancelled(options); !s.ok())
      return s;
    Expected<uint8_t *> piece = writer.next(last - first);
    writeFailed = !piece;
    return piece;
  }

  Status end(uint64_t first, uint64_t last) override {
    writer.write(position + first);
    progress.update(done + last);
    return {};
  }

  bool writeFailed = false;

private:
  PieceWriter &writer;
  const PackingOptions &options;
  Progress progress;
  uint64_t position = 0, done = 0;
};

/// Packs into memory.
class MemoryTarget final : public PieceTarget {
public:
  MemoryTarget(uint8_t *memory, const PackingOptions &options,
               uint64_t totalBytes)
      : memory(memory), options(options),
        progress("packing weights", totalBytes) {}

  void setSection(uint64_t at) { offset = at; }

  Expected<uint8_t *> begin(uint64_t first, uint64_t) override {
    if (Status s = checkCancelled(options); !s.ok())
      return s;
    return memory + offset + first;
  }

  Status end(uint64_t, uint64_t last) override {
    progress.update(offset + last);
    return {};
  }

private:
  uint8_t *memory;
  const PackingOptions &options;
  Progress progress;
  uint64_t offset = 0;
};

/// Checks all weights and packs those that have a section: move(section) says
/// where `target` is to put the next.
template <typename Move>
Status packAll(const ProgramDescriptor &program, const ModelFiles &files,
               const PackedLayout &layout, const PackingOptions &options,
               PieceTarget &target, Move move) {
  cpu::ThreadPool pool(threadCount(options));
  WeightPacker packer(files, pool);
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const WeightDescriptor &weight = program.weights[i];
    bool isPacked = layout.sections[i].bytes > 0;
    if (isPacked)
      move(layout.sections[i]);
    if (Status s =
            isPacked ? packer.pack(weight, target) : packer.check(weight);
        !s.ok())
      return s;
    // Else the model would be in memory twice.
    files.releasePages();
  }
  return {};
}

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
  auto wrote = [outFailed](Status status) {
    if (outFailed && !status.ok())
      *outFailed = true;
    return status;
  };
  uint64_t start = out.position();
  if (Status s = wrote(out.reserve(start + layout->totalBytes)); !s.ok())
    return s;
  std::vector<uint8_t> header = encodePackedHeader(
      *layout, {program.cpu, program.packingHash(executable.files)});
  if (Status s = wrote(out.write(header.data(), header.size())); !s.ok())
    return s;

  PieceWriter writer(out);
  FileTarget target(writer, options, layout->totalBytes);
  Status packed = packAll(program, files, *layout, options, target,
                          [&](const PackedSection &section) {
                            target.setSection(start, section.offset);
                          });
  if (!packed.ok())
    return target.writeFailed ? wrote(packed) : packed;
  return wrote(writer.finish(start + layout->totalBytes));
}

Status sluice::packIntoMemory(const ProgramDescriptor &program,
                              const ModelFiles &files,
                              const PackedLayout &layout,
                              const PackingOptions &options, uint8_t *memory) {
  MemoryTarget target(memory, options, layout.totalBytes);
  return packAll(
      program, files, layout, options, target,
      [&](const PackedSection &section) { target.setSection(section.offset); });
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
    std::vector<uint8_t> zeros(start - out.position());
    if (Status s = out.write(zeros.data(), zeros.size()); !s.ok())
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

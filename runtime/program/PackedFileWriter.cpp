//===- PackedFileWriter.cpp - the writer of files of packed weights -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedFileWriter.h"

#include "runtime/base/ByteDigest.h"
#include "runtime/program/PieceWriter.h"
#include "runtime/program/Progress.h"

using namespace sluice;

namespace {

/// The destination of a program's sections; computes their digests.
class SectionTarget : public PieceTarget {
public:
  SectionTarget(const PackingOptions &options, uint64_t totalBytes)
      : options(options), progress("packing weights", totalBytes) {}

  void setSection(const PackedSection &next) { section = next; }

  Expected<uint8_t *> begin(uint64_t first, uint64_t last) final {
    SLUICE_RETURN_IF_ERROR(options.checkCancelled());
    Expected<uint8_t *> memory = take(section.offset + first, last - first);
    if (memory)
      piece = *memory;
    return memory;
  }

  Status end(uint64_t first, uint64_t last) final {
    digest.add({piece, last - first});
    give(section.offset + first);
    progress.update(section.offset + last);
    return {};
  }

  /// Returns the section's digest; called after its last piece.
  uint64_t finishDigest() { return digest.finish(); }

protected:
  ~SectionTarget() = default;
  /// Returns memory for the bytes of the packed file from `offset` on.
  virtual Expected<uint8_t *> take(uint64_t offset, uint64_t bytes) = 0;
  /// Accepts the bytes, which are complete.
  virtual void give(uint64_t offset) = 0;

private:
  const PackingOptions &options;
  Progress progress;
  PackedSection section;
  uint8_t *piece = nullptr;
  ByteDigest digest;
};

/// Writes a program's packed file, which begins at `start` of the output file.
class FileTarget final : public SectionTarget {
public:
  FileTarget(PieceWriter &writer, uint64_t start, const PackingOptions &options,
             uint64_t totalBytes)
      : SectionTarget(options, totalBytes), writer(writer), start(start) {}

  bool writeFailed = false;

private:
  Expected<uint8_t *> take(uint64_t, uint64_t bytes) override {
    Expected<uint8_t *> piece = writer.next(bytes);
    writeFailed = !piece;
    return piece;
  }
  void give(uint64_t offset) override { writer.write(start + offset); }

  PieceWriter &writer;
  uint64_t start;
};

/// Packs into memory.
class MemoryTarget final : public SectionTarget {
public:
  MemoryTarget(uint8_t *memory, const PackingOptions &options,
               uint64_t totalBytes)
      : SectionTarget(options, totalBytes), memory(memory) {}

private:
  Expected<uint8_t *> take(uint64_t offset, uint64_t) override {
    return memory + offset;
  }
  void give(uint64_t) override {}

  uint8_t *memory;
};

/// Checks all weights, packs the ones that have a section, and adds the
/// sections' digests to the layout.
Status packAll(const ProgramDescriptor &program, const MappedModelFiles &files,
               PackedFileLayout &layout, const PackingOptions &options,
               SectionTarget &target) {
  cpu::ThreadPool pool(options.threadCount());
  WeightPacker packer(files, pool);
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const WeightDescriptor &weight = program.weights[i];
    PackedSection &section = layout.sections[i];
    const bool isPacked = section.bytes > 0;
    SLUICE_RETURN_IF_ERROR(options.checkCancelled());
    SLUICE_RETURN_IF_ERROR(packer.checkUnchanged(weight));
    if (isPacked)
      target.setSection(section);
    SLUICE_RETURN_IF_ERROR(isPacked ? packer.pack(weight, target)
                                    : packer.check(weight));
    if (isPacked)
      section.digest = target.finishDigest();
    // Otherwise the model would be in memory twice.
    files.releasePages();
  }
  return {};
}

} // namespace

Status sluice::writePackedFile(const ExecutableDescriptor &executable,
                               int64_t programIndex,
                               const MappedModelFiles &files,
                               PackedContents contents,
                               const PackingOptions &options, AtomicFile &out,
                               bool *outFailed) {
  const ProgramDescriptor &program = executable.programs[size_t(programIndex)];
  Expected<PackedFileLayout> layout =
      planPackedFile(executable.files, program, contents);
  if (!layout)
    return layout.status();
  auto wrote = [outFailed](Status status) {
    if (outFailed && !status.ok())
      *outFailed = true;
    return status;
  };
  uint64_t start = out.position();
  SLUICE_RETURN_IF_ERROR(wrote(out.reserve(start + layout->totalBytes)));
  // The header has digests of the payload, so it is written again at the end.
  std::vector<uint8_t> header(layout->payloadOffset);
  SLUICE_RETURN_IF_ERROR(wrote(out.write(header.data(), header.size())));

  PieceWriter writer(out);
  FileTarget target(writer, start, options, layout->totalBytes);
  Status packed = packAll(program, files, *layout, options, target);
  if (!packed.ok())
    return target.writeFailed ? wrote(packed) : packed;
  SLUICE_RETURN_IF_ERROR(wrote(writer.finish(start + layout->totalBytes)));
  header = encodePackedHeader(
      *layout, {program.cpu, program.packingHash(executable.files)});
  return wrote(out.rewrite(start, header.data(), header.size()));
}

Status sluice::packIntoMemory(const ProgramDescriptor &program,
                              const MappedModelFiles &files,
                              PackedFileLayout &layout,
                              const PackingOptions &options, uint8_t *memory) {
  MemoryTarget target(memory, options, layout.totalBytes);
  return packAll(program, files, layout, options, target);
}

Status sluice::appendEmbeddedWeights(const ExecutableDescriptor &executable,
                                     const FileSearch &search,
                                     const PackingOptions &options,
                                     AtomicFile &out) {
  std::vector<PackedPlace> payloads;
  // Programs for CPUs come first. The weights of other programs are laid out on
  // their device.
  for (size_t i = 0; i < executable.programs.size(); ++i) {
    if (executable.programs[i].target != ProgramTarget::Cpu)
      break;
    Expected<MappedModelFiles> files = MappedModelFiles::open(
        executable.files, executable.programs[i], search);
    if (!files)
      return files.status();
    uint64_t start = (out.position() + packedPageBytes - 1) / packedPageBytes *
                     packedPageBytes;
    std::vector<uint8_t> zeros(start - out.position());
    SLUICE_RETURN_IF_ERROR(out.write(zeros.data(), zeros.size()));
    SLUICE_RETURN_IF_ERROR(writePackedFile(executable, int64_t(i), *files,
                                           PackedContents::Everything, options,
                                           out));
    payloads.push_back({start, out.position() - start});
  }
  std::vector<uint8_t> trailer = encodePackedTrailer(payloads);
  return out.write(trailer.data(), trailer.size());
}

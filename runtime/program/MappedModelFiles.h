//===- MappedModelFiles.h - the files that a program was compiled from ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_MAPPEDMODELFILES_H
#define SLUICE_RUNTIME_PROGRAM_MAPPEDMODELFILES_H

#include "runtime/base/MappedFile.h"
#include "runtime/program/ExecutableDescriptor.h"
#include "runtime/program/RandomWeights.h"

#include <optional>
#include <vector>

namespace sluice {

/// Where to look for a program's files.
struct FileSearch {
  std::string executable; // path of the running program
  std::string modelDir;   // if set, the only folder to look in
};

/// Notes the executable and the files that it was made from, as far as they are
/// found, as input files (InputFiles.h), so that nothing overwrites them. This
/// includes the files of other ranks.
void noteModelFiles(std::span<const ModelFile> files, const FileSearch &search);

/// Maps a file that a program was compiled from. It is looked for in `modelDir`
/// if that is set; otherwise where it was when the program was compiled, then
/// in the executable's folder. Errors: the file is missing, or has another size
/// or identity.
Expected<MappedFile> openModelFile(const ModelFile &file,
                                   const FileSearch &search);

/// The files that contain a program's weights, mapped and checked to be the
/// files that the program was compiled from. Other files of the executable,
/// such as a tokenizer's, are not looked for. Several threads may read at the
/// same time.
class MappedModelFiles {
public:
  /// Finds and maps the files. Errors: those of openModelFile().
  static Expected<MappedModelFiles> open(std::span<const ModelFile> files,
                                         const ProgramDescriptor &program,
                                         const FileSearch &search);

  /// Uses no files: `weights` replace their content.
  static MappedModelFiles random(RandomWeights weights);

  /// Returns a weight's bytes as stored. The weight must be of the program
  /// given to open().
  const uint8_t *data(const WeightDescriptor &weight) const {
    return at(weight.file, weight.offset);
  }

  /// Returns the scales of a weight that has them apart.
  const uint8_t *data(const ScalesDescriptor &scales) const {
    return at(scales.file, scales.offset);
  }

  /// Returns the part of a linear weight or a vector that the program has.
  SlicedMatrix matrix(const WeightDescriptor &weight) const {
    return weight.matrix(data(weight),
                         weight.scales ? data(*weight.scales) : nullptr);
  }

  /// Returns the path at which file number `file` was found.
  std::string path(int64_t file) const {
    return made ? "random weights" : files[file]->path();
  }

  /// Tells the kernel that the pages read so far are not needed soon.
  void releasePages() const;

  /// Returns null if the weights come from files.
  RandomWeights *randomWeights() { return made ? &*made : nullptr; }
  bool isRandom() const { return made.has_value(); }

private:
  const uint8_t *at(int64_t file, uint64_t offset) const {
    return made ? made->data(file, offset)
                : files[file]->bytes().data() + offset;
  }

  std::vector<std::optional<MappedFile>> files; // as in the descriptor
  std::optional<RandomWeights> made;            // replace all files
};

/// Returns the folder part of a path, or "." if there is none.
std::string folderOf(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_MAPPEDMODELFILES_H

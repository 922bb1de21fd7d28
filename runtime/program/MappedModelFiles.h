//===- MappedModelFiles.h - the files a program was compiled from ---------===//
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
  std::string modelDir;   // when set, the only folder looked in
};

/// Notes the executable and all files that it was made from, as far as they are
/// found, as files that are read (InputFiles.h): of those of the other ranks,
/// too, nothing is written over.
void noteModelFiles(std::span<const ModelFile> files, const FileSearch &search);

/// Maps a file that a program was compiled from. It is looked for in `modelDir`
/// when that is set; otherwise where it was when the program was compiled, then
/// in the executable's folder. Errors: it is missing, or of another size or
/// identity.
Expected<MappedFile> openModelFile(const ModelFile &file,
                                   const FileSearch &search);

/// Those of an executable's files that a program's weights lie in, found,
/// mapped and known to be the ones it was compiled from. Others that it was
/// made from (a tokenizer's) are not looked for. Reading from several threads
/// is safe.
class MappedModelFiles {
public:
  /// Errors: those of openModelFile().
  static Expected<MappedModelFiles> open(std::span<const ModelFile> files,
                                         const ProgramDescriptor &program,
                                         const FileSearch &search);

  /// No files: `weights` stand for what lies in them.
  static MappedModelFiles random(RandomWeights weights);

  /// A weight's bytes as stored. The program must be the one given to open.
  const uint8_t *data(const WeightDescriptor &weight) const {
    return at(weight.file, weight.offset);
  }

  /// The same of the scales that a weight has apart.
  const uint8_t *data(const ScalesDescriptor &scales) const {
    return at(scales.file, scales.offset);
  }

  /// The part of a linear weight or a vector that the program has.
  SlicedMatrix matrix(const WeightDescriptor &weight) const {
    return weight.matrix(data(weight),
                         weight.scales ? data(*weight.scales) : nullptr);
  }

  /// Where the file of a weight was found; `file` is its number.
  std::string path(int64_t file) const {
    return made ? "random weights" : files[file]->path();
  }

  /// Tells the kernel that what was read of the files is not needed soon.
  void releasePages() const;

  /// Null: they come from files.
  RandomWeights *randomWeights() { return made ? &*made : nullptr; }
  bool isRandom() const { return made.has_value(); }

private:
  const uint8_t *at(int64_t file, uint64_t offset) const {
    return made ? made->data(file, offset)
                : files[file]->bytes().data() + offset;
  }

  std::vector<std::optional<MappedFile>> files; // as in the descriptor
  std::optional<RandomWeights> made;            // instead of all of them
};

/// The folder part of a path; "." when it has none.
std::string folderOf(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_MAPPEDMODELFILES_H

//===- SchemaOverlap.h - schemas that exclude each other ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAOVERLAP_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAOVERLAP_H

#include "runtime/grammar/schema/SchemaReader.h"

namespace sluice::grammar {

/// Decides, for oneOf, whether texts that are written for one schema can match
/// another, and whether any value can match two. Thread-compatible.
class SchemaOverlap {
public:
  /// Both must outlive the object.
  SchemaOverlap(SchemaReader &reader, WorkMeter &meter)
      : reader(reader), meter(meter) {}

  /// Returns whether no text that is written for `written` can match `other`;
  /// false if that is not certain.
  Expected<bool> excludes(const Conjunction &written, const Conjunction &other,
                          size_t depth);
  /// The same for objects.
  Expected<bool> objectExcludes(const Constraints &written,
                                const Constraints &other, size_t depth);
  /// Returns whether no value matches both, written or not; false if that is
  /// not certain.
  Expected<bool> keepApart(const Conjunction &a, const Conjunction &b,
                           size_t depth);

private:
  using Comparison = Expected<bool> (SchemaOverlap::*)(const Constraints &,
                                                       const Constraints &,
                                                       size_t depth);
  Expected<bool> compareLeaves(const Conjunction &a, const Conjunction &b,
                               size_t depth, Comparison comparison);
  Expected<bool> leafExcludes(const Constraints &written,
                              const Constraints &other, size_t depth);
  Expected<bool> leavesKeepApart(const Constraints &a, const Constraints &b,
                                 size_t depth);
  Expected<bool> objectsKeepApart(const Constraints &a, const Constraints &b,
                                  size_t depth);

  SchemaReader &reader;
  WorkMeter &meter;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAOVERLAP_H

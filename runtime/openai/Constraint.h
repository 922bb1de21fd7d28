//===- Constraint.h - the required form of an answer ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_CONSTRAINT_H
#define SLUICE_RUNTIME_OPENAI_CONSTRAINT_H

#include "runtime/base/WorkMeter.h"
#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/FieldReader.h"

#include <optional>

namespace sluice::openai {

/// Limits the grammars of one request together, because many grammars that are
/// each within the limits could exceed them in sum.
class GrammarBudget {
public:
  /// `work` is charged with compiling and must outlive the budget; if null, the
  /// budget has a meter of limits.grammarWork, whose time starts now. Compiled
  /// grammars are cached for requests of the same `scope`.
  explicit GrammarBudget(const RequestLimits &limits, WorkMeter *work = nullptr,
                         uint64_t scope = 0)
      : scope(scope), max(limits.grammarBytes), meter(work) {
    if (!meter)
      meter = &own.emplace(limits.grammarWork);
  }
  GrammarBudget(const GrammarBudget &) = delete;
  GrammarBudget &operator=(const GrammarBudget &) = delete;

  /// Counts a text. Fails if it is too long to be sent to the stages, or if all
  /// texts together are too long.
  ApiStatus take(const std::string &text, const std::string &path);
  /// Returns the bytes of all texts so far.
  size_t taken() const { return bytes; }
  /// Sets the count back to an earlier taken(), so that the texts since then
  /// can be counted again.
  void rewind(size_t taken) { bytes = taken; }

  WorkMeter &work() { return *meter; }

  const uint64_t scope; ///< GrammarSource::scope

private:
  size_t max;
  size_t bytes = 0;
  std::optional<WorkMeter> own;
  WorkMeter *meter;
};

/// Reads the form that a request wants its answer to have, in one of these
/// fields:
///
///   response_format      {"type": "text" | "json_object" | "json_schema"},
///                        OpenAI's; with json_object also llama.cpp's `schema`
///   grammar              GBNF, llama.cpp's
///   json_schema          a schema, llama.cpp's and SGLang's
///   structured_outputs   {json | json_object | grammar | choice}, vLLM's
///   guided_json, guided_grammar, guided_choice, guided_json_object
///                        older names of vLLM's
///
/// A schema may be an object or JSON in a string. The answer always keeps to
/// it, `strict` or not. It is compiled to check it. Fails if there is more than
/// one field, or if the form does not compile within the budget.
ApiExpected<GrammarSource> readConstraint(const ordered_json &body,
                                          const RequestLimits &limits,
                                          GrammarBudget &budget);

/// Fails if a schema does not compile within the budget; `path` is its place in
/// the request. Stages in this process find the compiled grammar in a cache.
ApiStatus checkSchema(const std::string &text, const std::string &path,
                      GrammarBudget &budget);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CONSTRAINT_H

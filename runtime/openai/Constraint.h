//===- Constraint.h - what an answer must be ------------------------------===//
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

/// What the grammars of one request may cost together: of many that each keep
/// to the limits, the sum would not.
class GrammarBudget {
public:
  /// `work`: what their making charges, which outlives the budget; null: a
  /// meter of limits.grammarWork, whose time counts from here on.
  explicit GrammarBudget(const RequestLimits &limits, WorkMeter *work = nullptr)
      : max(limits.grammarBytes), meter(work) {
    if (!meter)
      meter = &own.emplace(limits.grammarWork);
  }
  GrammarBudget(const GrammarBudget &) = delete;
  GrammarBudget &operator=(const GrammarBudget &) = delete;

  /// Counts a text, which must also be short enough to be sent to the stages.
  /// Errors: it is too long, by itself or with those before it.
  ApiStatus take(const std::string &text, const std::string &path);
  /// Bytes of all texts so far.
  size_t taken() const { return bytes; }
  /// Forgets the texts since it was `taken`, which are to be counted again.
  void rewind(size_t taken) { bytes = taken; }

  WorkMeter &work() { return *meter; }

private:
  size_t max;
  size_t bytes = 0;
  std::optional<WorkMeter> own;
  WorkMeter *meter;
};

/// Reads what a request says about the form of the answer, one of:
///
///   response_format      {"type": "text" | "json_object" | "json_schema"},
///                        OpenAI's; with json_object also llama.cpp's `schema`
///   grammar              GBNF, llama.cpp's
///   json_schema          a schema, llama.cpp's and SGLang's
///   structured_outputs   {json | json_object | grammar | choice}, vLLM's
///   guided_json, guided_grammar, guided_choice, guided_json_object
///                        the same as they were called before
///
/// A schema can be an object, or JSON in a string. `strict` or not, an answer
/// keeps to it. It is compiled, to see whether it can be. Errors: more than one
/// of them; what does not compile, or not within the budget.
ApiExpected<GrammarSource> readConstraint(const ordered_json &body,
                                          const RequestLimits &limits,
                                          GrammarBudget &budget);

/// Whether a schema compiles within the budget; `path` is where it is. Stages
/// of this process that are given the same text find it made. Errors: why not.
ApiStatus checkSchema(const std::string &text, const std::string &path,
                      GrammarBudget &budget);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CONSTRAINT_H

//===- StepOutputs.cpp - fetches the outputs of a step --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/step/StepOutputs.h"

#include "runtime/core/Gumbel.h"

#include <algorithm>
#include <cassert>

namespace sluice::cuda {

Status StepOutputs::allocate() {
  const CudaProgram &program = model.program;
  const auto tokens = static_cast<uint64_t>(model.context.plan.tokenOutputs);
  const uint64_t numbers =
      program.hasOutput
          ? uint64_t(model.limits().outputs) * uint64_t(program.vocabSize)
          : 0;
  SLUICE_RETURN_IF_ERROR(
      logitsHere.assign(*model.device, numbers * sizeof(float)));
  SLUICE_RETURN_IF_ERROR(
      tokensHere.assign(*model.device, tokens * sizeof(int32_t)));
  SLUICE_RETURN_IF_ERROR(candidatesHere.assign(
      *model.device, tokens * maxCandidates * sizeof(TokenLogit)));
  const auto rowCount = static_cast<size_t>(model.limits().rows);
  firstOutput.reserve(rowCount);
  kinds.reserve(rowCount);
  fetched.reserve(rowCount);
  return {};
}

std::span<const float> StepOutputs::logits(int64_t output) const {
  assert(model.program.hasOutput && output >= 0 && output < rows.outputs() &&
         fetched[size_t(rows.slotOf(output))]);
  int64_t size = model.program.vocabSize;
  return {logitsHere.as<float>() + rows.slotOf(output) * size,
          static_cast<size_t>(size)};
}

std::optional<int32_t> StepOutputs::token(int64_t output) const {
  assert(output >= 0 && output < rows.outputs());
  const auto slot = size_t(rows.slotOf(output));
  if (fetched[slot] || kinds[size_t(output)] == OutputRequest::Candidates)
    return std::nullopt;
  return tokensHere.as<int32_t>()[slot];
}

std::span<const TokenLogit> StepOutputs::candidates(int64_t output) const {
  assert(output >= 0 && output < rows.outputs());
  const int32_t slot = rows.slotOf(output);
  if (fetched[size_t(slot)] ||
      kinds[size_t(output)] != OutputRequest::Candidates)
    return {};
  return candidatesAt(slot);
}

Status StepOutputs::fetch(const StepGraph &graph,
                          const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  const int64_t outputs = batch.outputs();
  const bool all =
      input.requests.empty() || model.context.plan.tokenOutputs == 0;
  firstOutput.assign(static_cast<size_t>(batch.rows()), -1);
  fetched.assign(static_cast<size_t>(outputs), all);
  bool hasCandidates = false;
  for (int64_t output = 0; output < outputs; ++output) {
    firstOutput[size_t(batch.outputRows()[size_t(output)])] =
        static_cast<int32_t>(output);
    if (all)
      continue;
    const OutputRequest::Kind kind = input.requests[size_t(output)].kind;
    fetched[size_t(output)] = kind == OutputRequest::Logits;
    hasCandidates |= kind == OutputRequest::Candidates;
  }
  const auto count = static_cast<uint64_t>(outputs);
  if (std::ranges::count(fetched, 0) > 0)
    SLUICE_RETURN_IF_ERROR(model.device->copyToHost(
        tokensHere.data(), model.context.arena + model.context.plan.greedy,
        count * sizeof(int32_t), model.stream));
  if (hasCandidates)
    SLUICE_RETURN_IF_ERROR(model.device->copyToHost(
        candidatesHere.data(),
        model.context.arena + model.context.plan.candidates,
        count * maxCandidates * sizeof(TokenLogit), model.stream));
  for (int64_t first = 0; first < outputs; ++first) {
    int64_t end = first;
    while (end < outputs && fetched[size_t(end)])
      ++end;
    SLUICE_RETURN_IF_ERROR(fetchLogits(graph, first, end - first));
    first = end;
  }
  return {};
}

/// Copies the logits of outputs, which are numbered as on the device.
Status StepOutputs::fetchLogits(const StepGraph &graph, int64_t first,
                                int64_t count) {
  if (count == 0)
    return {};
  const uint64_t bytes = uint64_t(model.program.vocabSize) * sizeof(float);
  return model.device->copyToHost(
      logitsHere.data() + uint64_t(first) * bytes,
      graph.recordsAt(device::RecordKind::Outputs, model.program.logitsOffset) +
          uint64_t(first) * bytes,
      uint64_t(count) * bytes, model.stream);
}

std::span<const TokenLogit> StepOutputs::candidatesAt(int32_t slot) const {
  std::span all(candidatesHere.as<TokenLogit>() + int64_t{slot} * maxCandidates,
                static_cast<size_t>(maxCandidates));
  auto end = std::ranges::find(all, -1, &TokenLogit::token);
  return all.first(size_t(end - all.begin()));
}

/// Returns whether the device's results for an output satisfy its request.
bool StepOutputs::suffices(const OutputRequest &request, int32_t slot) const {
  if (request.kind == OutputRequest::Logits ||
      tokensHere.as<int32_t>()[slot] < 0)
    return false;
  if (request.kind != OutputRequest::Candidates || !request.wantsAllAbove)
    return true;
  std::span<const TokenLogit> chosen = candidatesAt(slot);
  if (std::ssize(chosen) < request.count ||
      std::ssize(chosen) == model.program.vocabSize)
    return true;
  auto [min, max] = std::ranges::minmax_element(chosen, {}, &TokenLogit::logit);
  return scaledLogit(min->logit, max->logit, request.temperature) <
         request.minScore;
}

Status StepOutputs::fetchMissing(const StepGraph &graph,
                                 const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  bool any = false;
  kinds.clear();
  for (int64_t output = 0; output < batch.outputs(); ++output) {
    const int32_t slot = rows.slotOf(output);
    const int32_t origin = rows.originOf(batch.outputRows()[size_t(output)]);
    const OutputRequest request =
        input.requests.empty()
            ? OutputRequest()
            : input.requests[size_t(firstOutput[size_t(origin)])];
    kinds.push_back(request.kind);
    if (fetched[size_t(slot)] || suffices(request, slot))
      continue;
    SLUICE_RETURN_IF_ERROR(fetchLogits(graph, slot, 1));
    fetched[size_t(slot)] = 1;
    any = true;
  }
  if (!any)
    return {};
  SLUICE_RETURN_IF_ERROR(model.device->record(model.ended, model.stream));
  return watch.await(nullptr);
}

} // namespace sluice::cuda

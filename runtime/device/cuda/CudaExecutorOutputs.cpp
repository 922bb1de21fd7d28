//===- CudaExecutorOutputs.cpp - how the host gets outputs ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host fetches the tokens of all outputs, candidates, and logits if neither
// is enough. An output's number changes when rows before it leave, so the host
// maps each output to the slot in which its results arrived.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Gumbel.h"
#include "runtime/device/cuda/CudaExecutorState.h"

#include <algorithm>
#include <cassert>

namespace sluice::cuda {

std::span<const float> CudaExecutor::logits(int64_t output) const {
  assert(state->program.hasOutput && output >= 0 &&
         output < std::ssize(state->outputSlot) &&
         state->fetched[size_t(state->outputSlot[size_t(output)])]);
  int64_t size = state->program.vocabSize;
  return {state->resultMemory.as<float>() +
              state->outputSlot[size_t(output)] * size,
          static_cast<size_t>(size)};
}

std::optional<int32_t> CudaExecutor::token(int64_t output) const {
  assert(output >= 0 && output < std::ssize(state->outputSlot));
  const auto slot = size_t(state->outputSlot[size_t(output)]);
  if (state->fetched[slot] ||
      state->kinds[size_t(output)] == OutputRequest::Candidates)
    return std::nullopt;
  return state->tokenMemory.as<int32_t>()[slot];
}

std::span<const TokenLogit> CudaExecutor::candidates(int64_t output) const {
  assert(output >= 0 && output < std::ssize(state->outputSlot));
  const int32_t slot = state->outputSlot[size_t(output)];
  if (state->fetched[size_t(slot)] ||
      state->kinds[size_t(output)] != OutputRequest::Candidates)
    return {};
  return state->candidatesAt(slot);
}

//===----------------------------------------------------------------------===//
// Copies to the host
//===----------------------------------------------------------------------===//

/// Puts copies into the stream: the tokens of all outputs, candidates, and the
/// logits of outputs that request them, under the numbers that the outputs have
/// if no rows leave.
Status CudaExecutor::State::fetchOutputs(const StepGraph &graph,
                                         const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  const int64_t outputs = batch.outputs();
  const bool all = input.requests.empty() || context.plan.tokenOutputs == 0;
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
    SLUICE_RETURN_IF_ERROR(device->copyToHost(
        tokenMemory.data(), context.arena + context.plan.greedy,
        count * sizeof(int32_t), stream));
  if (hasCandidates)
    SLUICE_RETURN_IF_ERROR(device->copyToHost(
        candidateMemory.data(), context.arena + context.plan.candidates,
        count * maxCandidates * sizeof(TokenLogit), stream));
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
Status CudaExecutor::State::fetchLogits(const StepGraph &graph, int64_t first,
                                        int64_t count) {
  if (count == 0)
    return {};
  const uint64_t bytes = uint64_t(program.vocabSize) * sizeof(float);
  return device->copyToHost(
      resultMemory.data() + uint64_t(first) * bytes,
      graph.recordsAt(device::RecordKind::Outputs, program.logitsOffset) +
          uint64_t(first) * bytes,
      uint64_t(count) * bytes, stream);
}

std::span<const TokenLogit>
CudaExecutor::State::candidatesAt(int32_t slot) const {
  std::span all(candidateMemory.as<TokenLogit>() +
                    int64_t{slot} * maxCandidates,
                static_cast<size_t>(maxCandidates));
  auto end = std::ranges::find(all, -1, &TokenLogit::token);
  return all.first(size_t(end - all.begin()));
}

/// Returns whether the device's results for an output satisfy its request.
bool CudaExecutor::State::suffices(const OutputRequest &request,
                                   int32_t slot) const {
  if (request.kind == OutputRequest::Logits ||
      tokenMemory.as<int32_t>()[slot] < 0)
    return false;
  if (request.kind != OutputRequest::Candidates || !request.wantsAllAbove)
    return true;
  std::span<const TokenLogit> chosen = candidatesAt(slot);
  if (std::ssize(chosen) < request.count ||
      std::ssize(chosen) == program.vocabSize)
    return true;
  auto [min, max] = std::ranges::minmax_element(chosen, {}, &TokenLogit::logit);
  return scaledLogit(min->logit, max->logit, request.temperature) <
         request.minScore;
}

/// Fetches the logits of requested outputs whose number changed because rows
/// before them left, and of outputs for which the device has not found enough.
Status CudaExecutor::State::fetchMissing(const StepGraph &graph,
                                         const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  bool any = false;
  kinds.clear();
  for (int64_t output = 0; output < batch.outputs(); ++output) {
    const int32_t slot = outputSlot[size_t(output)];
    const int32_t origin = originOf[size_t(batch.outputRows()[size_t(output)])];
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
  SLUICE_RETURN_IF_ERROR(device->record(ended, stream));
  return await(nullptr);
}

} // namespace sluice::cuda

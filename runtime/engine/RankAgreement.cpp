//===- RankAgreement.cpp - agreement of ranks before they load ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/RankAgreement.h"

#include "runtime/comm/Wire.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

using comm::Bytes;
using comm::Lane;
using comm::WireReader;
using comm::WireWriter;

namespace {

/// "sluice", and the version of the messages that ranks exchange before their
/// first step: the agreements, in their order, and the reports.
constexpr uint64_t agreementMark = 0x0002'6563'6975'6c73;
/// Enough for a list of every other one of 3,000 processors.
constexpr size_t maxText = 16384;
constexpr size_t maxTerms = 64;

void putText(WireWriter &out, std::string_view text) {
  text = text.substr(0, maxText);
  out.putCount(text);
  out.put(text);
}

std::string getText(WireReader &in) {
  std::span<const uint8_t> bytes =
      in.take(in.getCount("characters", maxText, 1));
  std::string text(bytes.begin(), bytes.end());
  // The text may become part of a message, which is one line.
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Status send(comm::Communicator &comm, int64_t to,
            const std::function<void(WireWriter &)> &write) {
  Bytes bytes = comm.buffers().take();
  WireWriter out(bytes);
  out.put(agreementMark);
  write(out);
  return comm.send(to, Lane::Group, std::move(bytes));
}

Status tellOthers(comm::Communicator &comm,
                  const std::function<void(WireWriter &)> &write) {
  for (int64_t rank = 1; rank < comm.size(); ++rank)
    SLUICE_RETURN_IF_ERROR(send(comm, rank, write));
  return {};
}

/// Receives messages until a deadline for all of them together.
class Agreement {
public:
  Agreement(comm::Communicator &comm, std::chrono::milliseconds patience)
      : comm(comm),
        end(comm::Deadline::clock::now() +
            (comm.rank() > 0 ? 2 * patience + headsLead : patience)) {}

  Status receive(int64_t source,
                 const std::function<void(WireReader &)> &read) {
    Bytes bytes;
    SLUICE_RETURN_IF_ERROR(comm.receive(source, bytes, end));
    WireReader in(bytes);
    if (in.get<uint64_t>() != agreementMark)
      return failure("rank ", source, " is of another version of the program");
    read(in);
    Status status = in.finish();
    comm.buffers().give(std::move(bytes));
    return status.withContext("the agreement with rank " +
                              std::to_string(source));
  }

private:
  comm::Communicator &comm;
  const comm::Deadline end;
};

void putTerms(WireWriter &out, const RankTerms &terms) {
  out.putCount(terms);
  for (const auto &[name, value] : terms) {
    putText(out, name);
    putText(out, value);
  }
}

RankTerms getTerms(WireReader &in) {
  RankTerms terms;
  size_t count = in.getCount("terms", maxTerms, 8);
  for (size_t i = 0; i < count; ++i) {
    std::string name = getText(in);
    terms.emplace_back(std::move(name), getText(in));
  }
  return terms;
}

} // namespace

Expected<bool>
engine::agreeOnGpus(comm::Communicator &comm, const DeviceFinding &own,
                    const std::function<void(const std::string &)> &note,
                    std::chrono::milliseconds patience) {
  Agreement agreement(comm, patience);
  bool gpus = own.gpu;
  if (comm.rank() > 0) {
    SLUICE_RETURN_IF_ERROR(send(comm, 0, [&](WireWriter &out) {
      out.put(uint8_t(own.gpu));
      putText(out, own.why);
    }));
    Status s = agreement.receive(
        0, [&](WireReader &in) { gpus = in.getFlag("decision"); });
    return s.ok() ? Expected<bool>(gpus) : s;
  }
  std::string why = own.why.empty() ? "" : "rank 0: " + own.why;
  for (int64_t rank = 1; rank < comm.size(); ++rank) {
    DeviceFinding found;
    SLUICE_RETURN_IF_ERROR(agreement.receive(rank, [&](WireReader &in) {
      found.gpu = in.getFlag("finding");
      found.why = getText(in);
    }));
    gpus &= found.gpu;
    if (why.empty() && !found.why.empty())
      why = "rank " + std::to_string(rank) + ": " + found.why;
  }
  if (!gpus && !why.empty())
    note(why + "; all ranks use the CPU");
  Status reported =
      tellOthers(comm, [&](WireWriter &out) { out.put(uint8_t(gpus)); });
  return reported.ok() ? Expected<bool>(gpus) : reported;
}

Status engine::compareTerms(comm::Communicator &comm, const RankTerms &own) {
  if (comm.rank() == 0)
    return tellOthers(comm, [&](WireWriter &out) { putTerms(out, own); });
  Agreement agreement(comm, agreementPatience);
  RankTerms heads;
  SLUICE_RETURN_IF_ERROR(
      agreement.receive(0, [&](WireReader &in) { heads = getTerms(in); }));
  for (size_t i = 0; i < std::min(own.size(), heads.size()); ++i)
    if (own[i] != heads[i])
      return failure("its ", own[i].first, " is ", own[i].second,
                     ", the head's is ", heads[i].second);
  if (own.size() != heads.size())
    return failure("is of another version of the program than the head");
  return {};
}

Expected<RankTerms> engine::decideAtHead(
    comm::Communicator &comm, const RankTerms &own,
    const std::function<Expected<RankTerms>(std::span<const RankTerms>)>
        &decide) {
  Agreement agreement(comm, agreementPatience);
  RankTerms decision;
  if (comm.rank() > 0) {
    SLUICE_RETURN_IF_ERROR(
        send(comm, 0, [&](WireWriter &out) { putTerms(out, own); }));
    Status s =
        agreement.receive(0, [&](WireReader &in) { decision = getTerms(in); });
    return s.ok() ? Expected<RankTerms>(std::move(decision)) : s;
  }
  std::vector<RankTerms> all = {own};
  for (int64_t rank = 1; rank < comm.size(); ++rank)
    SLUICE_RETURN_IF_ERROR(agreement.receive(
        rank, [&](WireReader &in) { all.push_back(getTerms(in)); }));
  Expected<RankTerms> made = decide(all);
  if (!made)
    return made.status();
  Status reported =
      tellOthers(comm, [&](WireWriter &out) { putTerms(out, *made); });
  return reported.ok() ? std::move(made) : reported;
}

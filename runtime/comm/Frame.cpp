//===- Frame.cpp - headers of frames --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Frame.h"
#include "runtime/comm/FrameFields.h"
#include "runtime/comm/Wire.h"

#include <cassert>
#include <iomanip>

using namespace sluice;
using namespace sluice::comm;

std::string_view comm::frameKindName(FrameKind kind) {
  switch (kind) {
  case FrameKind::Step:
    return "step";
  case FrameKind::Results:
    return "results";
  case FrameKind::Epochs:
    return "epochs";
  case FrameKind::Error:
    return "error";
  case FrameKind::Report:
    return "report";
  case FrameKind::Shutdown:
    return "shutdown";
  }
  return "unknown";
}

std::string comm::planIdentityText(uint64_t plan) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << plan;
  return text.str();
}

void comm::setDeliverAt(std::span<uint8_t> bytes, Time at) {
  assert(bytes.size() >= frameHeaderBytes);
  int64_t nanos = at.count();
  std::memcpy(bytes.data() + deliverAtOffset, &nanos, sizeof(nanos));
}

Time comm::deliverAtOf(std::span<const uint8_t> bytes) {
  int64_t nanos = 0;
  if (bytes.size() >= frameHeaderBytes)
    std::memcpy(&nanos, bytes.data() + deliverAtOffset, sizeof(nanos));
  return Time(nanos);
}

static bool hasStep(FrameKind kind) {
  return kind == FrameKind::Step || kind == FrameKind::Results;
}

Expected<FrameHeader>
FrameCodec::readHeader(std::span<const uint8_t> bytes) const {
  if (bytes.size() < frameHeaderBytes)
    return failure("frame: ", frameHeaderBytes - bytes.size(),
                   " bytes too short for a header");
  WireReader in(bytes.first(frameHeaderBytes));
  if (auto magic = in.get<uint32_t>(); magic != frameMagic)
    return failure("frame: begins with 0x", std::hex, magic,
                   ", which is not a frame");
  if (auto version = in.get<uint16_t>(); version != frameVersion)
    return failure("frame: of version ", version, "; this executable reads ",
                   frameVersion);
  auto kind = in.get<uint8_t>();
  auto reserved = in.get<uint8_t>();
  FrameHeader header;
  header.plan = in.get<uint64_t>();
  if (header.plan != identity)
    return failure("frame: from another plan: ", planIdentityText(header.plan),
                   "; this rank's is ", planIdentityText(identity));
  if (kind < static_cast<uint8_t>(FrameKind::Step) ||
      kind > static_cast<uint8_t>(FrameKind::Shutdown))
    return failure("frame: unknown kind ", int{kind});
  if (reserved != 0)
    return failure("frame: a reserved byte is ", int{reserved});
  header.kind = static_cast<FrameKind>(kind);
  header.step = in.get<uint64_t>();
  header.launched = in.get<uint64_t>();
  if (header.step != 0 && !hasStep(header.kind))
    return failure("frame '", frameKindName(header.kind),
                   "': has a step: ", header.step);
  if (header.launched != 0 && !hasStep(header.kind))
    return failure("frame '", frameKindName(header.kind),
                   "': counts frames of the head: ", header.launched);
  header.deliverAt = Time(in.getInRange<int64_t>(
      "the time of delivery", 0, std::numeric_limits<int64_t>::max()));
  if (!in.ok())
    return in.finish().withContext("frame");
  auto length = in.get<uint64_t>();
  if (length > bytes.size())
    return failure("frame '", frameKindName(header.kind),
                   "': ", length - bytes.size(), " bytes too short: it says ",
                   length);
  if (length < bytes.size())
    return failure("frame '", frameKindName(header.kind),
                   "': ", bytes.size() - length, " bytes too long: it says ",
                   length);
  header.length = static_cast<int64_t>(length);
  return header;
}

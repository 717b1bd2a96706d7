#include "dump/read/slot_packer.h"

#include <algorithm>
#include <vector>

namespace opdump::dump {
namespace {

constexpr std::string_view kUsualFormat = "DefaultFormat";

// What a packed slot has.
enum Has : std::uint32_t {
  kOutput = 1 << 0,
  kArgument = 1 << 1,
  kTimestamp = 1 << 2,
  kOtherFormat = 1 << 3,
  kNoFormat = 1 << 4,
  kFile = 1 << 5,
  kFileElsewhere = 1 << 6,
  kPart = 1 << 7,
  kPacking = 1 << 8,
  kMember = 1 << 9,
  kShape = 1 << 10,
  kStatistics = 1 << 11,
  kReason = 1 << 12,
  kLinked = 1 << 13,
};

// The name of a file that lies right in `directory`; empty for others.
std::string_view name_in(std::string_view directory, std::string_view file) {
  if (directory.empty() || !file.starts_with(directory)) return {};
  file.remove_prefix(directory.size());
  return file.starts_with('/') ? file.substr(1) : std::string_view();
}

std::uint32_t flags_of(const Slot& slot, bool is_elsewhere) {
  std::uint32_t flags = 0;
  const auto set = [&](bool has, Has flag) { flags |= has ? flag : 0U; };
  set(slot.side == model::Side::output, kOutput);
  set(!slot.argument.empty(), kArgument);
  set(slot.timestamp_us != 0, kTimestamp);
  set(slot.format.empty(), kNoFormat);
  set(!slot.format.empty() && slot.format != kUsualFormat, kOtherFormat);
  set(!slot.file.empty(), kFile);
  set(!slot.file.empty() && is_elsewhere, kFileElsewhere);
  set(slot.part.has_value(), kPart);
  set(slot.packing != Packing::none || slot.unpacked_bytes != 0 ||
          slot.stored_dtype != model::DType::undefined,
      kPacking);
  set(!slot.member.empty(), kMember);
  set(slot.shape.has_value(), kShape);
  set(!slot.statistics.empty(), kStatistics);
  set(!slot.undumped_reason.empty(), kReason);
  set(slot.linked.inode != 0, kLinked);
  return flags;
}

void pack_shape(Packer& out, const model::Shape& shape) {
  out.number(shape.rank());
  for (const std::int64_t dim : shape.dims()) out.signed_number(dim);
}

model::Shape unpack_shape(Unpacker& in) {
  std::vector<std::int64_t> dims(in.number());
  for (std::int64_t& dim : dims) dim = in.signed_number();
  return model::Shape(dims);
}

}  // namespace

std::uint32_t SlotPacker::number_of(const SlotStatistics::Names& names) {
  // Every table of a dump mostly has the same columns.
  const auto found = std::ranges::find_if(
      names_, [&](const SlotStatistics::Names& known) { return known == names || *known == *names; });
  const auto number = static_cast<std::uint32_t>(found - names_.begin());
  if (number == names_.size()) names_.push_back(names);
  return number;
}

void SlotPacker::pack(std::string& bytes, const Slot& slot, std::string_view directory) {
  Packer out(bytes);
  const std::string_view name = name_in(directory, slot.file);
  const std::uint32_t flags = flags_of(slot, name.empty());
  out.number(flags);
  out.number(slot.index);
  out.number(static_cast<std::uint64_t>(slot.dtype));
  if ((flags & kArgument) != 0) out.text(slot.argument);
  if ((flags & kTimestamp) != 0) out.number(slot.timestamp_us);
  if ((flags & kOtherFormat) != 0) out.text(slot.format);
  if ((flags & kFile) != 0) {
    out.text(name.empty() ? std::string_view(slot.file) : name);
    out.number(slot.file_bytes);
  }
  if ((flags & kLinked) != 0) {
    out.number(slot.linked.device);
    out.number(slot.linked.inode);
  }
  if ((flags & kPart) != 0) {
    out.number(slot.part->offset);
    out.number(slot.part->bytes);
  }
  if ((flags & kPacking) != 0) {
    out.number(static_cast<std::uint64_t>(slot.packing));
    out.number(slot.unpacked_bytes);
    out.number(static_cast<std::uint64_t>(slot.stored_dtype));
  }
  if ((flags & kMember) != 0) out.text(slot.member);
  if ((flags & kShape) != 0) pack_shape(out, *slot.shape);
  if ((flags & kStatistics) != 0) {
    out.number(number_of(slot.statistics.names()));
    out.text(slot.statistics.values().bytes());
  }
  if ((flags & kReason) != 0) out.text(slot.undumped_reason);
}

Slot SlotPacker::unpack(Unpacker& in, std::string_view directory) const {
  const auto flags = static_cast<std::uint32_t>(in.number());
  Slot slot;
  slot.side = (flags & kOutput) != 0 ? model::Side::output : model::Side::input;
  slot.index = static_cast<std::uint32_t>(in.number());
  slot.dtype = static_cast<model::DType>(in.number());
  if ((flags & kArgument) != 0) slot.argument = in.text();
  if ((flags & kTimestamp) != 0) slot.timestamp_us = in.number();
  if ((flags & kNoFormat) == 0) slot.format = (flags & kOtherFormat) != 0 ? in.text() : kUsualFormat;
  if ((flags & kFile) != 0) {
    if ((flags & kFileElsewhere) == 0) slot.file.append(directory).push_back('/');
    slot.file += in.text();
    slot.file_bytes = in.number();
  }
  if ((flags & kLinked) != 0) {
    slot.linked.device = in.number();
    slot.linked.inode = in.number();
  }
  if ((flags & kPart) != 0) {
    slot.part.emplace();
    slot.part->offset = in.number();
    slot.part->bytes = in.number();
  }
  if ((flags & kPacking) != 0) {
    slot.packing = static_cast<Packing>(in.number());
    slot.unpacked_bytes = in.number();
    slot.stored_dtype = static_cast<model::DType>(in.number());
  }
  if ((flags & kMember) != 0) slot.member = in.text();
  if ((flags & kShape) != 0) slot.shape = unpack_shape(in);
  if ((flags & kStatistics) != 0) {
    const std::uint64_t number = in.number();
    slot.statistics = SlotStatistics(names_[number], PackedTexts::of_bytes(std::string(in.text())));
  }
  if ((flags & kReason) != 0) slot.undumped_reason = in.text();
  return slot;
}

}  // namespace opdump::dump

#include <zlib.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/packing.h"
#include "format/tables/fingerprints.h"

namespace opdump::format {
namespace {

constexpr std::uint32_t kFullRows = 1 << 13;
constexpr std::size_t kFullBytes = 1 << 20;                    // of texts and slots
constexpr std::uint64_t kAnewBytes = std::uint64_t{16} << 20;  // of a stream before it begins anew
constexpr std::size_t kAnewSlots = 1 << 16;
constexpr std::uint32_t kNoSlot = UINT32_MAX;

void put_little(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// A float that prints the same six digits, if there is one. A float holds any six digits, unless it is so
// small that it has fewer bits.
std::optional<float> find_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  constexpr double kSmallest = std::numeric_limits<float>::min();
  if (!std::isfinite(nearest) || std::abs(value) < kSmallest) return std::nullopt;
  std::array<char, 32> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 6).ptr;
  float rounded = 0;
  if (std::from_chars(digits.data(), end, rounded).ec != std::errc()) return std::nullopt;
  return rounded;
}

// Compares bits, so that a NaN is itself, and the zeros are two.
bool are_equal(const FingerprintContent& a, const FingerprintContent& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  return a.hash == b.hash && bits(a.max) == bits(b.max) && bits(a.min) == bits(b.min) &&
         bits(a.avg) == bits(b.avg) && bits(a.l2norm) == bits(b.l2norm) && a.nan_count == b.nan_count;
}

std::uint64_t key_of(const FingerprintContent& content) {
  std::uint64_t key = 0;
  std::memcpy(&key, content.hash.data(), sizeof key);
  return key;
}

std::string key_of(const FingerprintSlotView& slot) {
  std::string key;
  Packer out(key);
  out.text(slot.op_type);
  out.text(slot.op_name);
  out.signed_number(slot.stream);
  out.number(std::uint64_t{slot.index} << 1 | static_cast<std::uint64_t>(slot.side));
  out.number(static_cast<std::uint64_t>(slot.dtype));
  for (const std::int64_t dim : slot.shape.dims()) out.signed_number(dim);
  return key;
}

bool are_equal(const FingerprintSlot& a, const FingerprintSlotView& b) {
  return a.index == b.index && a.side == b.side && a.dtype == b.dtype && a.stream == b.stream &&
         a.op_name == b.op_name && a.op_type == b.op_type && a.shape == b.shape;
}

// Numbers most of which are as predicted.
class RunEncoder {
 public:
  void add(std::uint64_t number, std::uint64_t predicted) {
    if (number == predicted) return static_cast<void>(++hits_);
    Packer out(bytes_);
    out.number(std::exchange(hits_, 0));
    out.number(number);
  }
  void finish(std::string& out) {
    out += std::exchange(bytes_, {});
    Packer(out).number(std::exchange(hits_, 0));
  }

 private:
  std::string bytes_;
  std::uint64_t hits_ = 0;
};

void put_floats(std::string& out, std::span<const FingerprintContent> contents,
                double FingerprintContent::*field) {
  std::vector<float> floats;
  for (const FingerprintContent& content : contents) {
    const auto shorter = find_float(content.*field);
    if (!shorter) break;
    floats.push_back(*shorter);
  }
  const bool is_short = floats.size() == contents.size();
  out.push_back(is_short ? 4 : 8);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (is_short)
      put_little(out, std::bit_cast<std::uint32_t>(floats[i]), 4);
    else
      put_little(out, std::bit_cast<std::uint64_t>(contents[i].*field), 8);
  }
}

void put_contents(std::string& out, std::span<const FingerprintContent> contents) {
  for (const auto field : {&FingerprintContent::max, &FingerprintContent::min, &FingerprintContent::avg,
                           &FingerprintContent::l2norm})
    put_floats(out, contents, field);
  bool has_nan = false;
  for (const FingerprintContent& content : contents) has_nan = has_nan || content.nan_count != 0;
  out.push_back(has_nan ? 1 : 0);
  for (const FingerprintContent& content : contents)
    if (has_nan) Packer(out).number(content.nan_count);
  for (const FingerprintContent& content : contents)
    out.append(reinterpret_cast<const char*>(content.hash.data()), content.hash.size());
}

}  // namespace

struct FingerprintEncoder::State {
  struct Part {
    std::int64_t step, graph_id;
    std::uint64_t row_count;
  };
  struct Move {
    std::int64_t step, from, to;
  };
  struct KnownSlot {
    FingerprintSlot slot;
    std::uint32_t next = kNoSlot;  // that came after it; unknown: the next number
    std::uint64_t choice = 0;      // of its last row
    FingerprintContent content{};  // of its last row
    bool has_content = false;
  };

  std::uint32_t find_slot(const FingerprintSlotView& slot, std::uint32_t predicted);
  std::uint32_t add_slot(const FingerprintSlotView& slot);
  std::uint64_t add_text(std::string_view text);
  std::uint64_t choose(std::uint32_t slot, const FingerprintContent& content) const;
  void keep(std::uint32_t slot, const FingerprintContent& content);
  void begin_anew();

  std::uint64_t stream = 0;
  std::uint32_t number = 0, first = 0;  // of the next block
  std::uint64_t bytes = 0;              // since the stream began anew

  // What readers know.
  std::unordered_map<std::string, std::uint64_t> texts;
  std::vector<KnownSlot> slots;
  std::unordered_map<std::string, std::uint32_t> slot_numbers;
  std::unordered_map<std::uint64_t, std::uint32_t> slots_by_content;
  std::uint32_t last_slot = kNoSlot;
  std::uint64_t last_time = 0;

  // What is for the next block.
  std::vector<Move> moves;
  std::vector<Part> parts;
  std::string new_texts, new_slots, times;
  std::uint64_t text_count = 0, slot_count = 0;
  std::uint32_t row_count = 0;
  RunEncoder slot_runs, choice_runs;
  std::vector<FingerprintContent> contents;
};

std::uint32_t FingerprintEncoder::State::find_slot(const FingerprintSlotView& slot, std::uint32_t predicted) {
  if (predicted < slots.size() && are_equal(slots[predicted].slot, slot)) return predicted;
  const auto [known, is_new] = slot_numbers.try_emplace(key_of(slot), 0);
  if (is_new) known->second = add_slot(slot);
  return known->second;
}

std::uint64_t FingerprintEncoder::State::add_text(std::string_view text) {
  const auto [known, is_new] = texts.try_emplace(std::string(text), texts.size());
  if (is_new) {
    Packer(new_texts).text(text);
    ++text_count;
  }
  return known->second;
}

std::uint32_t FingerprintEncoder::State::add_slot(const FingerprintSlotView& slot) {
  const std::uint64_t type = add_text(slot.op_type), name = add_text(slot.op_name),
                      dtype = add_text(model::dtype_info(slot.dtype).name);
  Packer out(new_slots);
  out.number(type);
  out.number(name);
  out.number(dtype);
  out.signed_number(slot.stream);
  new_slots.push_back(slot.side == model::Side::input ? 0 : 1);
  out.number(slot.index);
  out.number(slot.shape.rank());
  for (const std::int64_t dim : slot.shape.dims()) out.signed_number(dim);
  ++slot_count;
  slots.push_back({{.op_type = std::string(slot.op_type),
                    .op_name = std::string(slot.op_name),
                    .stream = slot.stream,
                    .side = slot.side,
                    .index = slot.index,
                    .dtype = slot.dtype,
                    .shape = slot.shape}});
  return static_cast<std::uint32_t>(slots.size() - 1);
}

// Whose last content it is: the one that was the last time, if it can be.
std::uint64_t FingerprintEncoder::State::choose(std::uint32_t slot, const FingerprintContent& content) const {
  const auto is_of = [&](std::uint64_t other) {
    return slots[other].has_content && are_equal(slots[other].content, content);
  };
  const std::uint64_t last = slots[slot].choice;
  if (last > 0 && is_of(last - 1)) return last;
  const auto found = slots_by_content.find(key_of(content));
  return found != slots_by_content.end() && is_of(found->second) ? found->second + std::uint64_t{1} : 0;
}

void FingerprintEncoder::State::keep(std::uint32_t slot, const FingerprintContent& content) {
  KnownSlot& known = slots[slot];
  if (known.has_content)
    if (const auto old = slots_by_content.find(key_of(known.content));
        old != slots_by_content.end() && old->second == slot)
      slots_by_content.erase(old);
  slots_by_content.try_emplace(key_of(content), slot);
  known.content = content;
  known.has_content = true;
}

void FingerprintEncoder::State::begin_anew() {
  first = number;
  bytes = 0;
  texts.clear();
  slots.clear();
  slot_numbers.clear();
  slots_by_content.clear();
  last_slot = kNoSlot;
  last_time = 0;
}

FingerprintEncoder::FingerprintEncoder(std::uint64_t stream) : state_(std::make_unique<State>()) {
  state_->stream = stream;
}
FingerprintEncoder::FingerprintEncoder(FingerprintEncoder&&) noexcept = default;
FingerprintEncoder& FingerprintEncoder::operator=(FingerprintEncoder&&) noexcept = default;
FingerprintEncoder::~FingerprintEncoder() = default;

void FingerprintEncoder::add(const FingerprintMoment& moment, const FingerprintSlotView& slot,
                             const FingerprintContent& content) {
  State& state = *state_;
  const std::uint32_t last = state.last_slot;
  const std::uint32_t predicted =
      last == kNoSlot || state.slots[last].next == kNoSlot ? last + 1 : state.slots[last].next;
  const std::uint32_t number = state.find_slot(slot, predicted);
  state.slot_runs.add(number, predicted);
  if (last != kNoSlot) state.slots[last].next = number;
  state.last_slot = number;

  const std::uint64_t choice = state.choose(number, content);
  state.choice_runs.add(choice, state.slots[number].choice);
  state.slots[number].choice = choice;
  if (choice == 0) state.contents.push_back(content);
  state.keep(number, content);

  Packer(state.times).signed_number(static_cast<std::int64_t>(moment.time_us - state.last_time));
  state.last_time = moment.time_us;
  if (state.parts.empty() || state.parts.back().step != moment.step ||
      state.parts.back().graph_id != moment.graph_id)
    state.parts.push_back({moment.step, moment.graph_id, 0});
  ++state.parts.back().row_count;
  ++state.row_count;
}

void FingerprintEncoder::move(std::int64_t step, std::int64_t from, std::int64_t to) {
  for (State::Part& part : state_->parts)
    if (part.step == step && part.graph_id == from) part.graph_id = to;
  state_->moves.push_back({step, from, to});
}

bool FingerprintEncoder::is_empty() const { return state_->row_count == 0 && state_->moves.empty(); }

bool FingerprintEncoder::is_full() const {
  return state_->row_count >= kFullRows || state_->new_texts.size() + state_->new_slots.size() >= kFullBytes;
}

std::string FingerprintEncoder::take_block() {
  State& state = *state_;
  std::string body;
  Packer out(body);
  out.number(state.moves.size());
  for (const State::Move& move : std::exchange(state.moves, {})) {
    out.signed_number(move.step);
    out.signed_number(move.from);
    out.signed_number(move.to);
  }
  out.number(state.parts.size());
  for (const State::Part& part : std::exchange(state.parts, {})) {
    out.signed_number(part.step);
    out.signed_number(part.graph_id);
    out.number(part.row_count);
  }
  out.number(std::exchange(state.text_count, 0));
  body += std::exchange(state.new_texts, {});
  out.number(std::exchange(state.slot_count, 0));
  body += std::exchange(state.new_slots, {});
  state.slot_runs.finish(body);
  state.choice_runs.finish(body);
  body += std::exchange(state.times, {});
  put_contents(body, std::exchange(state.contents, {}));

  std::string block(kFingerprintsMagic);
  put_little(block, kFingerprintsVersion, 4);
  put_little(block, state.number++, 4);
  put_little(block, state.stream, 8);
  put_little(block, state.first, 4);
  put_little(block, std::exchange(state.row_count, 0), 4);
  put_little(block, body.size(), 4);
  put_little(block, crc_of(body), 4);
  put_little(block, crc_of(block), 4);
  block += body;
  state.bytes += block.size();
  if (state.bytes >= kAnewBytes || state.slots.size() >= kAnewSlots) state.begin_anew();
  return block;
}

}  // namespace opdump::format

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "base/text/packing.h"
#include "format/tables/fingerprints.h"

namespace opdump::format {
namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;
constexpr std::size_t kMaxSlotRank = 1024;
constexpr std::size_t kMaxKnown = 1 << 17;  // slots of a stream

template <typename T>
T take_little(std::span<const std::byte> bytes, std::size_t offset) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<T>(bytes[offset + i]) << (8 * i));
  return value;
}

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

Error damaged_block(std::string what) { return {Code::corrupt, "damaged block: " + std::move(what)}; }

class RunDecoder {
 public:
  explicit RunDecoder(Unpacker& in) : in_(in), hits_(in.number()) {}
  std::uint64_t next(std::uint64_t predicted) {
    if (hits_ > 0) return --hits_, predicted;
    const std::uint64_t number = in_.number();
    hits_ = in_.number();
    return number;
  }

 private:
  Unpacker& in_;
  std::uint64_t hits_;
};

// The bytes of `count` things of a size each; empty, and `is_ok` is false, if they are not there.
std::string_view take_bytes(std::string_view& rest, std::uint64_t count, std::size_t size, bool& is_ok) {
  if (!is_ok || count > rest.size() / size) return is_ok = false, std::string_view();
  const std::string_view taken = rest.substr(0, count * size);
  rest.remove_prefix(taken.size());
  return taken;
}

std::uint8_t take_byte(std::string_view& rest, bool& is_ok) {
  const std::string_view byte = take_bytes(rest, 1, 1, is_ok);
  return byte.empty() ? 0 : static_cast<std::uint8_t>(byte[0]);
}

void take_floats(std::string_view& rest, std::span<FingerprintContent> contents,
                 double FingerprintContent::*field, bool& is_ok) {
  const std::size_t size = take_byte(rest, is_ok);
  is_ok = is_ok && (size == 4 || size == 8);
  if (!is_ok) return;
  const auto bytes = std::as_bytes(std::span(take_bytes(rest, contents.size(), size, is_ok)));
  for (std::size_t i = 0; is_ok && i < contents.size(); ++i)
    contents[i].*field = size == 4 ? std::bit_cast<float>(take_little<std::uint32_t>(bytes, 4 * i))
                                   : std::bit_cast<double>(take_little<std::uint64_t>(bytes, 8 * i));
}

// False if `rest` is not exactly so many contents.
bool take_contents(std::string_view rest, std::span<FingerprintContent> contents) {
  bool is_ok = true;
  for (const auto field : {&FingerprintContent::max, &FingerprintContent::min, &FingerprintContent::avg,
                           &FingerprintContent::l2norm})
    take_floats(rest, contents, field, is_ok);
  const std::uint8_t has_nan = take_byte(rest, is_ok);
  if (!is_ok || has_nan > 1) return false;
  if (has_nan == 1) {
    Unpacker in(rest);
    for (FingerprintContent& content : contents) content.nan_count = in.number();
    if (!in.is_ok()) return false;
    rest.remove_prefix(rest.size() - in.left());
  }
  const std::string_view hashes = take_bytes(rest, contents.size(), sizeof(FingerprintContent::hash), is_ok);
  for (std::size_t i = 0; is_ok && i < contents.size(); ++i) {
    const auto hash = std::as_bytes(std::span(hashes)).subspan(i * contents[i].hash.size());
    std::ranges::copy(hash.first(contents[i].hash.size()), contents[i].hash.begin());
  }
  return is_ok && rest.empty();
}

}  // namespace

Result<FingerprintHeader> decode_fingerprint_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kFingerprintHeaderBytes || !view_of(bytes).starts_with(kFingerprintsMagic) ||
      checksum_of(bytes.first(kFingerprintHeaderBytes - 4)) !=
          take_little<std::uint32_t>(bytes, kFingerprintHeaderBytes - 4))
    return Error(Code::corrupt, "no block of fingerprints begins here");
  const auto version = take_little<std::uint32_t>(bytes, 8);
  if (version != kFingerprintsVersion)
    return Error(Code::unsupported, "fingerprints of version " + std::to_string(version) + "; we read " +
                                        std::to_string(kFingerprintsVersion));
  FingerprintHeader header{.stream = take_little<std::uint64_t>(bytes, 16),
                           .number = take_little<std::uint32_t>(bytes, 12),
                           .first = take_little<std::uint32_t>(bytes, 24),
                           .row_count = take_little<std::uint32_t>(bytes, 28),
                           .body_bytes = take_little<std::uint32_t>(bytes, 32),
                           .body_crc = take_little<std::uint32_t>(bytes, 36)};
  if (header.row_count > kMaxFingerprintRows || header.body_bytes > kMaxFingerprintBytes ||
      header.row_count > header.body_bytes)
    return Error(Code::limit, "a block of " + std::to_string(header.row_count) + " rows in " +
                                  std::to_string(header.body_bytes) + " bytes; at most " +
                                  std::to_string(kMaxFingerprintRows) + " in " +
                                  std::to_string(kMaxFingerprintBytes) + ", and a byte for each");
  return header;
}

struct FingerprintDecoder::Stream {
  struct Part {
    std::int64_t step = 0, graph_id = 0;
    std::uint64_t row_count = 0;
  };
  struct Move {
    std::int64_t step = 0, from = 0, to = 0;
  };
  struct KnownSlot {
    std::uint32_t number = 0;          // in the table
    std::uint32_t next = kUnknown;     // that came after it
    std::uint32_t content = kUnknown;  // in the table, of its last row
    std::uint64_t choice = 0;
  };

  Result<> take_moves(Unpacker& in);
  Result<> take_parts(Unpacker& in, std::uint32_t row_count);
  Result<> take_slots(Unpacker& in, FingerprintTable& table);
  Result<FingerprintSlot> take_slot(Unpacker& in) const;
  Result<> take_rows(Unpacker& in, std::string_view body, std::uint32_t row_count, FingerprintTable& table);

  std::uint32_t next_number = 0, first = 0;
  std::vector<std::string> texts;
  std::vector<KnownSlot> slots;
  std::uint32_t last_slot = kUnknown;
  std::uint64_t last_time = 0;
  // These belong to the block that is read.
  std::vector<Move> moves;
  std::vector<Part> parts;
  std::vector<FingerprintRow> rows;
};

Result<> FingerprintDecoder::Stream::take_moves(Unpacker& in) {
  const std::uint64_t count = in.number();
  if (count > in.left()) return damaged_block("more moves than bytes");
  for (std::uint64_t i = 0; i < count; ++i) {
    Move& move = moves.emplace_back();
    move.step = in.signed_number();
    move.from = in.signed_number();
    move.to = in.signed_number();
  }
  return ok();
}

Result<> FingerprintDecoder::Stream::take_parts(Unpacker& in, std::uint32_t row_count) {
  const std::uint64_t count = in.number();
  if (count > in.left()) return damaged_block("more parts than bytes");
  std::uint64_t rows_left = row_count;
  for (std::uint64_t i = 0; i < count; ++i) {
    Part& part = parts.emplace_back();
    part.step = in.signed_number();
    part.graph_id = in.signed_number();
    part.row_count = in.number();
    if (part.row_count > rows_left) return damaged_block("its parts have more rows than it has");
    rows_left -= part.row_count;
  }
  return rows_left == 0 ? ok() : Result<>(damaged_block("its parts have fewer rows than it has"));
}

Result<FingerprintSlot> FingerprintDecoder::Stream::take_slot(Unpacker& in) const {
  const std::uint64_t type = in.number(), name = in.number(), dtype = in.number();
  FingerprintSlot slot{.op_type = {}, .op_name = {}, .stream = in.signed_number()};
  const auto side = in.object<std::uint8_t>();
  const std::uint64_t index = in.number(), rank = in.number();
  if (type >= texts.size() || name >= texts.size() || dtype >= texts.size())
    return damaged_block("a slot with a text that is not there");
  if (side > 1 || index > UINT32_MAX || rank > kMaxSlotRank || rank > in.left())
    return damaged_block("a slot");
  slot.op_type = texts[type];
  slot.op_name = texts[name];
  slot.side = side == 0 ? model::Side::input : model::Side::output;
  slot.index = static_cast<std::uint32_t>(index);
  const auto known = model::find_dtype(texts[dtype]);
  if (!known) return damaged_block("a dtype that we do not know");
  slot.dtype = *known;
  std::vector<std::int64_t> dims(rank);
  for (std::int64_t& dim : dims) dim = in.signed_number();
  slot.shape = model::Shape(dims);
  return slot;
}

Result<> FingerprintDecoder::Stream::take_slots(Unpacker& in, FingerprintTable& table) {
  const std::uint64_t text_count = in.number();
  if (text_count > in.left()) return damaged_block("more texts than bytes");
  for (std::uint64_t i = 0; i < text_count; ++i) texts.emplace_back(in.text());
  const std::uint64_t slot_count = in.number();
  if (slot_count > in.left()) return damaged_block("more slots than bytes");
  if (slots.size() + slot_count > kMaxKnown || table.slots.size() + slot_count >= kUnknown)
    return damaged_block("more slots than a stream may have");
  for (std::uint64_t i = 0; i < slot_count; ++i) {
    OPDUMP_TRY(FingerprintSlot slot, take_slot(in));
    slots.push_back({.number = static_cast<std::uint32_t>(table.slots.size())});
    table.slots.push_back(std::move(slot));
  }
  return in.is_ok() ? ok() : Result<>(damaged_block("it ends too early"));
}

// The columns of rows, one after the other. `in` is what is left of the body.
Result<> FingerprintDecoder::Stream::take_rows(Unpacker& in, std::string_view body, std::uint32_t row_count,
                                               FingerprintTable& table) {
  std::vector<std::uint32_t> own_slots;  // in the stream
  own_slots.reserve(row_count);
  rows.resize(row_count);
  RunDecoder slot_runs(in);
  for (FingerprintRow& row : rows) {
    const std::uint32_t after =
        last_slot == kUnknown || slots[last_slot].next == kUnknown ? last_slot + 1 : slots[last_slot].next;
    const std::uint64_t slot = slot_runs.next(after);
    if (!in.is_ok() || slot >= slots.size()) return damaged_block("a row of a slot that is not there");
    if (last_slot != kUnknown) slots[last_slot].next = static_cast<std::uint32_t>(slot);
    last_slot = static_cast<std::uint32_t>(slot);
    own_slots.push_back(last_slot);
    row.slot = slots[slot].number;
  }
  RunDecoder choice_runs(in);
  std::size_t next_content = table.contents.size();
  if (next_content + row_count >= kUnknown) return damaged_block("more contents than a file may have");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    KnownSlot& slot = slots[own_slots[i]];
    slot.choice = choice_runs.next(slot.choice);
    if (!in.is_ok() || slot.choice > slots.size()) return damaged_block("a row with the content of no slot");
    const auto content =
        slot.choice == 0 ? static_cast<std::uint32_t>(next_content++) : slots[slot.choice - 1].content;
    if (content == kUnknown) return damaged_block("a row with the content of a slot that has none");
    rows[i].content = slot.content = content;
  }
  for (FingerprintRow& row : rows)
    row.moment.time_us = last_time += static_cast<std::uint64_t>(in.signed_number());
  if (!in.is_ok()) return damaged_block("it ends too early");
  std::vector<FingerprintContent> contents(next_content - table.contents.size());
  if (!take_contents(body.substr(body.size() - in.left()), contents))
    return damaged_block("other contents than its rows have");
  table.contents.insert(table.contents.end(), contents.begin(), contents.end());
  auto row = rows.begin();
  for (const Part& part : parts)
    for (std::uint64_t i = 0; i < part.row_count; ++i, ++row)
      row->moment.step = part.step, row->moment.graph_id = part.graph_id;
  return ok();
}

FingerprintDecoder::FingerprintDecoder() = default;
FingerprintDecoder::FingerprintDecoder(FingerprintDecoder&&) noexcept = default;
FingerprintDecoder& FingerprintDecoder::operator=(FingerprintDecoder&&) noexcept = default;
FingerprintDecoder::~FingerprintDecoder() = default;

Result<> FingerprintDecoder::decode(const FingerprintHeader& header, std::span<const std::byte> body,
                                    FingerprintTable& table, const Take& take) {
  if (body.size() != header.body_bytes) return damaged_block("it ends too early");
  if (checksum_of(body) != header.body_crc) {
    streams_.erase(header.stream);
    return damaged_block("its checksum is another one");
  }
  if (header.number == header.first) {
    streams_[header.stream] = std::make_unique<Stream>();
    streams_[header.stream]->first = streams_[header.stream]->next_number = header.number;
  }
  const auto known = streams_.find(header.stream);
  if (known == streams_.end() || known->second->first != header.first ||
      known->second->next_number != header.number) {
    if (known != streams_.end()) streams_.erase(known);
    return Error(Code::not_found, "an earlier block is missing, without which this one cannot be read");
  }
  Stream& stream = *known->second;
  ++stream.next_number;
  Unpacker in(view_of(body));
  Result<> taken = stream.take_moves(in);
  if (taken) taken = stream.take_parts(in, header.row_count);
  if (taken) taken = stream.take_slots(in, table);
  if (taken) taken = stream.take_rows(in, view_of(body), header.row_count, table);
  if (!taken) {
    streams_.erase(known);
    return taken;
  }
  for (const Stream::Move& move : std::exchange(stream.moves, {})) take.move(move.step, move.from, move.to);
  for (const FingerprintRow& row : std::exchange(stream.rows, {})) take.row(row);
  stream.parts.clear();
  return ok();
}

}  // namespace opdump::format

#include "dump/read/files/fingerprint_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/file/file.h"
#include "base/text/text.h"
#include "plan/dump_plan.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kMostDamages = 100;  // more is no file of ours

std::string hash_text(const std::array<std::byte, 16>& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : hash) {
    text.push_back(kDigits[std::to_integer<unsigned>(byte >> 4)]);
    text.push_back(kDigits[std::to_integer<unsigned>(byte & std::byte{15})]);
  }
  return text;
}

// Prints the content as a table does.
SlotStatistics make_statistics(const SlotStatistics::Names& names,
                               const format::FingerprintContent& content) {
  return {names, PackedTexts(std::vector<std::string>{
                     format_g(content.max), format_g(content.min), format_g(content.avg),
                     format_g(content.l2norm), std::to_string(content.nan_count), hash_text(content.hash)})};
}

SlotStatistics::Names column_names() {
  std::vector<std::string> names;
  for (const plan::Statistic statistic : plan::fingerprint_statistics())
    names.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

// Where the next block begins, from `at` on; at the end if there is none.
std::size_t find_block(std::span<const std::byte> bytes, std::size_t at) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (; (at = text.find(format::kFingerprintsMagic, at)) != std::string_view::npos; ++at)
    if (format::decode_fingerprint_header(bytes.subspan(at))) return at;
  return bytes.size();
}

// Whether a block may end at `at`. One that was cut short ends before, and what somebody else added begins
// there.
bool is_followed(std::span<const std::byte> bytes, std::size_t at) {
  return bytes.size() - at < format::kFingerprintHeaderBytes ||
         format::decode_fingerprint_header(bytes.subspan(at));
}

}  // namespace

void FingerprintFile::read(Problems& problems) {
  end_.clear();
  const auto file = open_input(path_);
  if (!file) {
    problems.push_back({path_, file.error().message()});
    return;
  }
  const auto identity = identify(file->fd);
  if (file->size < offset_ || (identity_ && identity != identity_)) *this = FingerprintFile(path_);
  identity_ = identity;
  if (file->size > offset_) {
    const auto rest = MappedFile::open_part(path_.string(), offset_, file->size - offset_);
    if (rest)
      read_blocks(rest->bytes());
    else
      end_ = rest.error().message();
  }
  for (const std::string& damage : damages_) problems.push_back({path_, damage});
  if (unreadable_.block_count > 0) problems.push_back({path_, describe_unreadable()});
  if (!end_.empty()) problems.push_back({path_, end_});
}

void FingerprintFile::say(std::uint64_t offset, const std::string& what) {
  damages_.push_back("byte " + std::to_string(offset) + ": " + what);
}

std::string FingerprintFile::describe_unreadable() const {
  return "from byte " + std::to_string(unreadable_.offset) +
         " on: " + counted(unreadable_.block_count, "block") + " with " +
         counted(unreadable_.row_count, "row") + " cannot be read without earlier ones, which are damaged";
}

// Goes on with the next block, if there is one: somebody else may have added to a file that was cut short.
void FingerprintFile::pass_over_damage(std::span<const std::byte> bytes, std::size_t& at,
                                       const std::string& why) {
  const std::size_t next = find_block(bytes, at + 1);
  say(offset_ + at, why + "; " + std::to_string(next - at) + " bytes are left out");
  at = next;
}

void FingerprintFile::read_blocks(std::span<const std::byte> bytes) {
  const format::FingerprintDecoder::Take take{
      .row =
          [&](const format::FingerprintRow& row) {
            steps_[{row.moment.step, row.moment.graph_id}].push_back(
                {row.moment.time_us, row.slot, row.content});
          },
      .move = [&](std::int64_t step, std::int64_t from, std::int64_t to) { move(step, from, to); }};
  std::size_t at = 0;
  while (at < bytes.size() && damages_.size() < kMostDamages) {
    const std::size_t left = bytes.size() - at;
    const auto header = format::decode_fingerprint_header(bytes.subspan(at));
    const std::uint64_t needed = header ? header->block_bytes() : format::kFingerprintHeaderBytes;
    if (needed > left && find_block(bytes, at + 1) == bytes.size()) {
      end_ = "cut short at byte " + std::to_string(offset_ + at) + ": the last block is not whole, " +
             std::to_string(left) + " bytes are there";
      break;
    }
    if (!header || needed > left) {
      pass_over_damage(bytes, at, header ? "a block that is not whole" : header.error().message());
      continue;
    }
    const auto body = bytes.subspan(at + format::kFingerprintHeaderBytes, header->body_bytes);
    auto decoded = decoder_.decode(*header, body, table_, take);
    if (!decoded && decoded.error().code() == Code::not_found) {
      if (unreadable_.block_count++ == 0) unreadable_.offset = offset_ + at;
      unreadable_.row_count += header->row_count;
    } else if (!decoded) {
      say(offset_ + at,
          decoded.error().message() + "; its " + counted(header->row_count, "row") + " are left out");
    }
    at = decoded || is_followed(bytes, at + needed) ? at + needed : find_block(bytes, at + 1);
  }
  offset_ += at;
  if (damages_.size() >= kMostDamages) end_ = "too many damaged blocks; the rest is not read";
}

void FingerprintFile::move(std::int64_t step, std::int64_t from, std::int64_t to) {
  if (from == to) return;
  auto moved = steps_.extract({step, from});
  if (moved.empty()) return;
  std::vector<Row>& rows = steps_[{step, to}];
  rows.insert(rows.end(), moved.mapped().begin(), moved.mapped().end());
}

void FingerprintFile::add_to(SlotStore& store, const TakeExecution& take) const {
  const SlotStatistics::Names names = column_names();
  for (const auto& step : steps_) {
    SlotsByOperator slots(store, {});
    for (const Row& row : step.second) {
      const format::FingerprintSlot& known = table_.slots[row.slot];
      Slot slot;
      slot.side = known.side;
      slot.index = known.index;
      slot.timestamp_us = row.time_us;
      slot.dtype = known.dtype;
      slot.shape = known.shape;
      slot.statistics = make_statistics(names, table_.contents[row.content]);
      slots.add({known.op_type, known.op_name}, {std::move(slot), 0, known.stream});
    }
    slots.drain([&](OperatorRun run, std::span<const std::uint32_t> numbers) {
      run.step = step.first.first;
      run.graph_id = step.first.second;
      take(std::move(run), numbers);
    });
  }
}

}  // namespace opdump::dump

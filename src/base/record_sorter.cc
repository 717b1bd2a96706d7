#include "base/record_sorter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/packing.h"

namespace opdump {
namespace {

constexpr std::size_t kHeldBytes = 8 << 20;  // of records that are sorted at once, and of pieces of runs
constexpr std::size_t kLongestPiece = 128 << 10;
constexpr std::size_t kLongestSize = 10;  // of a record's size, packed
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

}  // namespace

void RecordSorter::add(std::string_view record) {
  if (newest_.size() + record.size() + places_.size() * sizeof(Place) > kHeldBytes) put_newest_aside();
  places_.push_back({static_cast<std::uint32_t>(newest_.size()), static_cast<std::uint32_t>(record.size())});
  newest_ += record;
  ++size_;
}

void RecordSorter::sort_newest() {
  std::ranges::sort(places_, {}, [&](Place place) { return record(place); });
}

void RecordSorter::put_newest_aside() {
  if (places_.empty()) return;
  sort_newest();
  const std::uint64_t at = put_aside_.size();
  std::string size;
  for (const Place place : places_) {
    size.clear();
    Packer(size).number(place.size);
    put_aside_.append(size);
    put_aside_.append(record(place));
  }
  runs_.push_back({at, put_aside_.size()});
  places_.clear();
  newest_.clear();
}

RecordSorter::Reader RecordSorter::sorted() {
  sort_newest();
  return Reader(*this);
}

RecordSorter::Reader::Reader(const RecordSorter& sorter) : sorter_(&sorter) {
  for (const Run run : sorter.runs_) sources_.push_back({run, {}, 0, {}});
  sources_.emplace_back();
  piece_bytes_ = std::min(kLongestPiece, kHeldBytes / sources_.size());
}

// Makes `wanted` bytes available from source.at on, unless the run ends before.
Result<> RecordSorter::Reader::read_on(Source& source, std::size_t wanted) {
  const std::size_t have = source.bytes.size() - source.at;
  if (have >= wanted || source.rest.at == source.rest.end) return ok();
  source.bytes.erase(0, std::exchange(source.at, 0));
  const std::uint64_t more =
      std::min<std::uint64_t>(std::max(piece_bytes_, wanted - have), source.rest.end - source.rest.at);
  source.bytes.resize(have + more);
  OPDUMP_CHECK_OK(sorter_->put_aside_.read(source.rest.at, std::span(source.bytes).subspan(have)));
  source.rest.at += more;
  return ok();
}

bool RecordSorter::Reader::advance_newest(Source& source) {
  if (next_newest_ == sorter_->places_.size()) return false;
  source.record = sorter_->record(sorter_->places_[next_newest_++]);
  return true;
}

Result<bool> RecordSorter::Reader::advance(Source& source) {
  if (&source == &sources_.back()) return advance_newest(source);
  OPDUMP_CHECK_OK(read_on(source, kLongestSize));
  Unpacker in(std::string_view(source.bytes).substr(source.at));
  if (in.is_empty()) return false;
  const std::uint64_t size = in.number();
  source.at = source.bytes.size() - in.left();
  OPDUMP_CHECK_OK(read_on(source, size));
  source.record = std::string_view(source.bytes).substr(source.at, size);
  source.at += size;
  return true;
}

// Goes on in a source, and puts it among those that have a record if it has another one.
Result<> RecordSorter::Reader::keep(std::size_t source) {
  OPDUMP_TRY(const bool has_more, advance(sources_[source]));
  if (!has_more) return ok();
  heap_.push_back(source);
  std::ranges::push_heap(heap_, std::greater(), [&](std::size_t i) { return sources_[i].record; });
  return ok();
}

Result<bool> RecordSorter::Reader::next() {
  if (is_started_) {
    OPDUMP_CHECK_OK(keep(current_));
  } else {
    is_started_ = true;
    for (std::size_t i = 0; i < sources_.size(); ++i) OPDUMP_CHECK_OK(keep(i));
  }
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, std::greater(), [&](std::size_t i) { return sources_[i].record; });
  current_ = heap_.back();
  heap_.pop_back();
  return true;
}

SortKey& SortKey::number(std::uint64_t value) {
  std::array<char, sizeof value> bytes;
  for (std::size_t i = bytes.size(); i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value);
  record_.append(bytes.data(), bytes.size());
  return *this;
}

SortKey& SortKey::signed_number(std::int64_t value) {
  return number(static_cast<std::uint64_t>(value) ^ kSignBit);
}

// Ends with two zeros; a zero inside is followed by a one.
SortKey& SortKey::text(std::string_view value) {
  for (std::size_t zero = 0; (zero = value.find('\0')) != std::string_view::npos;) {
    record_.append(value.substr(0, zero + 1)).push_back('\1');
    value.remove_prefix(zero + 1);
  }
  record_.append(value).append(2, '\0');
  return *this;
}

std::uint64_t SortKeyReader::number() {
  std::uint64_t value = 0;
  for (const char c : rest_.substr(0, sizeof value)) value = value << 8 | static_cast<unsigned char>(c);
  rest_.remove_prefix(std::min(rest_.size(), sizeof value));
  return value;
}

std::int64_t SortKeyReader::signed_number() { return static_cast<std::int64_t>(number() ^ kSignBit); }

std::string SortKeyReader::text() {
  std::string value;
  for (std::size_t zero = 0; (zero = rest_.find('\0')) != std::string_view::npos;) {
    const bool is_end = rest_.substr(zero).size() < 2 || rest_[zero + 1] == '\0';
    value.append(rest_.substr(0, is_end ? zero : zero + 1));
    rest_.remove_prefix(std::min(rest_.size(), zero + 2));
    if (is_end) break;
  }
  return value;
}

}  // namespace opdump

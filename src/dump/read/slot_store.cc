#include "dump/read/slot_store.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace opdump::dump {
namespace {

// The name of a file that lies right in `directory`; empty for others.
std::string_view name_in(std::string_view directory, std::string_view file) {
  if (directory.empty() || !file.starts_with(directory)) return {};
  file.remove_prefix(directory.size());
  return file.starts_with('/') ? file.substr(1) : std::string_view();
}

bool has_rare(const Slot& slot) {
  return slot.part || slot.packing != Packing::none || slot.unpacked_bytes != 0 || slot.linked.inode != 0 ||
         slot.stored_dtype != model::DType::undefined || !slot.argument.empty() || !slot.member.empty() ||
         !slot.undumped_reason.empty();
}

}  // namespace

// The bytes of the dimensions; a scalar has one byte, to be unlike no shape.
std::uint32_t SlotStore::intern_shape(const std::optional<model::Shape>& shape) {
  if (!shape) return kNone;
  const auto dims = shape->dims();
  return names_.add(dims.empty()
                        ? std::string_view("s")
                        : std::string_view(reinterpret_cast<const char*>(dims.data()), dims.size_bytes()));
}

std::optional<model::Shape> SlotStore::shape_of(std::uint32_t number) const {
  if (number == kNone) return std::nullopt;
  const std::string_view bytes = names_[number];
  std::vector<std::int64_t> dims(bytes.size() / sizeof(std::int64_t));
  if (!dims.empty()) std::memcpy(dims.data(), bytes.data(), bytes.size());
  return model::Shape(dims);
}

std::uint32_t SlotStore::intern_columns(const SlotStatistics::Names& names) {
  if (names == nullptr) return kNone;
  // Every table of a dump mostly has the same columns.
  const auto found = std::ranges::find_if(
      columns_, [&](const SlotStatistics::Names& known) { return known == names || *known == *names; });
  const auto number = static_cast<std::uint32_t>(found - columns_.begin());
  if (number == columns_.size()) columns_.push_back(names);
  return number;
}

std::uint32_t SlotStore::add_rare(const Slot& slot) {
  if (!has_rare(slot)) return kNone;
  Rare& rare = rare_.emplace_back();
  rare.part = slot.part.value_or(format::Extent());
  rare.has_part = slot.part.has_value();
  rare.packing = slot.packing;
  rare.unpacked_bytes = slot.unpacked_bytes;
  rare.linked = slot.linked;
  rare.stored_dtype = slot.stored_dtype;
  rare.argument = intern(slot.argument);
  rare.member = intern(slot.member);
  rare.strides = intern_shape(slot.strides);
  rare.reason = intern(slot.undumped_reason);
  return static_cast<std::uint32_t>(rare_.size() - 1);
}

std::uint32_t SlotStore::add(const Slot& slot, std::string_view directory) {
  Row& row = rows_.emplace_back();
  row.timestamp_us = slot.timestamp_us;
  row.file_bytes = slot.file_bytes;
  if (!slot.file.empty()) {
    const std::string_view inside = name_in(directory, slot.file);
    row.directory = inside.empty() ? kNone : intern(directory);
    row.file = texts_.add(inside.empty() ? std::string_view(slot.file) : inside);
  }
  row.columns = intern_columns(slot.statistics.names());
  if (row.columns != kNone) row.statistics = texts_.add(slot.statistics.values().bytes());
  row.index = slot.index;
  row.format = intern(slot.format);
  row.shape = intern_shape(slot.shape);
  row.rare = add_rare(slot);
  row.side = slot.side;
  row.dtype = slot.dtype;
  return static_cast<std::uint32_t>(rows_.size() - 1);
}

Slot SlotStore::operator[](std::uint32_t number) const {
  const Row& row = rows_[number];
  Slot slot;
  slot.side = row.side;
  slot.index = row.index;
  slot.timestamp_us = row.timestamp_us;
  slot.format = name(row.format);
  slot.dtype = row.dtype;
  if (row.directory != kNone) slot.file.append(names_[row.directory]).push_back('/');
  slot.file += TextArena::view(row.file);
  slot.file_bytes = row.file_bytes;
  slot.shape = shape_of(row.shape);
  if (row.columns != kNone)
    slot.statistics = SlotStatistics(columns_[row.columns],
                                     PackedTexts::of_bytes(std::string(TextArena::view(row.statistics))));
  if (row.rare == kNone) return slot;
  const Rare& rare = rare_[row.rare];
  if (rare.has_part) slot.part = rare.part;
  slot.packing = rare.packing;
  slot.unpacked_bytes = rare.unpacked_bytes;
  slot.linked = rare.linked;
  slot.stored_dtype = rare.stored_dtype;
  slot.argument = name(rare.argument);
  slot.member = name(rare.member);
  slot.strides = shape_of(rare.strides);
  slot.undumped_reason = name(rare.reason);
  return slot;
}

std::uint64_t SlotStore::place(std::uint32_t number) const {
  return place(rows_[number].side, rows_[number].index);
}

std::uint64_t SlotStore::stored_bytes(std::uint32_t number) const {
  const Row& row = rows_[number];
  if (row.rare != kNone && rare_[row.rare].has_part) return rare_[row.rare].part.bytes;
  return row.file == nullptr ? 0 : row.file_bytes;
}

bool SlotStore::is_npy_file(std::uint32_t number) const {
  const Row& row = rows_[number];
  if (row.file == nullptr) return false;
  return row.rare == kNone || (!rare_[row.rare].has_part && rare_[row.rare].packing == Packing::none);
}

bool SlotStore::is_table_row(std::uint32_t number) const {
  const Row& row = rows_[number];
  return row.file == nullptr && (row.rare == kNone || rare_[row.rare].reason == kNone);
}

void SlotStore::join_table_row(std::uint32_t slot, std::uint32_t row) {
  Row& to = rows_[slot];
  const Row& from = rows_[row];
  if (to.rare == kNone || !rare_[to.rare].has_part) to.shape = from.shape;
  to.columns = from.columns;
  to.statistics = from.statistics;
  if (to.dtype == model::DType::undefined) to.dtype = from.dtype;
}

void SlotStore::set_file_facts(std::uint32_t number, const Slot& slot) {
  Row& row = rows_[number];
  row.file_bytes = slot.file_bytes;
  row.shape = intern_shape(slot.shape);
  if (slot.file.empty()) row.file = nullptr, row.directory = kNone;
  if (row.rare == kNone) {
    row.rare = add_rare(slot);
    return;
  }
  rare_[row.rare].linked = slot.linked;
  rare_[row.rare].reason = intern(slot.undumped_reason);
}

}  // namespace opdump::dump

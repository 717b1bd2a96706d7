#include "base/key_numbers.h"

#include <algorithm>
#include <functional>

namespace opdump {
namespace {

constexpr std::size_t kFirstEntries = 64;

}  // namespace

std::uint64_t KeyNumbers::key_of(std::string_view text) {
  return std::max<std::uint64_t>(1, std::hash<std::string_view>()(text));
}

// The entry of the key, or the one that it would have.
KeyNumbers::Entry& KeyNumbers::find(ScratchVector<Entry>& entries, std::uint64_t key) {
  const std::size_t mask = entries.size() - 1;  // a power of two
  for (std::size_t i = key & mask;; i = (i + 1) & mask)
    if (Entry& entry = entries[i]; entry.key == 0 || entry.key == key) return entry;
}

Result<std::uint64_t*> KeyNumbers::at(std::uint64_t key) {
  if (count_ >= entries_.size() / 4 * 3) OPDUMP_CHECK_OK(grow());
  Entry& entry = find(entries_, key);
  if (entry.key == 0) ++count_;
  entry.key = key;
  return &entry.number;
}

Result<> KeyNumbers::grow() {
  ScratchVector<Entry> grown;
  OPDUMP_CHECK_OK(grown.resize(std::max(kFirstEntries, entries_.size() * 2), {}));
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (const Entry entry = entries_[i]; entry.key != 0) find(grown, entry.key) = entry;
  entries_ = std::move(grown);
  return ok();
}

}  // namespace opdump

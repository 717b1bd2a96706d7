#include "compare/content.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <utility>

#include "base/worker_pool.h"
#include "math/convert.h"
#include "math/element_hash.h"
#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

// Calls use(hash) for each element of a tensor.
template <typename Use>
void hash_each(const model::TensorView& tensor, const Use& use) {
  std::array<std::uint64_t, 1024> hashes;
  const std::size_t count = math::hashed_count(tensor);
  for (std::size_t first = 0; first < count; first += hashes.size()) {
    const auto block = std::span(hashes).first(std::min(hashes.size(), count - first));
    math::hash_elements(tensor, first, block);
    for (const std::uint64_t hash : block) use(hash);
  }
}

// Whose elements lie together in row-major order.
std::optional<dump::StoredTensor> read_straight(const dump::Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor || !tensor->straighten() || !tensor->view().is_contiguous()) return std::nullopt;
  return std::move(*tensor);
}

constexpr std::size_t kMaxSamples = 64;  // places in a tensor

// Elements that are looked for among many others, of which a few bits rule out most.
class Samples {
 public:
  void add(std::uint64_t element) {
    ++counts_[element];
    bits_.set(element % bits_.size());
  }
  bool is_empty() const { return counts_.empty(); }

  // How often it was added; it is no longer looked for.
  std::size_t take(std::uint64_t element) {
    if (!bits_.test(element % bits_.size())) return 0;
    const auto found = counts_.find(element);
    if (found == counts_.end()) return 0;
    const std::size_t count = found->second;
    counts_.erase(found);
    return count;
  }

 private:
  std::bitset<1 << 14> bits_;
  std::unordered_map<std::uint64_t, std::size_t> counts_;
};

std::uint64_t key_of(const Fingerprint& print) { return print.sum ^ print.count * 0x9E3779B97F4A7C15u; }

// What identifies its elements: the file, by whatever name, and the place in it.
std::string file_key(const dump::Slot& slot) {
  const std::string file = slot.linked.inode != 0
                               ? std::to_string(slot.linked.device) + ":" + std::to_string(slot.linked.inode)
                               : slot.file + "#" + slot.member;
  return slot.part ? file + "@" + std::to_string(slot.part->offset) : file;
}

// As math::hashed_count() of its tensor; nothing if the file has to be read for it.
std::optional<std::size_t> hashed_count(const dump::Slot& slot) {
  if (element_count_of(slot) == 0 || slot.dtype == model::DType::undefined) return std::nullopt;
  return math::hashed_count(model::TensorView::row_major(slot.dtype, *slot.shape, nullptr));
}

}  // namespace

std::uint64_t element_count_of(const dump::Slot& slot) {
  return slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
}

std::vector<std::uint64_t> hash_elements(const model::TensorView& tensor) {
  std::vector<std::uint64_t> hashes(math::hashed_count(tensor));
  math::hash_elements(tensor, 0, hashes);
  return hashes;
}

Fingerprint fingerprint_of(std::span<const std::uint64_t> elements) {
  Fingerprint print{.sum = 0, .count = elements.size()};
  for (const std::uint64_t element : elements) print.sum += element;
  return print;
}

std::vector<std::uint64_t> elements_of(const dump::Slot& slot) {
  const auto tensor = read_straight(slot);
  return tensor ? hash_elements(tensor->view()) : std::vector<std::uint64_t>();
}

std::optional<Fingerprint> fingerprint_of(const dump::Slot& slot) {
  const auto tensor = read_straight(slot);
  if (!tensor) return std::nullopt;
  const model::TensorView& view = tensor->view();
  return Fingerprint{.sum = math::sum_of_hashes(view), .count = math::hashed_count(view)};
}

std::vector<std::size_t> sample_places(std::size_t count) {
  const std::size_t samples = std::min(count, kMaxSamples);
  std::vector<std::size_t> places(samples);
  for (std::size_t i = 0; i < samples; ++i) places[i] = i * count / samples;
  return places;
}

std::vector<std::uint64_t> other_elements(std::span<const std::uint64_t> elements,
                                          std::span<const std::uint64_t> than) {
  if (elements.size() != than.size()) return {elements.begin(), elements.end()};
  std::vector<std::uint64_t> others;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != than[i]) others.push_back(elements[i]);
  return others;
}

bool has_most(const dump::Slot& slot, const std::unordered_set<std::uint64_t>& elements) {
  constexpr std::size_t kFew = 8;
  const auto tensor = elements.size() < kFew ? std::nullopt : read_straight(slot);
  if (!tensor) return false;
  Samples left;
  for (const std::uint64_t element : elements) left.add(element);
  std::size_t found = 0;
  hash_each(tensor->view(), [&](std::uint64_t hash) { found += left.take(hash); });
  return 10 * found >= 9 * elements.size();
}

std::optional<Fingerprint> ContentIndex::print_of(const dump::Slot& slot) {
  if (slot.file.empty() || slot.strides) return fingerprint_of(slot);
  const auto [known, is_new] = prints_.try_emplace(file_key(slot));
  if (is_new) known->second = fingerprint_of(slot);
  return known->second;
}

void ContentIndex::add(std::uint32_t op, const dump::Slot& output) {
  if (output.file.empty()) return;
  if (!output.strides) files_.insert_or_assign(file_key(output), op);
  const auto load = [&output] { return compare::elements_of(output); };
  if (const auto count = hashed_count(output)) {
    unread_[*count].emplace_back(op, &output);
    keep(op, *count, load);
  } else if (const auto print = print_of(output)) {
    whole_.insert_or_assign(key_of(*print), op);
    keep(op, print->count, load);
  }
}

void ContentIndex::add(std::uint32_t op, std::vector<std::uint64_t> elements) {
  const std::size_t count = elements.size();
  read_unread(count);
  whole_.insert_or_assign(key_of(fingerprint_of(elements)), op);
  keep(op, count, [elements = std::move(elements)]() mutable { return std::move(elements); });
}

void ContentIndex::keep(std::uint32_t op, std::size_t count,
                        std::function<std::vector<std::uint64_t>()> load) {
  kept_[0] += count;
  outputs_.push_back({op, count, 0, {}, std::move(load)});
  make_room();
}

// Those of so many elements, in their order.
void ContentIndex::read_unread(std::size_t count) {
  const auto found = unread_.find(count);
  if (found == unread_.end()) return;
  const auto outputs = std::move(found->second);
  unread_.erase(found);
  std::vector<std::pair<const dump::Slot*, std::optional<Fingerprint>*>> fresh;
  for (const auto& [op, slot] : outputs) {
    if (slot->strides) continue;
    const auto [known, is_new] = prints_.try_emplace(file_key(*slot));
    if (is_new) fresh.emplace_back(slot, &known->second);
  }
  parallel_for(fresh.size(), threads_,
               [&](std::size_t i) { *fresh[i].second = fingerprint_of(*fresh[i].first); });
  for (const auto& [op, slot] : outputs)
    if (const auto print = print_of(*slot)) whole_.insert_or_assign(key_of(*print), op);
}

bool ContentIndex::is_kept(std::uint64_t element, std::size_t kind) {
  return (element & ((std::uint64_t(1) << kZeros[kind]) - 1)) == 0;
}

// Keeps of the elements those of its kind, and counts them.
void ContentIndex::thin(Output& output) {
  std::erase_if(output.elements, [&](std::uint64_t element) { return !is_kept(element, output.kind); });
  output.elements.shrink_to_fit();
  kept_[output.kind] += output.elements.size() - output.kept;
  output.kept = output.elements.size();
}

void ContentIndex::make_room() {
  for (std::size_t kind = 0; kind < std::size(kZeros); ++kind)
    while (kept_[kind] > kMaxElements) {
      Output& output = outputs_[first_[kind]++];
      const std::size_t kept = std::exchange(output.kept, 0);
      kept_[kind] -= kept;
      if (kind + 1 == std::size(kZeros)) {
        output.elements = {};
        output.load = nullptr;
        continue;
      }
      output.kind = kind + 1;
      if (!output.load) {
        thin(output);
        continue;
      }
      output.kept = kept >> (kZeros[kind + 1] - kZeros[kind]);
      kept_[kind + 1] += output.kept;
    }
}

const std::vector<std::uint64_t>& ContentIndex::elements_of(Output& output) {
  if (output.load) {
    output.elements = std::exchange(output.load, nullptr)();
    thin(output);
  }
  return output.elements;
}

std::optional<std::uint32_t> ContentIndex::find(const dump::Slot& slot) {
  if (!slot.file.empty() && !slot.strides)
    if (const auto file = files_.find(file_key(slot)); file != files_.end()) return file->second;
  const auto print = print_of(slot);
  return print ? find(*print) : std::nullopt;
}

std::optional<std::uint32_t> ContentIndex::find(const Fingerprint& print) {
  read_unread(print.count);
  const auto whole = whole_.find(key_of(print));
  return whole != whole_.end() ? std::optional(whole->second) : std::nullopt;
}

std::optional<std::uint32_t> ContentIndex::find_known_part(const dump::Slot& slot) {
  const auto print = print_of(slot);
  const auto part = print ? parts_.find(key_of(*print)) : parts_.end();
  return part != parts_.end() ? std::optional(part->second) : std::nullopt;
}

std::optional<std::uint32_t> ContentIndex::find_part(std::span<const std::uint64_t> actual,
                                                     std::span<const std::uint64_t> golden) {
  constexpr std::size_t kFew = 8;
  std::vector<std::uint64_t> wanted = other_elements(actual, golden);
  for (std::size_t kind = 0; kind < std::size(kZeros); ++kind) {
    std::erase_if(wanted, [&](std::uint64_t element) { return !is_kept(element, kind); });
    if (wanted.size() < (kind == 0 ? 1 : kFew)) break;
    const std::vector<std::size_t> places = sample_places(wanted.size());
    Samples left;
    for (const std::size_t place : places) left.add(wanted[place]);
    std::map<std::uint32_t, std::size_t>
        hits;  // by operator; an element counts for the last one that made it
    std::size_t found = 0;
    for (std::size_t i = outputs_.size(); i-- > first_[kind] && !left.is_empty();)
      for (const std::uint64_t element : elements_of(outputs_[i]))
        if (const std::size_t count = left.take(element); count > 0) {
          hits[outputs_[i].op] += count;
          found += count;
        }
    const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
    if (found * 10 >= places.size() * 9) {
      const std::uint32_t op = std::ranges::max_element(hits, fewer)->first;
      parts_.insert_or_assign(key_of(fingerprint_of(actual)), op);
      return op;
    }
    if (first_[kind] == 0) break;  // nothing is older
  }
  return std::nullopt;
}

std::optional<RecordedNumbers> read_numbers(const dump::OperatorRun& run, model::Side side,
                                            std::uint64_t index, std::uint64_t most) {
  const auto slot = std::ranges::find_if(
      run.slots, [&](const dump::Slot& s) { return s.side == side && s.index == index && !s.file.empty(); });
  if (slot == run.slots.end()) return std::nullopt;
  const auto tensor = dump::StoredTensor::read(*slot);
  if (!tensor) return std::nullopt;
  const model::TensorView& view = tensor->view();
  const std::uint64_t count = view.element_count();
  if (count > most || !view.is_contiguous() || !math::has_statistics(view.dtype)) return std::nullopt;
  RecordedNumbers numbers{{view.shape.dims().begin(), view.shape.dims().end()}, std::vector<double>(count)};
  math::convert_elements(view.dtype, view.data, numbers.values.data(), count);
  return numbers;
}

}  // namespace opdump::compare

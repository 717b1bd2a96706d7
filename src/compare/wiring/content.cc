#include "compare/wiring/content.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
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

// Elements that are looked for among many others, of which a few bits rule out most.
class Samples {
 public:
  void add(std::uint64_t element) {
    ++counts_[element];
    ++count_;
    bits_.set(bit_of(element));
  }
  std::size_t size() const { return counts_.size(); }  // of different ones
  std::size_t count() const { return count_; }

  // How often it was added; it is no longer looked for.
  std::size_t take(std::uint64_t element) {
    if (!bits_.test(bit_of(element))) return 0;
    const auto found = counts_.find(element);
    if (found == counts_.end()) return 0;
    const std::size_t count = found->second;
    counts_.erase(found);
    count_ -= count;
    return count;
  }

 private:
  // The bit comes from the start of the element: all may end in zeros.
  static std::size_t bit_of(std::uint64_t element) { return element >> 50; }
  std::bitset<1 << 14> bits_;
  std::unordered_map<std::uint64_t, std::size_t> counts_;
  std::size_t count_ = 0;
};

bool ends_in_zeros(std::uint64_t element, unsigned zeros) {
  return (element & ((std::uint64_t(1) << zeros) - 1)) == 0;
}

constexpr std::size_t kMaxSamples = 64;  // places in a tensor

Samples sample(std::span<const std::uint64_t> elements) {
  Samples samples;
  for (const std::size_t place : sample_places(elements.size())) samples.add(elements[place]);
  return samples;
}

std::uint64_t key_of(const Fingerprint& print) { return print.sum ^ print.count * 0x9E3779B97F4A7C15u; }

// What identifies its elements: the file, by whatever name, and the place in it.
std::string file_key(const dump::Slot& slot) {
  const std::string file = slot.linked.inode != 0
                               ? std::to_string(slot.linked.device) + ":" + std::to_string(slot.linked.inode)
                               : slot.file + "#" + slot.member;
  return slot.part ? file + "@" + std::to_string(slot.part->offset) : file;
}

// Returns math::hashed_count() of its tensor. The file is read for it if the slot has no shape.
std::optional<std::size_t> count_of(const dump::Slot& slot) {
  if (element_count_of(slot) > 0 && slot.dtype != model::DType::undefined)
    return math::hashed_count(model::TensorView::row_major(slot.dtype, *slot.shape, nullptr));
  const auto tensor = read_straight(slot);
  return tensor ? std::optional(math::hashed_count(tensor->view())) : std::nullopt;
}

}  // namespace

std::uint64_t element_count_of(const dump::Slot& slot) {
  const std::uint64_t count = slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
  return model::dtype_info(slot.dtype).kind == model::DTypeKind::complex ? 2 * count : count;
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

std::vector<std::uint64_t> elements_of(const dump::Slot& slot, unsigned zeros) {
  const auto tensor = read_straight(slot);
  if (!tensor) return {};
  if (zeros == 0) return hash_elements(tensor->view());
  std::vector<std::uint64_t> elements;
  hash_each(tensor->view(), [&](std::uint64_t hash) {
    if (ends_in_zeros(hash, zeros)) elements.push_back(hash);
  });
  return elements;
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
                                          std::span<const std::uint64_t> than, unsigned zeros) {
  const bool is_whole = elements.size() != than.size();
  std::vector<std::uint64_t> others;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (ends_in_zeros(elements[i], zeros) && (is_whole || elements[i] != than[i]))
      others.push_back(elements[i]);
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

void ContentIndex::add(std::uint32_t op, const dump::Slot& output, double norm) {
  if (output.file.empty()) return;
  if (!output.strides) files_.insert_or_assign(file_key(output), op);
  const auto count = count_of(output);
  if (!count) return;
  keep({.op = op, .count = *count, .slot = &output, .norm = norm});
}

void ContentIndex::add(std::uint32_t op, std::vector<std::uint64_t> elements) {
  const std::size_t count = elements.size();
  Output output{.op = op, .count = count, .print = fingerprint_of(elements)};
  for (std::size_t kind = 1; kind < kKinds; ++kind)
    output.kept[kind].elements = other_elements(elements, {}, kZeros[kind]);
  output.kept[0].elements = std::move(elements);
  for (Kept& kept : output.kept) kept.is_read = true;
  keep(std::move(output));
}

// Makes room for it.
void ContentIndex::keep(Output output) {
  for (std::size_t kind = 0; kind < kKinds; ++kind) kept_[kind] += output.count >> kZeros[kind];
  by_count_[output.count].push_back(outputs_.size());
  outputs_.push_back(std::move(output));
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    while (kept_[kind] > kMaxElements) {
      Output& oldest = outputs_[first_[kind]++];
      kept_[kind] -= oldest.count >> kZeros[kind];
      oldest.kept[kind] = {};
    }
}

const std::vector<std::uint64_t>& ContentIndex::elements_of(Output& output, std::size_t kind) {
  Kept& kept = output.kept[kind];
  if (!std::exchange(kept.is_read, true)) kept.elements = compare::elements_of(*output.slot, kZeros[kind]);
  return kept.elements;
}

std::optional<std::uint32_t> ContentIndex::find(const dump::Slot& slot, double norm) {
  if (!slot.file.empty() && !slot.strides)
    if (const auto file = files_.find(file_key(slot)); file != files_.end()) return file->second;
  const auto count = count_of(slot);
  const std::vector<Output*> alike = count ? find_alike(*count, slot.dtype, norm) : std::vector<Output*>();
  if (alike.empty()) return std::nullopt;
  read(alike, slot);
  const auto print = print_of(slot);
  const auto last = std::ranges::find_if(alike.rbegin(), alike.rend(),
                                         [&](const Output* made) { return print && made->print == print; });
  return last != alike.rend() ? std::optional((*last)->op) : std::nullopt;
}

// Finds the outputs of so many elements whose norm is not known to be another one.
std::vector<ContentIndex::Output*> ContentIndex::find_alike(std::size_t count, model::DType dtype,
                                                            double norm) {
  constexpr double kMost = 1e-5;  // more than the order of additions changes
  std::vector<Output*> alike;
  for (const std::size_t place : by_count_[count]) {
    Output& made = outputs_[place];
    const bool is_other = made.slot != nullptr && made.slot->dtype == dtype &&
                          std::abs(made.norm - norm) > kMost * std::max(made.norm, norm);
    if (!is_other) alike.push_back(&made);
  }
  return alike;
}

// Reads all that are not read yet, at once.
void ContentIndex::read(std::span<Output* const> outputs, const dump::Slot& input) {
  std::vector<std::pair<const dump::Slot*, std::optional<Fingerprint>*>> fresh;
  const auto add = [&](const dump::Slot& slot) {
    if (slot.file.empty() || slot.strides) return;
    const auto [known, is_new] = prints_.try_emplace(file_key(slot));
    if (is_new) fresh.emplace_back(&slot, &known->second);
  };
  for (const Output* made : outputs)
    if (made->slot != nullptr && !made->print) add(*made->slot);
  add(input);
  parallel_for(fresh.size(), threads_,
               [&](std::size_t i) { *fresh[i].second = fingerprint_of(*fresh[i].first); });
  for (Output* made : outputs)
    if (made->slot != nullptr && !made->print) made->print = print_of(*made->slot);
}

std::optional<std::uint32_t> ContentIndex::find_known_part(const dump::Slot& slot) {
  const auto print = print_of(slot);
  const auto part = print ? parts_.find(key_of(*print)) : parts_.end();
  return part != parts_.end() ? std::optional(part->second) : std::nullopt;
}

std::optional<std::uint32_t> ContentIndex::find_part(std::span<const std::uint64_t> actual,
                                                     std::span<const std::uint64_t> golden) {
  constexpr std::size_t kMany = 32, kFew = 8;
  const auto wanted = [&](std::size_t kind) { return other_elements(actual, golden, kZeros[kind]); };
  const auto search = [&](std::span<const std::uint64_t> elements, std::size_t kind) {
    const auto op = find_most(elements, kind);
    if (op) parts_.insert_or_assign(key_of(fingerprint_of(actual)), *op);
    return op;
  };
  // The fewer elements have to be read, the better; of many, some of the rarest kind are left.
  for (std::size_t kind = kKinds - 1; kind > 0; --kind)
    if (const auto elements = wanted(kind); sample(elements).size() >= kMany) return search(elements, kind);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const auto elements = wanted(kind);
    if (elements.size() < (kind == 0 ? 1 : kFew)) break;
    if (const auto op = search(elements, kind)) return op;
    if (first_[kind] == 0) break;  // nothing is older
  }
  return std::nullopt;
}

// The operator of most of these elements, if nine in ten are of outputs. An element counts for the last one
// that made it.
std::optional<std::uint32_t> ContentIndex::find_most(std::span<const std::uint64_t> elements,
                                                     std::size_t kind) {
  Samples left = sample(elements);
  const std::size_t all = left.count();
  std::map<std::uint32_t, std::size_t> hits;  // by operator
  for (std::size_t i = outputs_.size(); i-- > first_[kind] && left.count() > 0;)
    for (const std::uint64_t element : elements_of(outputs_[i], kind))
      if (const std::size_t count = left.take(element); count > 0) hits[outputs_[i].op] += count;
  if (10 * (all - left.count()) < 9 * all) return std::nullopt;
  return std::ranges::max_element(hits, {}, [](const auto& hit) { return hit.second; })->first;
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

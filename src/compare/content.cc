#include "compare/content.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace opdump::compare {
namespace {

// The finaliser of SplitMix64.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::size_t element_size(const model::TensorView& tensor) {
  return std::max<std::size_t>(1, model::dtype_info(tensor.dtype).bits / 8);
}

std::uint64_t hash_element(const model::TensorView& tensor, std::size_t size, std::size_t i) {
  std::uint64_t bits[2] = {};
  std::memcpy(bits, tensor.data + i * size, std::min(size, sizeof bits));
  return mix(bits[0] ^ mix(bits[1] + size));
}

// Whose elements lie together in row-major order.
std::optional<dump::StoredTensor> read_straight(const dump::Slot& slot) {
  if (slot.file.empty()) return std::nullopt;
  auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor || !tensor->straighten() || !tensor->view().is_contiguous()) return std::nullopt;
  return std::move(*tensor);
}

constexpr std::size_t kMaxSamples = 64;  // places in a tensor

std::uint64_t key_of(const Fingerprint& print) { return print.sum ^ mix(print.count); }

}  // namespace

std::vector<std::uint64_t> hash_elements(const model::TensorView& tensor) {
  const std::size_t size = element_size(tensor);
  std::vector<std::uint64_t> hashes(tensor.byte_count() / size);
  for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = hash_element(tensor, size, i);
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
  const std::size_t size = element_size(tensor->view());
  Fingerprint print{.sum = 0, .count = tensor->view().byte_count() / size};
  for (std::size_t i = 0; i < print.count; ++i) print.sum += hash_element(tensor->view(), size, i);
  return print;
}

std::vector<std::size_t> sample_places(std::size_t count) {
  const std::size_t samples = std::min(count, kMaxSamples);
  std::vector<std::size_t> places(samples);
  for (std::size_t i = 0; i < samples; ++i) places[i] = i * count / samples;
  return places;
}

std::vector<std::size_t> sample_differences(std::span<const std::uint64_t> golden,
                                            std::span<const std::uint64_t> actual) {
  std::vector<std::size_t> places;
  if (golden.size() != actual.size()) return places;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (golden[i] != actual[i]) places.push_back(i);
  if (places.size() <= kMaxSamples) return places;
  std::vector<std::size_t> some;
  for (const std::size_t i : sample_places(places.size())) some.push_back(places[i]);
  return some;
}

bool has_most(const dump::Slot& slot, const std::unordered_set<std::uint64_t>& elements) {
  constexpr std::size_t kFew = 8;
  const auto tensor = elements.size() < kFew ? std::nullopt : read_straight(slot);
  if (!tensor) return false;
  const std::size_t size = element_size(tensor->view()), count = tensor->view().byte_count() / size;
  std::unordered_set<std::uint64_t> left = elements;
  for (std::size_t i = 0; i < count && 10 * left.size() > elements.size(); ++i)
    left.erase(hash_element(tensor->view(), size, i));
  return 10 * left.size() <= elements.size();
}

void ContentIndex::add(std::uint32_t op, std::span<const std::uint64_t> elements) {
  whole_.insert_or_assign(key_of(fingerprint_of(elements)), op);
  if (elements.size() > kMaxElements) return;
  outputs_.push_back({op, {elements.begin(), elements.end()}});
  for (kept_ += outputs_.back().elements.size(); kept_ > kMaxElements; ++first_) {
    kept_ -= outputs_[first_].elements.size();
    outputs_[first_].elements = {};
  }
}

std::optional<std::uint32_t> ContentIndex::find(std::span<const std::uint64_t> elements,
                                                std::span<const std::size_t> at) const {
  if (const auto whole = whole_.find(key_of(fingerprint_of(elements))); whole != whole_.end())
    return whole->second;
  std::map<std::uint32_t, std::size_t> hits;  // by operator; an element counts for the last one that made it
  std::size_t found = 0;
  for (const std::size_t place : at)
    for (std::size_t i = outputs_.size(); i-- > first_;)
      if (outputs_[i].elements.contains(elements[place])) {
        ++hits[outputs_[i].op];
        ++found;
        break;
      }
  if (at.empty() || found * 10 < at.size() * 9) return std::nullopt;
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::max_element(hits, fewer)->first;
}

}  // namespace opdump::compare

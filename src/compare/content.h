// Which operator made a tensor that another one reads, by what is in it: a dump does not say, and its memory
// may have been used for something else in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dump/read/dump_set.h"
#include "model/tensor_view.h"

namespace opdump::compare {

// Of the elements of a tensor in any order: that of a transposed copy is the same.
struct Fingerprint {
  std::uint64_t sum = 0, count = 0;
  bool operator==(const Fingerprint&) const = default;
};

// The elements lie together. Numbers that identify their bytes, in row-major order.
std::vector<std::uint64_t> hash_elements(const model::TensorView& tensor);
Fingerprint fingerprint_of(std::span<const std::uint64_t> elements);
// Of the tensor of a slot; none if it has no tensor, or one of another form.
std::vector<std::uint64_t> elements_of(const dump::Slot& slot);
// The same, without room for a number for each element.
std::optional<Fingerprint> fingerprint_of(const dump::Slot& slot);

// Some places from all over a tensor of `count` elements.
std::vector<std::size_t> sample_places(std::size_t count);
// Some places where two tensors differ; none if they have different sizes.
std::vector<std::size_t> sample_differences(std::span<const std::uint64_t> golden,
                                            std::span<const std::uint64_t> actual);

// Whether the tensor of a slot has nine in ten of some different elements; not of few, which many tensors
// have.
bool has_most(const dump::Slot& slot, const std::unordered_set<std::uint64_t>& elements);

// Outputs of operators, which have numbers that grow in the order of execution.
class ContentIndex {
 public:
  void add(std::uint32_t op, std::vector<std::uint64_t> elements);

  // The last operator that made all of a tensor.
  std::optional<std::uint32_t> find(const Fingerprint& print) const;
  // The one that made most of its elements `at` some places: a slice, or memory that several operators have
  // filled. Nothing if most of those are of no output.
  std::optional<std::uint32_t> find_part(std::span<const std::uint64_t> elements,
                                         std::span<const std::size_t> at) const;

 private:
  static constexpr std::size_t kMaxElements = 1 << 24;  // that are looked through; of older outputs only all
  struct Output {
    std::uint32_t op = 0;
    std::vector<std::uint64_t> elements;
  };
  std::unordered_map<std::uint64_t, std::uint32_t> whole_;  // by fingerprint
  std::vector<Output> outputs_;
  std::size_t kept_ = 0, first_ = 0;  // elements in outputs_, from first_ on
};

}  // namespace opdump::compare

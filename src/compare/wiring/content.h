// Which operator made a tensor that another one reads, by what is in it: a dump does not say, and its memory
// may have been used for something else in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dump/read/dump_set.h"
#include "model/tensor_view.h"

namespace opdump::compare {

// Counts the elements of a slot by its shape; 0 where the dump does not say. A complex number has two
// elements.
std::uint64_t element_count_of(const dump::Slot& slot);

// Identifies the elements of a tensor in any order: a transposed copy has the same fingerprint.
struct Fingerprint {
  std::uint64_t sum = 0, count = 0;
  bool operator==(const Fingerprint&) const = default;
};

// The elements lie together. Numbers that identify their bytes, in row-major order.
std::vector<std::uint64_t> hash_elements(const model::TensorView& tensor);
Fingerprint fingerprint_of(std::span<const std::uint64_t> elements);
// Hashes the elements of a slot and returns the hashes that end in so many zero bits; none if it has no
// tensor, or one of another form.
std::vector<std::uint64_t> elements_of(const dump::Slot& slot, unsigned zeros = 0);
// Returns the fingerprint of the slot's tensor without memory for a number for each element.
std::optional<Fingerprint> fingerprint_of(const dump::Slot& slot);

// Those that differ from `than` at their place, of those that end in so many zero bits; all of these where
// `than` has another size.
std::vector<std::uint64_t> other_elements(std::span<const std::uint64_t> elements,
                                          std::span<const std::uint64_t> than, unsigned zeros = 0);

// Some places from all over a tensor of `count` elements.
std::vector<std::size_t> sample_places(std::size_t count);
// Whether the tensor of a slot has nine in ten of some different elements; not of few, which many tensors
// have.
bool has_most(const dump::Slot& slot, const std::unordered_set<std::uint64_t>& elements);

// Outputs of operators, which have numbers that grow in the order of execution. A tensor that an operator
// reads is mostly the file that another one made: others are read only where no file is known, and once.
class ContentIndex {
 public:
  // On so many threads (0: one per core).
  explicit ContentIndex(unsigned threads = 0) : threads_(threads) {}

  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  // The slot must stay. This has no effect if it has no tensor. `norm` is that of its elements, if it is
  // known: others need not be read.
  void add(std::uint32_t op, const dump::Slot& output, double norm = kUnknown);
  void add(std::uint32_t op, std::vector<std::uint64_t> elements);

  // The operator that made the file of the slot, else the last one that made all of its tensor.
  std::optional<std::uint32_t> find(const dump::Slot& slot, double norm = kUnknown);
  // Returns what find_part() answered for this tensor before; nothing if it had no answer.
  std::optional<std::uint32_t> find_known_part(const dump::Slot& slot);
  // The one that made most of the elements that differ from golden's, or of all where it has another size: a
  // slice, or memory that several operators have filled. Nothing if most of those are of no output, or if
  // they are few and of an old one.
  std::optional<std::uint32_t> find_part(std::span<const std::uint64_t> actual,
                                         std::span<const std::uint64_t> golden);

 private:
  // A part of a tensor has the same ones of its elements whose hash ends in so many zero bits: these are
  // enough to find a large part, and room for those of many outputs.
  static constexpr unsigned kZeros[] = {0, 6, 12};
  static constexpr std::size_t kKinds = std::size(kZeros);
  static constexpr std::size_t kMaxElements = 1 << 24;  // of each kind, which the last outputs have
  struct Kept {
    std::vector<std::uint64_t> elements;
    bool is_read = false;
  };
  struct Output {
    std::uint32_t op = 0;
    std::size_t count = 0;             // of all its elements
    const dump::Slot* slot = nullptr;  // null if all of them are given
    double norm = kUnknown;
    std::optional<Fingerprint> print = std::nullopt;  // once it is needed
    std::array<Kept, kKinds> kept{};
  };
  void keep(Output output);
  std::optional<Fingerprint> print_of(const dump::Slot& slot);
  std::vector<Output*> find_alike(std::size_t count, model::DType dtype, double norm);
  void read(std::span<Output* const> outputs, const dump::Slot& input);
  static const std::vector<std::uint64_t>& elements_of(Output& output, std::size_t kind);
  std::optional<std::uint32_t> find_most(std::span<const std::uint64_t> elements, std::size_t kind);

  unsigned threads_;
  std::unordered_map<std::string, std::uint32_t> files_;
  std::unordered_map<std::string, std::optional<Fingerprint>> prints_;  // by file, and place in it
  // Places in outputs_, by the number of elements.
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_count_;
  std::unordered_map<std::uint64_t, std::uint32_t> parts_;  // by fingerprint
  std::vector<Output> outputs_;
  // For each kind, elements are kept from output first_ on, about kept_ of them.
  std::array<std::size_t, kKinds> first_{}, kept_{};
};

// The elements of a tensor, in row-major order.
struct RecordedNumbers {
  std::vector<std::int64_t> dims;
  std::vector<double> values;
};

// Reads the numbers of an operator's tensor. Nothing if the dump has not that tensor, if it is not contiguous
// or no tensor of numbers, and if it has more than `most` elements.
std::optional<RecordedNumbers> read_numbers(const dump::OperatorRun& run, model::Side side,
                                            std::uint64_t index, std::uint64_t most);

}  // namespace opdump::compare

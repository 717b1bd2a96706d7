// The pairs between two checkpoints while they are being found. Each step takes tensors that no earlier one
// has paired.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weights/checkpoint.h"
#include "weights/content.h"
#include "weights/link.h"
#include "weights/measure.h"

namespace opdump::weights {

struct LinkResult {
  WeightLink link;
  WeightDistance distance;
  std::string fault;                // not empty: the elements could not be read
  std::vector<std::string> after;   // what else makes them equal: "batch norm bn1 folded into it"
  std::vector<std::string> doubts;  // why equal elements are wrong all the same
  std::vector<std::string> notes;
  bool is_excused = false;  // `after` explains all of the distance

  bool is_equal() const { return fault.empty() && doubts.empty() && (distance.is_equal || is_excused); }
};

// The tensors of one side that one part of a training run has.
class MatchSide {
 public:
  MatchSide(const Checkpoint& checkpoint, TensorOwner owner);

  const WeightTensor& operator[](std::size_t index) const { return checkpoint_->tensors[index]; }
  const std::vector<std::size_t>& all() const { return all_; }  // that can be read
  bool is_free(std::size_t index) const { return !covered_.contains(index); }
  // Those without a partner; of what may be something else, none or all.
  std::vector<std::size_t> free(bool with_unsure = false) const;
  // The free tensor of a name.
  std::optional<std::size_t> find(const std::string& name) const;
  // Rows of it have a partner; it has `all` as they are looked at, transposed or not.
  void cover(std::size_t index, std::uint64_t rows, std::uint64_t all);
  // Rows without a partner, of a tensor that has one for others.
  std::uint64_t uncovered(std::size_t index) const;
  bool is_used_up(std::size_t index) const { return !is_free(index) && uncovered(index) == 0; }
  // Null if the elements cannot be read.
  const WeightContent* content(std::size_t index, model::DType rounding);
  // Fills in the contents of many, on all cores.
  void prepare(const std::vector<std::size_t>& indexes, model::DType rounding);

 private:
  struct Cover {
    std::uint64_t rows = 0, all = 0;
  };

  const Checkpoint* checkpoint_;
  std::vector<std::size_t> all_;
  std::unordered_map<std::string, std::size_t> names_;
  std::unordered_map<std::size_t, Cover> covered_;
  std::map<std::pair<std::size_t, model::DType>, std::optional<WeightContent>> contents_;
};

struct Matching {
  MatchSide golden, actual;
  std::vector<LinkResult> links;
  std::map<std::size_t, std::string> folded;  // golden's tensors that are part of actual's tensor of a name

  Matching(const Checkpoint& golden_side, const Checkpoint& actual_side, TensorOwner owner)
      : golden(golden_side, owner), actual(actual_side, owner) {}

  void add(LinkResult result);
  // The type to which the elements of both must be rounded to be alike: the narrower one, if they differ.
  model::DType rounding_of(std::size_t golden_index, std::size_t actual_index);
};

// Measures two tensors under an arrangement.
LinkResult measure_pair(const Matching& matching, WeightLink link);

// Whether two whole tensors can be a pair: the same number of elements, or of columns.
bool can_pair(const WeightTensor& golden, const WeightTensor& actual);

// The best arrangement of two whole tensors for which can_pair() is true. `first` was measured already.
LinkResult arrange_pair(Matching& matching, std::size_t golden, std::size_t actual, FoundBy found_by);

}  // namespace opdump::weights

#include "weights/judge/compare_weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text/text.h"
#include "weights/judge/judge.h"
#include "weights/match/matching.h"
#include "weights/match/names.h"
#include "weights/match/steps.h"

namespace opdump::weights {
namespace {

// One part of a training run on both sides: finds the pairs, then makes a row of each.
class OwnerComparison {
 public:
  OwnerComparison(const Checkpoint& golden, const Checkpoint& actual, TensorOwner owner)
      : golden_(golden), actual_(actual), owner_(owner), matching_(golden, actual, owner) {}

  void run(std::vector<WeightRow>& rows) {
    find_pairs();
    explain_folds(matching_);
    doubt_the_odd(matching_);
    doubt_the_misplaced(matching_);
    describe_differences(matching_);
    std::map<std::size_t, std::vector<const LinkResult*>> of_golden;
    for (const LinkResult& result : matching_.links) of_golden[result.link.golden].push_back(&result);
    for (std::size_t i = 0; i < golden_.tensors.size(); ++i) {
      if (golden_.tensors[i].owner != owner_) continue;
      if (const auto links = of_golden.find(i); links != of_golden.end())
        for (const LinkResult* result : links->second) rows.push_back(make_row(*result));
      else
        add_single(i, true, rows);
    }
    for (std::size_t i = 0; i < actual_.tensors.size(); ++i)
      if (actual_.tensors[i].owner == owner_ &&
          (!actual_.tensors[i].fault.empty() || matching_.actual.is_free(i)))
        add_single(i, false, rows);
    add_uncovered(rows);
  }

 private:
  void find_pairs() {
    pair_by_name(matching_);
    if (owner_ != TensorOwner::model) return;  // states of optimizers have no other names
    pair_by_value(matching_);
    pair_merged(matching_);
    pair_siblings(matching_);
    pair_like_other_layers(matching_);
    pair_siblings(matching_);
    pair_by_words(matching_);
    pair_siblings(matching_);
    pair_simple(matching_);
    pair_rest(matching_);
  }

  WeightRow make_row(const LinkResult& result) const {
    const WeightTensor &golden = matching_.golden[result.link.golden],
                       &actual = matching_.actual[result.link.actual];
    WeightRow row;
    row.owner = owner_;
    row.golden = golden.name;
    row.actual = actual.name;
    row.golden_part = result.link.golden_part;
    row.actual_part = result.link.actual_part;
    row.found_by = result.link.found_by;
    const Arrangement& way = result.link.arrangement;
    if (way.golden_swapped != way.actual_swapped) row.after.push_back("transposed");
    if (way.is_flat && !(golden.shape() == actual.shape())) row.after.push_back("reshaped");
    if (!way.order.empty()) row.after.push_back(way.order);
    if (!result.distance.cast.empty()) row.after.push_back("cast " + result.distance.cast);
    if (!row.golden_part.empty()) row.after.push_back("split");
    if (!row.actual_part.empty()) row.after.push_back("merged");
    row.after.insert(row.after.end(), result.after.begin(), result.after.end());
    row.notes = result.notes;
    if (!result.fault.empty()) {
      row.verdict = WeightVerdict::not_compared;
      row.notes.push_back(result.fault);
    } else if (result.is_equal()) {
      row.verdict = row.after.empty() ? WeightVerdict::equal : WeightVerdict::equal_after;
    } else {
      row.verdict = WeightVerdict::differs;
      row.notes.insert(row.notes.begin(), result.doubts.begin(), result.doubts.end());
      if (!result.distance.is_equal) row.distance = result.distance;
    }
    return row;
  }

  // A tensor without a partner.
  void add_single(std::size_t index, bool is_golden, std::vector<WeightRow>& rows) {
    const WeightTensor& tensor = (is_golden ? golden_ : actual_).tensors[index];
    WeightRow row;
    row.owner = owner_;
    (is_golden ? row.golden : row.actual) = tensor.name;
    row.verdict = is_golden ? WeightVerdict::missing_in_actual : WeightVerdict::missing_in_golden;
    if (!tensor.is_sure) return;
    const auto folded = matching_.folded.find(index);
    if (!tensor.fault.empty()) {
      row.verdict = WeightVerdict::not_compared;
      row.notes.push_back(tensor.fault);
    } else if (is_golden && folded != matching_.folded.end()) {
      row.verdict = WeightVerdict::equal_after;
      row.actual = folded->second;
      row.after.push_back("folded into it");
    } else if (is_computed_buffer(tensor.name, tensor.shape().rank())) {
      row.verdict = WeightVerdict::left_out;
    } else if (const auto twin = find_twin(index, is_golden)) {
      row.verdict = WeightVerdict::equal_after;
      row.after.push_back("tied to " + *twin);
    }
    rows.push_back(std::move(row));
  }

  // A tensor of the same side with the same elements that has a partner.
  std::optional<std::string> find_twin(std::size_t index, bool is_golden) {
    MatchSide& side = is_golden ? matching_.golden : matching_.actual;
    const WeightContent* const content = side.content(index, model::DType::undefined);
    if (content == nullptr || content->is_simple) return std::nullopt;
    for (const LinkResult& result : matching_.links) {
      const std::size_t other = is_golden ? result.link.golden : result.link.actual;
      if (!(side[other].shape() == side[index].shape()) || side[other].dtype() != side[index].dtype())
        continue;
      const WeightContent* const of_other = side.content(other, model::DType::undefined);
      if (of_other == nullptr || of_other->sum != content->sum) continue;
      Arrangement same;
      same.is_flat = true;
      const auto distance = measure_link(side[index], side[other], same);
      if (distance && distance->is_equal) return side[other].name;
    }
    return std::nullopt;
  }

  // Rows of a tensor that no part of the other side has: padding, or rows that are missing.
  void add_uncovered(std::vector<WeightRow>& rows) {
    for (WeightRow& row : rows) {
      if (row.owner != owner_ || row.golden.empty() || row.actual.empty() ||
          row.verdict == WeightVerdict::not_compared)
        continue;
      note_padding(row);
    }
  }

  void note_padding(WeightRow& row) {
    for (const bool is_golden : {true, false}) {
      MatchSide& side = is_golden ? matching_.golden : matching_.actual;
      const std::size_t index = index_of(side, is_golden ? row.golden : row.actual);
      const std::uint64_t rows = index == SIZE_MAX ? 0 : side.uncovered(index);
      if (rows == 0) continue;
      const std::string more = counted(rows, "row") + " of " + (is_golden ? "golden" : "actual");
      const WeightRole role = role_of(plain_name(side[index].name));
      const bool is_vocabulary = role == WeightRole::embedding || role == WeightRole::head;
      if (is_vocabulary && row.verdict != WeightVerdict::differs) {
        row.after.push_back("padded: " + more + " more");
        row.verdict = WeightVerdict::equal_after;
      } else {
        row.notes.push_back(more + " have no counterpart");
        if (row.verdict != WeightVerdict::differs) row.verdict = WeightVerdict::differs;
      }
    }
  }

  std::size_t index_of(const MatchSide& side, const std::string& name) {
    auto& names = &side == &matching_.golden ? golden_names_ : actual_names_;
    if (names.empty())
      for (const std::size_t i : side.all()) names.emplace(side[i].name, i);
    const auto found = names.find(name);
    return found == names.end() ? SIZE_MAX : found->second;
  }

  const Checkpoint &golden_, &actual_;
  TensorOwner owner_;
  Matching matching_;
  std::map<std::string, std::size_t> golden_names_, actual_names_;
};

std::size_t count_owner(const Checkpoint& checkpoint, TensorOwner owner) {
  return static_cast<std::size_t>(std::ranges::count_if(checkpoint.tensors, [&](const WeightTensor& tensor) {
    return tensor.owner == owner && tensor.is_sure;
  }));
}

// Whether it has anything of a training run beside the model.
bool is_of_training(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors,
                             [](const WeightTensor& tensor) { return tensor.owner != TensorOwner::model; });
}

// Of a part that one side has not at all: one remark, and no rows unless it was lost.
void add_absent(const Checkpoint& golden, const Checkpoint& actual, TensorOwner owner, WeightComparison& to) {
  const std::size_t of_golden = count_owner(golden, owner), of_actual = count_owner(actual, owner);
  const std::string name(kOwnerNames[static_cast<std::size_t>(owner)]);
  const bool is_lost = is_of_training(golden) && is_of_training(actual);
  if (is_lost) {
    for (const WeightTensor& tensor : (of_golden > 0 ? golden : actual).tensors) {
      if (tensor.owner != owner) continue;
      WeightRow row;
      row.owner = owner;
      row.verdict = of_golden > 0 ? WeightVerdict::missing_in_actual : WeightVerdict::missing_in_golden;
      (of_golden > 0 ? row.golden : row.actual) = tensor.name;
      to.rows.push_back(std::move(row));
    }
    return;
  }
  to.remarks.push_back("only " + std::string(of_golden > 0 ? "golden" : "actual") +
                       " has state of a training run: " + counted(of_golden + of_actual, "tensor") + " of " +
                       name);
}

}  // namespace

std::size_t WeightComparison::count(WeightVerdict verdict) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [&](const WeightRow& row) { return row.verdict == verdict; }));
}

bool WeightComparison::has_difference() const {
  return count(WeightVerdict::differs) + count(WeightVerdict::missing_in_actual) +
             count(WeightVerdict::missing_in_golden) >
         0;
}

WeightComparison compare_weights(const Checkpoint& golden, const Checkpoint& actual) {
  WeightComparison comparison;
  for (const Checkpoint* side : {&golden, &actual}) {
    comparison.problems.insert(comparison.problems.end(), side->problems.begin(), side->problems.end());
    comparison.remarks.insert(comparison.remarks.end(), side->remarks.begin(), side->remarks.end());
  }
  for (std::size_t i = 0; i < kOwnerCount; ++i) {
    const auto owner = static_cast<TensorOwner>(i);
    const std::size_t of_golden = count_owner(golden, owner), of_actual = count_owner(actual, owner);
    comparison.golden_count += of_golden;
    comparison.actual_count += of_actual;
    if (of_golden + of_actual == 0) continue;
    if (owner != TensorOwner::model && (of_golden == 0 || of_actual == 0))
      add_absent(golden, actual, owner, comparison);
    else
      OwnerComparison(golden, actual, owner).run(comparison.rows);
  }
  // A dump has what was used: what is not in it may be unused, or used by operators that nobody knows.
  for (WeightRow& row : comparison.rows)
    if ((golden.is_dump && row.verdict == WeightVerdict::missing_in_golden) ||
        (actual.is_dump && row.verdict == WeightVerdict::missing_in_actual)) {
      row.verdict = WeightVerdict::not_compared;
      row.notes.push_back("no operator of the dump is known to read it");
    }
  return comparison;
}

}  // namespace opdump::weights
